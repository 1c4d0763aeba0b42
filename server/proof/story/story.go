// Package story says in words what the lines of a journal did: for the log, for evidence, and for the desk.
//
//	keeper.Apply(line.Stamp, entry)
//	fmt.Println(story.Tell(keeper.State, entry, line))
//
// A line whose event has no words of its own is told as its data, without JSON's punctuation.
package story

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"waybill/auth"
	"waybill/schedule/ids"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/store/journal"
)

// TimeLayout is how a story writes instants.
const TimeLayout = "2006-01-02 15:04:05.000"

// Tell says in words what a line's entry did, after it was applied.
func Tell(s ledger.State, x ledger.Entry, l *journal.Line) string {
	t := teller{State: s, now: l.Time}
	return cmp.Or(t.tell(x.Event), Plain(l))
}

// Public says the same for a screen that everybody sees (decision desk.wall), by the line alone, so that no
// other lines are read for it. Who sells, who operates and what somebody typed are left out; of ids the
// beginning is shown. Of the state, which may be that after later lines, only what never changes is taken:
// runs as they were sold, and what a ticket costs. "" is a line whose type has no words of its own, or whose
// data is not what its type says.
func Public(s ledger.State, l *journal.Line) string {
	event, err := ledger.ByItself(l)
	if err != nil {
		return ""
	}
	t := teller{State: s, public: true}
	return t.tell(event)
}

// teller tells what events did to a state, by an instant. Each of its methods knows some types of events, and
// returns "" of the others: a type that none knows is told as its data.
//
// A story names who did something by what the journal knows: partners by their names, users by their ids. It
// has no personal data, so that it can be shown to whoever may see that something happened.
type teller struct {
	ledger.State
	now    time.Time // of the state
	public bool      // see Public
}

// tell returns what an event did; "" of a type that has no words.
func (t teller) tell(event ledger.Event) string {
	said := t.booking(event)
	if said == "" {
		said = t.run(event)
	}
	if said == "" {
		said = t.account(event)
	}
	if said == "" {
		said = t.operation(event)
	}
	return said
}

// more says what is not for everybody.
func (t teller) more(format string, args ...any) string {
	if t.public {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// PublicID is how many characters of an id everybody sees.
const PublicID = 6

// id returns an id, or the beginning of one that everybody sees.
func (t teller) id(id ids.ID) string {
	if t.public {
		return id.String()[:PublicID]
	}
	return id.String()
}

// account tells of partners, and of users and their sessions; "" of others.
func (t teller) account(event ledger.Event) string {
	switch e := event.(type) {
	// Of a key only the hash is known: who has the key can find its line, and nobody can make the key of it.
	case *auth.KeyAdded:
		who := cmp.Or(t.more("%q (%s)", e.Name, e.Partner), "a partner")
		return "partner add: " + who + " has a new key" +
			t.more(", whose hash is %s; companies, if limited: %q", e.Hash, e.Companies)
	case *auth.KeysRevoked:
		return "partner revoke: the keys" + t.more(" with the hashes %s", e.Hashes) + " of " +
			t.partner(e.Partner)
	case *auth.LegacyUsed:
		return t.partner(e.Partner) + " calls the legacy interface, for the first time on this day"
	// Names and addresses are personal, and stand in the line where they can be erased.
	case *auth.UserAdded:
		return fmt.Sprintf("user add: the new user %s is %s", t.id(e.User), e.Access.Role) +
			t.more(" of company %q%s", e.Access.Company.Slug, linked(e.Link))
	case *auth.AccessGiven:
		return fmt.Sprintf("user add: user %s is %s", t.id(e.User), e.Access.Role) +
			t.more(" of company %q%s", e.Access.Company.Slug, linked(e.Link))
	case *auth.UserRemoved:
		return fmt.Sprintf("user remove: user %s is removed and signed out", t.id(e.User))
	case *auth.SessionStarted:
		return fmt.Sprintf("user %s signs in", t.id(e.User)) +
			t.more(" for company %q: session %s%s", e.Company, e.Session, linked(e.Link))
	case *auth.SessionRefreshed:
		return fmt.Sprintf("session %s is refreshed, and lasts until %s", t.id(e.Session),
			e.Until.Format(time.RFC3339))
	case *auth.SessionEnded:
		return fmt.Sprintf("session %s ends", t.id(e.Session)) + t.more(": %s", e.Reason)
	}
	return ""
}

// operation tells of what operators do with the directory as a whole; "" of others.
func (t teller) operation(event ledger.Event) string {
	switch e := event.(type) {
	case *ledger.TimetableImported:
		return fmt.Sprintf("import: the timetable%s is in force: %s, %s, %s, %s skipped", t.more(" %q", e.Feed),
			words.Counted(e.Cities, "city"), words.Counted(e.Routes, "route"), words.Counted(e.Trips, "trip"),
			words.Counted(e.Skipped, "row")) + t.more("; SHA-256 %s", e.Hash)
	case *ledger.KeysRotated:
		return "key rotate: offers are signed with a new key"
	case *ledger.WorldForked:
		return fmt.Sprintf("the world %sof a test bench, a copy of %s", t.more("%s ", e.World),
			cmp.Or(t.more("%s: it left %s after line %d", e.From, e.Origin, e.Seq), "another"))
	// All instants in lines after this one are by this clock.
	case *ledger.ClockSet:
		if !e.Still.IsZero() {
			return "the clock stands still at " + e.Still.Format(time.RFC3339Nano)
		}
		ahead := time.Duration(e.OffsetMs) * time.Millisecond
		if ahead < 0 {
			return fmt.Sprintf("the clock is now %v behind the machine's", -ahead)
		}
		return fmt.Sprintf("the clock is now %v ahead of the machine's", ahead)
	case *ledger.MessagesSent:
		return fmt.Sprintf("messages to passengers %s: %s", e.As.InWords(), strings.Join(e.IDs, ", "))
	// Whom it was about is gone by now; the lines that it names had the data.
	case *ledger.PersonalErased:
		return fmt.Sprintf("forget: the personal data of %s is erased, from the lines %d",
			words.Counted(len(e.AllTickets()), "ticket"), e.Lines) + t.more(": %s", e.Reason)
	case *ledger.PassengersForgotten:
		return fmt.Sprintf("forget: the passengers of %s are forgotten; a later line names their lines",
			words.Counted(len(e.Passengers), "ticket")) + t.more(": %s", e.Reason)
	}
	return ""
}

// partnerOf returns the partner of a booking in words.
func (t teller) partnerOf(booking ids.ID) string {
	if t.public {
		return "a partner"
	}
	return t.partner(t.PartnerOf(booking))
}

// partner returns a partner in words. A partner that was ever named is there: none is deleted.
func (t teller) partner(id ids.ID) string {
	if t.public {
		return "a partner"
	}
	return fmt.Sprintf("partner %q", t.Partners.ByID(id).Name)
}

// linked says whom a user is linked to by an event; "" where by none.
func linked(l *auth.Linked) string {
	if l == nil {
		return ""
	}
	return "; linked to a subject of " + cmp.Or(l.Issuer, "the first issuer that shows it")
}

// Plain returns the data of a line without JSON's punctuation, and without who wrote it: for lines that are
// rare or say all in their members, and where the lines before it are not read.
func Plain(l *journal.Line) string {
	without := strings.NewReplacer(`":`, " ", `{`, "", `}`, "", `"`, "", `,`, ", ")
	return without.Replace(string(ledger.WithoutBy(l.Data)))
}
