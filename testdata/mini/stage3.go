package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Stage 3: offers, for partners with a key.

// needsKey finds the partner by its key (Authentication, 1).
func needsKey(r *Request) {
	r.partner = r.partners[r.Header.Get("X-Api-Key")]
	refuseIf(r.partner == nil, unauthorized)
}

func searchOffers(r *Request) answer {
	journeys := r.journeys("departureDate", 1, "passengers", largestNumber)
	return ok(object{"offers": views(journeys, r.offerView), "source": ownSource})
}

func (r *Request) offerView(j Journey) object {
	prices := []object{}
	for _, currency := range slices.Sorted(slices.Values(currencies)) {
		if amount := j.price(currency); amount > 0 {
			prices = append(prices, priceView(j[0].id()+"."+currency, amount, currency))
		}
	}
	offer, expires := Token{Kind: "offer", For: r.partner.name, Journey: j}, r.now.Add(offerLifetime)
	return object{"id": r.sign(offer, expires), "source": j[0].source(),
		"seatsLeft": r.seatsLeft(j), "arrivalDate": utc(j.arrival()), "expiresAt": utc(expires),
		"prices": prices, "slices": views(j, offeredView),
		"refundRules": views(j.refundRules(), ruleView), "discounts": discountViews(j)}
}

func priceView(id string, amount int, currency string) object {
	return object{"id": id, "amount": money(amount), "currency": currency}
}

func ruleView(r row) object {
	return object{"id": r["rule_id"], "hours": r.number("hours"), "amount": r.number("amount")}
}

// discountViews are the Discounts of the legs (on offer). Their days begin by the clock where one boards.
func discountViews(j Journey) []object {
	views := []object{}
	for _, leg := range j {
		if d := leg.discount(); d != nil {
			first, _ := time.ParseInLocation(dateForm, d["start_date"], leg.boarding().zone())
			last, _ := time.ParseInLocation(dateForm, d["end_date"], leg.boarding().zone())
			views = append(views, object{
				"id": d["discount_id"], "name": d["name"], "description": d["description"], "rule": "Percent",
				"amount": d.number("amount"), "startDate": utc(first), "endDate": utc(last),
			})
		}
	}
	return views
}

// offeredView is a Slice of an Offer, whose stops have cityStopId instead of arrivalDate.
func offeredView(l Leg) object {
	view := sliceView(l, l.id())
	for i, stop := range view["stops"].([]object) {
		delete(stop, "arrivalDate")
		place := l.trip().calls[l.From+i].stop
		stop["cityStopId"] = place["city"] + "." + place["stop_id"]
	}
	return view
}

// sliceView is a Slice without its seat: Bus, Route and Company (inside route) are in it.
func sliceView(l Leg, id string) object {
	trip, bus, route, company := l.trip(), l.trip().bus, l.trip().route, l.trip().company
	images, services, stops := []object{}, []object{}, []object{}
	for i, url := range strings.Fields(bus["image_urls"]) {
		id := fmt.Sprintf("%s.image%d", bus["bus_id"], i+1)
		images = append(images, object{"id": id, "url": url, "name": path.Base(url)})
	}
	for service := range strings.SplitSeq(route["waybill_services"], ";") {
		id, name, _ := strings.Cut(service, ":")
		services = append(services, object{"id": id, "name": name})
	}
	for i := l.From; i <= l.To; i++ {
		stops = append(stops, stopView(l, i))
	}
	named := cmp.Or(route["route_long_name"], route["route_short_name"], route["route_id"])
	slug := strings.NewReplacer(" – ", "-", " ", "-").Replace(strings.ToLower(named))
	return object{"id": id, "duration": l.arrival().Sub(l.departure()) / time.Minute, "stops": stops,
		"departureDate": utc(l.departure()), "arrivalDate": utc(l.arrival()),
		"carriage": object{
			"id": trip.row["trip_id"], "name": cmp.Or(trip.row["trip_short_name"], trip.row["trip_headsign"]),
			"phones": strings.Fields(trip.row["waybill_phones"]),
		},
		"bus": object{
			"id": bus["bus_id"], "seatsQty": trip.seats(), "registrationNumber": bus["registration_number"],
			"brand": bus["brand"], "model": bus["model"], "images": images,
		},
		"route": object{
			"id": route["route_id"], "name": trip.routeName(""), "description": route["route_desc"],
			"slug": cmp.Or(route["waybill_slug"], slug), "permissions": []object{},
			"services": services,
			"company": object{
				"id": company["agency_id"], "name": company["agency_name"], "slug": company["waybill_slug"],
				"email": company["agency_email"], "website": company["agency_url"],
				"logoUrl": company["waybill_logo_url"], "rules": company["waybill_rules"],
				"ceo": company["waybill_ceo"], "partnerCompany": orNull(company["waybill_partner_company"]),
				"socials": strings.Fields(company["waybill_socials"]),
			},
		}}
}

// stopView is a Stop (in bookings). Where one boards there is no arrival, and where one alights no departure.
func stopView(l Leg, index int) object {
	call := l.trip().calls[index]
	arrival, departure := l.start().Add(call.arrive), l.start().Add(call.depart)
	view := placeView(call.stop)
	view["platform"] = cmp.Or(call.stop["waybill_platform"], call.stop["platform_code"])
	view["arrivalTime"], view["departureTime"], view["arrivalDate"] = nil, nil, nil
	if index > l.From {
		view["arrivalTime"], view["arrivalDate"] = arrival.In(call.zone()).Format("15:04"), utc(arrival)
	}
	if index < l.To {
		view["departureTime"] = departure.In(call.zone()).Format("15:04")
	}
	return view
}
