package schedule

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// Leg is a ride on one run: a trip on one service day, from one of its stops to a later one.
type Leg struct {
	Trip     int32
	Day      Day
	From, To int16 // positions among the trip's stops
	Dep, Arr int64 // Unix seconds
}

// Run is one bus on one service day.
type Run struct {
	Trip int32
	Day  Day
}

// Run returns the run of a leg.
func (l *Leg) Run() Run {
	return Run{l.Trip, l.Day}
}

// Boarding returns the stop where a leg begins.
func (t *Timetable) Boarding(l *Leg) *Stop {
	return &t.Stops[t.StopsOf(l.Trip)[l.From]]
}

// Alighting returns the stop where a leg ends.
func (t *Timetable) Alighting(l *Leg) *Stop {
	return &t.Stops[t.StopsOf(l.Trip)[l.To]]
}

// ChangeTime is how many seconds a change takes, unless the feed says otherwise.
const ChangeTime = 30 * 60

// stopPair names two stops or stations by their ids.
type stopPair struct{ from, to string }

// CanChange reports whether a ride may follow another: it is of another run, and leaves no sooner than the
// change takes. The feed may forbid a change.
func (t *Timetable) CanChange(first, second *Leg) bool {
	a, b := t.Alighting(first), t.Boarding(second)
	wait, forbidden := int64(ChangeTime), false
	for _, pair := range []stopPair{{a.ID, b.ID}, {a.ID, b.Parent}, {a.Parent, b.ID}, {a.Parent, b.Parent}} {
		if row, ok := t.transfers[pair]; ok && pair.from != "" && pair.to != "" {
			wait, forbidden = int64(t.Transfers[row].Seconds), t.Transfers[row].Forbidden
			break
		}
	}
	return !forbidden && second.Run() != first.Run() && second.Dep >= first.Arr+wait
}

// Start returns the instant, in Unix seconds, at which the leg's service day starts: of a run that was moved
// as much later as it was moved by.
func (t *Timetable) Start(l *Leg) int64 {
	shift := int64(t.changes[l.Run()].Shift)
	return t.DayStart(t.Route(l.Trip).Company, l.Day) + shift
}

// LegRef names a ride in 20 bytes, for an offer token. Print is a fingerprint of the ride as the passenger
// saw it: a ride whose print has changed is another ride.
type LegRef struct {
	Trip     uint64
	Day      Day
	From, To int16
	Print    uint32
}

// TripKey stands for a trip where the trip's id is too long: in an offer token, and where runs are looked
// up.
func (t *Timetable) TripKey(trip int32) uint64 {
	return t.keys[trip]
}

// KeyOf returns the key of the trip with an id.
func KeyOf(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// Ref returns what names a leg outside of this timetable, see [LegRef].
func (t *Timetable) Ref(l *Leg) LegRef {
	return LegRef{t.keys[l.Trip], l.Day, l.From, l.To, t.print(l)}
}

// Resolve finds the ride that a token names; false when it no longer runs as it was offered.
func (t *Timetable) Resolve(r LegRef) (Leg, bool) {
	trip, ok := t.tripByKey[r.Trip]
	if !ok || !t.RunsOn(trip, r.Day) || r.From < 0 || r.From >= r.To || int(r.To) >= len(t.StopsOf(trip)) {
		return Leg{}, false
	}
	l := Leg{
		Trip: trip,
		Day:  r.Day,
		From: r.From,
		To:   r.To,
	}
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
		x := &t.DiscountsOf(l.Trip)[d]
		binary.BigEndian.PutUint64(b[16:], uint64(x.Percent)+1)
		h.Write([]byte(x.ID))
	}
	h.Write(b[:])
	h.Write([]byte(t.Boarding(l).ID))
	h.Write(b[:1])
	h.Write([]byte(t.Alighting(l).ID))
	return h.Sum32()
}

// Form is everything that a ticket on a trip shows and refunds by, on any day. A sold ticket keeps its
// form, whatever later timetables say. A form is named by its content, and all who bought the trip in that
// form share it.
type Form struct {
	Trip      string       `json:"trip"`
	Name      string       `json:"name,omitempty"` // of the carriage
	Phones    []string     `json:"phones,omitempty"`
	Company   Company      `json:"company"`
	Route     Route        `json:"route"` // with the name it goes by
	Bus       Bus          `json:"bus"`
	Stops     []FormStop   `json:"stops"`
	Rules     []RefundRule `json:"rules,omitempty"` // the longest time first
	Discounts []Discount   `json:"discounts,omitempty"`

	key  string
	size int64 // of its JSON
	trip uint64
}

// FormStop is one call of a trip.
type FormStop struct {
	Stop Stop  `json:"stop"`
	City City  `json:"city"`
	Arr  int32 `json:"arr"` // seconds after the service day's start
	Dep  int32 `json:"dep"`
}

// Title returns a stop's name as a ticket has it: the city, unless the place's name begins with it, the
// place, and the platform.
func (s *FormStop) Title() string {
	name := s.Stop.Place
	if !strings.HasPrefix(name, s.City.Name) {
		name = s.City.Name + ", " + name
	}
	if s.Stop.Platform != "" {
		name += ", platform " + s.Stop.Platform
	}
	return name
}

// Form returns the form of a trip.
func (t *Timetable) Form(trip int32) *Form {
	if f := t.forms[trip].Load(); f != nil {
		return f
	}
	x := &t.Trips[trip]
	f := &Form{
		Trip:      x.ID,
		Name:      x.Name,
		Phones:    x.Phones,
		Company:   *t.Company(trip),
		Route:     *t.Route(trip),
		Bus:       Bus{Seats: DefaultSeats},
		Rules:     t.rules[t.pattern(trip).Route],
		Discounts: t.DiscountsOf(trip),
	}
	f.Route.Name = t.RouteName(trip, Untranslated)
	f.Route.Names = Names{}
	if x.Bus >= 0 {
		f.Bus = t.Buses[x.Bus]
	}
	// The index of a row in its table does not show.
	f.Route.Company = 0
	f.Bus.Company = 0
	for i, s := range t.StopsOf(trip) {
		call := FormStop{
			Stop: t.Stops[s],
			City: t.Cities[t.Stops[s].City],
			Arr:  int32(t.arr(trip, int16(i))),
			Dep:  int32(t.dep(trip, int16(i))),
		}
		// Members that no ticket shows do not make a form another one.
		call.City.Names = Names{}
		call.City.Area = false
		call.Stop.Names = Names{}
		call.Stop.City = 0
		f.Stops = append(f.Stops, call)
	}
	data := f.Encode()
	f.key, f.size, f.trip = formKey(data), int64(len(data)), t.keys[trip]
	t.forms[trip].CompareAndSwap(nil, f)
	return t.forms[trip].Load()
}

// TripKey is that of the form's trip.
func (f *Form) TripKey() uint64 { return f.trip }

// Key returns the name of a form: a hash of its content, 16 URL-safe characters.
func (f *Form) Key() string { return f.key }

// Size returns how many bytes Encode returns.
func (f *Form) Size() int64 { return f.size }

// Encode returns the form as JSON.
func (f *Form) Encode() []byte {
	data, err := json.Marshal(f)
	if err != nil {
		panic("schedule: a form has no field that cannot be JSON: " + err.Error())
	}
	return data
}

// DecodeForm reads a form that Encode has written.
func DecodeForm(data []byte) (*Form, error) {
	f := &Form{
		key:  formKey(data),
		size: int64(len(data)),
	}
	err := json.Unmarshal(data, f)
	f.trip = KeyOf(f.Trip)
	if err != nil || !bytes.Equal(f.Encode(), data) {
		err = errors.New("it is not as this version writes it")
	}
	if err == nil && len(f.Stops) < 2 {
		err = errors.New("fewer than two stops")
	}
	if err == nil && (f.Bus.Seats < 0 || f.Bus.Seats > MaxSeats) {
		err = fmt.Errorf("a bus of %d seats, at most %d", f.Bus.Seats, MaxSeats)
	}
	if err != nil {
		return nil, fmt.Errorf("a form cannot be read: %w", err)
	}
	return f, nil
}

func formKey(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Offsets is Timetable.Offsets of a form, whose trip the timetable in force may not have any more. Its error
// is of a time zone that is not known.
func (f *Form) Offsets(start int64) ([]int32, error) {
	zones := map[string]*time.Location{}
	list := make([]int32, len(f.Stops))
	for i := range f.Stops {
		name := f.Stops[i].City.Zone
		if zones[name] == nil {
			zone, err := time.LoadLocation(name)
			if err != nil {
				return nil, fmt.Errorf("schedule: %q is not a time zone", name)
			}
			zones[name] = zone
		}
		at := time.Unix(start+int64(f.Stops[i].Dep), 0)
		_, offset := at.In(zones[name]).Zone()
		list[i] = int32(offset)
	}
	return list, nil
}

// Offsets returns, for each stop, how many seconds its city's clock is ahead of
// UTC when the bus that starts its service day at start (Unix seconds) is there.
func (t *Timetable) Offsets(trip int32, start int64) []int32 {
	stops := t.StopsOf(trip)
	list := make([]int32, len(stops))
	for i, s := range stops {
		at := time.Unix(start+t.dep(trip, int16(i)), 0)
		_, offset := at.In(t.CityZone(t.Stops[s].City)).Zone()
		list[i] = int32(offset)
	}
	return list
}
