package ids

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"waybill/schedule"
)

// RunName names one bus on one service day, in words of the timetable.
type RunName struct {
	Trip string
	Day  schedule.Day
}

// runNameJSON is a name in a line.
type runNameJSON struct {
	Trip string `json:"trip"`
	Date string `json:"date"`
}

// MarshalJSON writes the day as a date.
func (n RunName) MarshalJSON() ([]byte, error) {
	return json.Marshal(runNameJSON{n.Trip, n.Day.String()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *RunName) UnmarshalJSON(text []byte) error {
	var x runNameJSON
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields() // a later version has them
	err := in.Decode(&x)
	if err == nil {
		n.Trip = x.Trip
		var day time.Time // of any year, as a line has it
		day, err = time.Parse(time.DateOnly, x.Date)
		n.Day = schedule.DayOf(day)
	}
	return err
}

// String returns the name as messages have it: by the feed's own id of the trip.
func (n RunName) String() string {
	return fmt.Sprintf("trip %s on %s", schedule.FeedID(n.Trip), n.Day)
}

// Key returns what the run is found by.
func (n RunName) Key() schedule.RunKey {
	return schedule.RunKey{Trip: schedule.KeyOf(n.Trip), Day: n.Day}
}

// Compare orders runs by day and trip.
func (n RunName) Compare(other RunName) int {
	if n.Day != other.Day {
		return int(n.Day) - int(other.Day)
	}
	return strings.Compare(n.Trip, other.Trip)
}
