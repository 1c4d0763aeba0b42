package conform

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A run with -control is played in a world of its own: nobody else sees it, and nothing is left. Rules that
// have something go wrong, or move a clock by months, are played in a further world of their stage, so that
// the next stage finds nothing of that.

// world is one that a run has made; the zero value is none.
type world struct{ name, url string }

// isSame reports whether two URLs are of one server on this machine, also by different names.
func isSame(a, b string) bool {
	x, err := url.Parse(a)
	y, err2 := url.Parse(b)
	if err != nil || err2 != nil {
		return false
	}
	return a == b || x.Port() == y.Port() && isLoopback(x.Hostname()) && isLoopback(y.Hostname())
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// fork makes a world for the run, where there is a test bench.
func (p *player) fork() error {
	if p.opt.ControlURL == "" {
		return nil
	}
	a, err := p.send("GET", p.opt.ControlURL+"/worlds", "", nil)
	if err != nil {
		return fmt.Errorf("-control: %w", err)
	}
	var list struct {
		Data struct {
			Worlds []struct{ Name, BaseURL string }
		}
	}
	json.Unmarshal(a.Body, &list)
	from := ""
	for _, w := range list.Data.Worlds {
		if isSame(w.BaseURL, p.opt.BaseURL) {
			from = w.Name
		}
	}
	if from == "" {
		return fmt.Errorf("-control: no world of that server is at %s", p.opt.BaseURL)
	}
	p.world, err = p.makeWorld(from)
	return err
}

// runsAtOnce is how many runs may be played in worlds of one control listener.
const runsAtOnce = 100

// makeWorld makes a world by the first name that no other run has.
func (p *player) makeWorld(from string) (w world, err error) {
	for n := 1; n <= runsAtOnce; n++ {
		w.name = fmt.Sprintf("conform-%d", n)
		body := fmt.Sprintf(`{"name":%q,"from":%q}`, w.name, from)
		a, err := p.send("POST", p.opt.ControlURL+"/worlds", body, http.Header{})
		if err != nil {
			return world{}, fmt.Errorf("-control: %w", err)
		}
		var made struct {
			Data struct{ World struct{ BaseURL string } }
		}
		json.Unmarshal(a.Body, &made)
		switch a.Status {
		case http.StatusConflict:
			continue
		case http.StatusCreated:
			w.url = made.Data.World.BaseURL
			return w, nil
		}
		return world{}, fmt.Errorf("-control: a world could not be made: %d %s", a.Status, a.Body)
	}
	return world{}, fmt.Errorf("-control: there are %d worlds of other runs, or no more worlds can be made",
		runsAtOnce)
}

// remove removes a world of the run. The error says that it is left.
func (p *player) remove(w world) error {
	if w.url == "" {
		return nil
	}
	a, err := p.send("DELETE", p.opt.ControlURL+"/worlds/"+w.name, "", http.Header{})
	if err == nil && a.Status != http.StatusNoContent {
		err = fmt.Errorf("%d %s", a.Status, a.Body)
	}
	if err != nil {
		err = fmt.Errorf("the world %s is left: %w", w.name, err)
	}
	return err
}

// removeWorld removes the world of the run.
func (p *player) removeWorld() error {
	return p.remove(p.world)
}

// removeScratch removes the world of a stage. One that cannot be removed is as good as gone: nothing of the
// run asks it again, and it ends with the server.
func (p *player) removeScratch() {
	p.remove(p.scratch)
	p.scratch = world{}
}

// enterWorld has what follows played in the world of the stage, which is made when first needed. The other
// server has none, and is not asked.
func (p *player) enterWorld() (err error) {
	if err := p.mayHarm(); err != nil {
		return err
	}
	if p.scratch.url == "" {
		if p.scratch, err = p.makeWorld(p.world.name); err != nil {
			return &skip{err.Error()}
		}
	}
	p.outside = p.skew
	p.inScratch = true
	p.skew, err = p.readClock(p.scratch.url)
	return err
}

// inTime has what follows played where time may go by: in the world of the stage, or where none can be made,
// here. The main journey then lies ahead.
func (p *player) inTime() error {
	err := p.mayMove()
	if err == nil && p.world.url != "" {
		err = p.enterWorld()
	}
	if err == nil {
		err = p.lookAhead()
	}
	return err
}

// leaveWorld has what follows played where the run is.
func (p *player) leaveWorld() {
	if p.inScratch {
		p.inScratch = false
		p.skew = p.outside
	}
}

// mayHarm refuses what others would suffer from, unless there is a world for it.
func (p *player) mayHarm() error {
	if err := p.mayWrite(); err != nil {
		return err
	}
	if p.world.url == "" {
		return &skip{"it needs -control"}
	}
	return nil
}

// changeRun has the carrier change a run of the world. said has the trip, the day of boarding, and the
// change. A passenger who boards after midnight may be on a run of the service day before, which no answer of
// the interface shows: the runs of both days are changed.
func (p *player) changeRun(said string) error {
	said, err := p.Expand(said)
	if err != nil {
		return err
	}
	trip, rest, _ := strings.Cut(said, " ")
	day, change, _ := strings.Cut(rest, " ")
	boards, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	run := "/runs/" + url.PathEscape(trip) + "/"
	before := p.bringAbout(run+boards.AddDate(0, 0, -1).Format(time.DateOnly), change)
	err = p.bringAbout(run+day, change)
	if err != nil && before != nil {
		return err
	}
	return nil
}

// bringAbout has the test bench do something in the world of the stage.
func (p *player) bringAbout(path, body string) error {
	a, err := p.send("PUT", p.opt.ControlURL+"/worlds/"+p.scratch.name+path, body, http.Header{})
	if err == nil && a.Status != http.StatusOK {
		err = &skip{fmt.Sprintf("the test bench answers %d", a.Status)}
	}
	return err
}
