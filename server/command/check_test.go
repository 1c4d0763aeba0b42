package command

import (
	"archive/zip"
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/server/reach/ticket"
)

// demoFeed is the feed of the demo.
const demoFeed = "../../testdata/demo"

// The ride of the code that these tests make: kl-0530 of 25 November 2026, from Kyiv to Lviv.
const (
	rideThere = "Zorevia Lines, Kyiv – Lviv, trip kl-0530 on 2026-11-25, from Kyiv " +
		"(Kyiv Central Bus Station, platform 1) Wed 25 Nov 05:30 to Lviv (Lviv Stryiskyi Bus Station, " +
		"platform 3) Wed 25 Nov 13:25, local times"
	notThere = "; its run is not in the timetable"
)

// carrierOf makes a key of a carrier, and returns the file of its public half.
func carrierOf(t *testing.T, seed byte, dir string) (key ed25519.PrivateKey, file string) {
	t.Helper()
	key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, ticket.PublicFile)
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return key, file
}

// codeFor makes the code of a ride from the first stop to the fourth on a day of a trip.
func codeFor(key ed25519.PrivateKey, trip string, on schedule.Day, leaves time.Time) string {
	c := ticket.Code{
		Ticket:    ids.ID{7},
		Departure: leaves,
		Seat:      4,
		To:        3,
		Run:       ticket.RunOf(ids.RunName{Trip: trip, Day: on}),
	}
	return c.Sign(key)
}

// theRide returns the code of the ride, and one of a run that no timetable has.
func theRide(key ed25519.PrivateKey) (code, unknown string) {
	leaves := time.Date(2026, 11, 25, 3, 30, 0, 0, time.UTC)
	on := schedule.DayOf(leaves)
	return codeFor(key, "kl-0530", on, leaves), codeFor(key, "none", on, leaves)
}

// zipOf returns a zip archive of a directory's files.
func zipOf(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "feed.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	if err := z.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// Ticket check tells cities and local times where it is given a directory or a feed, and
// says so where these do not have the run.
func TestTicketCheckTellsCitiesAndLocalTimes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", dir, demoFeed)
	key, file := carrierOf(t, 1, dir)
	code, unknown := theRide(key)
	plain := "^genuine: ticket [\\w-]{22}, seat 4, leaves 2026-11-25T03:30:00Z, " +
		"from stop 1 to stop 4 of the run \\w{12}"
	for _, given := range [][]string{
		{"-data", dir},
		{"-data", dir, "-key", file},
		{"-key", file, "-feed", demoFeed},
		{"-key", file, "-feed", zipOf(t, demoFeed)},
	} {
		check := append([]string{"ticket", "check"}, given...)
		there := `^genuine: ticket [\w-]{22}, seat 4: ` + regexp.QuoteMeta(rideThere) + `\n$`
		want(t, 0, there, append(check, code)...)
		want(t, 0, plain+notThere+"\n$", append(check, unknown)...)
		want(t, 1, "^NOT GOOD for trip kl-0700 on 2026-11-25: genuine, but for another run: .*"+
			regexp.QuoteMeta(rideThere), append(check, "-trip", "kl-0700", "-date", "2026-11-25", code)...)
	}
	want(t, 0, plain+"\n$", "ticket", "check", "-key", file, code)
}

// What is not a directory or a feed is told before any code is looked at.
func TestTicketCheckSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, file := carrierOf(t, 1, dir)
	for says, args := range map[string][]string{
		"there is no data directory at " +
			"": {"-data", filepath.Join(dir, "none"), "-key", file},
		"-feed: stat .*none: no " +
			"such": {"-feed", filepath.Join(dir, "none"), "-key", file},
		"-feed: .*tickets.pub is neither a directory nor a zip archive": {"-feed", file, "-key", file},
	} {
		want(t, 1, "^waybill: "+says+".*\n$", append(append([]string{"ticket", "check"}, args...), "x")...)
	}
	for says, args := range map[string][]string{
		"-data names no directory":              {"-data", ""},
		"-feed names no feed":                   {"-key", file, "-feed", ""},
		"-data and -feed both name a timetable": {"-data", dir, "-feed", demoFeed},
	} {
		want(t, 2, "^waybill: "+says, append(append([]string{"ticket", "check"}, args...), "x")...)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("it has made %v, %v", left, err)
	}
}

// Decision ticket.check: a directory that nobody has given changes nothing, nor does one that only the
// environment names where a key or a feed is given; without these the environment's is the directory.
func TestOnlyADirectoryThatIsGivenChecksTickets(t *testing.T) {
	demo, err := filepath.Abs(demoFeed)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	feed := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", feed, demo)
	theirs, _ := carrierOf(t, 2, feed)
	if err := os.Rename(feed, "waybill-data"); err != nil {
		t.Fatal(err)
	}
	ours, file := carrierOf(t, 1, ".")
	code, _ := theRide(ours)
	other, _ := theRide(theirs)
	named := map[string]string{"WAYBILL_DATA": "waybill-data"}
	for _, c := range []struct {
		env  map[string]string
		args []string
		code string
		says string
	}{
		{nil, nil, code, "seat 4, leaves"},
		{nil, nil, other, "NOT GOOD"},
		{named, []string{"-key", file}, code, "seat 4, leaves"},
		{map[string]string{"WAYBILL_DATA": "none"}, []string{"-key", file}, code, "seat 4, leaves"},
		{named, []string{"-feed", demo}, code, rideThere},
		{named, nil, other, rideThere},
		{named, []string{"-key", file, "-data", "waybill-data"}, code, rideThere},
		{map[string]string{"WAYBILL_TICKET_CHECK_FEED": demo}, nil, code, rideThere},
	} {
		_, stdout, stderr := run(t, c.env, append(append([]string{"ticket", "check"}, c.args...), c.code)...)
		if !strings.Contains(stdout, c.says) || stderr != "" && c.says != "NOT GOOD" {
			t.Errorf("%v %q: %s%s", c.env, c.args, stdout, stderr)
		}
	}
}

// The key of a directory is its own: the file for inspectors, or where that is not
// there, as in a backup, the public half of the one that signs.
func TestTheKeyOfADirectoryChecksItsTickets(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	want(t, 0, "is in force", "import", "-data", dir, demoFeed)
	secret := filepath.Join(dir, ledger.KeyDir, ledger.TicketFile)
	seed, err := ledger.ParseSecret([]byte(content(t, secret)))
	if err != nil {
		t.Fatal(err)
	}
	code, _ := theRide(ed25519.NewKeyFromSeed(seed))
	check := []string{"ticket", "check", "-data", dir, code}
	want(t, 0, "^genuine: ", check...)
	if err := os.Remove(filepath.Join(dir, ticket.PublicFile)); err != nil {
		t.Fatal(err)
	}
	want(t, 0, "^genuine: ", check...)
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	want(t, 1, "^waybill: .*data has no key for tickets; ", check...)
}

// Ticket check takes a QR-Code: before the code, in letters of either case and with
// blanks around it, as an operand and from standard input.
func TestTicketCheckTakesWhatScannersPrint(t *testing.T) {
	t.Parallel()
	key, file := carrierOf(t, 1, t.TempDir())
	code, other := theRide(key)
	for _, before := range []string{"", "QR-Code:", "QR-CODE: ", " qr-code:\t", "\ufeffQR-Code:"} {
		want(t, 0, "^genuine: ", "ticket", "check", "-key", file, before+code)
		said, out := with(before+code+" \r\n\n"+before+other+"\n", "ticket", "check", "-key", file, "-")
		if said != 0 || strings.Count(out, "genuine: ") != 2 {
			t.Errorf("%q: exit %d\n%s", before, said, out)
		}
	}
	for _, before := range []string{"QR-Code", "QR-Code:QR-Code:", "EAN-13:"} {
		want(t, 1, "^NOT GOOD: it does not begin with WB1.", "ticket", "check", "-key", file, before+code)
	}
	want(t, 1, "there is no code", "ticket", "check", "-key", file, "QR-Code: ")
}

// The members that -json has besides, with a directory or a feed, are those of the page;
// without these, or where the run is not known, it has none of them.
func TestTicketCheckPrintsTheRideForPrograms(t *testing.T) {
	t.Parallel()
	key, file := carrierOf(t, 1, t.TempDir())
	code, unknown := theRide(key)
	check := []string{"ticket", "check", "-json", "-key", file}
	plain := want(t, 0, `"ride":{[^{]*"run":"\w{12}"}}`, append(check, code)...)
	check = append(check, "-feed", demoFeed)
	text := want(t, 0, "", append(check, code)...)
	var v ticket.Verdict
	parse(t, &v, text)
	leaves := time.Date(2026, 11, 25, 3, 30, 0, 0, time.UTC)
	boards := ticket.Call{
		City:  "Kyiv",
		Stop:  "Kyiv Central Bus Station, platform 1",
		Zone:  "Europe/Kyiv",
		Time:  leaves,
		Local: "Wed 25 Nov 05:30",
	}
	if x := v.Ride.Travel; x.Boards != boards || x.Alights.City != "Lviv" || x.Trip != "kl-0530" ||
		x.Date != "2026-11-25" || x.Carrier != "Zorevia Lines" || x.Route != "Kyiv – Lviv" {
		t.Errorf("%s", text)
	}
	// The page names each member, and no other.
	var object struct{ Ride map[string]json.RawMessage }
	parse(t, &object, text)
	page := content(t, "../docs/operating.md")
	line := regexp.MustCompile("(?m)^. `ticket check` .*$").FindString(page)
	for name := range object.Ride {
		if !strings.Contains(line, "`"+name+"`") {
			t.Errorf("the page has no %s: %s", name, line)
		}
	}
	var call map[string]json.RawMessage
	parse(t, &call, string(object.Ride["boards"]))
	for name := range call {
		if !strings.Contains(line, "`"+name+"`") {
			t.Errorf("the page has no %s: %s", name, line)
		}
	}
	for _, text := range []string{plain, want(t, 0, notThere, append(check, unknown)...)} {
		var object struct{ Ride map[string]json.RawMessage }
		if parse(t, &object, text); len(object.Ride) != 6 {
			t.Errorf("%s", text)
		}
	}
}
