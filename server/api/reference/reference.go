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
	"net/http"
	"strings"
	"sync"
	"time"

	"waybill/auth"
	"waybill/server/api/search"
	"waybill/server/docs"
	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
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
	finder *search.Finder
	guide  func() (*web.Shared, error) // the migration guide of this directory
}

// New returns the room.
func New(core *web.Core, finder *search.Finder) *Publisher {
	s := &Publisher{Core: core, finder: finder}
	s.guide = sync.OnceValues(func() (*web.Shared, error) {
		made, err := fill("migration.html", s.deprecation())
		if err != nil {
			return nil, err
		}
		page, err := framed(made, nil)
		return web.NewShared(htmlType, page), err
	})
	return s
}

// GetOpenAPI answers GET /openapi.json with the document of this server at this host: it has the test clock
// and the names of cookies that a client finds here.
func (s *Publisher) GetOpenAPI(w http.ResponseWriter, r *http.Request) error {
	suffix := web.CookieSuffix(r)
	if suffix == "" {
		return sharedOpenAPI()[s.Config.TestClock].SendTagged(w, r)
	}
	text := cookies.ReplaceAll(openAPI()[s.Config.TestClock], []byte("${0}"+suffix))
	if web.Tagged(w, r, web.TagOf(text)) {
		return nil
	}
	body := wire.NewWriter()
	body.B = append(body.B, text...)
	web.SendBody(w, http.StatusOK, web.ContentType, body)
	return nil
}

// GetPage answers GET /docs/{page} with the page of server/docs/made that the path names, or with a file of
// server/docs as it stands in the repository, where the path ends as its name does: .md or .py. With ?lang=uk
// it is the page in Ukrainian, where there is one (decision pages.ukrainian).
func (s *Publisher) GetPage(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(r.URL.Path, "/docs/")
	if r.URL.Query().Get("lang") == "uk" && made()["uk/"+name] != nil {
		name = "uk/" + name
	}
	text, made := texts()[name], made()[name]
	if text == nil && made == nil {
		return s.SayMissing(w, r)
	}
	language := "en"
	if strings.HasPrefix(name, "uk/") {
		language = "uk"
	}
	w.Header().Set("Content-Language", language)
	switch {
	case text != nil:
		return text.SendTagged(w, r)
	case s.Config.TestClock:
		return s.send(w, http.StatusOK, made)
	}
	w.Header().Set("Content-Security-Policy", PagePolicy)
	return pages()[name].Send(w)
}

// GetMigrationGuide answers GET /docs/migration, which says since when the legacy interface is on its way out
// here.
func (s *Publisher) GetMigrationGuide(w http.ResponseWriter, _ *http.Request) error {
	if s.Config.TestClock {
		return s.fillIn(w, http.StatusOK, "migration.html", s.deprecation())
	}
	page, err := s.guide()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", PagePolicy)
	return page.Send(w)
}

// deprecation returns what the migration guide says of this directory.
func (s *Publisher) deprecation() map[string]any {
	return map[string]any{
		"Since": s.Deprecated.UTC().Format(time.RFC1123),
		"Until": s.Deprecated.Add(auth.LegacyWindow).UTC().Format(time.RFC1123),
	}
}

// GetIndex answers GET /docs with the page that names the server as its caller knows it, and a day to travel.
func (s *Publisher) GetIndex(w http.ResponseWriter, r *http.Request) error {
	now, err := s.Now()
	if err != nil {
		return err
	}
	return s.fillIn(w, http.StatusOK, "index.html", map[string]any{
		"Base": s.address(r),
		"Date": now.AddDate(0, 0, 1).Format(time.DateOnly),
	})
}

// address returns the server's address as the caller knows it.
func (s *Publisher) address(r *http.Request) string {
	if s.Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
