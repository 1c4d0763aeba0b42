package inspect

import (
	"bufio"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/words"
	"waybill/store"
	"waybill/store/durable"
)

// What is done with a directory beside the server that may have it open: its journal is read and checked, and
// the directory is copied, or exported as tables.

// ReadEvents goes through the journal of a directory that may be in use. visit is given each line with its
// event, nil for a line of the store's own.
func ReadEvents(fsys durable.FS, live bool, visit func(*store.Line, ledger.Entry) error) error {
	return readEventsWith(ledger.NewCodec().Decode, fsys, live, visit)
}

// decoder makes an event of the parts of a line. It knows the forms in the lines before.
type decoder func(kind string, data, personal []byte) (ledger.Entry, error)

// readEventsWith goes through a journal as readEvents does, with a decoder that may have seen lines before.
func readEventsWith(decode decoder, fsys durable.FS, live bool,
	visit func(*store.Line, ledger.Entry) error) error {
	_, err := store.Read(fsys, live, func(_ store.Place, l *store.Line) error {
		return decoded(decode, l, visit)
	})
	return err
}

// decoded calls visit with a line and its event.
func decoded(decode decoder, l *store.Line, visit func(*store.Line, ledger.Entry) error) error {
	if store.Own(l.Type) {
		return visit(l, ledger.Entry{})
	}
	e, err := decode(l.Type, l.Data, l.Personal)
	if err != nil {
		return fmt.Errorf("seq %d: %w", l.Seq, err)
	}
	return visit(l, e)
}

// Schema is what Export writes beside the tables: their columns, what these mean, and how databases load
// them. A table names only those before it.
//
//go:embed schema.sql
var Schema string

// secrets are members of events of users and sessions that no export has.
var secrets = regexp.MustCompile(`,"(password|access|refresh)":"[^"]*"`)

// Export writes what a directory, which may be in use, remembers into a new one, as tables that databases
// load: files of comma-separated values and schema.sql, which describes them and is written last. It only
// reads the former, and returns the line of the journal after which it stands.
func Export(fsys durable.FS, live bool, to durable.FS) (head store.Head, err error) {
	names, err := to.List(".")
	if err == nil && len(names) > 0 {
		err = errors.New("it is not empty")
	}
	if err == nil {
		err = to.Mkdir(".")
	}
	if err != nil {
		return head, fmt.Errorf("cannot export there: %w", err)
	}
	// schema.sql comes last: a directory without it is no whole export.
	x := export{}
	err = errors.Join(x.open(to), nothingToErase(fsys))
	if err == nil {
		head, err = x.fill(fsys, live)
	}
	if err == nil && live {
		var erased bool
		if erased, err = erasedAfter(fsys, head); erased {
			err = errErasedMeanwhile
		}
	}
	for _, t := range x {
		t.Flush()
		err = errors.Join(err, t.Error(), t.file.Close())
	}
	if err == nil {
		err = durable.PublishText(to, ".", "schema.sql", []byte(Schema))
	}
	if err != nil {
		err = fmt.Errorf("the export is not whole, which is why it has no schema.sql: %w", err)
	}
	return head, err
}

// nothingToErase is the error of a journal in which an erasure goes on, or was cut short: what is exported
// would have what is to be erased.
func nothingToErase(fsys durable.FS) error {
	found, err := store.Follow(fsys, store.Head{}, func(*store.Line) error {
		return nil
	})
	if err == nil && len(found.Unerased) > 0 {
		err = errors.New("personal data is being erased, or an erasure was cut short, which waybill forget " +
			"completes; export after that")
	}
	return err
}

// export is the files of the tables, by name.
type export map[string]*tableFile

// tableFile is the file of a table.
type tableFile struct {
	*csv.Writer // with newlines: those within cells stay what they are
	file        durable.File
}

// What open reads of the schema: a table's name and its text, and of that a column's name and type.
var (
	tableOfSchema = regexp.MustCompile(`(?s)create table (\w+) \(\n(.*?\n)\);`)
	columnOfTable = regexp.MustCompile(`(?m)^    (\w+) (\w+)`)
)

// open makes a file for each table of the schema, with its header.
func (x export) open(to durable.FS) error {
	for _, t := range tableOfSchema.FindAllStringSubmatch(Schema, -1) {
		f, err := to.Create(t[1] + ".csv")
		if err != nil {
			return err
		}
		var columns []string
		for _, c := range columnOfTable.FindAllStringSubmatch(t[2], -1) {
			if c[2] != "key" { // as in primary key
				columns = append(columns, c[1])
			}
		}
		x[t[1]] = &tableFile{csv.NewWriter(bufio.NewWriterSize(f, 1<<16)), f}
		x[t[1]].Write(columns)
	}
	return nil
}

// row adds a row to a table; what there is none of is "" or the zero time.
func (x export) row(table string, cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		if at, ok := c.(time.Time); !ok {
			texts[i] = fmt.Sprint(c)
		} else if !at.IsZero() {
			texts[i] = at.UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	x[table].Write(texts) // its error stays until close
}

// fill writes the journal, a row for each line as it is read, and then the state that it leads to.
func (x export) fill(fsys durable.FS, live bool) (head store.Head, err error) {
	s := ledger.NewState()
	var shown []uint64 // lines whose personal parts are in the export
	err = ReadEvents(fsys, live, func(l *store.Line, entry ledger.Entry) error {
		head = l.Head
		if entry.Event != nil {
			ledger.Apply(s, l.Stamp, entry)
		}
		data := l.Data
		personal := l.Personal
		if strings.HasPrefix(l.Type, "user.") || strings.HasPrefix(l.Type, "session.") {
			data = secrets.ReplaceAll(data, nil)
			personal = secrets.ReplaceAll(personal, nil)
		}
		if err := checkShown(entry.Event, &shown, l); err != nil {
			return err
		}
		x.row("events", l.Seq, l.Time, l.Type, fmt.Sprintf("%x", l.Hash), string(data), string(personal))
		return x["events"].Error()
	})
	if err != nil {
		return head, err
	}
	x.accounts(s)
	sold := s.Bookings.Freeze()
	x.runs(sold.Runs)
	for _, b := range sold.Bookings {
		if b != nil {
			x.booking(b, head.Time)
		}
	}
	return head, nil
}

// checkShown notes the lines that are exported with their personal part. Its error is a line that names one
// of them: the erasure was carried out after that was read.
func checkShown(e ledger.Event, shown *[]uint64, l *store.Line) error {
	if erased, ok := e.(*ledger.PersonalErased); ok {
		for _, seq := range erased.Lines {
			if _, found := slices.BinarySearch(*shown, seq); found {
				return errErasedMeanwhile
			}
		}
	}
	if len(l.Personal) > 0 && !store.Erased(l.Personal) {
		*shown = append(*shown, l.Seq)
	}
	return nil
}

var errErasedMeanwhile = errors.New("personal data is erased meanwhile; export again")

// accounts writes who sells and who signs in, and what these have set and ordered.
func (x export) accounts(s *ledger.State) {
	for _, p := range s.Partners.All() {
		x.row("partners", p.ID, p.Name, strings.Join(p.Companies, ","), p.Created, p.Legacy)
		for _, k := range p.Keys {
			x.row("api_keys", k.Hash, p.ID, k.Created, k.Revoked)
		}
	}
	for _, u := range s.Accounts.Users() {
		x.row("users", u.ID, u.Person.Email, u.Person.FirstName, u.Person.LastName)
		for _, l := range u.Links {
			x.row("identities", u.ID, l.Issuer, l.Subject)
		}
		for _, a := range u.Accesses {
			x.row("accesses", u.ID, a.Company.ID, a.Company.Name, a.Company.Slug, a.Company.Tier, a.Role)
		}
	}
	for _, s := range s.Accounts.Sessions() {
		x.row("sessions", s.ID, s.User, s.Company, s.Used, s.AccessUntil, s.Until)
	}
	for _, r := range s.Reports.All() {
		x.row("reports", r.ID, r.Company, r.User, r.OrderBy, r.Start, r.End,
			r.Created, r.Completed, r.Downloaded, r.SHA256)
	}
	for _, id := range slices.Sorted(maps.Keys(s.Geolocation)) {
		x.row("geolocation", id, s.Geolocation[id])
	}
}

// runs writes what was sold, each form once.
func (x export) runs(runs []*booking.Run) {
	written := map[string]bool{}
	for _, r := range runs {
		f := r.Form
		key := r.Form.Key()
		x.row("runs", r.ID, key, r.Day)
		for i, offset := range r.Offsets {
			x.row("run_stops", r.ID, i+1, r.Arr(int16(i)), r.Dep(int16(i)), offset)
		}
		if written[key] {
			continue
		}
		written[key] = true
		x.row("forms", key, f.Trip, f.Company.ID, f.Company.Name, f.Company.Source,
			f.Route.ID, f.Route.Name, f.Bus.ID, f.Bus.Seats, string(f.Encode()))
		for i, c := range f.Stops {
			x.row("form_stops", key, i+1,
				c.Stop.ID, c.Stop.Place, c.Stop.Platform, c.Stop.Lat, c.Stop.Lon,
				c.City.ID, c.City.Name, c.City.Country, c.City.Zone)
		}
		for i, r := range f.Rules {
			x.row("refund_rules", key, i+1, r.ID, r.Hours, words.Hundredths(r.Percent))
		}
		for i, d := range f.Discounts {
			x.row("discounts", key, i+1, d.ID, d.Name, d.Description,
				words.Hundredths(d.Percent), d.First, d.Last)
		}
	}
}

// booking writes a booking and its tickets as they stand at an instant. Positions are from 1, as everywhere
// in the tables.
func (x export) booking(b *booking.Booking, now time.Time) {
	x.row("bookings", b.ID, b.Partner,
		time.UnixMilli(b.Created), time.UnixMilli(b.Updated), b.Departure(), b.Status(now))
	for i := range b.Tickets {
		t := &b.Tickets[i]
		status, payment := t.Status(now)
		first, last, email, phones := t.Passenger.Fields()
		var refund any = ""
		if t.Phase == booking.Refunded {
			refund = words.Hundredths(t.Refund())
		}
		x.row("tickets", t.ID, b.ID, time.UnixMilli(t.Created), t.Departure(), status, payment, t.Asked,
			words.Hundredths(t.Price()), string(t.Currency[:]), refund, first, last, email)
		for k, phone := range phones {
			x.row("ticket_phones", t.ID, k+1, phone)
		}
		for k, l := range t.Itinerary() {
			var discount, percent any = "", ""
			if l.Discount >= 0 {
				d := &l.Run.Form.Discounts[l.Discount]
				discount = d.ID
				percent = words.Hundredths(d.Percent)
			}
			x.row("ticket_legs", t.ID, k+1, l.Run.ID, l.From+1, l.To+1, l.Seat,
				words.Hundredths(l.Amount), discount, percent)
		}
	}
}
