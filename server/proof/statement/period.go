package statement

import (
	"fmt"
	"time"

	"waybill/schedule"
)

// Period is some days of a zone, the first and the last included.
type Period struct {
	From, To schedule.Day
	Zone     *time.Location
}

// ParsePeriod reads a period. Zone "" is UTC; what the machine takes for its own zone is none.
func ParsePeriod(from, to, zone string) (p Period, err error) {
	if p.From, err = day("from", from); err != nil {
		return p, err
	}
	if p.To, err = day("to", to); err != nil {
		return p, err
	}
	if p.To < p.From {
		return p, fmt.Errorf("-from %s is after -to %s", p.From, p.To)
	}
	p.Zone, err = time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return p, fmt.Errorf("-zone %q is not a time zone as in Europe/Kyiv", zone)
	}
	return p, nil
}

// day reads a day that a flag names.
func day(flag, text string) (schedule.Day, error) {
	if text == "" {
		return 0, fmt.Errorf("-%s must be given as a day, as in 2026-11-20", flag)
	}
	d, err := schedule.ParseDay(text)
	if err != nil {
		return 0, fmt.Errorf("-%s %w", flag, err)
	}
	return d, nil
}

// Start returns the instant at which the period begins.
func (p Period) Start() time.Time { return p.From.In(p.Zone) }

// End returns the instant at which it is over: at which the day after its last one begins.
func (p Period) End() time.Time { return (p.To + 1).In(p.Zone) }
