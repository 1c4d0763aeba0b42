package desk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"waybill/server/lab/rig"
	"waybill/server/lab/webdriver"
)

// screen is an operator's browser.
type screen struct {
	*operator
	*webdriver.Browser
	desk string // where the browser finds the desk
	axe  string // the source of what checks that everybody can use a page; "" is not there
}

// window is the one browser of all tests: its start takes longer than most that is done with it. Who has the
// lock has the browser.
var window struct {
	sync.Mutex
	*webdriver.Browser
}

// newScreen opens the desk in the browser, with -long; nil where there is none, which is said. A browser
// costs as much as all else that is tested of the desk.
func newScreen(t *testing.T) *screen {
	t.Helper()
	if !*rig.Long {
		t.Log("left to -long: the pages in a browser")
		return nil
	}
	window.Lock()
	t.Cleanup(window.Unlock)
	var err error
	if window.Browser == nil {
		window.Browser, err = webdriver.Start()
	} else {
		err = window.Reset()
	}
	if errors.Is(err, webdriver.ErrNoBrowser) {
		t.Log("left out: ", err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	b := window.Browser
	s := &screen{operator: newOperator(t), Browser: b}
	s.enter()
	var link string
	s.desk, link = s.openDoor()
	if file := os.Getenv("WAYBILL_AXE"); file != "" {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.axe = string(source)
	}
	s.must(b.Go(link))
	return s
}

// must stops the test where the browser could not do something.
func (s *screen) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// sees checks that the page has texts where somebody sees them.
func (s *screen) sees(wanted ...string) {
	s.Helper()
	if seen, found := s.Await("body", wanted...); !found {
		s.Fatalf("there are not all of %q in\n%s", wanted, seen)
	}
}

// check checks a page that is open: the console is silent, nothing has to be scrolled sideways, and everybody
// can use it.
func (s *screen) check(what string) {
	s.Helper()
	complaints, err := s.Complaints()
	s.must(err)
	if len(complaints) > 0 {
		s.Errorf("%s: the console says %v", what, complaints)
	}
	var wide []string
	s.must(s.Run(`const most = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= most) return [];
		return [...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > most + 1)
			.map(e => e.outerHTML.slice(0, 100))`, &wide))
	if len(wide) > 0 {
		s.Errorf("%s: is wider than the window: %q", what, wide)
	}
	if s.axe == "" {
		return
	}
	var violations []struct {
		ID, Help string
		Nodes    []struct{ HTML string }
	}
	s.must(s.Run(s.axe+`; return axe.run().then(found => found.violations)`, &violations))
	for _, v := range violations {
		s.Errorf("%s: %s: %s: %.200s", what, v.ID, v.Help, v.Nodes[0].HTML)
	}
}

// Decision desk.pages: the desk is used from a phone to a wide screen, in light and in dark, with a screen
// reader.
func TestEveryPageIsForEverybody(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	if s == nil {
		return
	}
	if s.axe == "" {
		t.Log("left out: axe, as WAYBILL_AXE names no file of it")
	}
	b := s.book("Ukrainka", "Franko", "Kobylianska").Data.Booking
	s.ask("POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[0].ID+`"]}`, nil)
	s.ask("POST", "/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`, nil)
	s.post("/act/run-move", "trip="+trip+"&date="+date+"&minutes=30&reason=snow")
	pages := []string{
		"/",
		"/runs?date=" + date,
		run,
		"/search?q=u",
		"/booking?id=" + b.ID,
		"/journal",
		"/journal?wall=1&still=1",
		"/messages",
		"/waybill?date=" + date + "&trip=" + trip,
		"/ticket?id=" + b.Tickets[0].ID,
	}
	var urls []string
	for _, path := range pages {
		urls = append(urls, s.desk+path)
	}
	// What the service itself shows has the same style sheet.
	for _, path := range []string{"/", "/docs", "/docs/states", "/docs/errors", "/docs/silent",
		"/docs/limits",
		"/docs/migration", "/docs/demo", "/docs/tour", "/docs/write-your-own",
		"/docs/auditing", "/docs/glossary"} {
		urls = append(urls, s.service+path)
	}
	for _, width := range []int{320, 1200} {
		s.must(s.Resize(width, 800))
		for _, dark := range []bool{false, true} {
			s.must(s.Dark(dark))
			for _, url := range urls {
				s.must(s.Go(url))
				s.Run(`for (const d of document.querySelectorAll("details")) d.open = true`, nil)
				s.check(fmt.Sprintf("%s, %d wide, dark: %v", url, width, dark))
			}
		}
	}
}

// A dispatcher finds tomorrow's run, sees who has which seat, sees what cancelling it would do, and cancels
// it.
func TestADispatcherAtTheScreen(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	if s == nil {
		return
	}
	b := s.book("Ukrainka").Data.Booking
	s.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	// By the keyboard: the first stop is the way past the navigation.
	s.must(s.Press(webdriver.Tab))
	s.must(s.Press(webdriver.Enter))
	var focused string
	s.must(s.Run(`return document.activeElement.id`, &focused))
	if focused != "main" {
		t.Errorf("the skip link leads to %q", focused)
	}
	s.must(s.Type("main input[name=q]", date))
	s.must(s.Click("main [role=search] button"))
	s.sees("Runs of " + date)
	s.must(s.Type("main input[name=q]", trip))
	s.must(s.Click("main [role=search] button"))
	s.sees("1 run, by departure")
	s.must(s.Click("main tbody th a"))
	s.sees("Trip "+trip+" on "+date, "paid", "Ukrainka")
	s.must(s.Click("details summary"))
	s.sees("2–19")
	const form = "form[action='/act/run-cancel'] "
	s.must(s.Type(form+"input[name=reason]", "snow on the road"))
	s.must(s.Press(webdriver.Enter)) // is the harmless one of the two buttons
	s.sees("Preview.", "1 refunded")
	s.must(s.Click(form + ".grave"))
	s.sees("Done.", "Cancelled: snow on the road", "refunded 770.00 UAH")
	s.must(s.Go(s.desk + "/search?q=" + b.Tickets[0].ID))
	s.sees("refunded 770.00 UAH", "snow on the road")
	s.check("the way of a dispatcher")
}

// A teacher shows a class how a booking becomes lines: from the booking to its line, and to the bytes of it.
func TestATeacherAtTheScreen(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	if s == nil {
		return
	}
	b := s.book("Ukrainka").Data.Booking
	s.must(s.Go(s.desk + "/search?q=ukrainka"))
	s.must(s.Click("main tbody th a"))
	s.sees("Booking "+b.ID, "makes booking")
	s.must(s.Click(".story a"))
	s.sees("booking.created")
	s.must(s.Click(".chain details summary"))
	s.sees(`"booking":"`+b.ID+`"`, "Hash of the line before")
	s.must(s.Click("form[action='/verify'] button"))
	s.sees("Sound.")
	s.check("the way of a teacher")
}

// Decision manifest.rows: a bus of 57 seats has its waybill on one page of A4, with each name.
func TestTheWaybillOfAFullBusIsOnePage(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	if s == nil {
		return
	}
	const seats = 57
	var names []string
	for i := range seats {
		// Names of people, and not the longest there are.
		names = append(names, fmt.Sprintf("Kotsiubynska-%c%c", 'A'+i/26, 'a'+i%26))
	}
	for i := 0; i < seats; i += 19 {
		b := s.bookOn("kl-0700", names[i:i+19]...).Data.Booking
		s.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	}
	s.must(s.Go(s.desk + "/waybill?date=" + date + "&trip=kl-0700"))
	s.sees(names...)
	pdf, err := s.PrintToPDF()
	s.must(err)
	if n := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1)); n != 1 {
		t.Errorf("it has %d pages", n)
	}
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Log("left out: the names in print, as there is no pdftotext")
		return
	}
	file := filepath.Join(t.TempDir(), "waybill.pdf")
	if err := os.WriteFile(file, pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("pdftotext", "-layout", file, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !bytes.Contains(text, []byte(name)) {
			t.Errorf("%s is not in print", name)
		}
	}
}
