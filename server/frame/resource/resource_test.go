package resource

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
)

// A ride is shown as if nothing of it had been kept, whichever rides were shown before, also one in its
// place.
func TestARideIsShownAsItIsWritten(t *testing.T) {
	feed, _, err := gtfs.Read(os.DirFS("../../../testdata/demo"), gtfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tt, err := schedule.New(feed.Tables(new(schedule.Tables)))
	if err != nil {
		t.Fatal(err)
	}
	var all []Ride
	for trip := range int32(20) {
		form := tt.Form(trip)
		for day := range schedule.Day(3) {
			l := schedule.Leg{Trip: trip, Day: day + 20000}
			run := booking.NewRun(form, l.Day, tt.Start(&l), tt.Offsets(trip, tt.Start(&l)))
			run.ID = ids.RunID{1, byte(trip % 2)} // few places, so that they are taken from each other
			for to := range int16(len(form.Stops)) {
				for from := range to {
					all = append(all, Ride{booking.Leg{
						Run:      run,
						From:     from,
						To:       to,
						Seat:     7,
						Discount: -1,
					}, "id", to%2 == 0})
				}
			}
		}
	}
	res := NewWriter()
	for range 5000 {
		x := all[rand.IntN(len(all))]
		var got, want wire.Writer
		res.Slice(&got, &x)
		want.Object("")
		want.String("id", x.ID)
		x.writeTimes(&want)
		if !x.seatless {
			writeSeat(&want, x.ID, strconv.Itoa(int(x.Seat)))
		}
		res.rest(&want, &x)
		if want.EndObject(); string(got.B) != string(want.B) {
			t.Fatalf("trip %s, %d to %d: %s, want %s", x.Run.Form.Trip, x.From, x.To, got.B, want.B)
		}
	}
}
