package reference

import (
	"encoding/json"
	"net/http"
	"regexp"
	"sync"
	"time"

	"waybill/auth"
	"waybill/server/docs"
)

// The migration guide, /docs/migration: self-contained, without scripts or outside addresses.

var (
	Style, _ = docs.Files.ReadFile("style.css")

	// GuidePolicy lets the page show nothing but itself, the one style sheet and the one icon that it
	// carries.
	GuidePolicy = docs.PagePolicy(Style)

	variables = regexp.MustCompile(`\$([A-Z]+)`)
)

// A migration is a row of the table that maps legacy calls to v2 (interface, Versioning). A test plays the
// examples.
type migration struct {
	Old, New      string // method and path; New is "" where nothing took its place
	Operation     string // of New, in the document
	What          string // tells rows of the same Old apart
	Change        string // what a client has to do besides
	Before, After Example
}

// Example is a call and what is answered; … stands for what is left out.
type Example struct {
	Method, Path, Body string
	Status             int
	Answer             string
}

// Migrations are the rows of the migration guide.
var Migrations = sync.OnceValue(func() (list []migration) {
	text, _ := docs.Files.ReadFile("migration.json")
	if err := json.Unmarshal(text, &list); err != nil {
		panic(err)
	}
	for i := range list {
		for _, o := range ReadReference().Operations {
			if o.Method+" "+o.Path == list[i].New {
				list[i].Operation = o.ID
			}
		}
	}
	return list
})

// GetMigrationGuide answers GET /docs/migration.
func (s *Service) GetMigrationGuide(w http.ResponseWriter, _ *http.Request) error {
	return sendFixed(w, &s.guide, "migration", "migration.html", func() map[string]any {
		return map[string]any{
			"Migrations": Migrations(),
			"Since":      s.Deprecated.UTC().Format(time.RFC1123),
			"Until":      s.Deprecated.Add(auth.LegacyWindow).UTC().Format(time.RFC1123),
			"Ignored":    s.ignored,
			"Version":    ReadReference().At("info", "version").Text(),
		}
	})
}
