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
	"waybill/server/wire"
)

// This file writes the interface's resources, member by member, in the order
// of its section "Resources and their fields".

// WriteBooking writes a Booking as it stands at an instant.
func WriteBooking(w *wire.Writer, name string, b *booking.Booking, now time.Time) {
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
		WriteTicket(w, "", b, &t, now, InBooking)
	})
	w.EndObject()
}

// ticketForm is how a Ticket is shown.
type ticketForm int

const (
	InBooking   ticketForm = iota
	ByItself               // each slice carries only its id
	LegacyOrder            // the seat stands beside the slices, not in them
)

// WriteTicket writes a Ticket.
func WriteTicket(w *wire.Writer, name string, b *booking.Booking, t *booking.Ticket, now time.Time,
	form ticketForm) {
	id := t.ID.String()
	legs := t.Itinerary()
	w.Object(name)
	w.String("id", id)
	w.ID("bookingId", b.ID)
	w.Null("note")
	status, payment := t.Status(now)
	w.Texts("status", status, "paymentStatus", payment)
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
		WriteDiscount(w, "discount", legs[i])
	} else {
		w.Null("discount")
	}
	w.Array("slices")
	for i, l := range legs {
		x := Ride{l, SliceID(id, i), form == LegacyOrder}
		if form == ByItself {
			w.Record("", "id", x.Id)
		} else {
			x.Write(w)
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

func writePassenger(w *wire.Writer, ticket string, p booking.Passenger) {
	first, last, email, phones := p.Fields()
	w.Object("passenger")
	w.Joined("id", ticket, ".passenger")
	w.Texts("firstName", first, "lastName", last, "email", email)
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

// WriteDiscount writes the Discount of a leg that has one. An offer's has a description besides.
func WriteDiscount(w *wire.Writer, name string, l booking.Leg) {
	d := &l.Run.Form.Discounts[l.Discount]
	w.Object(name)
	w.Texts("id", d.ID, "name", d.Name, "rule", "Percent")
	w.Hundredths("amount", d.Percent)
	// Midnight where one boards, whose date decides.
	zone := location(l.Run.Form.Stops[l.From].City.Zone)
	w.Time("startDate", d.First.In(zone))
	w.Time("endDate", d.Last.In(zone))
	if l.Seat == 0 {
		w.String("description", d.Description)
	}
	w.EndObject()
}

// WriteRules writes RefundRules into an array.
func WriteRules(w *wire.Writer, form *schedule.Form) {
	for i := range form.Rules {
		WriteRule(w, "", &form.Rules[i])
	}
}

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
	Id       string
	seatless bool // its seat is not shown in it
}

// Offered gives the ride that a leg would be sold as.
func Offered(tt *schedule.Timetable, l *schedule.Leg) Ride {
	start := tt.Start(l)
	form := tt.Form(l.Trip)
	run := &booking.Run{
		Form:    form,
		Day:     l.Day,
		Start:   start,
		Offsets: tt.Offsets(l.Trip, start),
	}
	id := form.Trip + "." + l.Day.String() + "." + strconv.Itoa(int(l.From)) + "." + strconv.Itoa(int(l.To))
	return Ride{booking.Leg{
		Run:      run,
		From:     l.From,
		To:       l.To,
		Discount: int16(tt.Discount(l)),
	}, id, true}
}

// sold is what a Slice of a run that was sold shows of it from one stop to another: the same for all tickets,
// but for id and seat. It is written once, and kept until another ride takes its place among the [rides].
type sold struct {
	run         *booking.Run
	from, to    int16
	times, rest []byte // the members before the seat, and after
}

// rides are those shown last, about 3 KB each. Every ride has two places, which it shares with others.
var rides [1 << 12][2]atomic.Pointer[sold]

// shown gives what a ride shows.
func (x *Ride) shown() *sold {
	places := &rides[(int(x.Run.ID[0])<<8+int(x.Run.ID[1])+int(x.From)*31+int(x.To))%len(rides)]
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
	x.writeRest(w)
	s := &sold{x.Run, x.From, x.To, bytes.Clone(w.B[:n]), bytes.Clone(w.B[n+len(","):])}
	places[1].Store(places[0].Swap(s))
	return s
}

// Write writes a Slice.
func (x *Ride) Write(w *wire.Writer) {
	w.Object("")
	w.String("id", x.Id)
	if x.Seat == 0 { // an offer
		x.writeTimes(w)
		x.writeRest(w)
	} else {
		s := x.shown()
		w.Raw("", s.times)
		if !x.seatless {
			writeSeat(w, x.Id, strconv.Itoa(int(x.Seat)))
		}
		w.Raw("", s.rest)
	}
	w.EndObject()
}

func (x *Ride) writeTimes(w *wire.Writer) {
	dep := x.Run.Dep(x.From)
	arr := x.Run.Arr(x.To)
	w.Int("duration", int64(arr.Sub(dep)/time.Minute))
	w.Time("departureDate", dep)
	w.Time("arrivalDate", arr)
}

func (x *Ride) writeRest(w *wire.Writer) {
	form := x.Run.Form
	writeBus(w, &form.Bus)
	w.Object("carriage")
	w.Texts("id", form.Trip, "name", form.Name)
	w.Strings("phones", form.Phones)
	w.EndObject()
	writeRoute(w, form)
	w.Array("stops")
	for i := x.From; i <= x.To; i++ {
		x.writeStop(w, i)
	}
	w.EndArray()
}

func writeBus(w *wire.Writer, b *schedule.Bus) {
	w.Object("bus")
	w.String("id", b.ID)
	w.Int("seatsQty", int64(b.Seats))
	w.Texts("registrationNumber", b.Registration, "brand", b.Brand, "model", b.Model)
	w.Array("images")
	for i, url := range b.Images {
		w.Record("", "id", b.ID+".image"+strconv.Itoa(i+1), "url", url, "name", path.Base(url))
	}
	w.EndArray()
	w.EndObject()
}

func writeRoute(w *wire.Writer, f *schedule.Form) {
	r := &f.Route
	c := &f.Company
	w.Object("route")
	w.Texts("id", r.ID, "name", r.Name, "slug", r.Slug, "description", r.Description)
	w.Object("company")
	w.Texts("id", c.ID, "name", c.Name, "slug", c.Slug, "ceo", c.CEO)
	w.OptionalString("partnerCompany", c.PartnerCompany)
	w.Texts("logoUrl", c.LogoURL, "email", c.Email, "website", c.Website, "rules", c.Rules)
	w.Strings("socials", c.Socials)
	w.EndObject()
	w.EmptyArray("permissions")
	wire.Each(w, "services", r.Services, func(s schedule.Amenity) {
		w.Record("", "id", s.ID, "name", s.Name)
	})
	w.EndObject()
}

// writeStop writes a Stop of a slice. The first has no arrival, the last no
// departure; an offer's has cityStopId instead of arrivalDate.
func (x *Ride) writeStop(w *wire.Writer, i int16) {
	call := &x.Run.Form.Stops[i]
	dep := x.Run.Dep(i)
	zone := location(call.City.Zone)
	clock := func(name string, at time.Time, shown bool) {
		if !shown {
			w.Null(name)
			return
		}
		// The run has the offset at the departure; clocks may change while the bus stands there.
		_, then := at.In(zone).Zone()
		_, later := dep.In(zone).Zone()
		local := at.Add(time.Duration(int(x.Run.Offsets[i])+then-later) * time.Second).UTC()
		w.String(name, local.Format("15:04"))
	}
	w.Object("")
	w.String("id", call.Stop.ID)
	clock("departureTime", dep, i < x.To)
	clock("arrivalTime", x.Run.Arr(i), i > x.From)
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

func WriteCity(w *wire.Writer, name string, c *schedule.City) {
	w.Record(name, "id", c.ID, "name", c.Name, "slug", c.Slug, "country", c.Country, "timeZone", c.Zone)
}

var locations sync.Map // by name: loading one reads files

// location gives a zone that a timetable names, and so exists.
func location(name string) *time.Location {
	if z, ok := locations.Load(name); ok {
		return z.(*time.Location)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		z = time.UTC
	}
	locations.Store(name, z)
	return z
}
