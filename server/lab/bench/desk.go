package bench

import (
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/desk"
)

// Worlds are the copies of the directory that a tester makes (decision worlds.forks), for those who do it at
// the desk. Package worlds has the functions.
type Worlds struct {
	List   func() []World
	Make   func(name, from string) error
	Reset  func(name, from string) error
	Remove func(name string) error
}

// World is one of them.
type World struct {
	Name, From string
	URL        string    // where it is served
	Dir        string    // where it lies, for a desk of its own; "" is the directory itself
	Now        time.Time // zero: its clock cannot be read any more
}

// UseWorlds has the desk show worlds, which a control listener keeps.
func (s *Bench) UseWorlds(w *Worlds) {
	s.worlds.Store(w)
}

//go:embed desk.html
var files embed.FS

// page returns the template of the test bench, in the desk's layout.
var page = sync.OnceValue(func() *template.Template {
	return desk.Templates(files).Lookup("test")
})

// guests returns what the bench has at the desk, by pattern.
func (s *Bench) guests() map[string]desk.Guest {
	return map[string]desk.Guest{
		"GET /test":         s.getTest,
		"POST /test/clock":  s.postClock,
		"POST /test/faults": s.postFaults,
		"POST /test/worlds": s.postWorlds,
	}
}

// testPage is the test bench: a clock that moves, what goes wrong, worlds, and who has asked for what.
type testPage struct {
	Faults   []Fault
	Rules    string // the same, as they are put in force
	Requests []Request
	Worlds   []World
	Control  bool // worlds can be made
}

// noTest is the answer where there is no test clock: a service that is in use has nothing of the sort.
var noTest = web.Fail(http.StatusNotFound, "NOT_FOUND",
	"this directory has no test clock: serve it with -test-clock")

// getTest answers GET /test.
func (s *Bench) getTest(d *desk.Desk, w http.ResponseWriter, r *http.Request, by ledger.By) error {
	if !s.Config.TestClock {
		return noTest
	}
	x := &testPage{
		Faults:   s.Faults(),
		Requests: s.LastRequests(),
	}
	slices.Reverse(x.Requests)
	var rules []string
	for _, f := range x.Faults {
		rules = append(rules, f.Rule)
	}
	x.Rules = strings.Join(rules, ",\n")
	if worlds := s.worlds.Load(); worlds != nil {
		x.Control = true
		x.Worlds = worlds.List()
	}
	return d.ShowGuest(w, r, by, &desk.GuestPage{
		Template: page(),
		Title:    "Test bench",
		Path:     "/test",
		Body:     x,
	})
}

// errTick is of a form that says nothing.
var errTick = errors.New("say how far to move the clock, or whether it should stand still")

// postClock answers POST /test/clock: the clock is moved forward, stands still, or ticks again.
func (s *Bench) postClock(d *desk.Desk, w http.ResponseWriter, r *http.Request, by ledger.By) error {
	return s.bringAbout(d, w, r, "clock", func(form url.Values) (string, error) {
		var move Move
		advance := form.Get("advance")
		if advance != "" {
			length, err := ParseAdvance(advance)
			if err != nil {
				return "", err
			}
			move.By = length
		}
		if still := form.Get("frozen"); still != "" {
			frozen, err := strconv.ParseBool(still)
			if err != nil {
				return "", errTick
			}
			move.Frozen = &frozen
		}
		if advance == "" && move.Frozen == nil {
			return "", errTick
		}
		now, frozen, _, err := s.MoveClock(move, &by)
		if err != nil {
			return "", err
		}
		said := "It is " + now.UTC().Format("2006-01-02 15:04:05 UTC") + ", and the clock "
		if frozen {
			return said + "stands still.", nil
		}
		return said + "ticks.", nil
	})
}

// postFaults answers POST /test/faults: the rules of what goes wrong are replaced.
func (s *Bench) postFaults(d *desk.Desk, w http.ResponseWriter, r *http.Request, _ ledger.By) error {
	return s.bringAbout(d, w, r, "faults", func(form url.Values) (string, error) {
		// Somebody types one rule, or several with commas: the list is made of that.
		rules := strings.TrimSpace(form.Get("rules"))
		if !strings.HasPrefix(rules, "[") {
			rules = "[" + rules + "]"
		}
		if err := s.SetFaults([]byte(rules)); err != nil {
			return "", err
		}
		return "The rules are in force.", nil
	})
}

// postWorlds answers POST /test/worlds: a world is being made, replaced or removed; try again.
func (s *Bench) postWorlds(d *desk.Desk, w http.ResponseWriter, r *http.Request, _ ledger.By) error {
	worlds := s.worlds.Load()
	if worlds == nil {
		return web.Fail(http.StatusNotFound, "NOT_FOUND",
			"there are no worlds: serve the directory with -test-control")
	}
	return s.bringAbout(d, w, r, "worlds", func(form url.Values) (string, error) {
		name := form.Get("name")
		from := form.Get("from")
		switch form.Get("do") {
		case "make":
			return "The world " + name + " is made.", worlds.Make(name, from)
		case "reset":
			return "The world " + name + " is a copy of " + from + " again.", worlds.Reset(name, from)
		case "remove":
			return "The world " + name + " is gone.", worlds.Remove(name)
		}
		return "", errors.New("a world is being made, replaced or removed; try again")
	})
}

// bringAbout does what a form of the test bench asks for, and leads back there.
func (s *Bench) bringAbout(d *desk.Desk, w http.ResponseWriter, r *http.Request, op string,
	do func(url.Values) (string, error)) error {
	if !s.Config.TestClock {
		return noTest
	}
	return d.ActForGuest(w, r, "/test", op, do)
}
