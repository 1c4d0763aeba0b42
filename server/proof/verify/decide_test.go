package verify_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/note"
)

// newDecided makes a directory in which a ticket was also refunded by a rule, and one that had lapsed was
// paid with a new seat.
func newDecided(t *testing.T) *bookkeeping {
	t.Helper()
	return newBookkeepingOf(t, func(b *bookkeeping, do asked) {
		do("cancel", 1, `{"ticketIds":["`+b.tickets[3]+`"]}`)
		do("pay", 0, `{"ticketIds":["`+b.tickets[1]+`"]}`)
	}, nil)
}

// Decision verify.books: what was decided is decided again, and each line that says otherwise is named, with
// what follows from the rules.
func TestVerifyDecidesAgain(t *testing.T) {
	t.Parallel()
	b := newDecided(t)
	if rep, err := verify.Directory(durable.Dir(b.dir), false, inspect.Expected{}); err != nil ||
		len(rep.Misfits.List) > 0 {
		t.Fatal(err)
	}
	sale := b.line(t, "booking.created", 2)
	byRule := b.line(t, "tickets.canceled", 3)
	revival := b.line(t, "ticket.paid", 5)
	for what, c := range map[string]struct {
		line           int
		from, to, want string
	}{
		"a price of nothing":          {sale, `"amount":\d+`, `"amount":0`, "sold for 0.00 UAH, but the timetable of line"},
		"a price of millions":         {sale, `"amount":\d+`, `"amount":490000000`, "sold for 4900000.00 UAH, but"},
		"another currency":            {sale, `"currency":"UAH"`, `"currency":"EUR"`, "sold for 770.00 EUR, but "},
		"a currency without a price":  {sale, `"currency":"UAH"`, `"currency":"XTS"`, "has no price in XTS"},
		"a partner that there is not": {sale, `"partner":"[^"]+"`, `"partner":"AAAAAAAAAAAAAAAAAAAAAA"`, "which does not exist"},
		"nothing within the grace": {b.line(t, "tickets.canceled", 1), `"refund":\d+,"grace":true`,
			`"refund":0,"grace":true`, "is refunded 0.00 within the grace; the rules give 770.00"},
		"another refund than the rule's": {byRule, `"refund":\d+,"grace":false`, `"refund":68300,"grace":false`,
			"is refunded 683.00"},
		"a grace that is over": {byRule, `"refund":\d+,"grace":false,"terms":\[[^\]]*\]`,
			`"refund":77000,"grace":true,"terms":null`, "is refunded 770.00 within the grace"},
		"a lapsed ticket without a seat": {revival, `"seats":\[\d+\],`, ``, "lapsed at 2026-11-20T08:20:00Z"},
	} {
		forged := durable.Dir(b.rewrite(t, c.line, c.from, c.to))
		rep, err := verify.Directory(forged, false, inspect.Expected{})
		var d *journal.Damage
		if !errors.As(err, &d) || !d.Books || d.Line != c.line || !strings.Contains(d.Reason, c.want) {
			t.Errorf("%s: %v, want line %d: %s", what, err, c.line, c.want)
		}
		if len(rep.Misfits.List) == 0 || rep.Misfits.List[0] != d {
			t.Errorf("%s: %v", what, rep.Misfits)
		}
	}
}

// Each line that breaks a rule is named, not the first alone.
func TestVerifyNamesEachLineThatBreaksARule(t *testing.T) {
	b := newBookkeeping(t, nil)
	dir := b.rewrite(t, -1, `"amount":\d+`, `"amount":1`)
	v, err := verify.Judge(durable.Dir(dir), dir, verify.Beside{}, inspect.Expected{}, "")
	if err == nil || v.Verdict != "books" || strings.Contains(err.Error(), "repair") {
		t.Fatal(v.Verdict, err)
	}
	sales := 0
	for _, p := range v.Problems {
		if p.Kind == "books" && strings.Contains(p.Text, "sold for 0.01 UAH") {
			sales++
		}
	}
	if sales != 3 {
		t.Errorf("%d of 3 sales are named: %+v", sales, v.Problems)
	}
}

// A timetable on which sales rest must be there: it is a file, so its loss is damage, and no line is to be
// cut.
func TestVerifyNeedsTheTimetablesThatWereSold(t *testing.T) {
	b := newBookkeeping(t, nil)
	files, err := filepath.Glob(filepath.Join(b.dir, ledger.TimetableDir, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func() error{
		"missing": func() error { return os.Remove(files[0]) },
		"altered": func() error {
			os.Remove(files[0])
			return os.WriteFile(files[0], append(whole, '\n'), 0o600)
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		v, err := verify.Judge(durable.Dir(b.dir), b.dir, verify.Beside{}, inspect.Expected{}, "")
		if err == nil || v.Verdict != "damaged" || len(v.Problems) != 1 ||
			!strings.HasPrefix(v.Problems[0].File, ledger.TimetableDir+"/") ||
			!strings.Contains(err.Error(), "3 sales rest on it") ||
			!strings.Contains(err.Error(), "put the file back: its name is its SHA-256") ||
			strings.Contains(err.Error(), "repair") {
			t.Errorf("%s: %+v, %v", what, v, err)
		}
	}
}

// Decision verify.witnessed: a witness must have signed each line that is older than the last by more than is
// allowed.
func TestAWitnessThatIsBehindIsSaid(t *testing.T) {
	p := rig.NewProven(t)
	s, err := server.Open(server.Config{Dir: p.Dir, Lab: rig.NoClock(), Now: func() time.Time {
		return rig.Start.Add(10 * time.Minute)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The lines after the witness's are of one instant: only a later line makes them old.
	s, err = server.Open(server.Config{Dir: p.Dir, Lab: rig.NoClock(), Now: func() time.Time {
		return rig.Start.Add(20 * time.Minute)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for within, want := range map[time.Duration]string{5 * time.Minute: "unwitnessed", time.Hour: "sound"} {
		expected := inspect.Expected{Witnesses: []note.Key{p.Witness.VKey()}, Within: within}
		v, err := verify.Judge(durable.Dir(p.Dir), p.Dir, verify.Beside{}, expected, "")
		if v.Verdict != want || len(v.Witnesses) != 1 || v.Witnesses[0].Lines == 0 {
			t.Errorf("within %s: %s, want %s: %v", within, v.Verdict, want, err)
		}
	}
}
