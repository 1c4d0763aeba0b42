package verify_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// The program of this package's tests knows which it is, as that of a release does.
func init() { ledger.Stamp("v9.0.0", strings.Repeat("c0ffee", 7)[:40]) }

// answered returns a directory in which a sale has an Idempotency-Key, by a program.
func answered(t *testing.T, program any) *bookkeeping {
	t.Helper()
	b := &bookkeeping{dir: t.TempDir()}
	s, key := rig.Demo(t, server.Config{
		Dir:     b.dir,
		Now:     func() time.Time { return rig.Start },
		Program: program,
	})
	body := rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 2)
	if a := rig.KeyedCall(s, key, "k1", "/v2/bookings", body); a.Code != 201 {
		t.Fatal(a.Body)
	}
	b.finish(t, s)
	return b
}

// Decision verify.answers: the answer to a sale is made again from its line, and has the hash that stands
// there.
func TestAnAnswerIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := answered(t, ledger.ThisProgram())
	rep, err := verify.Directory(durable.Dir(b.dir), false, inspect.Expected{})
	if err != nil || rep.Books.Answers != 1 || rep.Books.Remade != 1 {
		t.Fatal(rep.Books, err)
	}
	line := b.line(t, "booking.created", 1)
	forged := b.rewrite(t, line, `"answer":"[0-9a-f]{8}`, `"answer":"00000000`)
	mustName(t, "another answer", forged, line, "has an answer with the SHA-256 00000000")
}

// Decision verify.answers: what another program has answered, or one whose source was modified, is counted
// only.
func TestAnAnswerOfAnotherProgramIsCounted(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*ledger.Program){
		"another version":  func(p *ledger.Program) { p.Version = "v9.0.1" },
		"another revision": func(p *ledger.Program) { p.Revision = strings.Repeat("0", 40) },
		"no revision":      func(p *ledger.Program) { p.Revision = "" },
		"modified":         func(p *ledger.Program) { p.Modified = true },
	} {
		program := ledger.ThisProgram()
		change(program)
		b := answered(t, program)
		forged := b.rewrite(t, b.line(t, "booking.created", 1), `"answer":"[0-9a-f]{8}`, `"answer":"00000000`)
		rep, err := verify.Directory(durable.Dir(forged), false, inspect.Expected{})
		if err != nil || rep.Books.Answers != 1 || rep.Books.Remade != 0 {
			t.Errorf("%s: %v, %v", what, rep.Books, err)
		}
	}
}

// Decision verify.answers: of passengers who were forgotten no answer can be made.
func TestAnAnswerOfTheForgottenIsCounted(t *testing.T) {
	t.Parallel()
	b := answered(t, ledger.ThisProgram())
	s, err := server.Open(server.Config{
		Dir:     b.dir,
		Now:     func() time.Time { return rig.Start.Add(time.Hour) },
		Program: ledger.ThisProgram(),
	})
	if err != nil {
		t.Fatal(err)
	}
	sale := b.lines[b.line(t, "booking.created", 1)-1]
	id := regexp.MustCompile(`"booking":"([^"]+)"`).FindStringSubmatch(sale)[1]
	_, failed := rig.Forget(s, "booking", id)
	if err := errors.Join(failed, s.Close()); err != nil {
		t.Fatal(err)
	}
	rep, err := verify.Directory(durable.Dir(b.dir), false, inspect.Expected{})
	if err != nil || rep.Books.Answers != 1 || rep.Books.Remade != 0 {
		t.Error(rep.Books, err)
	}
}

// Decisions seats.surplus, verify.books: where an import has left more passengers than seats, a line that
// sells one more is named, though nobody has its seat.
func TestASaleBeyondASmallerBusIsNamed(t *testing.T) {
	t.Parallel()
	b := &bookkeeping{dir: t.TempDir()}
	s, key := rig.Demo(t, server.Config{Dir: b.dir, Now: func() time.Time { return rig.Start }})
	book := func(n int) rig.Answer {
		t.Helper()
		a := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv"), n))
		if a.Status != 201 {
			t.Fatal(a)
		}
		return a
	}
	group := book(15).Data.Booking
	rig.Call(t, s, key, "POST", "/v2/bookings/"+group.ID+"/pay", "")
	smaller := rig.FeedWith(t,
		map[string][][2]string{"waybill_buses.txt": {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,12,"}}})
	if err := s.Admin.Import(smaller, "smaller", admin.ImportOptions{}, new(strings.Builder)); err != nil {
		t.Fatal(err)
	}
	var gone []string
	for _, ticket := range group.Tickets[:4] {
		gone = append(gone, `"`+ticket.ID+`"`)
	}
	rig.Call(t, s, key, "POST", "/v2/bookings/"+group.ID+"/cancel",
		`{"ticketIds":[`+strings.Join(gone, ",")+`]}`)
	book(1)
	b.finish(t, s)
	if _, err := verify.Directory(durable.Dir(b.dir), false, inspect.Expected{}); err != nil {
		t.Fatal(err)
	}
	kept := b.rewrite(t, b.line(t, "tickets.canceled", 1), `\{"id":`+gone[1]+`[^}]*\},`, "")
	mustName(t, "thirteen on twelve seats", kept, b.line(t, "booking.created", 2),
		"takes 1 of 0 free seats on leg 1")
}
