package export

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/proof/statement"
	"waybill/store/journal"
)

// rows is given the rows of the tables of schema.sql, a cell for each column. A cell is a text, a number, a
// boolean or an instant; what there is none of is "" or the zero time.
type rows func(table string, cells ...any)

// secrets are members of events of users and sessions that no export has.
var secrets = regexp.MustCompile(`,"(password|access|refresh)":"[^"]*"`)

// event writes a line of the journal.
func (x rows) event(l *journal.Line) {
	data := l.Data
	personal := l.Personal
	if strings.HasPrefix(l.Type, "user.") || strings.HasPrefix(l.Type, "session.") {
		data = secrets.ReplaceAll(data, nil)
		personal = secrets.ReplaceAll(personal, nil)
	}
	x("events", l.Seq, l.Time, l.Type, fmt.Sprintf("%x", l.Hash), string(data), string(personal))
}

// movements writes the money that a line moves.
func (x rows) movements(list []statement.Movement) {
	for i := range list {
		m := &list[i]
		x("movements", m.Kind, m.At.Seq, m.At.Time, m.Currency, m.Amount, m.Ticket, m.Booking, m.Partner,
			m.Company, m.Rule)
	}
}

// all writes a state as it stands at an instant. A table's rows come after those that they name.
func (x rows) all(s ledger.State, now time.Time) {
	x.accounts(s)
	sold := s.Bookings.Freeze()
	x.runs(sold.Runs)
	for b := range sold.All() {
		x.booking(b, now)
	}
}

// accounts writes who sells and who signs in, and what these have set and ordered.
func (x rows) accounts(s ledger.State) {
	for _, p := range s.Partners.All() {
		x.partner(p)
	}
	for _, u := range s.Accounts.Users() {
		x.user(u)
	}
	for _, s := range s.Accounts.Sessions() {
		x("sessions", s.ID, s.User, s.Company, s.Used, s.AccessUntil, s.Until)
	}
	for _, r := range s.Reports.All() {
		x("reports", r.ID, r.Company, r.User, r.OrderBy, r.Start, r.End, r.Created, r.Completed, r.Downloaded,
			r.SHA256)
	}
	set := s.Geolocation()
	for _, id := range slices.Sorted(maps.Keys(set)) {
		x("geolocation", id, set[id])
	}
	for _, c := range s.Bookings.AllChanges() {
		x("run_changes", c.Run.Trip, c.Run.Day, c.Canceled, c.Shift/60, c.Tickets, c.Reason)
	}
}

func (x rows) partner(p *auth.Partner) {
	x("partners", p.ID, p.Name, strings.Join(p.Companies, ","), p.Created, p.Legacy)
	for _, k := range p.Keys {
		x("api_keys", k.Hash, p.ID, k.Created, k.Revoked)
	}
}

// unknownIssuer stands for the issuer of a link before a provider has vouched for its subject.
const unknownIssuer = "?"

func (x rows) user(u *auth.User) {
	x("users", u.ID, u.Person.Email, u.Person.FirstName, u.Person.LastName)
	for _, l := range u.Links {
		x("identities", u.ID, cmp.Or(l.Issuer, unknownIssuer), l.Subject)
	}
	for _, a := range u.Accesses {
		x("accesses", u.ID, a.Company.ID, a.Company.Name, a.Company.Slug, a.Company.Tier, a.Role)
	}
}

// runs writes what was sold, each form once.
func (x rows) runs(runs []*booking.Run) {
	written := map[string]bool{}
	for _, r := range runs {
		if key := r.Form.Key(); !written[key] {
			written[key] = true
			x.form(r.Form)
		}
		x.run(r)
	}
}

func (x rows) run(r *booking.Run) {
	x("runs", r.ID, r.Form.Key(), r.Day)
	for i, offset := range r.Offsets {
		x("run_stops", r.ID, i+1, r.Arr(int16(i)), r.Dep(int16(i)), offset)
	}
}

func (x rows) form(f *schedule.Form) {
	key := f.Key()
	x("forms", key, f.Trip, f.Company.ID, f.Company.Name, f.Company.Source,
		f.Route.ID, f.Route.Name, f.Bus.ID, f.Bus.Seats, string(f.Encode()))
	for i, c := range f.Stops {
		x("form_stops", key, i+1,
			c.Stop.ID, c.Stop.Place, c.Stop.Platform, c.Stop.Lat, c.Stop.Lon,
			c.City.ID, c.City.Name, c.City.Country, c.City.Zone)
	}
	for i, r := range f.Rules {
		x("refund_rules", key, i+1, r.ID, r.Hours, words.Hundredths(r.Percent))
	}
	for i, d := range f.Discounts {
		x("discounts", key, i+1, d.ID, d.Name, d.Description,
			words.Hundredths(d.Percent), d.First, d.Last)
	}
}

// booking writes a booking and its tickets as they stand at an instant. Positions are from 1, as everywhere
// in the tables.
func (x rows) booking(b *booking.Booking, now time.Time) {
	x("bookings", b.ID, b.Partner,
		time.UnixMilli(b.Created), time.UnixMilli(b.Updated), b.Departure(), b.Status(now))
	for i := range b.Tickets {
		t := &b.Tickets[i]
		status, payment := t.Status(now)
		first, last, email, phones := t.Passenger.Fields()
		var refund any = ""
		if t.Phase == booking.Refunded {
			refund = words.Hundredths(t.Refund())
		}
		x("tickets", t.ID, b.ID, time.UnixMilli(t.Created), t.Departure(), status, payment, t.Pending,
			words.Hundredths(t.Price()), string(t.Currency[:]), refund, first, last, email)
		for k, phone := range phones {
			x("ticket_phones", t.ID, k+1, phone)
		}
		for k, l := range t.Itinerary() {
			var discount, percent any = "", ""
			if l.Discount >= 0 {
				d := &l.Run.Form.Discounts[l.Discount]
				discount = d.ID
				percent = words.Hundredths(d.Percent)
			}
			x("ticket_legs", t.ID, k+1, l.Run.ID, l.From+1, l.To+1, l.Seat,
				words.Hundredths(l.Amount), discount, percent)
		}
	}
}
