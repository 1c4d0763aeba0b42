package ticket

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/store/durable"
)

var (
	ours   = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	theirs = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	public = ours.Public().(ed25519.PublicKey)
)

// aTicket is paid, on a ride of two stops.
func aTicket() *booking.Ticket {
	form := &schedule.Form{
		Trip:    "kl-0700",
		Company: schedule.Company{Name: "Zorevia, Lines; & Sons", Source: schedule.OwnSource},
		Route:   schedule.Route{Name: "Київ – Львів"},
		Stops: []schedule.FormStop{
			{
				Stop: schedule.Stop{Place: "Kyiv Central", Platform: "1"},
				City: schedule.City{Name: "Kyiv"},
				Dep:  25200,
			},
			{Stop: schedule.Stop{Place: "Stryiskyi"}, City: schedule.City{Name: "Lviv"}, Arr: 53700},
		},
	}
	day := schedule.Day(20778)
	run := booking.NewRun(form, day, int64(day)*86400-7200, []int32{7200, 7200})
	t := &booking.Ticket{ID: ids.ID{1, 2, 3, 255}, Phase: booking.Paid, Currency: [3]byte{'U', 'A', 'H'}}
	t.Legs[0] = booking.Leg{Run: run, From: 0, To: 1, Seat: 57, Discount: -1, Amount: 77000}
	return t
}

// Decision ticket.code: the bytes of a code, one after the other.
func TestACodeIsAsTheContractSays(t *testing.T) {
	x := aTicket()
	code := NewCode(x.ID, &x.Legs[0]).Sign(ours)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(code, "WB1."))
	if err != nil || len(raw) != 96 || len(code) != 4+128 {
		t.Fatal(code, err)
	}
	run := sha256.Sum256([]byte("kl-0700 2026-11-21"))
	want := append(x.ID[:], binary.BigEndian.AppendUint32(nil, uint32(x.Departure().Unix()/60))...)
	want = append(want, 0, 57, 0, 0, 0, 1)
	want = append(want, run[:6]...)
	if !bytes.Equal(raw[:32], want) {
		t.Errorf("% x, want % x", raw[:32], want)
	}
	if !ed25519.Verify(public, append([]byte("waybill ticket v1\n"), want...), raw[32:]) {
		t.Error("it is not signed so")
	}
}

// A code that is changed in a bit, cut, or signed by somebody else is not good, and neither is a second text
// of the same bytes.
func TestNoOtherCodeIsGood(t *testing.T) {
	x := aTicket()
	c := NewCode(x.ID, &x.Legs[0])
	code := c.Sign(ours)
	if got, err := Check(public, code); err != nil || got != c {
		t.Fatalf("%+v, %v, want %+v", got, err, c)
	}
	for i := range len(code) {
		for bit := range 8 {
			changed := []byte(code)
			changed[i] ^= 1 << bit
			if _, err := Check(public, string(changed)); err == nil {
				t.Errorf("bit %d of character %d is changed: %s", bit, i, changed)
			}
		}
	}
	for _, other := range []string{
		"",
		"WB1.",
		code[:len(code)-1],
		code + "A",
		code + "\n",
		" " + code,
		"WB2." + code[4:],
		c.Sign(theirs),
		code[:60] + "\n" + code[60:],
		code + "=",
		strings.Repeat(code, 2),
	} {
		if _, err := Check(public, other); err == nil {
			t.Errorf("%q is good", other)
		}
	}
	if _, err := Check(public, c.Sign(theirs)); !errors.Is(err, ErrNotGenuine) {
		t.Errorf("of another key: %v", err)
	}
}

// An inspector on a bus: fifty passengers, one of another day, one who shows a copy, one who has made it.
func TestAnInspectorChecksABus(t *testing.T) {
	x := aTicket()
	var codes []string
	for n := range 50 {
		x.ID[5] = byte(n)
		x.Legs[0].Seat = int16(n + 1)
		codes = append(codes, NewCode(x.ID, &x.Legs[0]).Sign(ours))
	}
	run := ids.RunName{Trip: "kl-0700", Day: x.Legs[0].Run.Day}
	inspect := func(list []string) (string, error) {
		var out bytes.Buffer
		inspector, err := NewInspector(publicPEM(t), run.Trip, run.Day.String())
		if err != nil {
			t.Fatal(err)
		}
		err = inspector.Inspect(strings.NewReader(strings.Join(list, "\r\n")+"\n\n"), printTo(&out))
		return out.String(), err
	}
	said, err := inspect(codes)
	if err != nil || strings.Count(said, "genuine: ticket ") != 50 || strings.Count(said, "\n") != 50 {
		t.Errorf("%v: %s", err, said)
	}
	other := *x
	other.Legs[0].Run = booking.NewRun(x.Legs[0].Run.Form, run.Day+1, 0, []int32{0, 0})
	for want, code := range map[string]string{
		"for another run": NewCode(other.ID, &other.Legs[0]).Sign(ours),
		"shown before":    codes[7],
		"not signed":      NewCode(x.ID, &x.Legs[0]).Sign(theirs),
		"does not begin":  "hello",
	} {
		said, err := inspect(append(codes[:50:50], code))
		last := strings.Split(said, "\n")[50]
		if !errors.Is(err, ErrRefused) || !strings.HasPrefix(last, "NOT GOOD") ||
			!strings.Contains(last, want) {
			t.Errorf("%s: %v: %s", want, err, last)
		}
	}
}

// publicPEM is our key as its file has it.
func publicPEM(t *testing.T) []byte {
	t.Helper()
	fsys := durable.Dir(t.TempDir())
	if _, err := PublishKey(fsys, ours); err != nil {
		t.Fatal(err)
	}
	text, err := durable.ReadFile(fsys, PublicFile)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What an inspector is given wrong is told, before any code is looked at.
func TestAnInspectorNeedsAKeyAndAWholeRun(t *testing.T) {
	good := publicPEM(t)
	for _, bad := range []struct {
		key        []byte
		trip, date string
	}{
		{nil, "", ""}, {[]byte("WB1."), "", ""}, {good, "kl-0700", ""}, {good, "", "2026-11-21"}, {good, "kl-0700", "tomorrow"},
	} {
		if _, err := NewInspector(bad.key, bad.trip, bad.date); err == nil {
			t.Errorf("%.20q %s %s is taken", bad.key, bad.trip, bad.date)
		}
	}
}

// RFC 5545: lines end with CRLF and have 75 bytes at most, no character is torn, and commas and line ends of
// names are no separators. The entry stays the same one when the departure moves.
func TestACalendarEntry(t *testing.T) {
	x := aTicket()
	x.Legs[0].Run.Form.Route.Name = strings.Repeat("Київ, Львів; \\ ", 12) + "\nEND:VEVENT"
	var b bytes.Buffer
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	if err := WriteCalendar(&b, x, now); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\r\n"), "\r\n") {
		if len(line) > 75 || strings.ContainsAny(line, "\r\n") || !utf8.ValidString(line) {
			t.Errorf("the line %q", line)
		}
	}
	whole := strings.ReplaceAll(b.String(), "\r\n ", "")
	for _, want := range []string{
		fmt.Sprintf("\r\nUID:%s.1@waybill\r\n", x.ID), "\r\nDTSTART:20261121T050000Z\r\n",
		"\r\nDTEND:20261121T125500Z\r\n", "\r\nLOCATION:Kyiv Central\\, platform 1\r\n",
		`Zorevia\, Lines\; & Sons\, Київ\, Львів\; \\`, `\nEND:VEVENT\, trip kl-0700`,
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("%q is not in %s", want, whole)
		}
	}
	if strings.Count(whole, "\r\nEND:VEVENT\r\n") != 1 {
		t.Error("a name has ended the entry")
	}
}

// Decision ticket.check: whoever shows a ticket twice is found out, also with the paper of before its run was
// moved; a scan that says nothing is no ticket, and one that says too much is one bad code.
func TestAnInspectorIsNotFooled(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	file := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub})
	before := Code{Ticket: ids.ID{1}, Departure: time.Unix(1795582800, 0), Seat: 7, To: 3}
	after := before
	after.Departure = before.Departure.Add(30 * time.Minute)
	other := before
	other.Ticket = ids.ID{2}
	for name, c := range map[string]struct {
		shown []string
		want  string // a pattern of all that is said
		good  bool
	}{
		"two papers of a moved run":     {[]string{before.Sign(key), after.Sign(key)}, "(?s)^genuine.*NOT GOOD: shown before", false},
		"two passengers":                {[]string{before.Sign(key), other.Sign(key)}, "(?s)^genuine.*genuine", true},
		"a scanner that marks its text": {[]string{"\ufeff" + before.Sign(key) + "\r"}, "^genuine", true},
		"an empty scan":                 {[]string{"", " "}, "^$", false},
		"nothing at all":                {nil, "^$", false},
		"a long one among others": {[]string{strings.Repeat("x", 1<<17), before.Sign(key)},
			"(?s)^NOT GOOD.*genuine", false},
	} {
		inspector, err := NewInspector(file, "", "")
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = inspector.Inspect(strings.NewReader(strings.Join(c.shown, "\n")), printTo(&out))
		if (err == nil) != c.good || !regexp.MustCompile(c.want).MatchString(out.String()) {
			t.Errorf("%s: %v %s", name, err, out.String())
		}
	}
}

// printTo returns what prints verdicts, a line each.
func printTo(out io.Writer) func(Verdict) error {
	return func(v Verdict) error {
		_, err := fmt.Fprintln(out, v.Said)
		return err
	}
}
