// Package conform plays the rules of the interface against any server and says which hold (decision
// conform.stages).
//
// The rules are transcripts, in the files of rules, by stage: each says in words what it is about, asks, and
// checks the answers. So they are the interface as a checklist, too, which [List] prints.
//
//	sum, err := conform.Run(conform.Options{BaseURL: "https://staging.example.com", Key: key}, os.Stdout)
//
// Without Write only GET is asked. With it at most [MaxSeats] seats are booked at a time, more only in a
// world of its own, and what a stage has booked is canceled at its end. A rule that cannot be played, as it
// needs a clock that moves or a second key, is not shown, and neither passes nor fails; one that cannot be
// played as the server has answered an earlier question wrongly fails with that.
//
// With LikeURL another server is asked the same, and what must be equal is compared (decision conform.like;
// see [reference]).
package conform

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed rules
var files embed.FS

// Rule is one sentence of the interface that can be checked.
type Rule struct {
	ID      string // stage and number, as 2.15
	Stage   int
	Section string // of the interface
	What    string // it says
	steps   []string
}

// stage is the rules of one, and what is done before them. Each can be played by itself.
type stage struct {
	number int    // from 1
	name   string // in lower case
	setup  []string
	rules  []*Rule // in the order of their numbers, in which they are played
}

// stages returns all there are. They are part of the program, and were tested with it. They are read when
// first asked for: a server has no use for them.
var stages = sync.OnceValue(mustParse)

// mustParse reads the files of rules.
func mustParse() (list []*stage) {
	names, err := fs.Glob(files, "rules/*.txt")
	for _, name := range names {
		text, failed := files.ReadFile(name)
		if failed != nil {
			err = failed
		}
		s, failed := parse(string(text))
		if failed != nil {
			err = fmt.Errorf("%s: %w", name, failed)
		}
		list = append(list, s)
	}
	// By name 10 comes before 2.
	slices.SortFunc(list, func(a, b *stage) int { return a.number - b.number })
	if err != nil {
		panic("conform: " + err.Error())
	}
	return list
}

// parse reads a file of rules.
func parse(text string) (*stage, error) {
	s := new(stage)
	steps := &s.setup
	for n, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "stage":
			fmt.Sscanf(rest, "%d", &s.number)
			_, s.name, _ = strings.Cut(rest, " ")
		case "setup":
		case "rule":
			id, said, _ := strings.Cut(rest, " ")
			section, what, ok := strings.Cut(said, ": ")
			if !ok || !strings.HasPrefix(id, fmt.Sprintf("%d.", s.number)) {
				return nil, fmt.Errorf("line %d is not a rule of stage %d", n+1, s.number)
			}
			r := &Rule{
				ID:      id,
				Stage:   s.number,
				Section: section,
				What:    what,
			}
			s.rules = append(s.rules, r)
			steps = &r.steps
		default:
			if strings.TrimSpace(line) != "" {
				*steps = append(*steps, line)
			}
		}
	}
	return s, nil
}

// ReadKnown reads a list of rules that are known to fail: an id a line, and comments from # on.
func ReadKnown(list io.Reader) (known []string, err error) {
	text, err := io.ReadAll(list)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("want a text in UTF-8, an id a line")
	}
	there := map[string]bool{}
	for _, s := range stages() {
		for _, r := range s.rules {
			there[r.ID] = true
		}
	}
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) { // with which editors begin
		id, _, _ := strings.Cut(line, "#")
		id = strings.TrimSpace(id)
		if id != "" && !there[id] {
			return nil, fmt.Errorf("there is no rule %q", id)
		}
		if id != "" {
			known = append(known, id)
		}
	}
	return known, nil
}

// HasStage reports whether there is a stage of a number.
func HasStage(number int) bool {
	return number >= 1 && number <= len(stages())
}

// List prints the rules of a stage, or with 0 of all, and asks nobody. Each rule has the page of a server of
// this program that says more.
func List(only int, to io.Writer) error {
	for _, s := range stages() {
		if only != 0 && only != s.number {
			continue
		}
		if _, err := fmt.Fprintf(to, "stage %d: %s\n", s.number, s.name); err != nil {
			return err
		}
		for _, r := range s.rules {
			_, err := fmt.Fprintf(to, "  %s  %s: %s  (%s)\n", r.ID, r.Section, r.What, r.Page())
			if err != nil {
				return err
			}
		}
	}
	return nil
}
