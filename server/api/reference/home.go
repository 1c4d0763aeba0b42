package reference

import (
	"cmp"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"waybill/schedule"
	"waybill/server/api/search"
	"waybill/server/frame/web"
)

// How much the first page shows (decision home.board).
const (
	departuresShown = 12
	journeysShown   = 50
	citiesOffered   = 500
)

// home is the first page: a departure board, or the journeys that somebody has searched for.
type home struct {
	Base           string
	From, To, Date string // what was asked for, and the day that a search begins with
	Cities         []string
	Departures     []search.Departure
	More           int    // journeys that are not among them
	Wrong          string // what was asked for and cannot be; "" is nothing
	Call           string // the path by which a program asks the same; "" where nothing was asked
	Empty          bool   // there is no timetable
}

// GetHome answers GET /: to a browser with a departure board and where to go on, else with 404 as for any
// path that means nothing (decisions home.board and answers.bodies).
func (s *Publisher) GetHome(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept")
	if !wantsPage(r.Header) {
		return web.ErrNotFound
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	query := r.URL.Query()
	network := s.finder.Network()
	x := &home{
		Base:  s.address(r),
		From:  strings.ToValidUTF8(query.Get("from"), "�"),
		To:    strings.ToValidUTF8(query.Get("to"), "�"),
		Date:  cmp.Or(strings.ToValidUTF8(query.Get("date"), "�"), now.Format(time.DateOnly)),
		Empty: len(network.Trips) == 0,
	}
	if len(network.Cities) <= citiesOffered { // more than a list is good for: they are typed
		x.Cities = network.CityNames()
	}
	if x.From == "" && x.To == "" {
		x.Departures, err = network.Board(now, departuresShown)
	} else {
		err = x.find(network)
	}
	if err != nil {
		return err
	}
	return s.fillIn(w, http.StatusOK, "home.html", x)
}

// find finds what somebody has asked for, or says why that cannot be found.
func (x *home) find(network *search.Network) error {
	from, knownFrom := network.CityCalled(x.From)
	to, knownTo := network.CityCalled(x.To)
	day, err := schedule.ParseDay(x.Date)
	switch {
	case !knownFrom:
		x.Wrong = "No city, or more than one, is called “" + x.From + "”."
	case !knownTo:
		x.Wrong = "No city, or more than one, is called “" + x.To + "”."
	case err != nil:
		x.Wrong = "“" + x.Date + "” is not " + schedule.DayRule + "."
	}
	if x.Wrong != "" {
		return nil
	}
	x.From, x.To = network.CityName(from), network.CityName(to)
	x.Call = "/v2/offers/schedule?" + url.Values{
		"departureCitySlug": {network.Cities[from].Slug},
		"arrivalCitySlug":   {network.Cities[to].Slug},
		"date":              {x.Date},
		"language":          {"EN"},
	}.Encode()
	x.Departures, x.More, err = network.Between(from, to, day, journeysShown)
	return err
}

// SayMissing answers a browser whose path names no page with one that leads to all of them, and
// anybody else as for any path that means nothing (decision home.missing).
func (s *Publisher) SayMissing(w http.ResponseWriter, r *http.Request) error {
	if !wantsPage(r.Header) {
		return web.ErrNotFound
	}
	return s.fillIn(w, http.StatusNotFound, "missing.html", r.URL.Path)
}

// wantsPage reports whether a request's header asks for a page, as a browser's does.
func wantsPage(h http.Header) bool {
	for kind := range strings.SplitSeq(strings.Join(h["Accept"], ","), ",") {
		media, parameters, err := mime.ParseMediaType(kind)
		if err != nil || media != "text/html" {
			continue
		}
		weight, wrong := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		return wrong == nil && weight > 0
	}
	return false
}
