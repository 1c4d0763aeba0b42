package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/operate/carrier"
)

// What an operator does with a whole run in its carrier's place: cancels it, moves it in time, or takes that
// back (decision runs.named).

// MaxTripID is how long a trip's id may be where somebody names one, in characters.
const MaxTripID = 500

// checkRun checks which run is meant, and why it is changed.
func checkRun(form url.Values) error {
	if _, err := runOf(form); err != nil {
		return err
	}
	return checkReason(form)
}

// checkRunMove checks by how many minutes a run is moved as well.
func checkRunMove(form url.Values) error {
	if form.Get("minutes") == "" {
		return errors.New("-minutes must be given")
	}
	minutes, err := strconv.Atoi(form.Get("minutes"))
	if err != nil || minutes < -booking.MaxShift || minutes > booking.MaxShift {
		return fmt.Errorf("-minutes %q is not a number from -%d to %d", form.Get("minutes"), booking.MaxShift,
			booking.MaxShift)
	}
	return checkRun(form)
}

// runOf reads which run is meant.
func runOf(form url.Values) (run ids.RunName, err error) {
	run.Trip = form.Get("trip")
	if run.Trip == "" || utf8.RuneCountInString(run.Trip) > MaxTripID || web.HasControl(run.Trip) {
		return run, fmt.Errorf("%.100q is not a trip's id", run.Trip)
	}
	run.Trip = gtfs.TripID(run.Trip) // people know it as the feed has it
	run.Day, err = schedule.ParseDay(form.Get("date"))
	return run, err
}

// runAct returns what is to be done with which run.
func runAct(a *Act) (carrier.Act, error) {
	run, err := runOf(a.Form)
	return carrier.Act{
		Run:    run,
		Reason: a.Form.Get("reason"),
		DryRun: a.Form.Has("dry-run"),
		By:     a.By,
	}, err
}

// changeRun does something with a run, beside which no timetable is imported.
func (s *Executor) changeRun(a *Act, do func(carrier.Act) (*carrier.Outcome, error)) (string, error) {
	act, err := runAct(a)
	if err != nil {
		return "", err
	}
	var o *carrier.Outcome
	err = s.Alone(func() error {
		o, err = do(act)
		return err
	})
	switch {
	case err != nil:
		return "", err
	case a.JSON():
		text, err := json.MarshalIndent(o, "", "  ")
		return string(text), err
	}
	return o.Said, nil
}

// adminRunCancel cancels a run, and the tickets of it that live.
func (s *Executor) adminRunCancel(a *Act) (string, error) {
	return s.changeRun(a, s.carrier.Cancel)
}

// adminRunMove has a run leave earlier or later than its timetable says.
func (s *Executor) adminRunMove(a *Act) (string, error) {
	// Zero is back to the timetable, and not nothing: whoever was told of another time is told of it.
	minutes, err := strconv.Atoi(a.Form.Get("minutes"))
	if err != nil {
		return "", err
	}
	return s.changeRun(a, func(act carrier.Act) (*carrier.Outcome, error) {
		return s.carrier.Move(act, minutes)
	})
}

// adminRunRestore takes back the last change of a run from which nothing has followed.
func (s *Executor) adminRunRestore(a *Act) (string, error) {
	return s.changeRun(a, s.carrier.Restore)
}

// checkManifest checks which run is meant, and the form of its list.
func checkManifest(form url.Values) error {
	format := manifestFormat(form)
	if form.Has("json") {
		if form.Has("format") {
			return errors.New("-json is a format too: leave out -format")
		}
		_, err := runOf(form)
		return err
	}
	if !slices.Contains(carrier.Formats, format) {
		return fmt.Errorf("-format %q must be one of %s", format, strings.Join(carrier.Formats, ", "))
	}
	_, err := runOf(form)
	return err
}

// manifestFormat returns the form that a passenger list is asked for in.
func manifestFormat(form url.Values) string {
	return cmp.Or(form.Get("format"), carrier.Formats[0])
}

// adminManifest writes who travels on a run.
func (s *Executor) adminManifest(a *Act) (string, error) {
	run, err := runOf(a.Form)
	if err != nil {
		return "", err
	}
	m, err := s.carrier.Read(run, carrier.Reader{By: &a.By})
	if err != nil {
		return "", fmt.Errorf("%s: %w", run, err)
	}
	if a.JSON() {
		return m.JSON(), nil
	}
	return "", m.Write(a.Out, manifestFormat(a.Form))
}
