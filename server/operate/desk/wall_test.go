package desk_test

import (
	"crypto/sha256"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	wall    = "/journal?wall=1"
	renewal = `<meta http-equiv="refresh" content="2">`
)

// Decision desk.wall: the wall renews itself each 2 s until somebody follows the link that stops it, and
// shows what came since; no other page renews itself.
func TestTheWallRenewsItselfUntilItIsStopped(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	page := o.see(wall, renewal, "Stop that", "TEST CLOCK",
		"Fri 20 Nov 2026 08:00:00 UTC", "partner.key_added")
	if strings.Contains(page, "<script") || strings.Contains(page, "booking.created") {
		t.Error(page)
	}
	b := o.book("Ukrainka").Data.Booking
	page = o.see(wall, "booking.created", "a partner makes booking "+b.ID[:6]+", passengers: 1; trip "+trip,
		`"Kyiv" (kyiv-central-1) to "Lviv" (`, "770.00 UAH each")
	if n := strings.Count(page, "<li>"); n != 5 {
		t.Errorf("%d lines of a journal of 5 are on the wall", n)
	}
	for i := range 4 {
		o.addPartner(fmt.Sprintf("p%d", i))
	}
	page = o.see(wall)
	lines := regexp.MustCompile(`<li>\n<p><strong>(\d+) `).FindAllStringSubmatch(page, -1)
	if len(lines) != 8 || lines[0][1] != "9" || lines[7][1] != "2" {
		t.Errorf("the wall has the lines %v", lines)
	}
	hashes := regexp.MustCompile(`<code>(\w{12})</code>`).FindAllStringSubmatch(page, -1)
	if len(hashes) < 16 || hashes[0][1] != hashes[3][1] || !strings.Contains(o.journal(), hashes[1][1]) {
		t.Errorf("the hashes on the wall are %v", hashes)
	}
	stop := regexp.MustCompile(`href="([^"]*)">Stop that`).FindStringSubmatch(page)
	still := o.see(html.UnescapeString(stop[1]), "This page stands still.", "Let it go on")
	others := map[string]string{stop[1]: still, "/journal": o.see("/journal"), "/": o.see("/")}
	for path, page := range others {
		if strings.Contains(page, "http-equiv") {
			t.Errorf("%s renews itself", path)
		}
	}
}

// The wall shows no names: of passengers, partners, users, operators, feeds, and none that stands in a
// reason. Nothing that is personal is read for it.
func TestTheWallShowsNoNames(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"Ukrainka", "example.com", "380441234567", "anna", "Hans", "Olena", "\"demo\"",
		"by " + self.Username}
	seen := ""
	look := func() {
		page := html.UnescapeString(o.see(wall))
		seen += page
		for _, name := range names {
			if strings.Contains(page, name) {
				t.Errorf("the wall shows %s:\n%s", name, page)
			}
		}
	}
	look()
	b := o.book("Ukrainka", "Ukrainka").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[0].ID+`"]}`, nil)
	o.ask("POST", "/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`, nil)
	look()
	o.see("/booking?id="+b.ID, "Ukrainka") // a reading, which the wall passes over
	look()
	o.done("user-add", url.Values{
		"email": {"olena@example.com"}, "first-name": {"Olena"}, "last-name": {"P"},
		"company": {"zorevia-lines"}, "role": {"ADMIN"}, "password": {"a-long-enough-Passw0rd"},
	})
	o.addPartner("Hans")
	back := "&desk-back=" + url.QueryEscape("/journal")
	o.post("/act/run-move", "trip="+trip+"&date="+date+"&minutes=30&reason=Hans+is+ill"+back)
	look()
	o.ask("POST", "/v2/bookings/"+b.ID+"/cancel", "{}", nil)
	o.post("/act/forget", "booking="+b.ID+"&reason=Hans+asked"+back)
	o.done("user-remove", url.Values{"email": {"olena@example.com"}})
	look()
	if n := strings.Count(o.journal(), `"personal.read"`); n != 1 || strings.Contains(seen, "personal.read") {
		t.Errorf("%d readings of personal data are recorded, or one is on the wall", n)
	}
	for _, said := range []string{"paid for a partner: ticket " + b.Tickets[0].ID[:6], "booked for a partner",
		"the new user ", "leaves 30 minutes later", "a partner cancels: ticket " + b.Tickets[0].ID[:6],
		", refunded 770.00 UAH", "forget: ", "a partner has a new key", "<strong>1 opened"} {
		if !strings.Contains(seen, said) {
			t.Errorf("the wall never says %q", said)
		}
	}
}

// What is wrong with the files is said on the page and on the wall, which goes on looking.
func TestDamageIsSaidWhereTheJournalIsShown(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.book("Ukrainka")
	for i := range 9 {
		o.addPartner(fmt.Sprintf("p%d", i))
	}
	if _, err := o.front.Server.Store.Sign(); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []struct {
		name, was, becomes string // a text of a file; "" is all of it
		status             int
		says               string
	}{
		{"journal/000000000001.jsonl", `"p7"`, `"hans"`, 500, "The journal is damaged: "},
		{"journal/000000000001.jsonl", "", "", 500, "is not in the journal"},
		{"journal/000000000001.jsonl", "", "gone", 500, "The journal cannot be read: "},
	} {
		file := filepath.Join(o.dir, damage.name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		altered := damage.becomes
		if damage.was != "" {
			altered = strings.Replace(string(text), damage.was, damage.becomes, 1)
		}
		if err := os.WriteFile(file, []byte(altered), 0o600); err != nil {
			t.Fatal(err)
		}
		if damage.becomes == "gone" {
			os.Remove(file)
		}
		for _, path := range []string{"/journal", wall} {
			status, page := o.get(path)
			seen := html.UnescapeString(page)
			if status != damage.status || !strings.Contains(seen, damage.says) ||
				strings.Contains(seen, "hans") || strings.Contains(page, renewal) != (path == wall) {
				t.Errorf("%s with %+v: %d %s", path, damage, status, seen)
			}
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		o.see("/journal", `"p8"`)
	}
}

// Decision desk.folded: what repeats what is known is folded in a line as it is written; the whole line
// stands below, and its hash can be made of that.
func TestALongLineIsFoldedOnThePage(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.book("Ukrainka")
	page := html.UnescapeString(o.see("/journal", `"forms":[… `, ", the run as sold …]"))
	found := regexp.MustCompile(`(?s)<pre>(\{"hash":"(\w{64})","seq":5,[^\n]*?the run as sold[^\n]*?)</pre>\n` +
		`<details><summary>The whole line, (\d+) bytes, but for its personal part</summary>\n` +
		`<pre>\{"hash":"\w{64}",([^\n]*?),"personal":\{…\}\}</pre>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatal(page)
	}
	if len(found[1]) > 1200 {
		t.Errorf("%d bytes are left of the line: %s", len(found[1]), found[1])
	}
	lines := strings.Split(strings.TrimSpace(o.journal()), "\n")
	if found[3] != fmt.Sprint(len(lines[4])) {
		t.Errorf("the line is said to have %s bytes, and has %d", found[3], len(lines[4]))
	}
	before := lines[3][len(`{"hash":"`):][:64]
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(before+found[4]))); got != found[2] {
		t.Errorf("the hash of the whole line is %s, want %s", got, found[2])
	}
	if strings.Contains(page, "Ukrainka") {
		t.Error("the journal shows a name")
	}
}
