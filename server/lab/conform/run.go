package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"waybill/server/lab/transcript"
)

// Options say what to play, against whom, and as whom.
type Options struct {
	BaseURL    string // without a slash at its end
	Key, Key2  string // of two partners; "" is none
	ControlURL string // of the test bench whose world BaseURL is; "" is none
	IDToken    string // of a company user; "" is none
	Write      bool   // bookings are made, and canceled
	Stage      int    // only this one; 0 is all

	From, To, Date string // a journey that can be booked; "" has one looked for

	Stop <-chan struct{} // closed when to end early; what was booked is canceled
}

// MaxSeats is how many seats a run books at most on a server that others use too.
const MaxSeats = 20

// Verdict is what came of a rule.
type Verdict string

// The verdicts.
const (
	Pass     Verdict = "pass"
	Fail     Verdict = "fail"
	NotShown Verdict = "not shown"
)

// Result is what came of playing a rule.
type Result struct {
	*Rule
	Verdict Verdict
	Detail  string // why it was not shown; or the request, what came and what was expected
	Took    time.Duration
}

// Summary is what came of a run.
type Summary struct {
	Results                  []Result
	Passed, Failed, NotShown int
	Left                     []string // the bookings that could not be canceled
	Stopped                  bool     // before the end
}

// Err returns why a run is no success; nil where every rule that was shown holds and nothing is left.
func (s *Summary) Err() error {
	switch {
	case s.Stopped:
		return errors.New("the run was stopped before its end")
	case s.Failed > 0:
		return fmt.Errorf("%d of the rules failed", s.Failed)
	case s.Left != nil:
		return fmt.Errorf("%d of the bookings could not be canceled", len(s.Left))
	}
	return nil
}

// order is the order in which the stages are played: those that move a clock come last, as tokens and
// sessions do not outlive that.
var order = [...]int{1, 2, 3, 4, 5, 8, 9, 6, 7}

// Run plays the rules and prints a line for each, and the counts. The error is that nobody answers, or that
// no world could be made. What the rules find is in the summary.
func Run(opt Options, to io.Writer) (sum Summary, err error) {
	p := newPlayer(opt)
	defer func() {
		sum.Stopped = p.stopped()
		sum.Left = p.cancelAll()
		if err := p.removeWorld(); err != nil {
			fmt.Fprintln(to, err)
		}
		for _, id := range sum.Left {
			fmt.Fprintf(to, "booking %s could not be canceled\n", id)
		}
		if err == nil {
			fmt.Fprintf(to, "%d passed, %d failed, %d not shown\n", sum.Passed, sum.Failed, sum.NotShown)
		}
	}()
	if err := p.fork(); err != nil {
		return sum, err
	}
	if err := p.prepare(); err != nil {
		return sum, err
	}
	for _, number := range order {
		s := stages()[number-1]
		if opt.Stage != 0 && opt.Stage != number {
			continue
		}
		p.playStage(s, func(r Result) {
			sum.add(r)
			r.print(to)
		})
	}
	return sum, nil
}

// add counts a result.
func (s *Summary) add(r Result) {
	s.Results = append(s.Results, r)
	switch r.Verdict {
	case Pass:
		s.Passed++
	case Fail:
		s.Failed++
	default:
		s.NotShown++
	}
}

// print writes the line of a rule, and what is to be known of one that did not pass.
func (r *Result) print(to io.Writer) {
	fmt.Fprintf(to, "%s  %s  %s: %s\n", r.Verdict, r.ID, r.Section, r.What)
	if r.Detail != "" {
		fmt.Fprintf(to, "      %s\n", strings.ReplaceAll(r.Detail, "\n", "\n      "))
	}
}

// skip is why a rule cannot be shown.
type skip struct{ why string }

func (s *skip) Error() string { return s.why }

// playStage plays what comes before a stage's rules, and these. A variable that a rule keeps is there for
// those after it in the stage: a rule whose variable is missing cannot be shown, and the one that should have
// made it has failed.
func (p *player) playStage(s *stage, each func(Result)) {
	p.Vars = map[string]string{}
	maps.Copy(p.Vars, p.known)
	setup := p.playSteps(s.setup)
	for _, r := range s.rules {
		began := time.Now()
		result := Result{Rule: r, Verdict: Pass}
		err := p.playSteps(r.steps)
		var unknown *transcript.Unknown
		var skipped *skip
		switch {
		case err == nil:
		case errors.As(err, &skipped):
			result.Verdict = NotShown
			result.Detail = skipped.why
		case errors.As(err, &unknown):
			result.Verdict = NotShown
			result.Detail = "an earlier step gave no " + unknown.Name
			if p.known["from"] == "" {
				result.Detail = noJourney
			} else if setup != nil {
				result.Detail += ": " + p.hide(setup.Error())
			}
		default:
			result.Verdict = Fail
			result.Detail = p.hide(p.request + "\n" + p.came() + "\n" + err.Error())
		}
		result.Detail = shortened(result.Detail)
		result.Took = time.Since(began)
		each(result)
	}
}

// came shows the last answer.
func (p *player) came() string {
	if p.Answer.Status == 0 {
		return "came nothing"
	}
	return fmt.Sprintf("came %d %s", p.Answer.Status, strings.TrimSpace(string(p.Answer.Body)))
}

// shortened returns lines as far as somebody would read them.
func shortened(text string) string {
	const most = 600 // bytes of a line
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) > most {
			line = line[:most] + "…"
		}
		lines[i] = strings.Map(printable, strings.ToValidUTF8(line, "�"))
	}
	return strings.Join(lines, "\n")
}

// printable returns a character as a terminal may be shown it: what a foreign server answers may hold others,
// which clear the screen or worse.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return '�'
	}
	return r
}

// hide takes secrets out of a text.
func (p *player) hide(text string) string {
	for _, secret := range []string{p.opt.Key, p.opt.Key2, p.opt.IDToken} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return cookieValue.ReplaceAllString(text, "=…")
}

// cookieValue is what a Set-Cookie header has after a name, and nothing else that is shown.
var cookieValue = regexp.MustCompile(`=[A-Za-z0-9_.-]{20,}`)

// stopped reports whether the run is to end.
func (p *player) stopped() bool {
	select {
	case <-p.opt.Stop:
		return true
	default:
		return false
	}
}

// patience is how long an answer may take.
const patience = 30 * time.Second

// send makes a request of any server, and reads the answer. It is also how a run asks for clocks and worlds,
// which are no part of the interface.
func (p *player) send(method, url, body string, header http.Header) (a transcript.Answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	if header != nil {
		r.Header = header
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	const most = 16 << 20 // bytes
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	return transcript.Answer{
		Status: resp.StatusCode,
		Header: resp.Header,
		Body:   b,
	}, err
}

// baseURL is where the rules are played: the world that was made for them, if there is one.
func (p *player) baseURL() string {
	return cmp.Or(p.world, p.opt.BaseURL)
}
