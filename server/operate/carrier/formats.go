package carrier

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"waybill/booking"
	"waybill/report"
	"waybill/server/docs"
	"waybill/server/frame/words"
	"waybill/server/ledger/wire"
)

// The forms that a manifest has: text for a terminal, CSV for a spreadsheet, HTML for paper, and JSON over
// HTTP.

// Formats are those of Write: for a terminal, for a spreadsheet, and for paper.
var Formats = []string{"text", "csv", "html"}

// Write writes a manifest in one of the formats.
func (m *Manifest) Write(out io.Writer, format string) error {
	switch format {
	case "text":
		return m.writeText(out)
	case "csv":
		return m.writeCSV(out)
	case "html":
		return m.WriteHTML(out)
	}
	return fmt.Errorf("%q is not a format of a manifest; the formats are "+
		"%s", format, strings.Join(Formats, ", "))
}

// WriteHTML writes the list for paper.
func (m *Manifest) WriteHTML(out io.Writer) error {
	return page.Execute(out, m.sheet())
}

// writeText writes the list for a terminal.
func (m *Manifest) writeText(out io.Writer) error {
	x := m.sheet()
	// The order is that of the paper that drivers know.
	// First what the driver looks for: which bus, when, and whether anything has changed.
	fmt.Fprintf(out, "%s: %s, %s\n", x.Title, x.Carrier, x.Route)
	fmt.Fprintf(
		out,
		"leaves %s, arrives %s; %s\n",
		x.Leaves,
		x.Arrives,
		words.Counted(x.Seats, "seat"),
	)
	if x.Bus != "" {
		fmt.Fprintf(out, "bus: %s\n", x.Bus)
	}
	if x.News != "" {
		fmt.Fprintln(out, x.News)
	}
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "\nSEAT\tNAME\tFROM\tTO\tSTATUS\tPHONES\tTICKET\n")
	for _, p := range x.Rows {
		fmt.Fprintln(
			t,
			strings.Join(
				[]string{p.Seat, p.Name, p.From, p.To, p.Payment, p.Phones, p.Ticket},
				"\t",
			),
		)
	}
	fmt.Fprint(t, "\nARRIVES\tLEAVES\tSTOP\tOUT\tIN\tTAKEN\tFREE\n")
	for _, c := range x.Stops {
		fmt.Fprintf(
			t,
			"%s\t%s\t%s\t%d\t%d\t%s\t%s\n",
			c.Arrives,
			c.Leaves,
			c.Place,
			c.Alighting,
			c.Boarding,
			c.Taken,
			c.Free,
		)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s; read at %s\njournal line %d, hash %s\n", x.Count, x.Read, x.Seq, x.Hash)
	return err
}

// columns are those of the list for a spreadsheet. The first says what a row is: a passenger, a seat that is
// held, how many seats are free from one stop to the next, and last the line of the journal.
var columns = []string{
	"row",
	"seat",
	"last_name",
	"first_name",
	"phones",
	"from",
	"to",
	"status",
	"payment_status",
	"ticket_id",
	"booking_id",
	"taken",
	"free",
	"seq",
	"hash",
}

// cells are those of a row, by column; what there is none of is left out.
type cells map[string]string

// list returns them in order. What a spreadsheet would take for a formula is made text: names and phones are
// a passenger's to choose.
func (c cells) list() []string {
	row := make([]string, len(columns))
	for i, column := range columns {
		row[i] = report.Text(c[column])
	}
	return row
}

// writeCSV writes the list for a spreadsheet.
func (m *Manifest) writeCSV(out io.Writer) error {
	x := m.sheet()
	w := csv.NewWriter(out)
	w.Write(columns)
	for _, p := range x.Rows {
		w.Write(cells{
			"row":            p.Row,
			"seat":           p.Seat,
			"last_name":      p.Last,
			"first_name":     p.First,
			"phones":         p.Phones,
			"from":           p.From,
			"to":             p.To,
			"status":         p.Status,
			"payment_status": p.Payment,
			"ticket_id":      p.Ticket,
			"booking_id":     p.Booking,
		}.list())
	}
	for i, c := range x.Stops[:len(x.Stops)-1] {
		w.Write(cells{
			"row":   "segment",
			"from":  c.Place,
			"to":    x.Stops[i+1].Place,
			"taken": c.Taken,
			"free":  c.Free,
		}.list())
	}
	w.Write(cells{
		"row":  "journal",
		"seq":  strconv.FormatUint(x.Seq, 10),
		"hash": x.Hash,
	}.list())
	w.Flush()
	return w.Error()
}

//go:embed manifest.html
var pageText string

// PagePolicy is the Content-Security-Policy of the manifest as a page: it has its own style sheet, and no
// script.
var PagePolicy = docs.PagePolicy(docs.StyleIn(pageText))

var page = docs.MustParse("manifest", pageText)

// JSON returns the list as the verb prints it: the data of the answer over HTTP.
func (m *Manifest) JSON() string {
	w := new(wire.Writer)
	w.Object("")
	m.WriteJSON(w)
	w.EndObject()
	return string(w.B)
}

// WriteJSON writes the members of the answer of GET /v2/company/runs/{tripId}/{date}/passengers.
func (m *Manifest) WriteJSON(w *wire.Writer) {
	form := m.Run.Form
	last := int16(len(form.Stops) - 1)
	w.Object("run")
	w.String("tripId", m.Name.Trip)
	w.String("date", m.Name.Day.String())
	w.String("company", form.Company.Name)
	w.String("route", form.Route.Name)
	w.Time("departureDate", m.Run.Dep(0))
	w.Time("arrivalDate", m.Run.Arr(last))
	w.Bool("canceled", m.Change.Canceled)
	w.Int("movedByMinutes", int64(m.Change.Shift/60))
	// Passengers name these by their ids.
	w.Array("stops")
	for i := range form.Stops {
		w.Object("")
		w.String("id", form.Stops[i].Stop.ID)
		w.String("place", form.Stops[i].Stop.Place)
		w.String("city", form.Stops[i].City.Name)
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
	w.Array("passengers")
	for i := range m.Riders {
		m.writePassenger(w, &m.Riders[i])
	}
	w.EndArray()
	// The line of the journal is for whoever holds a printed list against the directory.
	w.Object("totals")
	w.Int("passengers", int64(len(m.Riders)))
	w.Int("seats", int64(form.Bus.Seats))
	// A seat may be free on a part of the way only.
	w.Array("segments")
	for i, load := range m.Loads {
		w.Object("")
		w.String("from", form.Stops[i].Stop.ID)
		w.String("to", form.Stops[i+1].Stop.ID)
		w.Int("taken", int64(load.Taken))
		w.Int("free", int64(load.Free))
		w.EndObject()
	}
	w.EndArray()
	w.Int("seq", int64(m.Seq))
	w.String("hash", m.Hash)
	w.EndObject()
}

// writePassenger writes a passenger. The stops are those of the run as it is now, by id: what was sold may
// have had others.
func (m *Manifest) writePassenger(w *wire.Writer, r *booking.SeatTaken) {
	p := m.rider(r)
	_, _, _, phones := r.Ticket.Passenger.Fields()
	w.Object("")
	w.String("seat", p.Seat)
	w.String("firstName", p.First)
	w.String("lastName", p.Last)
	w.Strings("phones", phones)
	w.String("from", m.Run.Form.Stops[r.From].Stop.ID)
	w.String("to", m.Run.Form.Stops[r.To].Stop.ID)
	w.String("ticketId", p.Ticket)
	w.String("bookingId", p.Booking)
	w.String("status", p.Status)
	w.String("paymentStatus", p.Payment)
	w.EndObject()
}
