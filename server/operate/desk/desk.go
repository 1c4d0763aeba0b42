// Package desk is the room of whoever runs a directory, or teaches with it: pages that show what there is,
// and from which administrative acts are done (decision desk.pages).
//
// The pages are served on the directory's socket, beside the verbs, so that every act has its caller's name.
// A browser does not speak to a socket: `waybill desk` stands between them, see package door.
//
//	browser → door.Door → the directory's socket → desk.Desk → admin.Executor
//
// A page is HTML without script. What it shows is read under the lock and written without it. An act is a
// form that is posted: it is the same act as the verb of its name, checked in the same way. What came of it
// is told on the page that the form was on, once.
package desk

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/schedule"
	"waybill/server/docs"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/operate/carrier"
	"waybill/server/proof/witness"
	"waybill/server/reach/outbox"
	"waybill/store/journal"
)

// Prefix begins the paths of the pages on the directory's socket. A browser has them without it.
const Prefix = "/desk"

// Desk shows the desk.
type Desk struct {
	*web.Core
	admin   *admin.Executor
	carrier *carrier.Dispatcher
	outbox  *outbox.Relay
	witness *witness.Collector
	lines   *journal.Lines
	notices notices
}

// New returns the room.
func New(core *web.Core, admin *admin.Executor, carrier *carrier.Dispatcher, outbox *outbox.Relay,
	witness *witness.Collector) *Desk {
	return &Desk{
		Core:    core,
		admin:   admin,
		carrier: carrier,
		outbox:  outbox,
		witness: witness,
		lines:   journal.NewLines(core.Config.FS),
	}
}

// handler answers a request of an operator.
type handler func(http.ResponseWriter, *http.Request, ledger.By) error

// Handler serves the pages.
func (s *Desk) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /{$}":       s.getOverview,
		"GET /search":    s.getSearch,
		"GET /runs":      s.getRuns,
		"GET /run":       s.getRun,
		"GET /waybill":   s.getWaybill,
		"GET /booking":   s.getBooking,
		"GET /ticket":    s.getTicket,
		"GET /journal":   s.getJournal,
		"POST /verify":   s.postVerify,
		"GET /messages":  s.getMessages,
		"GET /letter":    s.getLetter,
		"POST /act/{op}": s.postAct,
	} {
		mux.HandleFunc(pattern, s.answer(h))
	}
	mux.HandleFunc("GET /style.css", getStyle)
	mux.HandleFunc("/", s.answer(func(http.ResponseWriter, *http.Request, ledger.By) error {
		return web.ErrNotFound
	}))
	return http.StripPrefix(Prefix, mux)
}

// answer has a handler answer, and shows its error as a page.
func (s *Desk) answer(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, known := admin.Caller(r.Context())
		if !known { // no act may be without its author
			w.Header()["Cache-Control"] = web.NoStore
			http.Error(w, "the caller is not known", http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, web.MaxBody)
		if err := h(w, r, by); err != nil {
			s.fail(w, r, by, err)
		}
	}
}

// fail shows what is in the way. What the operator cannot know of has its details in the log.
func (s *Desk) fail(w http.ResponseWriter, r *http.Request, by ledger.By, err error) {
	failure := web.Explain(err)
	said := plainly(failure)
	if failure.Status == http.StatusInternalServerError {
		s.Log.Error("the desk could not answer", "path", r.URL.Path, "err", err)
		// Whoever looks here looks for that, and may see it: which file, which line.
		if damage := new(journal.Damage); errors.As(err, &damage) {
			said = "The journal is damaged: " + damage.Error()
		}
	}
	err = s.render(w, r, by, failure.Status, pages().Lookup("failed"), &page{
		Title: "This cannot be shown",
		Body:  said,
	})
	if err != nil {
		s.Log.Error("the desk could not show its error page", "path", r.URL.Path, "err", err)
	}
}

// plainly returns an error as an operator reads it: without the code that is for programs.
func plainly(err error) string {
	said := err.Error()
	if strings.HasSuffix(said, "RESOURCE_NOT_FOUND") {
		return "There is no such page, booking, ticket or run."
	}
	code, text, found := strings.Cut(said, ": ")
	if found && strings.ToUpper(code) == code {
		return text
	}
	return said
}

// page is what every page has.
type page struct {
	Title string
	Here  string // the path of the entry of the navigation that it belongs to
	Body  any
	// Read says whose data the page shows; nil is nobody's.
	Read *ledger.PersonalRead
	// Forms are the operations of which the page itself says, at their forms, what came of them.
	Forms []string

	// What render adds.
	By     ledger.By
	Now    time.Time
	Test   bool    // there is a test clock
	Still  bool    // it stands still
	Notice *notice // what came of the last act; nil is none
	AtForm *notice // the same of an act in Forms, which has no Notice
	Path   string  // of this page, with its query: where a form leads back to
}

// Was returns what was entered in a field of the form that was posted last, if it was of this act and is not
// done: a preview and a refusal leave the form as it was filled in.
func (p *page) Was(op, field string) string {
	n := cmp.Or(p.Notice, p.AtForm)
	if n == nil || n.op != op || n.isDone() {
		return ""
	}
	return n.form.Get(field)
}

// Came returns what came of an act, where the page says so at the act's form; nil where the last was another.
func (p *page) Came(op string) *notice {
	if p.AtForm == nil || p.AtForm.op != op {
		return nil
	}
	return p.AtForm
}

// tell has the page say what came of an act: at its form, or else at the top.
func (p *page) tell(n *notice) {
	if n != nil && slices.Contains(p.Forms, n.op) {
		p.AtForm = n
		return
	}
	p.Notice = n
}

// render writes a page: whole, or not at all. The clock's instant stands on it: what time alone changes is as
// of then.
func (s *Desk) render(w http.ResponseWriter, r *http.Request, by ledger.By, status int,
	t *template.Template, p *page) error {
	now, err := s.Now()
	if err != nil {
		return err
	}
	query := r.URL.Query()
	p.By = by
	p.Now = now.UTC()
	p.Test = s.Config.TestClock
	p.Still = s.Still.Load()
	p.tell(s.notices.take(query.Get(noticeField)))
	query.Del(noticeField)
	p.Path = (&url.URL{Path: r.URL.Path, RawQuery: query.Encode()}).String()
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return err
	}
	return reply(w, status, policy, &out)
}

// reply sends a page. It may have personal data, so that nobody keeps it.
func reply(w http.ResponseWriter, status int, policy string, page *bytes.Buffer) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	h["Cache-Control"] = web.NoStore
	w.WriteHeader(status)
	_, err := page.WriteTo(w)
	return err
}

// show writes a page that is there, once it is recorded whose data it shows.
func (s *Desk) show(w http.ResponseWriter, r *http.Request, by ledger.By, name string, p *page) error {
	if err := s.carrier.RecordRead(by, r.URL.Path, p.Read); err != nil {
		return err
	}
	return s.render(w, r, by, http.StatusOK, pages().Lookup(name), p)
}

// policy lets a page show itself, the style sheet beside it, and post its forms where it comes from.
const policy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'"

// getStyle answers with the style sheet, which is the reference's, too.
func getStyle(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, docs.Files, "style.css")
}

//go:embed *.html
var files embed.FS

// pages returns the templates, with the forms of instants and amounts. They are made when a page is first
// asked for: a start has no time for them.
var pages = sync.OnceValue(func() *template.Template {
	t := template.New("desk").Funcs(template.FuncMap{
		"at":      func(t time.Time) string { return t.UTC().Format("Mon 2 Jan 2006 15:04:05 UTC") },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"day":     func(d schedule.Day) string { return d.Date().Format("Monday 2 January 2006") },
		"when":    func(t time.Time) string { return carrier.Write(t, "Mon 2 Jan 15:04") },
		"feed":    schedule.FeedID,
		"visible": words.Visible,
		"short":   func(hash string) string { return hash[:min(len(hash), 12)] },
		"counted": words.Counted[int],
		"chip":    newChip,
		"form":    newForm,
		"entry":   func(p *page, path, name string) entry { return entry{path, name, p.Here == path} },
	})
	template.Must(t.ParseFS(docs.Files, "live/shared.html"))
	return template.Must(t.ParseFS(files, "*.html"))
})

// entry is an entry of the navigation.
type entry struct {
	Path, Name string
	Here       bool // the page belongs to it
}

// send writes a page that another room has made, with its own policy.
func send(w http.ResponseWriter, policy string, write func(io.Writer) error) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	return reply(w, http.StatusOK, policy, &out)
}
