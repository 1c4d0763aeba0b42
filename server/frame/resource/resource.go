// Package resource writes the resources of the interface, member by member and in the order of its section
// "Resources and their fields": bookings, tickets, slices, prices, rules, discounts and cities. It decides
// nothing, and asks nobody: what it writes it is given, with the instant at which it is to be shown.
//
//	res := resource.NewWriter()
//	res.Booking(w, "booking", b, now)
package resource

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/server/ledger/wire"
)

// Writer writes resources, and keeps what many of them have in common so that it is written once: what slices
// of the same ride show, and the time zones of stops.
type Writer struct {
	rides [1 << 12][2]atomic.Pointer[sold] // those shown last, about 3 KB each; every ride has two places
	zones sync.Map                         // *time.Location by name: loading one reads files
}

// NewWriter returns a Writer that has written nothing yet.
func NewWriter() *Writer { return new(Writer) }

// Booking writes a Booking as it stands at an instant.
func (res *Writer) Booking(w *wire.Writer, name string, b *booking.Booking, now time.Time) {
	w.Object(name)
	w.ID("id", b.ID)
	w.Time("createdAt", time.UnixMilli(b.Created))
	w.Time("updatedAt", time.UnixMilli(b.Updated))
	departure := b.Departure()
	w.Time("departureDate", departure)
	w.Time("onboardingDateTime", departure)
	w.String("status", b.Status(now))
	due, _ := b.RequiredBy(now)
	w.OptionalTime("bookingRequiredBy", due)
	w.OptionalTime("paymentRequiredBy", due)
	wire.Each(w, "tickets", b.Tickets, func(t booking.Ticket) {
		res.Ticket(w, "", b, &t, now, InBooking)
	})
	w.EndObject()
}

// BookingReply writes the body of an answer that is a Booking.
func (res *Writer) BookingReply(w *wire.Writer, b *booking.Booking, now time.Time) {
	wire.Reply(w, func(w *wire.Writer) {
		res.Booking(w, "booking", b, now)
	})
}

// TicketForm is how a Ticket is shown.
type TicketForm int

// The forms.
const (
	InBooking   TicketForm = iota // with all there is to say
	ByItself                      // each slice carries only its id
	LegacyOrder                   // the seat stands beside the slices, not in them
)

// Ticket writes a Ticket as it stands at an instant.
func (res *Writer) Ticket(w *wire.Writer, name string, b *booking.Booking, t *booking.Ticket, now time.Time,
	form TicketForm) {
	id := t.ID.String()
	legs := t.Itinerary()
	w.Object(name)
	w.String("id", id)
	w.ID("bookingId", b.ID)
	// The interface has the member; nothing sets it.
	w.Null("note")
	status, payment := t.Status(now)
	w.String("status", status)
	w.String("paymentStatus", payment)
	w.LocalTime("departureDate", t.Departure(), int(legs[0].Run.Offsets[legs[0].From]), false)
	w.String("source", t.Source())
	if t.Phase == booking.Refunded {
		w.Hundredths("refundAmount", t.Refund())
	} else {
		w.Null("refundAmount")
	}
	writePassenger(w, id, t.Passenger)
	WritePrice(w, "price", id+".price", t.Price(), string(t.Currency[:]))
	i := slices.IndexFunc(legs, func(l booking.Leg) bool {
		return l.Discount >= 0
	})
	if i >= 0 {
		res.Discount(w, "discount", legs[i])
	} else {
		w.Null("discount")
	}
	w.Array("slices")
	for i, l := range legs {
		x := Ride{
			Leg:      l,
			ID:       SliceID(id, i),
			seatless: form == LegacyOrder,
		}
		if form == ByItself {
			w.Record("", "id", x.ID)
		} else {
			res.Slice(w, &x)
		}
	}
	w.EndArray()
	if form == LegacyOrder {
		writeSeat(w, id+".1", t.SeatLabels())
	}
	w.EndObject()
}

// SliceID returns the id of the slice that a ticket shows of its leg i.
func SliceID(ticket string, i int) string {
	return ticket + "." + strconv.Itoa(i+1)
}

// writeSeat writes the seat of a slice.
func writeSeat(w *wire.Writer, slice, label string) {
	w.Object("seat")
	w.Joined("id", slice, ".seat")
	w.String("label", label)
	w.EndObject()
}

// writePassenger writes a Passenger, whose ids are made of the ticket's.
func writePassenger(w *wire.Writer, ticket string, p booking.Passenger) {
	first, last, email, phones := p.Fields()
	w.Object("passenger")
	w.Joined("id", ticket, ".passenger")
	w.String("firstName", first)
	w.String("lastName", last)
	w.String("email", email)
	w.Array("phones")
	for i, phone := range phones {
		w.Object("")
		w.Joined("id", ticket, ".phone", strconv.Itoa(i+1))
		w.String("phone", phone)
		w.EmptyArray("messengers")
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
}

// WritePrice writes a Price; amount is in minor units.
func WritePrice(w *wire.Writer, name, id string, amount int64, currency string) {
	w.Object(name)
	w.String("id", id)
	w.Hundredths("amount", amount)
	w.String("currency", currency)
	w.EndObject()
}

// Discount writes the Discount of a leg that has one. An offer's has a description besides.
func (res *Writer) Discount(w *wire.Writer, name string, l booking.Leg) {
	d := &l.Run.Form.Discounts[l.Discount]
	w.Object(name)
	w.String("id", d.ID)
	w.String("name", d.Name)
	w.String("rule", "Percent")
	w.Hundredths("amount", d.Percent)
	// Midnight where one boards, whose date decides.
	zone := res.zone(l.Run.Form.Stops[l.From].City.Zone)
	w.Time("startDate", d.First.In(zone))
	w.Time("endDate", d.Last.In(zone))
	if l.Seat == 0 {
		w.String("description", d.Description)
	}
	w.EndObject()
}

// WriteRules writes the RefundRules of a form into an array that is open.
func WriteRules(w *wire.Writer, form *schedule.Form) {
	for i := range form.Rules {
		WriteRule(w, "", &form.Rules[i])
	}
}

// WriteRule writes a RefundRule: so many hours before the departure, so much per cent comes back.
func WriteRule(w *wire.Writer, name string, r *schedule.RefundRule) {
	w.Object(name)
	w.String("id", r.ID)
	w.Int("hours", int64(r.Hours))
	w.Hundredths("amount", r.Percent)
	w.EndObject()
}

// Ride is what a Slice shows: a leg as it was sold, or of an offer, which has no seat (0) and no amount.
type Ride struct {
	booking.Leg
	ID       string // of the slice
	seatless bool   // its seat is not shown in it
}

// Offered returns the ride that a leg would be sold as.
func Offered(tt *schedule.Timetable, l *schedule.Leg) Ride {
	start := tt.Start(l)
	form := tt.Form(l.Trip)
	run := &booking.Run{
		Form:    form,
		Day:     l.Day,
		Start:   start,
		Offsets: tt.Offsets(l.Trip, start),
	}
	stops := strconv.Itoa(int(l.From)) + "." + strconv.Itoa(int(l.To))
	id := form.Trip + "." + l.Day.String() + "." + stops
	leg := booking.Leg{
		Run:      run,
		From:     l.From,
		To:       l.To,
		Discount: int16(tt.Discount(l)),
	}
	return Ride{Leg: leg, ID: id, seatless: true}
}

// sold is what a Slice of a run that was sold shows of it from one stop to another: the same for all tickets,
// but for id and seat. It is written once, and kept until another ride takes its place.
type sold struct {
	run         *booking.Run
	from, to    int16
	times, rest []byte // the members before the seat, and after
}

// shown returns what a ride shows.
func (res *Writer) shown(x *Ride) *sold {
	// Ids are hashes, so that their first bytes spread well.
	place := int(x.Run.ID[0])<<8 + int(x.Run.ID[1]) + int(x.From)*31 + int(x.To)
	places := &res.rides[place%len(res.rides)]
	for i := range places {
		s := places[i].Load()
		if s != nil && s.run == x.Run && s.from == x.From && s.to == x.To {
			return s
		}
	}
	w := wire.NewWriter()
	defer w.Release()
	x.writeTimes(w)
	n := len(w.B)
	res.rest(w, x)
	s := &sold{
		run:   x.Run,
		from:  x.From,
		to:    x.To,
		times: bytes.Clone(w.B[:n]),
		rest:  bytes.Clone(w.B[n+len(","):]),
	}
	places[1].Store(places[0].Swap(s))
	return s
}

// Slice writes a Slice.
func (res *Writer) Slice(w *wire.Writer, x *Ride) {
	w.Object("")
	w.String("id", x.ID)
	if x.Seat == 0 { // an offer
		x.writeTimes(w)
		res.rest(w, x)
		w.EndObject()
		return
	}
	// A ride that was sold: the same bytes for all of its tickets, but for the seat.
	s := res.shown(x)
	w.Raw("", s.times)
	if !x.seatless {
		writeSeat(w, x.ID, strconv.Itoa(int(x.Seat)))
	}
	w.Raw("", s.rest)
	w.EndObject()
}

// writeTimes writes the members before the seat.
func (x *Ride) writeTimes(w *wire.Writer) {
	dep := x.Run.Dep(x.From)
	arr := x.Run.Arr(x.To)
	w.Int("duration", int64(arr.Sub(dep)/time.Minute))
	w.Time("departureDate", dep)
	w.Time("arrivalDate", arr)
}

// rest writes the members after the seat.
func (res *Writer) rest(w *wire.Writer, x *Ride) {
	form := x.Run.Form
	writeBus(w, &form.Bus)
	w.Object("carriage")
	w.String("id", form.Trip)
	w.String("name", form.Name)
	w.Strings("phones", form.Phones)
	w.EndObject()
	writeRoute(w, form)
	w.Array("stops")
	for i := x.From; i <= x.To; i++ {
		res.stop(w, x, i)
	}
	w.EndArray()
}

func writeBus(w *wire.Writer, b *schedule.Bus) {
	w.Object("bus")
	w.String("id", b.ID)
	w.Int("seatsQty", int64(b.Seats))
	w.String("registrationNumber", b.Registration)
	w.String("brand", b.Brand)
	w.String("model", b.Model)
	w.Array("images")
	for i, url := range b.Images {
		w.Object("")
		w.String("id", b.ID+".image"+strconv.Itoa(i+1))
		w.String("url", url)
		w.String("name", path.Base(url))
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
}

func writeRoute(w *wire.Writer, f *schedule.Form) {
	r := &f.Route
	c := &f.Company
	w.Object("route")
	w.String("id", r.ID)
	w.String("name", r.Name)
	w.String("slug", r.Slug)
	w.String("description", r.Description)
	w.Object("company")
	w.String("id", c.ID)
	w.String("name", c.Name)
	w.String("slug", c.Slug)
	w.String("ceo", c.CEO)
	w.OptionalString("partnerCompany", c.PartnerCompany)
	w.String("logoUrl", c.LogoURL)
	w.String("email", c.Email)
	w.String("website", c.Website)
	w.String("rules", c.Rules)
	w.Strings("socials", c.Socials)
	w.EndObject()
	// The interface has the member; it has always been empty.
	w.EmptyArray("permissions")
	wire.Each(w, "services", r.Services, func(s schedule.Amenity) {
		w.Object("")
		w.String("id", s.ID)
		w.String("name", s.Name)
		w.EndObject()
	})
	w.EndObject()
}

// stop writes a Stop of a slice. The first has no arrival, the last no departure; an offer's has cityStopId
// instead of arrivalDate.
func (res *Writer) stop(w *wire.Writer, x *Ride, i int16) {
	call := &x.Run.Form.Stops[i]
	dep := x.Run.Dep(i)
	zone := res.zone(call.City.Zone)
	w.Object("")
	w.String("id", call.Stop.ID)
	if i < x.To {
		w.String("departureTime", x.clock(i, dep, zone))
	} else {
		w.Null("departureTime")
	}
	if i > x.From {
		w.String("arrivalTime", x.clock(i, x.Run.Arr(i), zone))
	} else {
		w.Null("arrivalTime")
	}
	w.String("platform", call.Stop.Platform)
	switch {
	case x.Seat == 0:
		w.Joined("cityStopId", call.City.ID, ".", call.Stop.ID)
	case i == x.From:
		w.Null("arrivalDate")
	default:
		w.Time("arrivalDate", x.Run.Arr(i))
	}
	w.String("place", call.Stop.Place)
	w.Float("latitude", call.Stop.Lat)
	w.Float("longitude", call.Stop.Lon)
	WriteCity(w, "city", &call.City)
	w.EndObject()
}

// clock returns an instant at which the bus is at a stop, by the clock there. The run has the offset at the
// departure; clocks may change while the bus stands there.
func (x *Ride) clock(i int16, at time.Time, zone *time.Location) string {
	_, then := at.In(zone).Zone()
	_, later := x.Run.Dep(i).In(zone).Zone()
	offset := int(x.Run.Offsets[i]) + then - later
	return at.Add(time.Duration(offset) * time.Second).UTC().Format("15:04")
}

// WriteCity writes a City.
func WriteCity(w *wire.Writer, name string, c *schedule.City) {
	w.Object(name)
	w.String("id", c.ID)
	w.String("name", c.Name)
	w.String("slug", c.Slug)
	w.String("country", c.Country)
	w.String("timeZone", c.Zone)
	w.EndObject()
}

// zone returns a time zone that a timetable names, and that so exists.
func (res *Writer) zone(name string) *time.Location {
	if z, ok := res.zones.Load(name); ok {
		return z.(*time.Location)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		z = time.UTC
	}
	res.zones.Store(name, z)
	return z
}
