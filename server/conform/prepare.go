package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// prepare finds out what all rules need: the clock, and a journey that can be booked.
func (p *player) prepare() error {
	if err := p.readClock(); err != nil {
		return fmt.Errorf("nobody answers: %w", err)
	}
	if p.opt.IDToken != "" {
		p.known["idToken"] = p.opt.IDToken
	}
	p.known["from"] = p.opt.From
	p.known["to"] = p.opt.To
	p.known["date"] = p.opt.Date
	if p.opt.From != "" {
		return nil
	}
	return p.findJourney()
}

// errNoJourney is returned where no two cities have a departure.
var errNoJourney = errors.New("no journey was found within a week among the first cities; name one with " +
	"-from, -to and -date")

// The search for a journey.
const (
	citiesTried = 40
	pairsTried  = 300
	enough      = 4 // departures of a day
	startsIn    = 3 // days: no rule's clock gets there
	daysTried   = 7
)

// findJourney looks for two cities with a departure that has a price and enough seats, and takes the day with
// the most departures.
func (p *player) findJourney() error {
	a, err := p.send("GET", p.baseURL()+"/v2/cities", "", nil)
	if err != nil {
		return err
	}
	var list struct {
		Data struct{ Cities []struct{ Slug string } }
	}
	if json.Unmarshal(a.Body, &list) != nil {
		return errNoJourney
	}
	cities := list.Data.Cities
	cities = cities[:min(len(cities), citiesTried)]
	first := p.skew.now().UTC().AddDate(0, 0, startsIn).Format(time.DateOnly)
	most := 0
	tried := 0
	for _, from := range cities {
		for _, to := range cities {
			if from == to || tried == pairsTried || most >= enough {
				continue
			}
			tried++
			date, departures := p.bestDay(from.Slug, to.Slug, first)
			if departures > most {
				most = departures
				p.known["from"] = from.Slug
				p.known["to"] = to.Slug
				p.known["date"] = date
			}
		}
	}
	if most < 2 {
		return errNoJourney
	}
	return nil
}

// bestDay returns the day with the most departures that can be sold between two cities, of the days from the
// first on, and how many it has.
func (p *player) bestDay(from, to, first string) (best string, departures int) {
	query := url.Values{
		"departureCitySlug": {from},
		"arrivalCitySlug":   {to},
		"date":              {first},
		"days":              {fmt.Sprint(daysTried)},
		"passengers":        {"10"},
		"take":              {"100"},
	}
	a, err := p.send("GET", p.baseURL()+"/v2/offers/schedule?"+query.Encode(), "", nil)
	if err != nil || a.Status != http.StatusOK {
		return "", 0
	}
	var list struct {
		Data struct {
			Departures []struct {
				DepartureDateTime string
				Price             struct{ Amount *float64 }
			}
		}
	}
	json.Unmarshal(a.Body, &list)
	perDay := map[string]int{}
	for _, d := range list.Data.Departures {
		if d.Price.Amount == nil || len(d.DepartureDateTime) < len(time.DateOnly) {
			continue
		}
		day := d.DepartureDateTime[:len(time.DateOnly)]
		perDay[day]++
		if perDay[day] > departures {
			best = day
			departures = perDay[day]
		}
	}
	return best, departures
}

// worldName is what the world of a run is called.
const worldName = "conform"

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
		if w.BaseURL == p.opt.BaseURL {
			from = w.Name
		}
	}
	if from == "" {
		return fmt.Errorf("-control: no world there is at %s", p.opt.BaseURL)
	}
	name := fmt.Sprintf("%s-%d", worldName, time.Now().UnixNano())
	body := fmt.Sprintf(`{"name":%q,"from":%q}`, name, from)
	a, err = p.send("POST", p.opt.ControlURL+"/worlds", body, http.Header{})
	if err != nil {
		return fmt.Errorf("-control: %w", err)
	}
	var made struct {
		Data struct {
			World struct{ Name, BaseURL string }
		}
	}
	json.Unmarshal(a.Body, &made)
	if a.Status != http.StatusCreated {
		return fmt.Errorf("-control: a world could not be made: %d %s", a.Status, a.Body)
	}
	p.world = made.Data.World.BaseURL
	p.worldName = name
	return nil
}

// removeFork removes the world of the run.
func (p *player) removeFork() {
	if p.world != "" {
		p.send("DELETE", p.opt.ControlURL+"/worlds/"+p.worldName, "", http.Header{})
	}
}

// fault has something go wrong in the world of the run.
func (p *player) fault(rule string) error {
	if err := p.mayWrite(); err != nil {
		return err
	}
	if p.world == "" {
		return &skip{"it needs -control"}
	}
	faults := p.opt.ControlURL + "/worlds/" + p.worldName + "/faults"
	a, err := p.send("PUT", faults, "["+rule+"]", http.Header{})
	if err == nil && a.Status != http.StatusOK {
		err = &skip{fmt.Sprintf("the test bench answers %d", a.Status)}
	}
	return err
}
