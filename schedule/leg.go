package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
)

// Leg is a ride on one run: a trip on one service day, from one of its stops to a later one.
type Leg struct {
	Trip     int32
	Day      Day
	From, To int16 // positions among the trip's stops
	Dep, Arr int64 // Unix seconds
}

// Run tells one bus on one service day from all others.
type Run struct {
	Trip int32
	Day  Day
}

// Run gives the run that the leg rides on.
func (l *Leg) Run() Run { return Run{l.Trip, l.Day} }

// Boarding gives the stop where the ride starts.
func (t *Timetable) Boarding(l *Leg) *Stop { return &t.Stops[t.StopsOf(l.Trip)[l.From]] }

// Alighting gives the stop where the ride ends.
func (t *Timetable) Alighting(l *Leg) *Stop { return &t.Stops[t.StopsOf(l.Trip)[l.To]] }

// Start gives the instant, in Unix seconds, at which the leg's service day starts.
func (t *Timetable) Start(l *Leg) int64 {
	return t.companyZn[t.Route(l.Trip).Company].start(l.Day)
}

// LegRef names a ride in 20 bytes, for an offer token. Print is a fingerprint of what the
// passenger was shown; a ride that has changed in that is another ride.
type LegRef struct {
	Trip     uint64
	Day      Day
	From, To int16
	Print    uint32
}

// tripKey stands for a trip in an offer token, whatever the length of its id.
func tripKey(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// Ref gives the name of a ride.
func (t *Timetable) Ref(l *Leg) LegRef {
	return LegRef{t.tripKeys[l.Trip], l.Day, l.From, l.To, t.print(l)}
}

// Resolve finds the ride that a token names; false when it no longer runs as it was offered.
func (t *Timetable) Resolve(r LegRef) (Leg, bool) {
	trip, ok := t.tripByKey[r.Trip]
	if !ok || !t.RunsOn(trip, r.Day) || r.From < 0 || r.From >= r.To || int(r.To) >= len(t.StopsOf(trip)) {
		return Leg{}, false
	}
	l := Leg{Trip: trip, Day: r.Day, From: r.From, To: r.To}
	start := t.Start(&l)
	l.Dep, l.Arr = start+t.dep(trip, l.From), start+t.arr(trip, l.To)
	return l, t.print(&l) == r.Print
}

// print is a fingerprint of a ride's stops, instants and discount.
func (t *Timetable) print(l *Leg) uint32 {
	h := fnv.New32a()
	var b [24]byte
	binary.BigEndian.PutUint64(b[0:], uint64(l.Dep))
	binary.BigEndian.PutUint64(b[8:], uint64(l.Arr))
	if d := t.Discount(l); d >= 0 {
		x := &t.discountsOf(l.Trip)[d]
		binary.BigEndian.PutUint64(b[16:], uint64(x.Percent)+1)
		h.Write([]byte(x.ID))
	}
	h.Write(b[:])
	h.Write([]byte(t.Boarding(l).ID))
	h.Write(b[:1])
	h.Write([]byte(t.Alighting(l).ID))
	return h.Sum32()
}
