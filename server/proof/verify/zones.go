package verify

import (
	"fmt"
	"time"

	"waybill/booking/ids"
	"waybill/schedule"
	"waybill/server/ledger"
	"waybill/store/chain/observe"
)

// zones looks at when the service days of sold runs start. Lists of time zones differ and laws change clocks,
// so that it is told, and breaks no rule.
type zones struct {
	starts map[ids.RunName]int64 // of runs sold by the timetable in force, as if they were not moved
	first  observe.Event         // of the sales that differ; zero where none does
}

// begin has another timetable in force.
func (z *zones) begin() { z.starts = map[ids.RunName]int64{} }

// look takes up a sale.
func (z *zones) look(s ledger.State, tt *schedule.Timetable, seq uint64, rides []ride) {
	for _, r := range rides {
		trip, _ := tt.TripByID(r.run.Form.Trip)
		name := ids.RunName{Trip: r.run.Form.Trip, Day: r.run.Day}
		start := r.run.Start - int64(s.Bookings.Change(name).Shift)
		here := tt.Start(&schedule.Leg{Trip: trip, Day: name.Day})
		sold, known := z.starts[name]
		z.starts[name] = start
		if z.first.Kind == "" && (start != here || known && sold != start) {
			z.first = observe.Event{Kind: "zone", Seq: seq, Text: fmt.Sprintf("the service day of trip %s on %s "+
				"starts at %s as sold, and at %s by the clock of %s here", name.Trip, name.Day,
				clockOf(start), clockOf(here), tt.Company(trip).Zone)}
		}
	}
}

// clockOf returns an instant in Unix seconds as the journal writes it.
func clockOf(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
