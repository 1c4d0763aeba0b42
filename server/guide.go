package server

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"regexp"
	"time"

	"waybill/auth"
)

// The pages under /docs: self-contained, without scripts or outside addresses.

//go:embed docs
var docs embed.FS

var (
	style, _ = docs.ReadFile("docs/style.css")
	pages    = template.Must(template.New("").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
		// In single quotes a shell leaves variables alone: they stand between two such strings.
		"quoted": func(s string) string { return "'" + variables.ReplaceAllString(s, `'$$$1'`) + "'" },
	}).ParseFS(docs, "docs/*.html"))

	variables = regexp.MustCompile(`\$([A-Z]+)`)

	// contentPolicy lets a page show nothing but itself and the one style sheet it carries.
	contentPolicy = "default-src 'none'; style-src 'sha256-" + sumOf(style) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// page answers with a page of /docs.
func (s *Server) page(w http.ResponseWriter, name string, data any) error {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, name, data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", contentPolicy)
	_, err := w.Write(out.Bytes())
	return err
}

// A migration is a row of the interface's table that maps legacy calls to v2 (interface, Versioning), with an example of
// each. They stand in docs/migration.json; a test plays the examples.
type migration struct {
	Old, New      string // method and path; New is "" where nothing took its place
	What          string // tells rows of the same Old apart
	Change        string // what a client has to do besides
	Before, After example
}

// example is a call and what is answered; … stands for what is left out.
type example struct {
	Method, Path, Body string
	Status             int
	Answer             string
}

var migrations = func() (list []migration) {
	text, _ := docs.ReadFile("docs/migration.json")
	if err := json.Unmarshal(text, &list); err != nil {
		panic(err)
	}
	return list
}()

// getMigrationGuide answers GET /docs/migration.
func (s *Server) getMigrationGuide(w http.ResponseWriter, _ *http.Request) error {
	return s.page(w, "migration.html", map[string]any{
		"Migrations": migrations,
		"Since":      s.deprecated.UTC().Format(time.RFC1123),
		"Until":      s.deprecated.Add(auth.LegacyWindow).UTC().Format(time.RFC1123),
		"Ignored":    legacyFields,
	})
}
