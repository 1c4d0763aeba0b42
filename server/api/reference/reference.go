// Package reference is the interface described by itself: the document /openapi.json, which a test holds
// against the routes, the validators and every answer of the transcripts, and the pages of /docs.
//
// The pages are made by a test of this package, of the document and of what stands in server/docs:
//
//	go test ./server/api/reference -run Pages -update
//
// writes them to server/docs/made, and to server/docs/filled where a server fills something in. Here they are
// put into the frame that they have in common, and served.
package reference

import (
	"cmp"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/auth"
	"waybill/server/docs"
	"waybill/server/frame/web"
)

var (
	OpenAPI, _ = docs.Files.ReadFile("openapi.json")
	Style, _   = docs.Files.ReadFile("style.css")

	// PagePolicy lets a page show nothing but itself, the one style sheet and the one icon that it carries.
	PagePolicy = docs.PagePolicy(Style)
)

// DemoUser is the company user of the demo network, an ADMIN of zorevia-lines.
const DemoUser = "demo@example.com"

// Publisher answers who reads.
type Publisher struct {
	*web.Core
	guide func() (*web.Shared, error) // the migration guide, which says since when: of this directory only
}

// New returns the room.
func New(core *web.Core) *Publisher {
	s := &Publisher{Core: core}
	s.guide = sync.OnceValues(func() (*web.Shared, error) {
		page, err := fill("migration", map[string]any{
			"Since": s.Deprecated.UTC().Format(time.RFC1123),
			"Until": s.Deprecated.Add(auth.LegacyWindow).UTC().Format(time.RFC1123),
		})
		return web.NewShared(htmlType, page), err
	})
	return s
}

// GetOpenAPI answers GET /openapi.json.
func (s *Publisher) GetOpenAPI(w http.ResponseWriter, r *http.Request) error {
	return openAPI().SendTagged(w, r)
}

// GetPage answers GET /docs/{page} with the page of server/docs/made that the path names, or with a file of
// server/docs as it stands in the repository, where the path ends as its name does: .md or .py.
func (s *Publisher) GetPage(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(r.URL.Path, "/docs/")
	if text := texts()[name]; text != nil {
		return text.SendTagged(w, r)
	}
	page := pages()[name]
	if page == nil {
		return web.ErrNotFound
	}
	w.Header().Set("Content-Security-Policy", PagePolicy)
	return page.Send(w)
}

// GetMigrationGuide answers GET /docs/migration.
func (s *Publisher) GetMigrationGuide(w http.ResponseWriter, _ *http.Request) error {
	page, err := s.guide()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", PagePolicy)
	return page.Send(w)
}

// GetIndex answers GET /docs with the page that names the server as its caller knows it, and a day to travel.
func (s *Publisher) GetIndex(w http.ResponseWriter, r *http.Request) error {
	now, err := s.Now()
	if err != nil {
		return err
	}
	return sendFilled(w, "index", map[string]any{
		"Base": s.address(r),
		"Date": now.AddDate(0, 0, 1).Format(time.DateOnly),
	})
}

// GetHome answers GET /: to a browser with a page that says what this is and where to go on, else with 404 as
// for any path that means nothing (decision answers.bodies).
func (s *Publisher) GetHome(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept")
	if !wantsPage(r.Header) {
		return web.ErrNotFound
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	return sendFilled(w, "home", map[string]any{
		"Base":      s.address(r),
		"TestClock": s.Config.TestClock,
		"Now":       now.Format(time.RFC3339),
	})
}

// wantsPage reports whether a request's header asks for a page, as a browser's does.
func wantsPage(h http.Header) bool {
	for kind := range strings.SplitSeq(strings.Join(h["Accept"], ","), ",") {
		media, parameters, err := mime.ParseMediaType(kind)
		if err != nil || media != "text/html" {
			continue
		}
		weight, wrong := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		return wrong == nil && weight > 0
	}
	return false
}

// address returns the server's address as the caller knows it.
func (s *Publisher) address(r *http.Request) string {
	if s.Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
