package conform

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Options say what to play, against whom, and as whom. "" is none of a text.
type Options struct {
	BaseURL         string // without a slash at its end
	Key, Key2       string // of two partners
	ControlURL      string // of the test bench whose world BaseURL is
	IDToken         string // of a company user
	Email, Password string // of a company user
	FMSObject       string // whose geolocation is switched on and off
	StopID          string // of a stop; without it one of the first offer is taken
	Write           bool   // bookings are made, and canceled
	Stage           int    // only this one; 0 is all, but for the one beyond the interface
	Beyond          bool   // with 0, that one too

	From, To, Date string // a journey that can be booked; without it one is looked for

	LikeURL, LikeKey string // a server with the same timetable that is asked the same

	Strict bool     // what is not shown is a failure, but for what is known
	Known  []string // rules that are known to fail

	Stop <-chan struct{} // closed when to end early; what was booked is canceled

	// Await is how long what a server does after its answer may take, a report for example; 0 is 10 seconds.
	Await time.Duration
}

// MaxSeats is how many seats a run has at most at a time on a server that others use too. All that a stage
// has booked is canceled at its end.
const MaxSeats = 32

// Verdict is what came of a rule.
type Verdict string

// The verdicts.
const (
	Pass     Verdict = "pass"
	Fail     Verdict = "fail"
	NotShown Verdict = "not shown"
	Known    Verdict = "known" // fails, as [Options.Known] says
)

// Result is what came of playing a rule.
type Result struct {
	*Rule
	Verdict Verdict
	Detail  string // why it was not shown; or the request, what came and what was expected
	Took    time.Duration

	cause string // of a failure
}

// Summary is what came of a run.
type Summary struct {
	Results []Result

	Passed, Failed, NotShown, Known int

	Left    []string // the bookings that could not be canceled
	Kept    []string // those of a server that cannot cancel yet
	Stopped bool     // before the end
}

// Err returns why a run is no success; nil where every rule that was shown holds and nothing is left that
// could have been canceled.
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

// beyond is the stage that is no part of the interface.
const beyond = 10

// order is the order in which the stages are played: those that move a clock come last, as tokens and
// sessions do not outlive that.
var order = [...]int{1, 2, 3, 4, 5, 8, 9, beyond, 6, 7}

// isPlayed reports whether a stage is to be played.
func (o *Options) isPlayed(number int) bool {
	if o.Stage == 0 {
		return number != beyond || o.Beyond
	}
	return number == o.Stage
}

// Run plays the rules and prints a line for each, and the counts. The error is that nobody answers, that no
// world could be made, or that the server to be like is none that can be compared. What the rules find is in
// the summary.
func Run(opt Options, to io.Writer) (sum Summary, err error) {
	p := newPlayer(opt)
	defer func() {
		if err != nil {
			err = errors.New(p.hide(err.Error()))
		}
		sum.Stopped = p.stopped()
		p.cancelAll()
		sum.Left = p.left
		sum.Kept = p.uncancelable
		if err := p.removeWorld(); err != nil {
			fmt.Fprintln(to, p.hide(err.Error()))
		}
		for _, id := range sum.Left {
			fmt.Fprintf(to, "booking %s could not be canceled\n", p.hide(id))
		}
		for _, id := range sum.Kept {
			fmt.Fprintf(to, "booking %s is left because the server cannot cancel yet\n", id)
		}
		if err == nil {
			fmt.Fprintln(to, sum.counts())
		}
	}()
	if err := p.fork(); err != nil {
		return sum, err
	}
	if err := p.prepare(); err != nil {
		return sum, err
	}
	for _, number := range order {
		if !opt.isPlayed(number) {
			continue
		}
		p.playStage(stages()[number-1], func(r Result) {
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
	case Known:
		s.Known++
	default:
		s.NotShown++
	}
}

// counts is the last line of a run.
func (s *Summary) counts() string {
	causes := map[string]bool{}
	for _, r := range s.Results {
		if r.Verdict == Fail {
			causes[r.cause] = true
		}
	}
	line := fmt.Sprintf("%d passed, %d failed (%d causes), %d not shown", s.Passed, s.Failed, len(causes),
		s.NotShown)
	if s.Known > 0 {
		line += fmt.Sprintf(", %d known", s.Known)
	}
	return line
}

// print writes the line of a rule, and what is to be known of one that did not pass.
func (r *Result) print(to io.Writer) {
	fmt.Fprintf(to, "%s  %s  %s: %s\n", r.Verdict, r.ID, r.Section, r.What)
	if r.Detail != "" {
		fmt.Fprintf(to, "      %s\n", strings.ReplaceAll(r.Detail, "\n", "\n      "))
	}
}
