package booking

import (
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// A map of the seats has those that are taken now, at the stops of the run as it is now: a hold that has run
// out is none, and of a timetable with other stops a ride counts from the next one that remains.
func TestASeatMapIsOfNow(t *testing.T) {
	stops := func(ids ...string) (list []schedule.FormStop) {
		for i, id := range ids {
			list = append(list, schedule.FormStop{
				Stop: schedule.Stop{ID: id},
				Arr:  int32(i * 3600),
				Dep:  int32(i * 3600),
			})
		}
		return list
	}
	made := &schedule.Form{Trip: "t", Stops: stops("a", "b", "c", "d"), Bus: schedule.Bus{Seats: 3}}
	form, err := schedule.DecodeForm(made.Encode())
	if err != nil {
		t.Fatal(err)
	}
	run := NewRun(form, 20000, 20000*86400, make([]int32, 4))
	s := NewRecorder()
	begin := time.Unix(20000*86400-3600, 0)
	for n, leg := range []SoldLeg{
		{Run: run.ID, From: 0, To: 1, Discount: -1},
		{Run: run.ID, From: 1, To: 3, Discount: -1},
	} {
		e := &Created{
			ID:         ids.ID{byte(n + 1)},
			Currency:   "EUR",
			Legs:       []SoldLeg{leg},
			Tickets:    []NewTicket{{ID: ids.ID{byte(n + 1), 1}, Seats: []int16{int16(n + 1)}}},
			Passengers: []Passenger{NewPassenger("A", "B", "", nil)},
		}
		if n == 0 {
			e.Runs = []*Run{run}
		}
		if err := s.ApplyCreated(Line{Time: begin.Add(time.Duration(n) * 15 * time.Minute)}, e); err != nil {
			t.Fatal(err)
		}
	}
	tt, err := schedule.New(new(schedule.Tables))
	if err != nil {
		t.Fatal(err)
	}
	name := ids.RunName{Trip: "t", Day: 20000}
	at := func(after time.Duration) []SeatTaken {
		return s.SeatMap(tt, name, begin.Add(after)).Taken
	}
	if both := at(16 * time.Minute); len(both) != 2 || both[0].Seat != 1 || both[1].From != 1 ||
		both[1].To != 3 {
		t.Errorf("%+v", both)
	}
	if one := at(21 * time.Minute); len(one) != 1 || one[0].Ticket.ID != (ids.ID{2, 1}) ||
		!one[0].Until.Equal(begin.Add(35*time.Minute)) {
		t.Errorf("%+v", one)
	}
	if none := at(36 * time.Minute); len(none) != 0 {
		t.Errorf("%+v", none)
	}
	if m := s.SeatMap(tt, ids.RunName{Trip: "x", Day: 20000}, begin); m != nil {
		t.Errorf("a run that there is not: %+v", m)
	}
}
