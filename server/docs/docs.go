// Package docs holds the pages of this directory: those for people who read the repository, which the server
// also shows as text under /docs, and those of the reference. The latter stand in made and, where a server
// fills something in, in filled: a test of server/api/reference writes them, of openapi.json, the pages and
// the JSON of this directory, and the templates reference.html and migration.html. What a server writes anew
// for each caller stands in live.
//
// Its tests paste what the pages say to paste.
package docs

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"strings"
	"time"
)

// Files are the pages, by name.
//
//go:embed *.md uk audit.py openapi.json style.css made filled live
var Files embed.FS

// Auditor returns audit.py, the second auditor: a program in Python that was made from the pages journal.md
// and rules.md, and shares nothing with this one.
func Auditor() []byte {
	text, _ := Files.ReadFile("audit.py") // it was built in
	return text
}

// MustParse makes the template of a page of its own style sheet, which may show the bar of a test clock: the
// template clock, of a [Clock].
func MustParse(name, text string) *template.Template {
	return template.Must(template.Must(template.New(name).Parse(text)).ParseFS(Files, "live/shared.html"))
}

// StyleIn returns the style sheet that stands in a page.
func StyleIn(page string) []byte {
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	return []byte(style)
}

// Clock is a test clock as pages show it: the template clock of live/shared.html is a bar of it (decision
// pages.clock).
type Clock struct {
	Now   time.Time // in UTC
	Still bool      // it stands still
}

// PagePolicy returns the Content-Security-Policy of a page that has no script and fetches nothing: it may
// show itself, the one style sheet that stands in it, and images that it carries, and ask its own server.
func PagePolicy(style []byte) string {
	sum := sha256.Sum256(style)
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}
