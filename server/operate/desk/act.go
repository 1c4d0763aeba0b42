package desk

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
)

// acts are the administrative operations that the desk has forms for. What no form asks for, as the import of
// a timetable, a partner's key or a user's access, is for the verbs.
var acts = []string{
	"run-cancel", "run-move", "run-restore",
	"ticket-move", "ticket-cancel", "ticket-status", "ticket-answer", "forget",
	"outbox-retry",
}

// Fields of the desk's own, which no operation knows.
const (
	backField   = "desk-back"   // the path of the page that the form is on
	noticeField = "desk-notice" // names what is to be told on a page
)

// runForms are the acts whose forms on the page of a run say themselves what came of them. The id of each
// form's place on that page is the act's name.
var runForms = []string{"run-cancel", "run-move", "run-restore"}

// postAct answers POST /act/{op}: it does an operation as the verb of its name would, and leads back to the
// page that the form was on, which then tells what came of it.
func (s *Desk) postAct(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	op := r.PathValue("op")
	if !slices.Contains(acts, op) {
		return web.ErrNotFound
	}
	// The body alone counts: what stands in the address may have been written by somebody else.
	if err := r.ParseForm(); err != nil {
		return web.Invalid(web.Problem("body", "must be a form"))
	}
	form := r.PostForm
	back := form.Get(backField)
	delete(form, backField)
	for name, values := range form {
		if len(values) > 1 { // which one is meant cannot be told
			return web.Invalid(web.Problem(name, "must be given once"))
		}
	}
	// A field that was left empty was not given.
	maps.DeleteFunc(form, func(_ string, values []string) bool {
		return values[0] == ""
	})
	if minutes := form.Get("minutes"); minutes != "" { // as the form's own text writes what is less than 0
		form.Set("minutes", strings.Replace(minutes, "\u2212", "-", 1))
	}
	var out strings.Builder
	err := s.admin.Do(op, &admin.Act{
		By:   by,
		Form: form,
		Out:  &out,
	})
	if op == "ticket-move" && err == nil { // the booking that it was in may be gone
		if back, err = s.place(form.Get("ticket")); err != nil {
			return err
		}
	}
	return s.lead(w, r, back, &notice{
		op:   op,
		form: form,
		Said: strings.TrimSpace(out.String()),
		Err:  err,
	})
}

// lead leads back to a page of the desk, which tells what came of an act.
func (s *Desk) lead(w http.ResponseWriter, r *http.Request, back string, n *notice) error {
	to, err := url.Parse(back)
	// Only to a page of the desk: a form that is made elsewhere leads nowhere else.
	if err != nil || to.IsAbs() || to.Host != "" || path.Clean(to.Path) != to.Path || to.Path[0] != '/' {
		to = &url.URL{Path: "/"}
	}
	query := to.Query()
	query.Set(noticeField, s.notices.keep(n, rand.Text()))
	to.RawQuery = query.Encode()
	to.Fragment = ""
	if slices.Contains(runForms, n.op) { // the browser lands at the form
		to.Fragment = n.op
	}
	w.Header()["Cache-Control"] = web.NoStore
	// Not http.Redirect: the path is the browser's, and not that of the request as it came here.
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// notice is what came of an act. It is told once: a page that is loaded again does not say that something was
// done again.
type notice struct {
	op   string
	form url.Values
	Said string // what the verb prints
	Err  error
}

// Failure returns why it was not done; "" where it was.
func (n *notice) Failure() string {
	if n.Err == nil {
		return ""
	}
	return flagless(plainly(n.Err))
}

// Preview reports whether it was only asked what would happen.
func (n *notice) Preview() bool {
	return n.form.Has("dry-run")
}

// Changes reports whether the act, which was only looked at, would change anything.
func (n *notice) Changes() bool {
	return n.Err == nil && !strings.Contains(n.Said, "nothing to change: ")
}

// isDone reports whether the act was done.
func (n *notice) isDone() bool {
	return n.Err == nil && !n.Preview()
}

// flagless returns a complaint about a flag of a verb as one about a field of a form.
func flagless(said string) string {
	return strings.TrimPrefix(said, "-")
}

// notices keeps what is still to be told.
type notices struct {
	mu   sync.Mutex
	kept map[string]*notice
	ids  []string // the oldest first
}

// noticesKept is how many are kept: whoever does not follow where an act leads never takes his.
const noticesKept = 100

// keep keeps a notice, and returns what it is asked for by.
func (x *notices) keep(n *notice, id string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.kept == nil {
		x.kept = map[string]*notice{}
	}
	x.kept[id] = n
	x.ids = append(x.ids, id)
	if len(x.ids) > noticesKept {
		delete(x.kept, x.ids[0])
		x.ids = x.ids[1:]
	}
	return id
}

// take returns a notice, and forgets it; nil where there is none.
func (x *notices) take(id string) *notice {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.kept[id]
	delete(x.kept, id)
	return n
}

// form is a form of an act, as a template has it.
type form struct {
	Page *page
	Op   string
	Hide map[string]string // fields that are given
}

// newForm makes one: after the page and the operation come the names and values of fields that are given.
func newForm(p *page, op string, given ...string) (*form, error) {
	if len(given)%2 != 0 {
		return nil, fmt.Errorf("desk: form %s: %q has no value", op, given[len(given)-1])
	}
	f := &form{Page: p, Op: op, Hide: map[string]string{}}
	for i := 0; i < len(given); i += 2 {
		f.Hide[given[i]] = given[i+1]
	}
	return f, nil
}
