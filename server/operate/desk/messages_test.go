package desk_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// Decision messages.as: e-mails that became files are counted as such, also once they are gone;
// what was refused, what waits and what was sent is counted apart. Nothing says that all is sent.
func TestMessagesAreCountedAsWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	counted := func(refused, files int) []string {
		return []string{
			fmt.Sprintf("<dt>Refused for good</dt><dd>%d</dd>", refused),
			"<dt>Waiting to be sent</dt><dd>0</dd>",
			"<dt>Sent as e-mail</dt><dd>0</dd>",
			fmt.Sprintf("<dt>Became files and were not sent</dt><dd>%d;", files),
		}
	}
	o.see("/messages", counted(0, 0)...)
	b := o.book("Ukrainka", "Franko").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[0].ID+`"]}`, nil)
	page := o.see("/messages", counted(0, 1)...)
	if strings.Contains(page, "All is sent") || strings.Contains(page, "all is sent") {
		t.Error(page)
	}
	o.goesWrong(`{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"message-fails"}`)
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`, nil)
	o.see("/messages", counted(2, 1)...) // an e-mail and a text
	of := o.see("/messages?q="+b.Tickets[0].ID, "No message is waiting.", "1 e-mail is a file")
	if strings.Contains(of, "<strong>refused</strong>") {
		t.Errorf("a message of another ticket is listed:\n%s", of)
	}
	o.see("/messages?q="+b.Tickets[1].ID, "<strong>refused</strong>", "There is no such file.")
	o.post("/act/forget", "booking="+b.ID+"&reason=asked+for")
	o.see("/messages", append(counted(0, 1), "There is no such file.")...)
}

// Decision messages.told: what was refused or waits when its passenger is forgotten is erased, and is counted
// and shown as that; of files it is said how many of them are still there.
func TestWhatWasNotSentToTheForgottenIsErased(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Ukrainka", "Franko").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[0].ID+`"]}`, nil)
	o.goesWrong(`{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"message-fails"}`)
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`, nil)
	kept := o.book("Kobylianska").Data.Booking
	o.ask("POST", "/v2/bookings/"+kept.ID+"/pay", "", nil)
	o.see(run, "<strong>refused</strong>")
	o.see("/messages", "<dd>2; 2 of them are still in the folder outbox; no e-mail")
	o.post("/act/forget", "booking="+b.ID+"&reason=asked+for")
	const erased = "erased <small>not sent: the passenger was forgotten</small>"
	page := o.see(run, "paid, e-mail: "+erased, "paid, text: "+erased, "which is gone")
	o.lacks(page, "no address, no phone", "<strong>refused</strong>")
	o.see("/messages", "<dt>Refused for good</dt><dd>0</dd>",
		"<dt>Not sent because the passenger was forgotten</dt><dd>2</dd>",
		"<dd>2; 1 of them is still in the folder outbox; no e-mail")
	o.lacks(o.see("/", "2 e-mails became files since the directory was made."), "refused for good")
	said, err := o.verb("outbox-list", nil)
	const list = "0 messages are not sent; 2 sent as text, 2 sent as file, 2 erased; " +
		"1 e-mail is still in outbox/, which nobody has sent"
	if err != nil || said != list+"\n" {
		t.Error(said, err)
	}
	if said, err = o.verb("outbox-list", url.Values{"json": {"true"}}); err != nil ||
		strings.Count(said, `"state": "erased"`) != 2 {
		t.Error(said, err)
	}
	o.post("/act/forget", "booking="+kept.ID+"&reason=asked+for")
	const none = "; none of the files is in outbox/ any more"
	if said, _ = o.verb("outbox-list", nil); !strings.Contains(said, none) {
		t.Error(said)
	}
}

// Of the messages that are not sent only those of the page are looked at: what a page takes does not grow
// with the others, each of which had its booking read under the lock.
func TestAPageLooksAtItsMessagesOnly(t *testing.T) {
	o := newOperator(t)
	o.enter()
	page := func(trip string) uint64 {
		o.goesWrong(`{"on":"POST /v2/bookings/{id}/pay","times":1,"do":"message-fails"}`)
		b := o.bookOn(trip, strings.Split(strings.Repeat("Franko ", 18)+"Franko", " ")...).Data.Booking
		o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o.see("/messages", "<strong>refused</strong>")
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	page("kl-0700")
	fewer := page("kl-1000") // more than a page shows
	if more := page("kl-1430"); more > fewer+19<<10 {
		t.Errorf("a page takes %d bytes, with 38 messages more %d", fewer, more)
	}
}

// Decision desk.today: no e-mail that became a file is out of reach.
func TestNoLetterIsOutOfReach(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	const many = 57
	people := strings.Split(strings.Repeat("Franko ", many/3-1)+"Franko", " ")
	for _, trip := range []string{"kl-0700", "kl-1000", "kl-1430"} {
		b := o.bookOn(trip, people...).Data.Booking
		o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	}
	seen := map[string]bool{}
	pages := 0
	for path := "/messages"; path != ""; pages++ {
		page := o.see(path, "57 e-mails are files")
		for _, letter := range regexp.MustCompile(`href="(/letter[^"]+)"`).FindAllStringSubmatch(page, -1) {
			seen[letter[1]] = true
		}
		path = ""
		if next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(page); next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	if len(seen) != many || pages != 2 {
		t.Errorf("%d letters are seen on %d pages", len(seen), pages)
	}
}
