package export

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/booking/ids"
	"waybill/schedule"
	"waybill/server/ledger"
	"waybill/server/proof/events"
	"waybill/server/proof/statement"
	"waybill/store/journal"
)

// SQL writes a journal as statements that keep the tables of an export as it goes on. Statements that
// are run again change nothing: so after a break one goes on from the last row of events, or some lines
// before.
//
// What time alone changes, as that a ticket is no longer payable, is as at the last line that tells of the
// ticket.
type SQL struct {
	out    io.Writer
	state  *ledger.Keeper
	moved  *statement.Movements
	decode events.Decoder
	tables map[string]schemaTable
	begun  bool
	err    error // the first of out
}

// NewSQL returns a writer of statements.
func NewSQL(out io.Writer) *SQL {
	x := &SQL{
		out:    out,
		state:  ledger.NewKeeper(),
		moved:  statement.NewMovements(),
		decode: events.NewDecoder(),
		tables: map[string]schemaTable{},
	}
	for _, t := range tablesOfSchema() {
		x.tables[t.name] = t
	}
	return x
}

// begin makes the tables, where there are none.
func (x *SQL) begin() {
	if x.begun {
		return
	}
	x.begun = true
	for _, t := range tableOfSchema.FindAllString(Schema, -1) {
		x.printf("%s\n", strings.Replace(t, "create table", "create table if not exists", 1))
	}
}

func (x *SQL) printf(format string, args ...any) {
	if x.err == nil {
		_, x.err = fmt.Fprintf(x.out, format, args...)
	}
}

// Line writes what a line has changed, all or nothing.
func (x *SQL) Line(l *journal.Line, wanted bool) error {
	var entry ledger.Entry
	if !journal.Own(l.Type) {
		var err error
		if entry, err = x.decode(l.Type, l.Data, l.Personal); err != nil {
			return fmt.Errorf("seq %d: %w", l.Seq, err)
		}
	}
	if err := events.Apply(x.state, l, entry); err != nil {
		return err
	}
	moved, err := x.moved.Apply(l.Stamp, entry.Event)
	if err != nil {
		return err
	}
	if !wanted {
		return nil
	}
	x.begin()
	x.printf("begin;\n")
	if err := x.change(l, entry.Event); err != nil {
		return fmt.Errorf("seq %d: %w", l.Seq, err)
	}
	rows(x.upsert).event(l)
	rows(x.upsert).movements(moved) // they name the line
	x.printf("commit;\n")
	return x.err
}

func (x *SQL) Pause() error { return x.err }

// idsInLine matches what may be an id in a line.
var idsInLine = regexp.MustCompile(`"([A-Za-z0-9_-]{22})"`)

// change writes the rows of all that a line names.
func (x *SQL) change(l *journal.Line, event ledger.Event) error {
	to := rows(x.upsert)
	switch e := event.(type) {
	case *booking.Created:
		for _, f := range e.Forms {
			to.form(f)
		}
		for _, r := range e.Runs {
			to.run(r)
		}
	case *booking.RunCanceled:
		x.changed(e.Run)
	case *booking.RunRestored:
		x.changed(e.Run)
	case *booking.RunMoved:
		x.changed(e.Run)
		for _, r := range x.state.Bookings.MovedRuns(e) { // tickets name them from now on
			to.run(r)
		}
	case *ledger.GeolocationSet:
		to("geolocation", e.Object, e.On)
	case *ledger.PersonalErased:
		for _, id := range e.Reports { // they are made again
			x.reports(map[string]bool{id.String(): true})
		}
	}
	if err := x.eraseEvents(l); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, match := range idsInLine.FindAllSubmatch(l.Data, -1) {
		seen[string(match[1])] = true
	}
	if erased, ok := event.(interface{ AllTickets() []ids.ID }); ok {
		for _, id := range erased.AllTickets() {
			seen[id.String()] = true
		}
	}
	// Whoever is not told is not named in the line, and moves as well.
	if e, ok := event.(*booking.RunMoved); ok {
		for _, o := range x.state.Bookings.Riders(e.Run) {
			seen[o.Booking.ID.String()] = true
		}
	}
	// Partners first: all else names them. Then users, and what is theirs.
	x.accounts(l.Type, seen)
	if e, ok := event.(*auth.SessionStarted); ok {
		x.sessionsOf(e.User)
	}
	x.bookings(seen, l)
	return nil
}

// changed writes what was changed of a run anew: it may be nothing any more.
func (x *SQL) changed(run ids.RunName) {
	x.printf("delete from run_changes where trip = %s and service_date = %s;\n", quote(run.Trip),
		quote(run.Day.String()))
	if c := x.state.Bookings.Change(run); c.Change != (schedule.Change{}) {
		rows(x.upsert).change(&c)
	}
}

// eraseEvents takes away the personal parts of the lines that a line names.
func (x *SQL) eraseEvents(l *journal.Line) error {
	erased, err := journal.ErasedBy(l)
	for _, e := range erased {
		x.printf(
			"update events set personal = '{\"erased\":\"%s\"}' where seq = %d and personal is not null;\n",
			cellTime(e.At),
			e.Seq,
		)
	}
	return err
}

// accounts writes the partners, users, sessions and reports among what a line names.
func (x *SQL) accounts(kind string, seen map[string]bool) {
	to := rows(x.upsert)
	if strings.HasPrefix(kind, "partner.") {
		for _, p := range x.state.Partners.All() {
			if seen[p.ID.String()] {
				to.partner(p)
			}
		}
	}
	if strings.HasPrefix(kind, "user.") || strings.HasPrefix(kind, "session.") {
		x.users(seen)
	}
	if strings.HasPrefix(kind, "report.") {
		x.reports(seen)
	}
}

// reports writes the reports among some ids.
func (x *SQL) reports(seen map[string]bool) {
	for _, r := range x.state.Reports.All() {
		if seen[r.ID.String()] {
			rows(x.upsert).report(r)
		}
	}
}

// sessionsOf writes the sessions of a user anew: a new one ends those whose time is over, which its line does
// not name.
func (x *SQL) sessionsOf(user auth.ID) {
	x.printf("delete from sessions where user_id = %s;\n", quote(user.String()))
	for _, s := range x.state.Accounts.SessionsOf(user) {
		rows(x.upsert).session(s)
	}
}

// users writes users with what they may do, and their sessions; those that are gone are removed.
func (x *SQL) users(seen map[string]bool) {
	to := rows(x.upsert)
	var sessions []*auth.Session
	for text := range seen {
		id, _ := ids.Parse(text)
		session := x.state.Accounts.Session(auth.ID(id))
		user := x.state.Accounts.User(auth.ID(id))
		quoted := quote(text)
		switch {
		case user != nil:
			x.printf(
				"delete from identities where user_id = %s;\ndelete from accesses where user_id = %[1]s;\n",
				quoted,
			)
			to.user(user)
		case session != nil:
			sessions = append(sessions, session) // after the users
		default:
			x.printf("delete from sessions where session_id = %s or user_id = %[1]s;\n", quoted)
			for _, table := range []string{"identities", "accesses", "users"} {
				x.printf("delete from %s where user_id = %s;\n", table, quoted)
			}
		}
	}
	for _, s := range sessions {
		to.session(s)
	}
}

// bookings writes the bookings among what a line names, and those whose tickets it names.
func (x *SQL) bookings(seen map[string]bool, l *journal.Line) {
	written := map[ids.ID]bool{}
	var left []string
	for text := range seen {
		id, _ := ids.Parse(text)
		b := x.state.Bookings.Any(id)
		if ticket, t := x.state.Bookings.AnyTicket(id); b == nil && t != nil {
			b = ticket
		}
		if b == nil {
			left = append(left, text)
			continue
		}
		if written[b.ID] {
			continue
		}
		written[b.ID] = true
		x.booking(b, l.Time)
	}
	if l.Type != "ticket.moved" {
		return
	}
	for _, text := range left { // the ticket was the last one of its booking
		x.printf("delete from bookings where booking_id = %s;\n", quote(text))
	}
}

// booking writes a booking with its tickets.
func (x *SQL) booking(b *booking.Booking, now time.Time) {
	for i := range b.Tickets {
		x.printf("delete from ticket_phones where ticket_id = %s;\n", quote(b.Tickets[i].ID.String()))
	}
	rows(x.upsert).booking(b, now)
}

// upsert writes a row in place of the one that has its key.
func (x *SQL) upsert(name string, cells ...any) {
	t := x.tables[name]
	values := make([]string, len(cells))
	for i, c := range cells {
		values[i] = literal(c)
	}
	var set []string
	for _, column := range t.columns {
		set = append(set, column+" = excluded."+column)
	}
	x.printf("insert into %s (%s) values (%s) on conflict (%s) do update set %s;\n", name,
		strings.Join(t.columns, ", "), strings.Join(values, ", "), strings.Join(t.key, ", "),
		strings.Join(set, ", "))
}

// literal returns a cell as SQL has it.
func literal(cell any) string {
	switch c := cell.(type) {
	case time.Time:
		if c.IsZero() {
			return "null"
		}
		return quote(cellTime(c))
	case bool, int, int16, int32, int64, uint64, float64:
		return fmt.Sprint(c)
	}
	text := fmt.Sprint(cell)
	if text == "" {
		return "null"
	}
	return quote(text)
}

// quote returns a text as SQL has it.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
