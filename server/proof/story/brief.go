package story

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/store/journal"
)

// Brief says what a line did for a screen that everybody sees (decision desk.wall): in the words of Tell, but
// by the line alone, so that no other lines are read for it, and without a name. Who travels, who sells, who
// operates and what somebody typed as a reason are left out; ids are cut to their first 6 characters. Of the
// state only what never changes is taken: runs as they were sold, and the currency of a booking. "" is a line
// of a type that has no such words.
func Brief(s ledger.State, l *journal.Line) string {
	b := brief{state: s, line: l}
	if json.Unmarshal(l.Data, &b.data) != nil {
		return ""
	}
	said := b.booking()
	if said == "" {
		said = b.run()
	}
	if said == "" {
		said = b.account()
	}
	if said == "" {
		said = b.operation()
	}
	return said
}

// brief says what one line did.
type brief struct {
	state ledger.State
	line  *journal.Line
	data  briefData
}

// briefData is what is taken of the data of a line, whatever its type. No member of it is a name.
type briefData struct {
	Booking, Ticket, From string
	Currency              string
	Legs                  []booking.SoldLeg
	Tickets               []json.RawMessage
	Seats                 []int
	Run                   *ids.RunName
	Action, Status        string
	Unknown               bool
	At                    time.Time
	Minutes               int
	Passengers            json.RawMessage // how many, or a list
	People                int
	Page                  string
	KeyHashes             []string
	Rows                  int
	IsGeolocation         bool
	Cities, Routes, Trips int
	Skipped               int
	To                    int
	Real                  bool
	OffsetMs              int64
	Still                 time.Time
	Messages              []string
	As                    string
	Lines                 []uint64
	After                 string
}

// shortID is how much of an id is shown.
const shortID = 6

// short returns the beginning of an id.
func short(id string) string { return id[:min(len(id), shortID)] }

// ticket returns the ticket that the line is about.
func (b *brief) ticket() string {
	return fmt.Sprintf("ticket %s of booking %s", short(b.data.Ticket), short(b.data.Booking))
}

// booking says what a line did with a booking or a ticket; "" of others.
func (b *brief) booking() string {
	x := &b.data
	switch b.line.Type {
	case "booking.created":
		return b.created()
	case "ticket.asked":
		return "the provider is asked to " + x.Action + " for a partner: " + b.ticket()
	case "ticket.refused":
		if x.Unknown {
			return "the provider gave no clear answer on whether to " + x.Action + ": " + b.ticket()
		}
		return "the confirmation is refused to " + x.Action + " for a partner: " + b.ticket()
	case "ticket.paid", "ticket.booked":
		what := strings.TrimPrefix(b.line.Type, "ticket.")
		if x.Seats != nil {
			what += " with a new seat"
		}
		return what + " for a partner: " + b.ticket()
	case "tickets.canceled":
		return fmt.Sprintf("a partner cancels: %s of booking %s%s", words.Counted(len(x.Tickets), "ticket"),
			short(x.Booking), b.refunded())
	case "tickets.uncompleted":
		n := len(x.Tickets)
		return fmt.Sprintf("noted: %s of booking %s%sUncompleted from %s on", words.Counted(n, "ticket"),
			short(x.Booking), words.Were(n), x.At.UTC().Format(TimeLayout))
	case "ticket.moved":
		return fmt.Sprintf("ticket move: %s, no longer of booking %s", b.ticket(), short(x.From))
	case "ticket.carrier":
		return fmt.Sprintf("ticket status, by the carrier: %s is %s", b.ticket(), x.Status)
	case "request.answered":
		return "a partner's request is answered, and the answer is kept"
	}
	return ""
}

// created says where to a booking is, and for how many.
func (b *brief) created() string {
	var said strings.Builder
	fmt.Fprintf(&said, "a partner makes booking %s, passengers: %d", short(b.data.Booking),
		len(b.data.Tickets))
	for _, l := range b.data.Legs {
		r := b.state.Bookings.RunByID(l.Run)
		if r == nil || int(max(l.From, l.To)) >= len(r.Form.Stops) {
			continue // the line is damaged in a way that a reader of the whole journal says more of
		}
		fmt.Fprintf(
			&said,
			"; trip %s of %s, %q to %q, leaves %s, %s %s each",
			schedule.FeedID(r.Form.Trip),
			r.Day,
			r.Form.Stops[l.From].City.Name,
			r.Form.Stops[l.To].City.Name,
			r.Local(r.Dep(l.From), l.From).Format("2006-01-02 15:04 -07:00"),
			words.Hundredths(l.Amount),
			b.data.Currency,
		)
	}
	return said.String()
}

// refunded says how much comes back for the tickets of a line.
func (b *brief) refunded() string {
	sum := int64(0)
	paid := false
	for _, text := range b.data.Tickets {
		var ticket struct {
			Refunded bool
			Refund   int64
		}
		if json.Unmarshal(text, &ticket) == nil {
			sum += ticket.Refund
			paid = paid || ticket.Refunded
		}
	}
	id, _ := ids.Parse(b.data.Booking)
	found := b.state.Bookings.Any(id)
	switch {
	case !paid:
		return ", with no refund"
	case found == nil || len(found.Tickets) == 0: // all have moved away
		return ", refunded"
	}
	return fmt.Sprintf(", refunded %s %s", words.Hundredths(sum), found.Tickets[0].Currency)
}

// run says what a line did with a run, or who has read of it; "" of others.
func (b *brief) run() string {
	x := &b.data
	switch b.line.Type {
	case "run.cancelled":
		n := len(x.Tickets)
		return fmt.Sprintf("run cancel: %s, %s%scancelled", x.Run, words.Counted(n, "ticket"), words.Were(n))
	case "run.moved":
		n := len(x.Tickets)
		return fmt.Sprintf("run move: %s leaves %s, %s%stold", x.Run, Later(x.Minutes),
			words.Counted(n, "passenger"), words.Were(n))
	case "run.restored":
		return fmt.Sprintf("run restore: the change of %s is taken back", x.Run)
	case "manifest.read":
		return fmt.Sprintf("the passenger list of %s was read, passengers: %s", x.Run, x.Passengers)
	case "personal.read":
		return fmt.Sprintf("the page %s of the desk was read, with the data of %s", x.Page,
			words.Counted(x.People, "person"))
	}
	return ""
}

// account says what a line did with a partner or a user; "" of others.
func (b *brief) account() string {
	switch b.line.Type {
	case "partner.key_added":
		return "partner add: a partner has a new key"
	case "partner.revoked":
		return "partner revoke: " + words.Counted(len(b.data.KeyHashes), "key") + " of a partner"
	case "partner.legacy_used":
		return "a partner calls the legacy interface, for the first time on this day"
	case "user.added":
		return "user add: there is a new user"
	case "user.access_given":
		return "user add: a user gets access"
	case "user.removed":
		return "user remove: a user is removed and signed out"
	case "session.started":
		return "a user signs in"
	case "session.refreshed":
		return "a session is refreshed"
	case "session.ended":
		return "a session ends"
	case "report.ordered":
		return "a report is ordered"
	case "report.completed":
		return "a report is ready: " + words.Counted(b.data.Rows, "row")
	case "report.downloaded":
		return "a report is fetched"
	case "geolocation.set":
		if b.data.IsGeolocation {
			return "a bus shows its position"
		}
		return "a bus no longer shows its position"
	}
	return ""
}

// operation says what a line did with the directory as a whole; "" of others.
func (b *brief) operation() string {
	x := &b.data
	switch b.line.Type {
	case "timetable.imported":
		return fmt.Sprintf("import: a timetable is in force: %s, %s, %s, %s "+
			"skipped", words.Counted(x.Cities, "city"),
			words.Counted(x.Routes, "route"), words.Counted(x.Trips, "trip"), words.Counted(x.Skipped, "row"))
	case "keys.rotated":
		return "key rotate: offers are signed with a new key"
	case "world.forked":
		return "a world of a test bench begins as a copy of another"
	case "clock.set":
		return b.clock()
	case "outbox.sent":
		return fmt.Sprintf("messages to passengers %s: %d", ledger.SentAs(x.As).InWords(), len(x.Messages))
	case "outbox.parked":
		return "a message to a passenger is parked until an operator acts"
	case "outbox.retried":
		return words.Counted(len(x.Messages), "message") + " to passengers: tried again"
	case "personal.erased":
		return "forget: personal data is erased, from " + words.Counted(len(x.Lines), "line")
	case "passengers.forgotten":
		return "forget: passengers are forgotten; a later line names their lines"
	case "opened":
		return "the directory is opened, after: " + x.After
	case "forked":
		return "the directory is a copy, and continues under its own name"
	case "repaired":
		return "the journal was damaged and is repaired"
	}
	return ""
}

// clock says how the test clock was set.
func (b *brief) clock() string {
	ahead := time.Duration(b.data.OffsetMs) * time.Millisecond
	switch {
	case !b.data.Still.IsZero():
		return "the clock stands still at " + b.data.Still.Format(time.RFC3339Nano)
	case ahead < 0:
		return fmt.Sprintf("the clock is now %v behind the machine's", -ahead)
	}
	return fmt.Sprintf("the clock is now %v ahead of the machine's", ahead)
}
