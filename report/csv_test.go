package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/schedule/ids"

	"github.com/google/go-cmp/cmp"

	"waybill/booking"
)

// several are bookings in which every column has something to tell.
func several() []*booking.Booking {
	kyiv := run("north", "Київ – Львів", 6, 7200, "Київ", "Житомир", "Львів")
	krakow := run("south", "Lwów – Kraków", 12, 3600, "Львів", "Kraków")
	west := run("north", "Lisbon – Porto", 30, -3600, "Lisbon", "Porto")
	west.Form.Company.Source = "Elsewhere"

	first := leg(kyiv, 7, 45000)
	second := leg(krakow, 12, 1999)
	second.Discount = 1
	change := ticket(1, 0, first, second)
	change.Passenger = booking.NewPassenger("Олена", "Їжакевич-Ґудзь", "olena@пошта.укр",
		[]string{"+380501112233", "0441112233"})

	part := leg(kyiv, 8, 5)
	part.From = 1
	part.To = 2
	part.Discount = 0
	unpaid := ticket(2, 36*time.Hour, part)
	unpaid.Phase = booking.Unpaid
	unpaid.Currency = [3]byte{'U', 'A', 'H'}

	late := ticket(3, 48*time.Hour-time.Millisecond, leg(west, 1, 0))
	late.Phase = booking.Unpaid

	refund := ticket(4, time.Millisecond, leg(kyiv, 49, 100000))
	refund.Phase = booking.Refunded
	refund.Legs[0].Refund = 99995

	nothing := ticket(5, 2*time.Hour, leg(kyiv, 10, 12345))
	nothing.Phase = booking.Refunded

	canceled := ticket(6, 3*time.Hour, leg(kyiv, 11, 12345))
	canceled.Phase = booking.Canceled
	canceled.Was = booking.Booked
	canceled.Legs[0].Refund = 777

	booked := ticket(7, 4*time.Hour, leg(west, 2, 1))
	booked.Phase = booking.Booked

	carrier := ticket(8, 5*time.Hour, leg(kyiv, 12, 30050))
	carrier.Carrier = booking.NotConfirmed

	other := bookingOf(3, carrier)
	other.Partner = id(2)
	return []*booking.Booking{bookingOf(0, change, unpaid),
		bookingOf(2, late, refund, nothing, canceled, booked), other}
}

// Decision reports.columns: the columns in their order, RFC 4180, for one and two legs, a discount, a refund
// and what was cancelled.
func TestAReportIsWrittenAsItAlwaysWas(t *testing.T) {
	for _, by := range []OrderBy{CreatedAt, DepartureDate} {
		golden(t, "north-by-"+string(by), written(t, always("north", by), several()...))
	}
	golden(t, "south", written(t, always("south", CreatedAt), several()...))
	golden(t, "nobody", written(t, always("nobody", CreatedAt), several()...))
}

// Decision reports.columns: the header is there whatever else is, and every line ends in CRLF.
func TestColumnsAndLineEnds(t *testing.T) {
	const want = "orderId,bookingId,createdAt,departureLocal,departureUtc,route,from,to,seat,firstName,lastName,email,phones,price,currency,discount,status,paymentStatus,refundAmount,source,partner\r\n"
	if got := written(t, always("nobody", CreatedAt)); got != want {
		t.Errorf("%q", got)
	}
	text := written(t, always("north", CreatedAt), several()...)
	if !strings.HasPrefix(text, want) || strings.Count(text, "\r\n") != 9 || strings.Count(text, "\n") != 9 ||
		strings.Count(text, "\r") != 9 {
		t.Errorf("%q", text)
	}
	for name, cells := range map[string][]string{
		"seat":          {"7", "49", "10", "11", "2", "12", "8", "1"},
		"price":         {"450.00", "1000.00", "123.45", "123.45", "0.01", "300.50", "0.05", "0.00"},
		"discount":      {"", "", "", "", "", "", "5.00", ""},
		"refundAmount":  {"", "999.95", "0.00", "", "", "", "", ""},
		"status":        {"Confirmed", "Refund", "Refund", "Canceled", "Confirmed", "NotConfirmed", "Uncompleted", "Processing"},
		"paymentStatus": {"Paid", "Paid", "Paid", "Booked", "Booked", "Paid", "Unpaid", "Unpaid"},
		"to":            {"Львів", "Львів", "Львів", "Львів", "Porto", "Львів", "Львів", "Porto"},
		"departureUtc": {"2026-11-20T06:05:00.000Z", "2026-11-20T06:05:00.000Z", "2026-11-20T06:05:00.000Z",
			"2026-11-20T06:05:00.000Z", "2026-11-21T06:05:00.000Z", "2026-11-20T06:05:00.000Z",
			"2026-11-20T07:05:00.000Z", "2026-11-21T06:05:00.000Z"},
	} {
		if diff := cmp.Diff(cells, column(t, text, name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	got := column(t, text, "departureLocal")
	if got[0] != "2026-11-20T08:05:00.000+02:00" || got[4] != "2026-11-21T05:05:00.000-01:00" {
		t.Errorf("%q", got)
	}
}

// Decision discounts.legs: a ticket's discount is the first leg's that has one.
func TestTheDiscountIsThatOfTheFirstLegThatHasOne(t *testing.T) {
	for want, of := range map[string][2]int16{
		"":       {-1, -1},
		"5.00":   {0, 1},
		"12.50":  {1, 0},
		"12.50 ": {-1, 1},
		"5.00 ":  {0, -1},
	} {
		one := leg(run("north", "N", 6, 0, "A", "B"), 1, 1)
		other := leg(run("north", "M", 9, 0, "B", "C"), 1, 1)
		one.Discount = of[0]
		other.Discount = of[1]
		text := written(t, always("north", CreatedAt), bookingOf(0, ticket(1, 0, one, other)))
		got := column(t, text, "discount")
		if got[0] != strings.TrimSpace(want) {
			t.Errorf("%v: %q", of, got)
		}
	}
}

// Decision reports.dates: the range and the order both use the field named by orderBy; the range is inclusive
// at both ends (interface, reports).
func TestTheRangeIsInclusiveAtBothEnds(t *testing.T) {
	for by, at := range map[OrderBy]time.Time{
		CreatedAt:     day0.Add(90 * time.Minute),
		DepartureDate: day0.Add(6*time.Hour + 5*time.Minute),
	} {
		b := bookingOf(0, ticket(1, 90*time.Minute, leg(run("north", "R", 6, 0, "A", "B"), 1, 1)))
		for _, c := range []struct {
			start, end time.Duration // from the instant
			rows       int
		}{
			{0, 0, 1}, {0, time.Hour, 1}, {-time.Hour, 0, 1}, {-time.Hour, -time.Millisecond,
				0}, {time.Millisecond, time.Hour, 0}, {-time.Hour, time.Hour, 1}, {time.Hour, -time.Hour, 0},
		} {
			r := &Report{Ordered: Ordered{
				Company: "north",
				OrderBy: by,
				Start:   at.Add(c.start),
				End:     at.Add(c.end),
			}}
			if got := len(parsed(t, written(t, r, b))) - 1; got != c.rows {
				t.Errorf("%s, from %v to %v around it: %d rows", by, c.start, c.end, got)
			}
		}
	}
}

// Decision reports.rows: orders are sorted by the field named by orderBy; those of the same instant by id.
func TestOrdersAreSortedByTheFieldThatIsNamed(t *testing.T) {
	early := run("north", "E", 6, 0, "A", "B")
	late := run("north", "L", 9, 0, "A", "B")
	list := []*booking.Booking{
		bookingOf(0, ticket(5, time.Hour, leg(late, 1, 1)), ticket(4, 2*time.Hour, leg(early, 1, 1)),
			ticket(9, 0, leg(late, 1, 1))),
		bookingOf(1, ticket(3, time.Hour, leg(early, 2, 1)), ticket(2, 2*time.Hour, leg(late, 2, 1)),
			ticket(1, 2*time.Hour, leg(early, 2, 1))),
	}
	for by, want := range map[OrderBy][]int{
		CreatedAt:     {9, 3, 5, 1, 2, 4},
		DepartureDate: {1, 3, 4, 2, 5, 9},
	} {
		var ids []string
		for _, n := range want {
			ids = append(ids, id(n).String())
		}
		for range 2 {
			diff := cmp.Diff(ids, column(t, written(t, always("north", by), list...), "orderId"))
			if diff != "" {
				t.Errorf("%s: %s", by, diff)
			}
			slices.Reverse(list) // whatever the bookings' order
		}
	}
}

// Decision reports.rows: a ticket is an order of each company it travels with, and of no other; the report of
// each has its part.
func TestATicketIsAnOrderOfEachCompanyItTravelsWith(t *testing.T) {
	north := run("north", "N", 6, 0, "A", "B")
	south := run("south", "S", 9, 0, "B", "C")
	list := []*booking.Booking{bookingOf(0, ticket(1, 0, leg(north, 1, 100)),
		ticket(2, 0, leg(south, 1, 100)), ticket(3, 0, leg(north, 2, 100), leg(south, 2, 20)),
		ticket(4, 0, leg(north, 3, 1), leg(north, 3, 1)))}
	for company, want := range map[string][]int{
		"north": {1, 3, 4},
		"south": {2, 3},
		"":      nil,
		"nort":  nil,
		"North": nil,
	} {
		var ids []string
		for _, n := range want {
			ids = append(ids, id(n).String())
		}
		text := written(t, always(company, CreatedAt), list...)
		if diff := cmp.Diff(ids, column(t, text, "orderId")); diff != "" {
			t.Errorf("%q: %s", company, diff)
		}
		prices := column(t, text, "price")
		if len(want) == 2 && !slices.Equal(prices, []string{"1.00", "0.20"}) {
			t.Errorf("%q: %v", company, prices)
		}
	}
}

// hostile are texts that a spreadsheet would take for more than text, and what they are in the file.
var hostile = map[string]string{
	"=1+1":                       "'=1+1",
	"+SUM(A1)":                   "'+SUM(A1)",
	"-2":                         "'-2",
	"@x":                         "'@x",
	"\ttab":                      "'\ttab",
	"\t=1":                       "'\t=1",
	" =1+1":                      "' =1+1",
	"  \u00a0+1":                 "'  \u00a0+1",
	"\u3000@x":                   "'\u3000@x",
	"\u2003-1":                   "'\u2003-1",
	"＝1":                         "'＝1",
	"＋1":                         "'＋1",
	"－1":                         "'－1",
	"＠x":                         "'＠x",
	"=":                          "'=",
	"-":                          "'-",
	`=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`,
	"=1\r\n+2":                   "'=1\n+2",
	"\n=1":                       "'\n=1",
	"\v=1":                       "'\v=1",
	"a=1":                        "a=1",
	"1+1":                        "1+1",
	"a-b":                        "a-b",
	"x@example.com":              "x@example.com",
	"":                           "",
	" ":                          " ",
	" a":                         " a",
	"'=1":                        "'=1",
	`"`:                          `"`,
	`a"b,c`:                      `a"b,c`,
	"a\nb":                       "a\nb",
	"Олена":                      "Олена",
	"(=1)":                       "(=1)",
	"0":                          "0",
	"a\t=1":                      "a\t=1",
	";":                          ";",
}

// Decision reports.columns: a cell of text that a spreadsheet would read as a formula is defused, in every
// column of text.
func TestTextThatWouldBeAFormulaIsDefused(t *testing.T) {
	for in, want := range hostile {
		r := run("north", in, 6, 0, in, in)
		r.Form.Company.Source = in
		x := ticket(1, 0, leg(r, 1, 1))
		x.Passenger = booking.NewPassenger(in, in, in, []string{in})
		text := written(t, always("north", CreatedAt), bookingOf(0, x))
		for _, name := range []string{"route", "from", "to", "firstName", "lastName", "email", "phones",
			"source"} {
			if got := column(t, text, name); len(got) != 1 || got[0] != want {
				t.Errorf("%q as %s is %q, want %q", in, name, got, want)
			}
		}
	}
	cr := ticket(1, 0, leg(run("north", "\r=1", 6, 0, "A", "B"), 1, 1))
	got := column(t, written(t, always("north", CreatedAt), bookingOf(0, cr)), "route")
	if !strings.HasPrefix(got[0], "'") {
		t.Errorf("after a CR: %q", got)
	}
	var list []*booking.Booking
	for i, in := range []string{"=1+1", "+SUM", "-2", "@x", "\tx", "＝1", " =1", `"quoted", and a comma`,
		"two\nlines", "Їжак"} {
		x := ticket(i, 0, leg(run("north", in, 6, 0, in, in), 1, 1))
		x.Passenger = booking.NewPassenger(in, in, in, []string{in, "+1"})
		list = append(list, bookingOf(i, x))
	}
	golden(t, "hostile", written(t, always("north", CreatedAt), list...))
}

// Decision reports.columns: only text is defused: an amount below zero is a number and stays one; so do ids
// and partners, which are text.
func TestNumbersAreNotDefused(t *testing.T) {
	r := run("north", "R", 6, 0, "A", "B")
	x := ticket(1, 0, leg(r, 1, -150))
	x.Phase = booking.Refunded
	x.Legs[0].Refund = -5
	b := bookingOf(0, x)
	b.Partner = id(2)
	text := written(t, always("north", CreatedAt), b)
	price, refund := column(t, text, "price"), column(t, text, "refundAmount")
	if price[0] != "-1.50" || refund[0] != "-0.05" {
		t.Errorf("%q, %q", price, refund)
	}
	if got := column(t, text, "partner"); got[0] != "'=cmd|' /C calc'!A0" {
		t.Errorf("%q", got)
	}
	for v, want := range map[int64]string{
		0:       "0.00",
		1:       "0.01",
		99:      "0.99",
		100:     "1.00",
		12345:   "123.45",
		-1:      "-0.01",
		-100:    "-1.00",
		1 << 50: "11258999068426.24",
	} {
		if got := hundredths(v); got != want {
			t.Errorf("%d is %s", v, got)
		}
	}
	dash := ticket(2, 0, leg(r, 1, 1))
	dash.ID = ids.ID{0xf8} // its text starts with a minus
	in := bookingOf(1, dash)
	in.ID = ids.ID{0xf8, 1}
	text = written(t, always("north", CreatedAt), in)
	if order, b := column(t, text, "orderId"), column(t, text,
		"bookingId"); order[0] != "'"+dash.ID.String() || b[0] != "'"+in.ID.String() {
		t.Errorf("%q, %q", order, b)
	}
	got := fmt.Sprint(column(t, written(t, always("north", CreatedAt),
		bookingOf(2, ticket(3, 0, leg(r, 40, 1)))), "seat"))
	if got != "[40]" {
		t.Error(got)
	}
}

// Decision reports.rows: a row over two legs names both routes.
func TestAChangeHasBothRoutes(t *testing.T) {
	first := run("north", "Line 7", 6, 0, "A", "B")
	second := run("north", "Line 6", 11, 0, "B", "C")
	x := ticket(1, 0, leg(first, 1, 45000), leg(second, 2, 1999))
	text := written(t, always("north", DepartureDate), bookingOf(0, x))
	if got := column(t, text, "route"); len(got) != 1 || got[0] != "Line 7; Line 6" {
		t.Errorf("the route is %q", got)
	}
}

// Decision reports.rows: the parts of an order that two companies run add up to it, in its price and in what
// came back.
func TestThePartsOfAnOrderAddUp(t *testing.T) {
	north := run("north", "R", 6, 0, "A", "B")
	south := run("south", "S", 11, 0, "B", "C")
	x := ticket(1, 0, leg(north, 1, 45000), leg(south, 2, 1999))
	x.Phase = booking.Refunded
	x.Was = booking.Paid
	x.Legs[0].Refund = 40500
	x.Legs[1].Refund = 999
	for _, c := range []struct{ company, route, from, to, departure, seat, price, refund string }{
		{"north", "R", "A", "B", "2026-11-20T06:05:00.000Z", "1", "450.00", "405.00"},
		{"south", "S", "B", "C", "2026-11-20T11:05:00.000Z", "2", "19.99", "9.99"},
	} {
		text := written(t, always(c.company, DepartureDate), bookingOf(0, x))
		for name, want := range map[string]string{
			"route":        c.route,
			"from":         c.from,
			"to":           c.to,
			"departureUtc": c.departure,
			"seat":         c.seat,
			"price":        c.price,
			"refundAmount": c.refund,
		} {
			if got := column(t, text, name); len(got) != 1 || got[0] != want {
				t.Errorf("%s, %s: %q, want %q", c.company, name, got, want)
			}
		}
	}
	// Its own departure decides whether a part lies in the report's range.
	r := always("south", DepartureDate)
	r.Start, r.End = at(10), at(12)
	if text := written(t, r, bookingOf(0, x)); len(column(t, text, "seat")) != 1 {
		t.Errorf("the second leg is not in the range of its departure: %s", text)
	}
}

func at(hour int) time.Time { return time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC) }
