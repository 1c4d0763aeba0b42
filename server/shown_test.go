package server_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// heldUp is a server on a directory whose writer can be held, to which the lines of the fixture are added one
// by one. Partners and users have a key and a token that the test knows.
type heldUp struct {
	t     *testing.T
	s     *server.Server
	disk  *rig.SlowSync
	keeps *pausing // nil: there is no keeper, and the disk is slow
	codec *ledger.Codec
	reads []read
	acts  int // lines that were played
	leaks map[string]bool
}

// read is a request that changes nothing.
type read struct{ path, cookie string }

const (
	knownKey   = "wb_known"
	knownToken = "known-access"
)

// open opens the server, as a verb does: nothing in the background writes a line.
func (h *heldUp) open(dir string) {
	h.t.Helper()
	h.disk = &rig.SlowSync{FS: rig.Unsynced(dir), Release: make(chan bool)}
	lab := rig.TestClock()
	if h.keeps != nil {
		lab = keptBy(lab, h.keeps)
	}
	s, err := server.Open(server.Config{
		Dir:  dir,
		FS:   h.disk,
		Verb: true,
		Lab:  lab,
		Now:  rig.BubbleClock(),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.s = s
}

// ask answers all reads. One that waits has no answer; it has one once the writer is released.
func (h *heldUp) ask() map[read]string {
	answers := make([]string, len(h.reads))
	for i, r := range h.reads {
		go func() {
			q := httptest.NewRequest("GET", r.path, nil)
			q.Header.Set("x-api-key", knownKey)
			if r.cookie != "" {
				q.Header.Set("Cookie", r.cookie)
			}
			w := httptest.NewRecorder()
			h.s.ServeHTTP(w, q)
			answers[i] = fmt.Sprintf("%d %s", w.Code, tokens.ReplaceAllString(w.Body.String(), "$1"))
		}()
	}
	synctest.Wait()
	now := map[read]string{}
	for i, r := range h.reads {
		now[r] = answers[i]
	}
	return now
}

// message returns a message that is in the outbox.
func (h *heldUp) message() (id string) {
	err := h.s.Store.View(func(st ledger.State, _ time.Time) { id = st.Outbox.All()[0].ID })
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// tokens matches what differs each time: tokens of offers, and the request's id.
var tokens = regexp.MustCompile(`("id":)"AQ[^"]{40,}"|"requestId":"[^"]*"`)

// play adds a line while the writer is held. What is answered at once must not differ from before.
func (h *heldUp) play(l *journal.Line) {
	h.t.Helper()
	entry, err := h.codec.Decode(l.Type, l.Data, l.Personal)
	if err != nil {
		h.t.Fatal(err)
	}
	switch e := entry.Event.(type) {
	case *auth.KeyAdded:
		e.Hash = auth.HashOf(knownKey + e.Name)
		if e.Name == "anna" {
			e.Hash = auth.HashOf(knownKey)
		}
	case *auth.SessionStarted:
		e.Access = auth.HashOf(knownToken + e.User.String())
	case *auth.SessionRefreshed:
		e.Access = auth.HashOf(knownToken + e.Session.String())
	case *ledger.TimetableImported:
		e.Loaded, err = ledger.LoadTimetable(durable.Dir(rig.File("testdata/journal/v3")), e.Hash)
		if err != nil {
			h.t.Fatal(err)
		}
	case *ledger.MessageParked:
		e.ID = h.message() // the lines here have other numbers than those of the fixture
	case *ledger.MessagesRetried:
		e.IDs = []string{h.message()}
	case *ledger.MessagesSent:
		e.IDs = []string{h.message()}
	}
	entry.Before = nil // it is made again
	h.record(l, entry)
}

// record is play of an entry, whose line is of the type and the time of another.
func (h *heldUp) record(l *journal.Line, entry ledger.Entry) {
	h.t.Helper()
	if _, err := h.s.ShowTimetable(); err != nil { // as the loop does that sees a line
		h.t.Fatal(err)
	}
	before := h.ask()
	if h.keeps != nil {
		h.keeps.holdUp()
	} else {
		h.disk.Slow.Store(true)
	}
	done := make(chan error)
	go func() {
		var err error
		if l.Type == journal.KindClock {
			err = h.s.Store.SetClock(l.Time, entry)
		} else {
			_, err = h.s.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
				return []ledger.Entry{entry}, nil
			}, nil)
		}
		done <- err
	}()
	go h.s.ShowTimetable()
	synctest.Wait()
	for r, now := range h.ask() {
		if now != "" && now != before[r] {
			h.leaks[fmt.Sprintf("GET %s shows a line of the type %s that a crash could undo", r.path, l.Type)] = true
		}
	}
	if h.keeps != nil {
		h.keeps.goOn()
	} else {
		h.disk.Slow.Store(false)
		h.disk.Release <- true
	}
	if err := <-done; err != nil {
		h.t.Fatalf("line %d, %s: %v", l.Seq, l.Type, err)
	}
	synctest.Wait()
	h.acts++
}

// Decision keep.answers: no answer shows what a crash could still undo. Each line of the fixture, which has
// every kind, is written while a disk does not sync, or a keeper says nothing, and all reads are asked.
func TestNoAnswerShowsWhatACrashUndoes(t *testing.T) {
	t.Run("beside a slow disk", func(t *testing.T) { noAnswerShows(t, nil) })
	t.Run("beside a silent keeper", func(t *testing.T) { noAnswerShows(t, new(pausing)) })
}

func noAnswerShows(t *testing.T, keeps *pausing) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, ledger.TimetableDir),
		os.DirFS(rig.File("testdata/journal/v3/timetables"))); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := &heldUp{t: t, keeps: keeps, codec: ledger.NewCodec(), leaks: map[string]bool{}}
		h.open(dir)
		defer func() { h.s.Close() }()
		var lines []*journal.Line
		fixture := durable.Dir(rig.File("testdata/journal/v3"))
		_, err := inspect.Read(fixture, false, func(_ journal.Place, l *journal.Line) error {
			line := *l
			lines = append(lines, &line)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		h.reads = readsOf(lines)
		for _, l := range lines {
			if !journal.Own(l.Type) {
				h.play(l)
			}
		}
		// A ticket whose window is over comes back while the provider is asked; no event says so.
		e := &booking.TicketAsked{Action: booking.Pay}
		err = h.s.Store.View(func(st ledger.State, now time.Time) {
			for b := range st.Bookings.Freeze().All() {
				for i := range b.Tickets {
					if x := &b.Tickets[i]; x.PhaseAt(now) == booking.Uncompleted {
						e.Booking, e.Ticket = b.ID, x.ID
					}
				}
			}
		})
		if err != nil || e.Ticket == (ids.ID{}) {
			t.Fatal(err, e)
		}
		asked := &journal.Line{Head: lines[len(lines)-1].Head, Type: "ticket.asked"}
		h.record(asked, ledger.Entry{Event: e})
		for leak := range h.leaks {
			t.Error(leak)
		}
		if h.acts < len(ledger.Kinds()) {
			t.Errorf("only %d lines were played", h.acts)
		}
	})
}

// readsOf returns all reads that there are of what the lines name.
func readsOf(lines []*journal.Line) (list []read) {
	add := func(path, cookie string) {
		if !slices.Contains(list, read{path, cookie}) {
			list = append(list, read{path, cookie})
		}
	}
	ids := func(name, text string) (found []string) {
		for _, m := range regexp.MustCompile(`"`+name+`":"([\w-]{22})"`).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		return found
	}
	for _, path := range []string{
		"/v2/bookings", "/v2/bookings?departureDate=2026-11-25", "/v2/events", "/rest/orders", "/",
		"/v2/cities?take=5", "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25",
		"/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv&date=2026-11-25&days=2",
	} {
		add(path, "")
	}
	for _, l := range lines {
		for _, id := range ids("booking", string(l.Data)) {
			for _, what := range []string{"", "/refund-rules", "/document", "/document.ics"} {
				add("/v2/bookings/"+id+what, "")
			}
		}
		for _, id := range append(ids("ticket", string(l.Data)), ids("id", string(l.Data))...) {
			for _, what := range []string{"", "/document", "/document.ics"} {
				add("/v2/tickets/"+id+what, "")
			}
		}
		for _, id := range slices.Concat(ids("user", string(l.Data)), ids("session", string(l.Data))) {
			cookie := "waybill_access=" + knownToken + id
			add("/v2/auth/session", cookie)
			add("/v2/reports/company/orders", cookie)
			for _, r := range lines {
				for _, report := range ids("report", string(r.Data)) {
					add("/v2/reports/company/orders/"+report+"/download", cookie)
				}
			}
		}
	}
	return list
}
