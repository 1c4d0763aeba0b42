package verify_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// bookkeeping is a directory in which a partner has sold five seats of two runs and refunded one, and what is
// in it.
type bookkeeping struct {
	dir      string
	format   string
	lines    []string
	bookings []string
	tickets  []string
}

// newBookkeeping makes one, and does something more at its end, unless that is nil.
func newBookkeeping(t *testing.T, more func(*server.Server)) *bookkeeping {
	t.Helper()
	return newBookkeepingOf(t, func(*bookkeeping, asked) {}, more)
}

// asked does what a partner asks for: an action on a booking, by its place among the bookings.
type asked func(action string, booking int, body string)

// newBookkeepingOf makes one, and does something more before its end as the partner, and as the operator.
func newBookkeepingOf(t *testing.T, asPartner func(*bookkeeping, asked),
	more func(*server.Server)) *bookkeeping {
	t.Helper()
	b := &bookkeeping{dir: t.TempDir()}
	var since atomic.Int64 // nanoseconds
	s, key := rig.Demo(t, server.Config{Dir: b.dir, Now: func() time.Time {
		return rig.Start.Add(time.Duration(since.Load()))
	}})
	book := func(query string, n int) {
		t.Helper()
		a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(rig.Offer(t, s, key, query), n))
		if a.Status != 201 {
			t.Fatal(a)
		}
		b.bookings = append(b.bookings, a.Data.Booking.ID)
		for _, ticket := range a.Data.Booking.Tickets {
			b.tickets = append(b.tickets, ticket.ID)
		}
	}
	do := func(action string, booking int, body string) {
		t.Helper()
		a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.bookings[booking]+"/"+action, body)
		if a.Status != 200 {
			t.Fatal(a)
		}
	}
	book(rig.Bukovel, 2)
	do("pay", 0, `{"ticketIds":["`+b.tickets[0]+`"]}`)
	book("departureCitySlug=kyiv&arrivalCitySlug=lviv", 3)
	do("pay", 1, "")
	since.Add(int64(10 * time.Minute))
	do("cancel", 1, `{"ticketIds":["`+b.tickets[2]+`"]}`)
	since.Add(int64(15 * time.Minute))
	book(rig.Bukovel, 1) // the second seat is free again
	do("cancel", 2, "")
	asPartner(b, do)
	if more != nil {
		more(s)
	}
	b.finish(t, s)
	return b
}

// finish closes the server of the directory, and reads its lines.
func (b *bookkeeping) finish(t *testing.T, s *server.Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	format, noFormat := os.ReadFile(filepath.Join(b.dir, "FORMAT"))
	text, noText := os.ReadFile(filepath.Join(b.dir, rig.JournalFile))
	if err := errors.Join(noFormat, noText); err != nil {
		t.Fatal(err)
	}
	b.format = string(format)
	for line := range strings.Lines(string(text)) {
		b.lines = append(b.lines, line)
	}
}

// line returns the number, from 1, of the nth line of a type.
func (b *bookkeeping) line(t *testing.T, kind string, nth int) int {
	t.Helper()
	for i, l := range b.lines {
		if strings.Contains(l, `"type":"`+kind+`"`) {
			if nth--; nth == 0 {
				return i + 1
			}
		}
	}
	t.Fatalf("there is no %s", kind)
	return 0
}

// rewrite returns a directory of the same, in which what matches in a line reads otherwise; of one below 0
// also in those after it; and to which, of line 0, a line is added. It is chained and signed anew.
func (b *bookkeeping) rewrite(t *testing.T, line int, pattern, with string) string {
	t.Helper()
	lines := append([]string(nil), b.lines...)
	if line == 0 {
		lines = append(lines, strings.Repeat(" ", 75)+fmt.Sprintf(`"seq":%d,"synced":%d,`, len(lines)+1,
			len(lines))+with+"}\n")
	}
	for i, old := range lines {
		if i+1 == line || line < 0 && i+1 >= -line {
			lines[i] = regexp.MustCompile(pattern).ReplaceAllString(old, with)
			if lines[i] == old && i+1 == line {
				t.Fatalf("line %d has no %s: %s", line, pattern, old)
			}
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(b.dir)); err != nil {
		t.Fatal(err)
	}
	err := os.WriteFile(filepath.Join(dir, rig.JournalFile), []byte(rig.Rechained(b.format, lines)), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	resign(t, dir)
	rig.Keep(t, dir)
	return dir
}

// Decision verify.books: a journal whose chain is good and whose books are not is found out, by its line or
// its ticket.
func TestVerifyFindsWrongBooks(t *testing.T) {
	t.Parallel()
	b := newBookkeeping(t, nil)
	at := func(kind string, nth int) int { return b.line(t, kind, nth) }
	for what, c := range map[string]struct {
		line       int
		from, to   string
		wantLine   bool
		wantReason string
	}{
		"a seat is sold to two of a booking": {at("booking.created", 2), `"seats":\[2\]`, `"seats":[1]`, true, "were sold the same seat 1"},
		"a seat is sold that another has": {at("booking.created", 3), `"seats":\[2\]`, `"seats":[1]`,
			true, "is sold to the tickets .*" + b.tickets[0]},
		"a seat is sold that no bus has": {at("booking.created", 2), `"seats":\[2\]`, `"seats":[400]`,
			true, `seats \[400\]: the bus of leg 1 has no such seat`},
		"a seat 0 is sold": {at("booking.created", 2), `"seats":\[2\]`, `"seats":[0]`,
			true, `seats \[0\]: the bus of leg 1 has no such seat`},
		"a ride goes backwards": {at("booking.created", 3), `"from":\d+`, `"from":9`, true,
			"leg 1 is not a ride on a run that was sold"},
		"a ride goes beyond its run": {at("booking.created", 3), `"to":\d+`, `"to":99`, true, "leg 1 is not a ride on a run that was sold"},
		"a discount is given that does not exist": {at("booking.created", 3), `"discount":-?\d+`,
			`"discount":200`, true, "leg 1 is not a ride on a run that was sold"},
		"a ticket is canceled twice": {at("tickets.canceled", 2), b.tickets[5], b.tickets[2], true,
			"in a state that this cancellation|does not fit"},
		"a payment takes another's seat": {at("ticket.paid", 3), `"request"`, `"seats":[1],"request"`,
			true, "gets a new seat, but still has its own"},
		"a ticket that is not there is " +
			"paid": {at("ticket.paid", 1), b.tickets[0], b.bookings[0], true, "there is no ticket"},
		"one of another booking is": {at("ticket.paid", 1), `"booking":"[^"]+`,
			`"booking":"` + b.tickets[0], true, "booking " + b.tickets[0] + " does not exist"},
		"more is refunded than was paid": {at("tickets.canceled", 1), `"refund":\d+`, `"refund":9999999`,
			true, "is refunded 99999.99 within the grace; the rules give 770.00 within the grace"},
		"less than nothing is refunded": {at("tickets.canceled", 1), `"refund":\d+`, `"refund":-1`,
			true, "is refunded -0.01 within the grace; the rules"},
		"what was never paid is refunded": {at("tickets.canceled", 2), `"refunded":false`,
			`"refunded":true`, true, "ticket " + b.tickets[5] + " is in a state that this cancellation does not fit"},
		"a ticket not there is canceled": {at("tickets.canceled", 2), b.tickets[5], b.bookings[0], true,
			"there is no ticket " + b.bookings[0]},
		"what is not there is canceled": {at("tickets.canceled", 2), b.bookings[2], b.tickets[0], true,
			"booking " + b.tickets[0] + " does not exist"},
		"a ticket is in two bookings": {-at("booking.created", 3), b.tickets[5], b.tickets[0], false,
			"ticket " + b.tickets[0] + " already exists"},
		"a ticket is twice in a booking": {-at("booking.created", 3), b.tickets[5], b.tickets[0], false,
			"ticket " + b.tickets[0] + " already exists"},
		"a ticket is paid twice": {at("ticket.paid", 3), b.tickets[3], b.tickets[2], true,
			"ticket " + b.tickets[2] + " cannot be paid in its current state"},
		"a booking is there twice": {at("booking.created", 2), b.bookings[1], b.bookings[0], true,
			"booking " + b.bookings[0] + " already exists"},
		"a run is named that was never sold": {at("booking.created", 3), `"run":"[^"]+`,
			`"run":"AAAAAAAAAAAAAAAA`, true, "leg 1 is not a ride on a run that was sold"},
		"fewer seats are given than legs": {at("booking.created", 3), `"seats":\[2\]`, `"seats":[]`, true,
			"ticket " + b.tickets[5] + `, seats \[\]: the bus of leg 1 has no such seat`},
		"more seats are given than legs": {at("booking.created", 3), `"seats":\[2\]`, `"seats":[2,3]`, true,
			"ticket " + b.tickets[5] + ` has 2 seats, for 1 legs`},
		"a seat is given in words": {at("booking.created", 3), `"seats":\[2\]`, `"seats":["2"]`, false,
			"written by a newer version: booking.created"},
		"a currency of four letters": {at("booking.created", 2), `"currency":"UAH"`, `"currency":"UAHX"`, false,
			"written by a newer version: booking.created"},
		"a passenger is forgotten whom no booking has": {0, "",
			`"time":"2026-11-20T09:00:00.000Z","type":"passengers.forgotten","data":{"reason":"asked","passengers":` +
				`[{"partner":"AAAAAAAAAAAAAAAAAAAAAA","booking":"` + b.bookings[0] + `","ticket":"` + b.tickets[0] + `"}]}`,
			true, "has no ticket " + b.tickets[0] + " of booking " + b.bookings[0]},
		"a clock is set back": {0, "",
			`"time":"2026-11-20T08:05:00.000Z","type":"clock.set","data":{"real":false,"offsetMs":-1200000}`,
			true, "the clock is set back by 20m0s, and there are bookings"},
	} {
		_, err := verify.Directory(durable.Dir(b.rewrite(t, c.line, c.from, c.to)), false, inspect.Expected{})
		var d *journal.Damage
		if err == nil || !regexp.MustCompile(c.wantReason).MatchString(err.Error()) {
			t.Errorf("%s: %v, want %s", what, err, c.wantReason)
		} else if c.wantLine && (!errors.As(err, &d) || d.File != rig.JournalFile || d.Line < c.line) {
			t.Errorf("%s: %v, want line %d", what, err, c.line)
		}
	}
}

// Decision verify.books: what a line says of a run that was cancelled or moved is held against the tickets as
// well.
func TestVerifyFindsWrongRuns(t *testing.T) {
	b := newBookkeeping(t, func(s *server.Server) {
		changeRun(t, s, "move", "kl-0700", "minutes", "25")
		changeRun(t, s, "restore", "kl-0700")
		read := &admin.Act{
			Form: url.Values{"trip": {"kl-0530"}, "date": {"2026-11-25"}},
			Out:  new(bytes.Buffer),
		}
		if err := s.Admin.Do("manifest", read); err != nil {
			t.Fatal(err)
		}
		changeRun(t, s, "move", "kl-0530", "minutes", "25")
		changeRun(t, s, "cancel", "kl-0530")
	})
	other := durable.Dir(b.rewrite(t, 1, `creation`, "Creation"))
	rep, err := verify.Directory(other, false, inspect.Expected{})
	if err != nil || !strings.HasSuffix(rep.Books.String(), "; 1 run cancelled, 0 moved") {
		t.Errorf("%s, %v", rep.Books, err)
	}
	moved := b.line(t, "run.moved", 2)
	restored := b.line(t, "run.restored", 1)
	read := b.line(t, "manifest.read", 1)
	canceled := b.line(t, "run.cancelled", 1)
	theirs := "the rules give ticket " + b.tickets[3] + " of booking "
	for what, c := range map[string]struct {
		line       int
		from, to   string
		wantReason string
	}{
		"less comes back than was paid": {canceled, `"refund":\d+`, `"refund":1`, ", refunded, with 0.01 UAH back; " + theirs},
		"nothing comes back": {canceled, `"refunded":true,"refund":\d+`, `"refunded":false,"refund":0`,
			", canceled, with 0.00 UAH back; " + theirs},
		"a ticket of another run goes with it": {canceled, b.tickets[3], b.tickets[0], "is cancelled " +
			"with ticket " + b.tickets[0] + " of booking "},
		"one that was refunded does": {canceled, b.tickets[3], b.tickets[2], theirs},
		"another run is cancelled": {canceled, "kl-0530", "kl-0700", "kl-0700 on 2026-11-25 " +
			"is cancelled with ticket " + b.tickets[3]},
		"it moves by other minutes":       {moved, `"start":\d`, `"start":9`, "is not moved by 25 minutes from the times it was sold with"},
		"it moves without its passengers": {moved, `"runs":\[.*?\],"tickets"`, `"runs":[],"tickets"`, "is moved without ticket"},
		"it moves by more than may be": {moved, `"minutes":25(.*?"start":)\d+`, `"minutes":9000${1}1764400000`,
			"is moved by 9000 minutes; the limit is 720"},
		"it moves to a clock that there is not": {moved, `"offsets":\[\d+`, `"offsets":[999999`,
			"is not moved by 25 minutes from the times it was sold with"},
		"nobody is told":                  {moved, `"tickets":\[.*\]`, `"tickets":null`, "the tickets to be told are not those of the run"},
		"another partner is told":         {moved, `"partner":"[^"]{5}`, `"partner":"AAAAA`, "the tickets to be told are not those of the run"},
		"nobody's ticket goes with it":    {canceled, `"tickets":\[.*\]`, `"tickets":null`, "is cancelled with no other ticket; " + theirs},
		"what nobody changed is restored": {restored, "kl-0700", "kl-0530", "nothing to change"},
		"others were read than travel":    {read, `"passengers":\d+`, `"passengers":7`, "passengers, and not 7"},
	} {
		_, err := verify.Directory(durable.Dir(b.rewrite(t, c.line, c.from, c.to)), false, inspect.Expected{})
		if err == nil || !strings.Contains(err.Error(), c.wantReason) {
			t.Errorf("%s: %v, want %s", what, err, c.wantReason)
		}
	}
}

// changeRun cancels or moves a run of 2026-11-25 by an operator, whose form has more fields.
func changeRun(t *testing.T, s *server.Server, how, trip string, more ...string) {
	t.Helper()
	form := url.Values{"trip": {trip}, "date": {"2026-11-25"}, "reason": {"snow"}}
	for i := 0; i+1 < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	var out bytes.Buffer
	err := s.Admin.Do("run-"+how, &admin.Act{By: ledger.By{UID: 1000}, Form: form, Out: &out})
	if err != nil {
		t.Fatalf("run %s: %v", how, err)
	}
}

// Package store: a line of a report that was not ordered is damage, for verify and for a start.
func TestALineOfAnUnknownReportIsDamage(t *testing.T) {
	b := newBookkeeping(t, nil)
	part := `{"salt":"AAAAAAAAAAAAAAAAAAAAAA","sha256":"` + strings.Repeat("ab", 32) + `"}`
	for _, data := range []string{
		fmt.Sprintf(`"report.completed","data":{"report":"%s","rows":1,"personal":"%x"},"personal":%s`,
			b.bookings[0], sha256.Sum256([]byte(part)), part),
		`"report.downloaded","data":{"report":"` + b.bookings[0] + `"}`,
	} {
		dir := b.rewrite(t, 0, "", `"time":"2026-11-20T10:00:00.000Z","type":`+data)
		_, verified := verify.Directory(durable.Dir(dir), false, inspect.Expected{})
		_, opened := server.Open(server.Config{Dir: dir,
			Now: func() time.Time { return rig.Start.Add(3 * time.Hour) }})
		for who, err := range map[string]error{"Verify": verified, "Open": opened} {
			var d *journal.Damage
			want := "report " + b.bookings[0]
			if !errors.As(err, &d) || d.Line != len(b.lines)+1 || !strings.Contains(d.Reason, want) {
				t.Errorf("%s: %v, want line %d, %q", who, err, len(b.lines)+1, want)
			}
		}
	}
}

// Decision verify.verdict: the figures are those of the last line's time.
func TestVerifyTellsTheBooks(t *testing.T) {
	b := newBookkeeping(t, nil)
	for lines, want := range map[int]string{
		b.line(t, "booking.created", 1): "1 booking, 2 tickets, 2 Processing; 1 run with 3 seats, 0 sold, " +
			"2 held, 1 free; UAH 0.00 paid, 0.00 refunded",
		b.line(t, "ticket.paid", 1): "1 booking, 2 tickets, 1 Confirmed, 1 Processing; 1 run with 3 seats, " +
			"1 sold, 1 held, 1 free; UAH 200.00 paid, 0.00 refunded",
		len(b.lines): "3 bookings, 6 tickets, 1 Canceled, 3 Confirmed, 1 Refund, 1 Uncompleted; " +
			"2 runs with 22 seats, 3 sold, 0 held, 19 free; UAH 2510.00 paid, 770.00 refunded",
	} {
		whole := b.lines
		b.lines = b.lines[:lines]
		rep, err := verify.Directory(
			durable.Dir(b.rewrite(t, 1, `creation`, "Creation")),
			false,
			inspect.Expected{},
		)
		if b.lines = whole; err != nil || rep.Books.String() != want {
			t.Errorf("after line %d: %q, %v, want %q", lines, rep.Books, err, want)
		}
	}
}

// Decision verify.verdict: where keys are there, which are made after the first line, a journal without one
// was lost; neither verify nor a start takes the directory for a new one.
func TestLostJournalIsNoNewDirectory(t *testing.T) {
	b := newBookkeeping(t, nil)
	const lost = "journal: is empty, but keys/offer-tokens shows that it was not"
	for what, c := range map[string]struct {
		gone          []string
		journal, want string
	}{
		"no file":             {[]string{"journal"}, "", lost},
		"no file, no FORMAT":  {[]string{"journal", "FORMAT", "checkpoint.key"}, "", lost},
		"an empty file":       {nil, "", lost},
		"a torn first line":   {nil, b.lines[0][:99], lost},
		"a spoilt first line": {nil, "{}\n" + b.lines[1], "line 1 of journal/000000000001.jsonl (seq 1, byte 0)"},
		"no FORMAT":           {[]string{"FORMAT"}, b.lines[0], "FORMAT"},
		"its first line":      {nil, b.lines[0], ""},
	} {
		dir := b.rewrite(t, 1, `creation`, "Creation")
		if err := unsign(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, rig.JournalFile), []byte(c.journal), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range c.gone {
			os.RemoveAll(filepath.Join(dir, name))
		}
		_, verified := verify.Directory(durable.Dir(dir), false, inspect.Expected{})
		s, opened := server.Open(server.Config{Dir: dir,
			Now: func() time.Time { return rig.Start.Add(time.Hour) }})
		if opened == nil {
			s.Close()
		}
		for who, err := range map[string]error{"Verify": verified, "Open": opened} {
			if c.want == "" && err != nil || c.want != "" && !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s: %s: %v, want %q", what, who, err, c.want)
			}
		}
	}
}
