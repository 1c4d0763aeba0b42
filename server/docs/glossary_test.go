package docs

import (
	"regexp"
	"strings"
	"testing"
)

// The glossary's terms stand in the order of the alphabet, each once, with two sentences at most.
func TestGlossary(t *testing.T) {
	t.Chdir(root)
	page := strings.ReplaceAll(content(t, "server/docs/glossary.md"), "\n  ", " ")
	entries := regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*: (.+)$`).FindAllStringSubmatch(page, -1)
	if n := strings.Count(page, "\n- "); n != len(entries) || n == 0 {
		t.Errorf("%d of %d entries have a term and what it means", len(entries), n)
	}
	last := ""
	for _, e := range entries {
		term, meaning := e[1], e[2]
		if term <= last {
			t.Errorf("%s comes after %s", term, last)
		}
		last = term
		if n := len(regexp.MustCompile(`\.( |$)`).FindAllString(meaning, -1)); n < 1 || n > 2 {
			t.Errorf("%s has %d sentences, one or two are enough", term, n)
		}
	}
	if !strings.Contains(content(t, "server/docs/code.md"), "(glossary.md)") {
		t.Error("code.md does not lead to the glossary")
	}
}

// needed are the terms that an auditor, a partner's engineer or an operator meets first.
var needed = []string{
	"booking", "books", "carrier", "chain", "checkpoint", "delivery", "departure", "desk", "directory", "entry",
	"event", "evidence", "feed", "form", "grace", "hold", "idempotency record", "journal", "journey", "keeper",
	"lapse", "leg", "line", "note", "offer", "operator", "origin", "outbox", "partner", "personal part",
	"provider", "repair", "replay", "revival", "root", "run", "seq", "service day", "snapshot", "standby",
	"ticket", "timetable", "torn tail", "tree", "trip", "verdict", "window", "witness", "world",
}

// The glossary has the terms that somebody who reads a verdict or an error meets.
func TestGlossaryHasWhatOneMeets(t *testing.T) {
	t.Chdir(root)
	page := content(t, "server/docs/glossary.md")
	for _, term := range needed {
		if !strings.Contains(page, "\n- **"+term+"**: ") {
			t.Errorf("the glossary has no %s", term)
		}
	}
}

// givenUp are words that no page and no printed text uses, with the terms that took their place.
var givenUp = map[string]string{
	"audit log":   "journal",
	"audit trail": "journal",
	"cosigner":    "witness",
	"follower":    "standby",
	"good once":   "works once",
	"heed":        "follow",
	"let be":      "leave",
	"log entry":   "line",
	"log entries": "lines",
	"replica":     "standby",
	"reseller":    "partner",
	"tenant":      "partner",
	"vehicle":     "bus",
	"voucher":     "ticket",
	"vouch":       "cover, or sign",
	"vouched":     "covered, or signed",
	"vouches":     "covers, or signs",
	"whomever":    "any",
}

// TestNoWordThatWasGivenUp: no page and no printed text has a word that was given up for a term.
func TestNoWordThatWasGivenUp(t *testing.T) {
	t.Chdir(root)
	for _, path := range append([]string{wordsFile}, pages...) {
		text := strings.Join(strings.Fields(content(t, path)), " ")
		for word, term := range givenUp {
			for _, at := range regexp.MustCompile(`(?i)\b`+word+`\b`).FindAllStringIndex(text, -1) {
				t.Errorf("%s has %q, where the term is %s: …%s…", path, word, term,
					text[max(at[0]-40, 0):min(at[1]+40, len(text))])
			}
		}
	}
}
