package server

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/store"
)

// schema is what Export writes beside the tables: what their columns mean, and how databases load them.
//
//go:embed schema.sql
var schema string

// table is an entity of an export: a file with a row for each. Its name and columns are those of schema.sql.
type table struct {
	name    string
	columns string // with commas
	rows    func(*exported, rowWriter)
}

// rowWriter writes a row of a table.
type rowWriter func(cells ...any)

// exported is the state after a journal's last line.
type exported struct {
	*State
	now  time.Time
	sold booking.Frozen
}

// tables are all but events, in an order in which each row comes after those it names.
var tables = []table{
	{"partners", "partner_id,name,companies,created_at,last_legacy_at", func(x *exported, row rowWriter) {
		for _, p := range x.Partners.All() {
			row(p.ID, p.Name, strings.Join(p.Companies, ","), p.Created, p.Legacy)
		}
	}},
	{"api_keys", "key_hash,partner_id,created_at,revoked_at", func(x *exported, row rowWriter) {
		for _, p := range x.Partners.All() {
			for _, k := range p.Keys {
				row(k.Hash, p.ID, k.Created, k.Revoked)
			}
		}
	}},
	{"users", "user_id,email,first_name,last_name", func(x *exported, row rowWriter) {
		for _, u := range x.Accounts.Users() {
			row(u.ID, u.Person.Email, u.Person.FirstName, u.Person.LastName)
		}
	}},
	{"identities", "user_id,issuer,subject_hash", func(x *exported, row rowWriter) {
		for _, u := range x.Accounts.Users() {
			for _, l := range u.Links {
				row(u.ID, l.Issuer, l.Subject)
			}
		}
	}},
	{"accesses", "user_id,company_id,company_name,company_slug,company_tier,role", func(x *exported, row rowWriter) {
		for _, u := range x.Accounts.Users() {
			for _, a := range u.Accesses {
				row(u.ID, a.Company.ID, a.Company.Name, a.Company.Slug, a.Company.Tier, a.Role)
			}
		}
	}},
	{"sessions", "session_id,user_id,company_id,refreshed_at,access_until,ends_at", func(x *exported, row rowWriter) {
		for _, s := range x.Accounts.Sessions() {
			row(s.ID, s.User, s.Company, s.Used, s.AccessUntil, s.Until)
		}
	}},
	{"forms", "form_id,trip_id,company_id,company_name,source,route_id,route_name,bus_id,seats,details", func(x *exported, row rowWriter) {
		for f := range x.forms() {
			row(f.Key(), f.Trip, f.Company.ID, f.Company.Name, f.Company.Source, f.Route.ID, f.Route.Name, f.Bus.ID, f.Bus.Seats, string(f.Encode()))
		}
	}},
	{"form_stops", "form_id,position,stop_id,place,platform,latitude,longitude,city_id,city_name,country,time_zone", func(x *exported, row rowWriter) {
		for f := range x.forms() {
			for i, c := range f.Stops {
				row(f.Key(), i+1, c.Stop.ID, c.Stop.Place, c.Stop.Platform, c.Stop.Lat, c.Stop.Lon, c.City.ID, c.City.Name, c.City.Country, c.City.Zone)
			}
		}
	}},
	{"refund_rules", "form_id,position,rule_id,hours,percent", func(x *exported, row rowWriter) {
		for f := range x.forms() {
			for i, r := range f.Rules {
				row(f.Key(), i+1, r.ID, r.Hours, hundredths(r.Percent))
			}
		}
	}},
	{"discounts", "form_id,position,discount_id,name,description,percent,first_day,last_day", func(x *exported, row rowWriter) {
		for f := range x.forms() {
			for i, d := range f.Discounts {
				row(f.Key(), i+1, d.ID, d.Name, d.Description, hundredths(d.Percent), d.First, d.Last)
			}
		}
	}},
	{"runs", "run_id,form_id,service_date", func(x *exported, row rowWriter) {
		for _, r := range x.sold.Runs {
			row(r.ID, r.Form.Key(), r.Day)
		}
	}},
	{"run_stops", "run_id,position,arrival_at,departure_at,utc_offset", func(x *exported, row rowWriter) {
		for _, r := range x.sold.Runs {
			for i, offset := range r.Offsets {
				row(r.ID, i+1, r.Arr(int16(i)), r.Dep(int16(i)), offset)
			}
		}
	}},
	{"bookings", "booking_id,partner_id,created_at,updated_at,departure_at,status", func(x *exported, row rowWriter) {
		for _, b := range x.sold.Bookings {
			if b != nil {
				row(b.ID, b.Partner, time.UnixMilli(b.Created), time.UnixMilli(b.Updated), b.Departure(), b.Status(x.now))
			}
		}
	}},
	{"tickets", "ticket_id,booking_id,created_at,departure_at,status,payment_status,asked,price,currency,refund_amount,first_name,last_name,email", func(x *exported, row rowWriter) {
		for b, t := range x.tickets() {
			status, payment := t.Status(x.now)
			var refund any = ""
			if t.Phase == booking.Refunded {
				refund = hundredths(t.Refund)
			}
			first, last, email, _ := t.Passenger.Fields()
			row(t.ID, b.ID, time.UnixMilli(t.Created), t.Departure(), status, payment, t.Asked, hundredths(t.Price()), string(t.Currency[:]), refund, first, last, email)
		}
	}},
	{"ticket_phones", "ticket_id,position,phone", func(x *exported, row rowWriter) {
		for _, t := range x.tickets() {
			_, _, _, phones := t.Passenger.Fields()
			for i, phone := range phones {
				row(t.ID, i+1, phone)
			}
		}
	}},
	{"ticket_legs", "ticket_id,leg,run_id,boarding,alighting,seat,amount,discount_id,discount", func(x *exported, row rowWriter) {
		for _, t := range x.tickets() {
			for i, l := range t.Itinerary() {
				var discount, percent any = "", ""
				if l.Discount >= 0 {
					d := &l.Run.Form.Discounts[l.Discount]
					discount, percent = d.ID, hundredths(d.Percent)
				}
				row(t.ID, i+1, l.Run.ID, l.From+1, l.To+1, l.Seat, hundredths(l.Amount), discount, percent)
			}
		}
	}},
	{"reports", "report_id,company_id,user_id,order_by,start_date,end_date,created_at,completed_at,downloaded_at,sha256", func(x *exported, row rowWriter) {
		for _, r := range x.Reports.All() {
			row(r.ID, r.Company, r.User, r.OrderBy, r.Start, r.End, r.Created, r.Completed, r.Downloaded, r.SHA256)
		}
	}},
	{"geolocation", "fms_object_id,is_geolocation", func(x *exported, row rowWriter) {
		for _, id := range slices.Sorted(maps.Keys(x.Geolocation)) {
			row(id, x.Geolocation[id])
		}
	}},
}

// events is the journal, whose rows are written while it is read.
var events = table{name: "events", columns: "seq,time,type,hash,data,personal"}

// secrets are members of events of users and sessions that no export has.
var secrets = regexp.MustCompile(`,"(password|access|refresh)":"[^"]*"`)

// forms gives the forms that were sold, each once.
func (x *exported) forms() iter.Seq[*schedule.Form] {
	return func(yield func(*schedule.Form) bool) {
		seen := map[*schedule.Form]bool{}
		for _, r := range x.sold.Runs {
			if !seen[r.Form] && !yield(r.Form) {
				return
			}
			seen[r.Form] = true
		}
	}
}

// tickets gives all tickets with the bookings they are in.
func (x *exported) tickets() iter.Seq2[*booking.Booking, *booking.Ticket] {
	return func(yield func(*booking.Booking, *booking.Ticket) bool) {
		for _, b := range x.sold.Bookings {
			for i := 0; b != nil && i < len(b.Tickets); i++ {
				if !yield(b, &b.Tickets[i]) {
					return
				}
			}
		}
	}
}

// Export writes what a directory, which may be in use, remembers into a new one, as tables that databases load: files
// of comma-separated values and schema.sql, which describes them and is written last. It only reads the former, and
// gives the line of the journal after which it stands.
func Export(fsys store.FS, live bool, to store.FS) (store.Head, error) {
	names, err := to.List(".")
	if err == nil && len(names) > 0 {
		err = errors.New("it is not empty")
	}
	if err = cmp.Or(err, to.Mkdir(".")); err != nil {
		return store.Head{}, fmt.Errorf("cannot export there: %w", err)
	}
	head, err := exportAll(fsys, live, to)
	if err != nil {
		err = fmt.Errorf("the export is not whole, which is why it has no schema.sql: %w", err)
	}
	return head, err
}

func exportAll(fsys store.FS, live bool, to store.FS) (store.Head, error) {
	x := exported{State: newState()}
	var rep store.Report
	err := events.write(to, func(row rowWriter) (err error) {
		rep, err = readEvents(fsys, live, func(l *store.Line, e Event) error {
			if e != nil {
				apply(x.State, l.Stamp, e)
			}
			data, personal := l.Data, l.Personal
			if strings.HasPrefix(l.Type, "user.") || strings.HasPrefix(l.Type, "session.") {
				data, personal = secrets.ReplaceAll(data, nil), secrets.ReplaceAll(personal, nil)
			}
			row(l.Seq, l.Time, l.Type, fmt.Sprintf("%x", l.Hash), string(data), string(personal))
			return nil
		})
		return err
	})
	x.now, x.sold = rep.Head.Time, x.Bookings.Freeze()
	for i := 0; i < len(tables) && err == nil; i++ {
		err = tables[i].write(to, func(row rowWriter) error { tables[i].rows(&x, row); return nil })
	}
	if err != nil {
		return rep.Head, err
	}
	f, err := to.Create("schema.sql")
	if err != nil {
		return rep.Head, err
	}
	_, err = f.Write([]byte(schema))
	return rep.Head, errors.Join(err, f.Close())
}

// write makes the table's file; rows writes its rows.
func (t *table) write(to store.FS, rows func(rowWriter) error) error {
	f, err := to.Create(t.name + ".csv")
	if err != nil {
		return err
	}
	out := csv.NewWriter(bufio.NewWriterSize(f, 1<<16)) // with newlines: within cells they stay what they are
	out.Write(strings.Split(t.columns, ","))
	var texts []string
	err = rows(func(cells ...any) {
		texts = texts[:0]
		for _, c := range cells {
			texts = append(texts, cell(c))
		}
		out.Write(texts)
	})
	out.Flush()
	return errors.Join(err, out.Error(), f.Close())
}

// cell gives the text of a cell; what there is none of is empty.
func cell(v any) string {
	at, ok := v.(time.Time)
	switch {
	case ok && at.IsZero():
		return ""
	case ok:
		return at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return fmt.Sprint(v)
}

// hundredths is money in minor units, or a percentage in hundredths.
type hundredths int64

func (v hundredths) String() string { return fmt.Sprintf("%d.%02d", v/100, v%100) }
