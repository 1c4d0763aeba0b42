package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Stage 2: the schedule, and the tokens by which what is shown can be booked.

const offerLifetime = 20 * time.Minute // Limits: offer token lifetime

// currencies and languages are those of GET /v2/offers/schedule, the one unless given first.
var (
	currencies = []string{"UAH", "PLN", "CZK", "EUR", "USD"}
	languages  = []string{"UK", "PL", "CS", "EN", "RU"}
)

// journeys finds those that are asked for: from a city to another, from a day on, for passengers. They
// are sorted (GET /v2/offers/schedule, rule 2). It looks further than the days, as a journey with a change is
// pointless for one that leaves later, too. Of those with a change at the same times only the first is shown.
func (r *Request) journeys(date string, days int, passengers string, most int) []Journey {
	from, to := r.city("departureCity"), r.city("arrivalCity")
	day, count := r.day(date, true), r.number(passengers, 1, 1, most)
	r.check()
	refuseIf(from == nil || to == nil, notFound)
	if from["area_id"] == to["area_id"] {
		return nil
	}
	start, _ := time.ParseInLocation(time.DateOnly, day, zone(from["waybill_timezone"]))
	end := start.AddDate(0, 0, days)
	all := allJourneys(from["area_id"], to["area_id"], start, end.AddDate(0, 0, longestJourney))
	sold := where(all, func(j Journey) bool {
		return j.departure().After(r.now) && r.seatsLeft(j) >= count
	})
	shown := where(sold, func(j Journey) bool { return j.departure().Before(end) && !j.isPointless(sold) })
	slices.SortFunc(shown, func(a, b Journey) int { return strings.Compare(a.order(), b.order()) })
	return slices.CompactFunc(shown, func(a, b Journey) bool {
		return len(a) == 2 && len(b) == 2 && a.times() == b.times()
	})
}

// city is a city by its slug, or else, for partners, by its id (GET /v2/offers).
func (r *Request) city(name string) row {
	slug, id := r.query(name+"Slug"), r.query(name+"Id")
	r.want(slug != "" || id != "" && r.partner != nil, name+"Slug", "is required")
	if slug == "" {
		return feed.cities[id]
	}
	return feed.citySlugs[slug]
}

func showSchedule(r *Request) answer {
	currency, take, skip := r.choice("currency", currencies...), r.number("take", 50, 1, 100), r.skip()
	r.choice("language", languages...)
	journeys := r.journeys("date", r.number("days", 1, 1, 14), "passengers", 10)
	return ok(object{
		"source": ownSource, "total": len(journeys), "currency": currency,
		"passengers": r.number("passengers", 1, 1, 10),
		"departures": views(page(journeys, skip, take), r.departureView),
	})
}

// departureView is a Departure, in the currency and the language that are asked for.
func (r *Request) departureView(j Journey) object {
	currency, language := r.choice("currency", currencies...), r.choice("language", languages...)
	company, amount := j[0].trip().company, any(nil)
	if price := j.price(currency); price > 0 {
		amount = money(price)
	}
	return object{"id": r.sign(Token{Kind: "offer", Journey: j}, r.now.Add(offerLifetime)),
		"company": object{
			"id": company["agency_id"], "name": company["agency_name"],
			"slug": orNull(company["waybill_slug"]), "logoUrl": orNull(company["waybill_logo_url"]),
		},
		"departureDateTime": local(j.departure(), j[0].boarding().zone()),
		"arrivalDateTime":   local(j.arrival(), j.last().alighting().zone()),
		"travelTimeMinutes": j.arrival().Sub(j.departure()) / time.Minute,
		"routeName":         j[0].trip().routeName(language),
		"price":             object{"amount": amount, "currency": currency},
		"seatsLeft":         r.seatsLeft(j)}
}

// A Token is what the server has said, and will hold to until it expires, as a JSON Web Token. To whoever
// shows it again it must be of the kind that is asked for: an offer, the link of a report, or an ID token,
// which is for the service itself and has the claims of /docs/signing-in.
type Token struct {
	Issuer     string  `json:"iss"`
	Kind       string  `json:"aud"`
	For        string  `json:"sub"` // a partner, or anybody where it is "", a user's e-mail, a report
	Email      string  `json:"email,omitempty"`
	IsVerified bool    `json:"email_verified,omitempty"`
	Journey    Journey `json:"journey,omitempty"`
	Issued     float64 `json:"iat"` // in seconds, as is the next
	Expires    float64 `json:"exp"`
}

const issuer, serviceItself = "urn:waybill:development", "waybill"

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// sign makes a text of a token that nobody else can make: what is promised need not be remembered.
func (s *Server) sign(token Token, until time.Time) string {
	token.Issuer, token.Issued, token.Expires = issuer, seconds(s.clock.now()), seconds(until)
	claims, _ := json.Marshal(token)
	return s.seal(inBase64([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + inBase64(claims))
}

func (s *Server) seal(content string) string {
	return content + "." + inBase64(ed25519.Sign(s.key, []byte(content)))
}

func inBase64(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }

// read is the token of a text. Its kind is "" where it is none, and it may have expired.
func (s *Server) read(text string) (token Token) {
	content := text[:max(0, strings.LastIndex(text, "."))]
	if hmac.Equal([]byte(text), []byte(s.seal(content))) {
		_, content, _ = strings.Cut(content, ".")
		claims, _ := base64.RawURLEncoding.DecodeString(content)
		json.Unmarshal(claims, &token)
	}
	return token
}

func (r *Request) isOver(token Token) bool { return seconds(r.now) >= token.Expires }
