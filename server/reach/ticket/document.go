package ticket

import (
	"crypto/ed25519"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/server/docs"
	"waybill/server/frame/words"
	"waybill/server/reach/qr"
)

// document holds the texts of a ticket as it is printed.
type document struct {
	Title     string
	Standing  string // "Paid", or why it is not good for travelling
	Good      bool
	Passenger string
	Rides     []ride
	Price     string
	Ticket    string
	Booking   string
	Bought    string
	Refunds   []string
	Bar       *docs.Clock // the test clock; nil is none
}

// ride is one leg.
type ride struct {
	Carrier                carrier
	Route, Trip, Bus, Seat string
	Day                    string
	Leaves, Arrives        string // by the clocks there
	From, To               string
	Code                   template.HTML // a picture; "" where the ticket is not good
	Text                   string        // of the code
}

// carrier is the company that runs a bus, with the data that a ticket over a border must show, as far as the
// feed has it.
type carrier struct {
	Name, Address, Registration, VAT, Insurance, Contact, Rules string
}

//go:embed document.html
var documentText string

var documentPage = docs.MustParse("ticket", documentText)

// PagePolicy is the Content-Security-Policy of the page: it has its own style sheet, and no script.
var PagePolicy = docs.PagePolicy(docs.StyleIn(documentText))

// WriteDocument writes the page of a ticket: its rides, the refund rules in words, and a code for each ride.
// Above them stands the test clock, if there is one: what a test bench prints is good on no bus.
func WriteDocument(
	out io.Writer,
	b *booking.Booking,
	t *booking.Ticket,
	key ed25519.PrivateKey,
	now time.Time,
	clock *docs.Clock,
) error {
	d, err := newDocument(b, t, key, now)
	if err != nil {
		return err
	}
	d.Bar = clock
	return documentPage.Execute(out, d)
}

// newDocument makes the texts of a ticket.
func newDocument(b *booking.Booking, t *booking.Ticket, key ed25519.PrivateKey,
	now time.Time) (*document, error) {
	legs := t.Itinerary()
	first := &legs[0]
	last := &legs[len(legs)-1]
	status, payment := t.Status(now)
	name, surname, _, _ := t.Passenger.Fields()
	d := &document{
		Title: fmt.Sprintf("%s – %s", first.Run.Form.Stops[first.From].City.Name,
			last.Run.Form.Stops[last.To].City.Name),
		Standing:  status + ", " + payment,
		Passenger: strings.TrimSpace(name + " " + surname),
		Price:     words.Hundredths(t.Price()).String() + " " + string(t.Currency[:]),
		Ticket:    t.ID.String(),
		Booking:   b.ID.String(),
		Bought:    time.UnixMilli(t.Created).UTC().Format("2006-01-02 15:04 UTC"),
		Refunds:   refunds(t),
	}
	codes := codesOf(t, key)
	d.Good = codes != nil
	if t.Phase == booking.Refunded {
		d.Standing = "refunded " + words.Hundredths(t.Refund()).String() + " " + string(t.Currency[:])
	}
	for i := range legs {
		r := newRide(&legs[i])
		if d.Good {
			// The title is ours, and needs no escaping.
			code, err := qr.Encode(codes[i])
			if err != nil {
				return nil, err
			}
			r.Code = template.HTML(code.SVG("Code of the ticket, seat " + r.Seat))
			r.Text = codes[i]
		}
		d.Rides = append(d.Rides, r)
	}
	return d, nil
}

// newRide makes the texts of a leg.
func newRide(l *booking.Leg) ride {
	form := l.Run.Form
	c := &form.Company
	local := func(at time.Time, position int16) string {
		return l.Run.Local(at, position).Format("2006-01-02 15:04")
	}
	leaves := local(l.Run.Dep(l.From), l.From)
	day, _ := schedule.ParseDay(leaves[:len(time.DateOnly)])
	return ride{
		Carrier: carrier{
			Name:         c.Name,
			Address:      c.Address,
			Registration: c.Registration,
			VAT:          c.VAT,
			Insurance:    strings.Trim(c.Insurer+", "+c.Policy, ", "),
			Contact: strings.Join(
				strings.Fields(
					c.Email+" "+c.Website+" "+strings.Join(form.Phones, " "),
				),
				", ",
			),
			Rules: c.Rules,
		},
		Route: form.Route.Name,
		Trip:  form.Trip,
		Bus: strings.TrimSpace(
			form.Bus.Brand + " " + form.Bus.Model + " " + form.Bus.Registration,
		),
		Seat:    strconv.Itoa(int(l.Seat)),
		Day:     dayOf(day),
		Leaves:  leaves,
		Arrives: local(l.Run.Arr(l.To), l.To),
		From:    form.Stops[l.From].Title(),
		To:      form.Stops[l.To].Title(),
	}
}

// percent returns hundredths of a per cent in digits, without trailing zeros.
func percent(hundredths int64) string {
	return strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64)
}

// refunds returns in words how much comes back when the ticket is cancelled.
func refunds(t *booking.Ticket) []string {
	if t.Source() != schedule.OwnSource {
		return []string{
			"Nothing is refunded automatically: ask the carrier, which is another operator.",
		}
	}
	list := []string{"All of it within 20 minutes after booking."}
	for i, l := range t.Itinerary() {
		of := ""
		if len(t.Itinerary()) > 1 {
			of = fmt.Sprintf(" of ride %d", i+1)
		}
		for _, r := range l.Run.Form.Rules {
			list = append(
				list,
				fmt.Sprintf(
					"%s %%%s at least %s before departure.",
					percent(r.Percent),
					of,
					words.Counted(int(r.Hours), "hour"),
				),
			)
		}
		if len(l.Run.Form.Rules) == 0 {
			list = append(list, "Nothing"+of+" after that.")
		} else {
			list = append(list, "Nothing"+of+" later than that.")
		}
	}
	return list
}
