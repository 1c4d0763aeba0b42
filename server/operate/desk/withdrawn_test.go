package desk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The list of a run that is no longer in the timetable says so, as the run's page does, and the
// import says what becomes of its ticket.
func TestTheListOfAWithdrawnRunSaysSo(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	b := o.book("Franko").Data.Booking
	o.ask("POST", "/v2/bookings/"+b.ID+"/pay", "", nil)
	said := o.importBuses(map[string]string{"k": "Kyiv Lines"}, []bus{
		{"short", "k", "Kyiv", "Lviv", "13:00:00", "15:00:00"},
	})
	if !strings.Contains(said, "is no longer in the timetable: 1 ticket stays as sold\n") {
		t.Error(said)
	}
	const news = "NO LONGER IN THE TIMETABLE: no more seats are sold; tell its passengers"
	o.see("/waybill?trip="+trip+"&date="+date, news)
	said, err := o.verb("manifest", url.Values{"trip": {trip}, "date": {date}})
	if err != nil || !strings.Contains(said, news) {
		t.Error(said, err)
	}
}

// Decision desk.run: the form that moves a run takes what is less than 0 as its text writes it.
func TestAMoveTakesTheMinusOfItsText(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	form := url.Values{"minutes": {"\u221230"}, "reason": {"snow"}, "trip": {trip}, "date": {date}}
	o.post("/act/run-move", form.Encode())
	o.see(run, "<strong>Moved by -30 minutes:</strong> snow")
}

// Decision desk.pages: HEAD is answered as GET is, without the page.
func TestHeadIsAnsweredWithoutThePage(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	for _, path := range []string{"/", "/runs", run, "/style.css", "/nowhere"} {
		status, page := o.get(path)
		resp, err := o.Head(o.base + path)
		if err != nil {
			t.Fatal(err)
		}
		body := o.read(resp)
		if resp.StatusCode != status || body != "" || resp.ContentLength < int64(len(page))-200 {
			t.Errorf("%s: %d of %d bytes, and not %d of about %d: %q", path, resp.StatusCode,
				resp.ContentLength, status, len(page), body)
		}
	}
	resp, err := o.Head(strings.Replace(o.link, "token=", "token=x", 1))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("somebody who is in: %v, %v", resp, err)
	}
}
