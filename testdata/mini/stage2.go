package main

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Stage 2: the schedule, and the tokens by which what is shown can be booked.

const offerLifetime = 20 * time.Minute // Limits: offer token lifetime

// searchFor finds the journeys that are asked for. Cities are given by slug, or else, by partners, by id.
func (s *Server) searchFor(r *Request, date string, days int, passengers string, most int) []Journey {
	cities, areThere := [2]row{}, [2]bool{}
	for i, which := range []string{"departureCity", "arrivalCity"} {
		slug, id := r.query(which+"Slug"), r.query(which+"Id")
		r.want(slug != "" || id != "" && r.partner != nil, which+"Slug", "is required")
		if cities[i], areThere[i] = cityOf(slug); slug == "" {
			cities[i], areThere[i] = feed.cities[id]
		}
	}
	day, count := r.day(date, true), r.number(passengers, 1, 1, most)
	r.check()
	from, to := found(cities[0], areThere[0]), found(cities[1], areThere[1])
	if from["area_id"] == to["area_id"] {
		return nil
	}
	start, _ := time.ParseInLocation(time.DateOnly, day, zone(from["waybill_timezone"]))
	return s.search(from["area_id"], to["area_id"], start, start.AddDate(0, 0, days), count, r.now)
}

// search finds the journeys that leave in some time, and have seats for all passengers. What leaves now has
// left. A journey can be pointless for one that leaves later, too. Of those with a change that take the same
// time only the first is shown, by the name of the first route and the trips.
func (s *Server) search(from, to string, start, end time.Time, passengers int, now time.Time) []Journey {
	between := func(start, end time.Time) []Journey {
		return slices.DeleteFunc(journeys(from, to, start, end), func(j Journey) bool {
			return !j.departure().After(now) || s.seatsLeft(j, now) < passengers
		})
	}
	found, latest := between(start, end), end
	for _, journey := range found {
		latest = slices.MaxFunc([]time.Time{latest, journey.arrival()}, time.Time.Compare)
	}
	others := append(between(end, latest.Add(1)), found...)
	found = slices.DeleteFunc(found, func(j Journey) bool { return j.isPointless(others) })
	name := func(j Journey) string { return j[0].trip().routeName("") + "\n" + j[0].id() + j[len(j)-1].id() }
	inTime := func(a, b Journey) int {
		return cmp.Or(a.departure().Compare(b.departure()), a.arrival().Compare(b.arrival()))
	}
	slices.SortFunc(found, func(a, b Journey) int { return cmp.Or(inTime(a, b), cmp.Compare(name(a), name(b))) })
	return slices.CompactFunc(found, func(a, b Journey) bool { return len(a)*len(b) > 2 && inTime(a, b) == 0 })
}

func (s *Server) showSchedule(r *Request) answer {
	currency := r.choice("currency", "UAH", "PLN", "CZK", "EUR", "USD")
	language := r.choice("language", "UK", "PL", "CS", "EN", "RU")
	take, skip := r.number("take", 50, 1, 100), r.number("skip", 0, 0, largestSkip)
	journeys := s.searchFor(r, "date", r.number("days", 1, 1, 14), "passengers", 10)
	departures := views(page(journeys, skip, take), func(j Journey) object {
		company, amount := j[0].trip().company(), any(nil)
		if price, sold := j.prices()[currency]; sold {
			amount = money(price)
		}
		return object{
			"id": s.sign(Offer{"", r.now.Add(offerLifetime), j}),
			"company": object{"id": company["agency_id"], "name": company["agency_name"],
				"slug": orNull(company["waybill_slug"]), "logoUrl": orNull(company["waybill_logo_url"])},
			"departureDateTime": local(j.departure(), j[0].boarding().zone()),
			"arrivalDateTime":   local(j.arrival(), j[len(j)-1].alighting().zone()),
			"travelTimeMinutes": j.arrival().Sub(j.departure()) / time.Minute,
			"routeName":         j[0].trip().routeName(language),
			"price":             object{"amount": amount, "currency": currency},
			"seatsLeft":         s.seatsLeft(j, r.now),
		}
	})
	return ok(200, object{"source": ownSource, "total": len(journeys), "currency": currency,
		"passengers": r.number("passengers", 1, 1, 10), "departures": departures})
}

// An Offer is what a token holds: a journey, for one partner or for anybody, until an instant.
type Offer struct {
	Partner string
	Expires time.Time
	Journey Journey
}

// sign makes a signed token of something, in the form of a JWT: what is promised need not be remembered.
func (s *Server) sign(claims any) string {
	content, _ := json.Marshal(claims)
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + encode(content)
	return signed + "." + encode(ed25519.Sign(s.key, []byte(signed)))
}

// isSigned reads what a token holds, if we have signed it as it is.
func (s *Server) isSigned(token string, claims any) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	content, _ := base64.RawURLEncoding.DecodeString(parts[1])
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	isOurs := ed25519.Verify(s.key.Public().(ed25519.PublicKey), []byte(parts[0]+"."+parts[1]), signature)
	return err == nil && isOurs && json.Unmarshal(content, claims) == nil
}
