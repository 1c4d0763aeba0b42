package desk

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"waybill/server/frame/web"
	"waybill/server/lab/bench"
	"waybill/server/ledger"
)

// testPage is the test bench: a clock that moves, what goes wrong, worlds, and who has asked for what.
type testPage struct {
	Faults   []bench.Fault
	Rules    string // the same, as they are put in force
	Requests []bench.Request
	Worlds   []World
	Control  bool // worlds can be made
}

// noTest is the answer where there is no test clock: a service that is in use has nothing of the sort.
var noTest = web.Fail(http.StatusNotFound, "NOT_FOUND",
	"this directory has no test clock: serve it with -test-clock")

// getTest answers GET /test.
func (s *Desk) getTest(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	if !s.Config.TestClock {
		return noTest
	}
	x := &testPage{
		Faults:   s.bench.Faults(),
		Requests: s.bench.LastRequests(),
	}
	slices.Reverse(x.Requests)
	var rules []string
	for _, f := range x.Faults {
		rules = append(rules, f.Rule)
	}
	x.Rules = strings.Join(rules, ",\n")
	if worlds := s.worlds.Load(); worlds != nil {
		x.Control = true
		x.Worlds = (*worlds).Worlds()
	}
	return s.show(w, r, by, "test", &page{
		Title: "Test bench",
		Here:  "/test",
		Body:  x,
	})
}

// errTick is of a form that says nothing.
var errTick = errors.New("say by how much the clock is to be moved, or whether it is to stand still")

// postClock answers POST /test/clock: the clock is moved forward, stands still, or ticks again.
func (s *Desk) postClock(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	return s.bringAbout(w, r, "clock", func() (string, error) {
		var move bench.Move
		advance := r.PostForm.Get("advance")
		if advance != "" {
			d, err := bench.ParseAdvance(advance)
			if err != nil {
				return "", err
			}
			move.By = d
		}
		if still := r.PostForm.Get("frozen"); still != "" {
			frozen, err := strconv.ParseBool(still)
			if err != nil {
				return "", errTick
			}
			move.Frozen = &frozen
		}
		if advance == "" && move.Frozen == nil {
			return "", errTick
		}
		now, frozen, _, err := s.bench.MoveClock(move, &by)
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
func (s *Desk) postFaults(w http.ResponseWriter, r *http.Request, _ ledger.By) error {
	return s.bringAbout(w, r, "faults", func() (string, error) {
		// Somebody types one rule, or several with commas: the list is made of that.
		rules := strings.TrimSpace(r.PostForm.Get("rules"))
		if !strings.HasPrefix(rules, "[") {
			rules = "[" + rules + "]"
		}
		if err := s.bench.SetFaults([]byte(rules)); err != nil {
			return "", err
		}
		return "The rules are in force.", nil
	})
}

// postWorlds answers POST /test/worlds: a world is made, made again, or removed.
func (s *Desk) postWorlds(w http.ResponseWriter, r *http.Request, _ ledger.By) error {
	worlds := s.worlds.Load()
	if worlds == nil {
		return web.Fail(http.StatusNotFound, "NOT_FOUND",
			"there are no worlds: serve the directory with -test-control")
	}
	return s.bringAbout(w, r, "worlds", func() (string, error) {
		name := r.PostForm.Get("name")
		from := r.PostForm.Get("from")
		switch r.PostForm.Get("do") {
		case "make":
			return "The world " + name + " is made.", (*worlds).Make(name, from)
		case "reset":
			return "The world " + name + " is a copy of " + from + " again.", (*worlds).Reset(name, from)
		case "remove":
			return "The world " + name + " is gone.", (*worlds).Remove(name)
		}
		return "", errors.New("a world is made, made again, or removed")
	})
}

// bringAbout does what a form of the test bench asks for, and leads back there.
func (s *Desk) bringAbout(w http.ResponseWriter, r *http.Request, op string,
	do func() (string, error)) error {
	if !s.Config.TestClock {
		return noTest
	}
	if err := r.ParseForm(); err != nil {
		return web.Invalid(web.Problem("body", "must be a form"))
	}
	said, err := do()
	return s.lead(w, r, "/test", &notice{
		op:   op,
		form: r.PostForm,
		Said: said,
		Err:  err,
	})
}
