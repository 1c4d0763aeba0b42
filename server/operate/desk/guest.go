package desk

import (
	"html/template"
	"io/fs"
	"net/http"
	"net/url"

	"waybill/server/frame/web"
	"waybill/server/ledger"
)

// Guest answers a request for a page that another room has at the desk, in the desk's layout. A test bench
// has such a page (decision bench.flags).
type Guest func(*Desk, http.ResponseWriter, *http.Request, ledger.By) error

// GuestPage is what a guest shows.
type GuestPage struct {
	Template *template.Template // one of [Templates]
	Title    string
	Path     string // of the page, which is an entry of the navigation
	Body     any
}

// Templates returns the desk's templates, with those of another room.
func Templates(files fs.FS) *template.Template {
	return template.Must(parse().ParseFS(files, "*.html"))
}

// ShowGuest writes a page of another room, which must show nobody's data (decision desk.readings).
func (s *Desk) ShowGuest(w http.ResponseWriter, r *http.Request, by ledger.By, g *GuestPage) error {
	return s.render(w, r, by, http.StatusOK, g.Template, &page{
		Title: g.Title,
		Here:  g.Path,
		Body:  g.Body,
	})
}

// ActForGuest does what a form on a page of another room asks for, and leads back to that page, which then
// tells what came of it. op is what the page calls the form.
func (s *Desk) ActForGuest(w http.ResponseWriter, r *http.Request, path, op string,
	do func(form url.Values) (said string, err error)) error {
	if err := r.ParseForm(); err != nil {
		return web.Invalid(web.Problem("body", "must be a form"))
	}
	said, err := do(r.PostForm)
	return s.lead(w, r, path, &notice{
		op:   op,
		form: r.PostForm,
		Said: said,
		Err:  err,
	})
}
