package conform

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	if p.opt.From == "" {
		p.findJourney()
		return nil
	}
	p.known["from"] = p.opt.From
	p.known["to"] = p.opt.To
	p.known["date"] = p.opt.Date
	return nil
}

// noJourney is why rules that need a journey are not shown where none was found.
const noJourney = "no journey was found within a week among the first cities; name one with -from, -to " +
	"and -date"

// The search for a journey.
const (
	citiesTried = 40
	pairsTried  = 300
	enough      = 4 // departures of a day
	startsIn    = 3 // days: no rule's clock gets there
	daysTried   = 7
)

// findJourney looks for two cities with a departure that has a price and enough seats, and takes the day with
// the most departures. Where there are none, the variables from, to and date stay without a value.
func (p *player) findJourney() {
	a, err := p.send("GET", p.baseURL()+"/v2/cities", "", nil)
	var list struct {
		Data struct{ Cities []struct{ Slug string } }
	}
	if err != nil || json.Unmarshal(a.Body, &list) != nil {
		return
	}
	// Lists have no order that the interface gives: the journey that is found is the same all the same.
	cities := list.Data.Cities
	slices.SortFunc(cities, func(a, b struct{ Slug string }) int { return strings.Compare(a.Slug, b.Slug) })
	cities = cities[:min(len(cities), citiesTried)]
	first := p.skew.now().UTC().AddDate(0, 0, startsIn).Format(time.DateOnly)
	most := 0
	tried := 0
	for _, from := range cities {
		for _, to := range cities {
			if from == to || tried == pairsTried || most >= enough || p.stopped() {
				continue
			}
			tried++
			date, departures := p.bestDay(from.Slug, to.Slug, first)
			if departures > max(most, 1) {
				most = departures
				p.known["from"] = from.Slug
				p.known["to"] = to.Slug
				p.known["date"] = date
			}
		}
	}
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
