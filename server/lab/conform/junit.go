package conform

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// The elements of a JUnit report.
type (
	junitTotals struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"` // seconds
	}
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitTotals
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitTotals
		Cases []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the results in the form that CI servers read: a suite for each stage, a case for each rule.
func (s *Summary) JUnit(to io.Writer) error {
	all := junitSuites{junitTotals: junitTotals{len(s.Results), s.Failed, s.NotShown + s.Known, ""}}
	whole := time.Duration(0)
	for _, stage := range stages() {
		suite := junitSuite{Name: fmt.Sprintf("stage %d: %s", stage.number, stage.name)}
		took := time.Duration(0)
		for _, r := range s.Results {
			if r.Stage != stage.number {
				continue
			}
			c := junitCase{
				Class: r.Section,
				Name:  r.ID + " " + r.What,
				Time:  seconds(r.Took),
			}
			took += r.Took
			suite.Tests++
			switch r.Verdict {
			case Fail:
				suite.Failures++
				c.Failure = &junitMessage{r.What, r.Detail}
			case Known:
				suite.Skipped++
				c.Skipped = &junitMessage{"known to fail: " + r.Detail, ""}
			case NotShown:
				suite.Skipped++
				c.Skipped = &junitMessage{r.Detail, ""}
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Time = seconds(took)
		whole += took
		if suite.Tests > 0 {
			all.Suites = append(all.Suites, suite)
		}
	}
	all.Time = seconds(whole)
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(to)
	enc.Indent("", " ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
