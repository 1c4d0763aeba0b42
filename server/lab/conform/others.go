package conform

import (
	"fmt"
	"strings"
	"time"
)

// The questions of [player.askOthers].
var (
	currencies = [...]string{"UAH", "PLN", "CZK", "EUR", "USD"}
	languages  = [...]string{"UK", "PL", "CS", "EN", "RU"}
	companions = [...]int{1, 1, 3, 1, 2, 10} // passengers, more often one
)

// notCompared is how many pairs of cities are asked about where there is no server to compare with.
const notCompared = 5

// askOthers asks about so many other pairs of cities: for departures, or for offers. What one journey shows
// is one currency, one language, one season and few of the buses; each question has others. A slow server is
// asked less. With a shift of 1 it is about other currencies than the first.
func (p *player) askOthers(rest string) error {
	kind, count, _ := strings.Cut(rest, " ")
	n, shift := 0, 0
	_, err := fmt.Sscan(count, &n, &shift)
	if err == nil {
		err = p.readCities()
	}
	if err != nil {
		return err
	}
	if !p.like.asked(p) {
		n = min(n, notCompared)
	}
	dates := p.otherDates()
	all := len(p.search.cities) * (len(p.search.cities) - 1)
	i := -1
	for from, to := range p.pairs(0, min(n, all), all) {
		i++
		ask := fmt.Sprintf("departureCitySlug=%s&arrivalCitySlug=%s&passengers=%d", from.Slug, to.Slug,
			companions[i%len(companions)])
		date := dates[i%len(dates)]
		steps := []string{"GET /v2/offers?" + ask + "&departureDate=" + date, "    200"}
		if kind == "departures" {
			currency := currencies[shift*(1+i%(len(currencies)-1))]
			language := languages[i/2%len(languages)]
			steps = []string{
				"GET /v2/offers/schedule?" + ask + "&date=" + date + "&days=14&take=100" +
					"&currency=" + currency + "&language=" + language,
				"    200",
				"    data.departures ~ ^\\[",
				`    data.currency == "` + currency + `"`,
			}
		}
		for _, step := range steps {
			if err := p.playStep(step); err != nil {
				return err
			}
		}
		if p.like.difference != nil {
			return nil
		}
	}
	if p.stopped() {
		return &skip{"the run was stopped"}
	}
	return nil
}

// otherDates are the days to ask about: today, all seasons, and around a day on which clocks change.
func (p *player) otherDates() (dates []string) {
	today := p.skew.now().UTC().Format(time.DateOnly)
	change := nextChange(p.search.cities[0], today)
	dates = append(dates, today)
	for week := range 13 {
		dates = append(dates, addDays(p.firstDay(), week*4*7))
		if week%4 == 0 && change != "" {
			dates = append(dates, addDays(change, -5))
		}
	}
	return dates
}
