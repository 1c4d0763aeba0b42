package vary_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// difference is how a varied answer differs from the plain one, by places as data.booking.tickets.
type difference struct {
	known    map[string]bool   // objects with the members of the plain answer
	more     map[string]bool   // objects with one member more
	suffixed map[string]bool   // texts with more at their ends
	reworded map[string]bool   // other texts
	moved    map[string]bool   // lists in another order
	unknown  map[string]string // the member that nobody knows, by the object's id
	wrong    []string          // what must not be
}

func newDifference() *difference {
	return &difference{
		known:    map[string]bool{},
		more:     map[string]bool{},
		suffixed: map[string]bool{},
		reworded: map[string]bool{},
		moved:    map[string]bool{},
		unknown:  map[string]string{},
	}
}

// fail records what must not be.
func (d *difference) fail(place, format string, args ...any) {
	d.wrong = append(d.wrong, place+": "+fmt.Sprintf(format, args...))
}

// compare holds a varied value against the plain one.
func (d *difference) compare(place string, plain, varied any) {
	switch p := plain.(type) {
	case map[string]any:
		v, ok := varied.(map[string]any)
		if !ok {
			d.fail(place, "%v is no object", varied)
			return
		}
		d.members(place, p, v)
	case []any:
		v, ok := varied.([]any)
		if !ok || len(v) != len(p) {
			d.fail(place, "%v, want %d elements", varied, len(p))
			return
		}
		d.elements(place, p, v)
	case string:
		v, ok := varied.(string)
		switch {
		case !ok:
			d.fail(place, "%v is no text", varied)
		case strings.HasPrefix(v, p) && regexp.MustCompile(`^[A-Za-z0-9_~-]{1,24}$`).MatchString(v[len(p):]):
			d.suffixed[place] = true
		case v != p:
			d.reworded[place] = true
		}
	default:
		if plain != varied {
			d.fail(place, "%v, want %v", varied, plain)
		}
	}
}

// members compares objects.
func (d *difference) members(place string, plain, varied map[string]any) {
	for name, value := range plain {
		if _, ok := varied[name]; !ok {
			d.fail(place, "no %s", name)
		}
		d.compare(strings.TrimPrefix(place+"."+name, "."), value, varied[name])
	}
	switch len(varied) - len(plain) {
	case 0:
		d.known[place] = true
	case 1:
		d.more[place] = true
		for name, value := range varied {
			id, hasID := plain["id"].(string)
			if _, ok := plain[name]; !ok && hasID {
				d.see(place, id, fmt.Sprintf("%s %v", name, value))
			}
		}
	default:
		d.fail(place, "%d members that nobody knows", len(varied)-len(plain))
	}
}

// see records the member that nobody knows of an object.
func (d *difference) see(place, id, member string) {
	if before := d.unknown[id]; before != "" && before != member {
		d.fail(place, "%s has %s, and elsewhere %s", id, member, before)
	}
	d.unknown[id] = member
}

// elements compares lists: each element of the plain one has its own in the other.
func (d *difference) elements(place string, plain, varied []any) {
	taken := map[int]bool{}
	for i, p := range plain {
		best := -1
		var of *difference
		for j, v := range varied {
			one := newDifference()
			one.compare(place, p, v)
			better := of == nil || len(one.wrong) < len(of.wrong) ||
				len(one.wrong) == len(of.wrong) && len(one.reworded) < len(of.reworded)
			if !taken[j] && better {
				best = j
				of = one
			}
		}
		taken[best] = true
		if best != i {
			d.moved[place] = true
		}
		d.add(of)
	}
}

// add adds what was found elsewhere.
func (d *difference) add(other *difference) {
	maps.Copy(d.known, other.known)
	maps.Copy(d.more, other.more)
	maps.Copy(d.suffixed, other.suffixed)
	maps.Copy(d.reworded, other.reworded)
	maps.Copy(d.moved, other.moved)
	d.wrong = append(d.wrong, other.wrong...)
	for id, member := range other.unknown {
		d.see("", id, member)
	}
}

// Decision bench.vary: answers say the same as those of a server that does not vary. They differ in what the
// interface leaves open, and in nothing else. The journal, files, papers, letters and headers are the same.
func TestWhatVariesAndWhatDoesNot(t *testing.T) {
	plain := start(t, 7, false)
	plain.play()
	varied := start(t, 7, true)
	varied.play()
	all := newDifference()
	for i, p := range plain.heard {
		v := varied.heard[i]
		if p.asked != v.asked || p.status != v.status {
			t.Fatalf("%s: %d, want %d: %s", p.asked, v.status, p.status, v.body)
		}
		said := decode(t, p.body)
		if said == nil && p.body != v.body {
			t.Errorf("%s: the file is another", p.asked)
		}
		all.compare("", said, decode(t, v.body))
		if got := v.header.Get("Content-Length"); got != fmt.Sprint(len(v.body)) {
			t.Errorf("%s: Content-Length %s of %d bytes", p.asked, got, len(v.body))
		}
		for _, header := range []string{"Content-Length", "Etag"} {
			p.header.Del(header)
			v.header.Del(header)
		}
		if got, want := fmt.Sprint(v.header), fmt.Sprint(p.header); got != want {
			t.Errorf("%s: headers %s, want %s", p.asked, got, want)
		}
	}
	for _, wrong := range all.wrong {
		t.Error(wrong)
	}
	checkPlaces(t, "objects without an unknown member", all.known,
		"data.departures.company data.ticket.slices")
	checkPlaces(t, "ids with a suffix", all.suffixed, "data.booking.id data.booking.tickets.bookingId "+
		"data.booking.tickets.id data.bookingId data.bookings.id data.bookings.tickets.bookingId "+
		"data.bookings.tickets.id data.events.bookingId data.events.fromBookingId "+
		"data.events.ticketId data.id data.order.bookingId "+
		"data.order.id data.orders.bookingId data.orders.id data.refundRules.orderId data.report.id "+
		"data.reports.id data.session.id data.ticket.bookingId data.ticket.id data.tickets.ticketId "+
		"errors.details.ordersIds")
	checkPlaces(t, "messages in other words", all.reworded, "data.tickets.reason errors.message")
	for _, place := range []string{"data.cities", "data.offers", "data.offers.prices", "data.booking.tickets",
		"data.orders", "data.refundRules", "errors"} {
		if !all.moved[place] {
			t.Errorf("%s has kept its order", place)
		}
	}
	promised := regexp.MustCompile(`(^|\.)(departures|bookings|reports|events|stops)$`)
	for place := range all.moved {
		if promised.MatchString(place) {
			t.Errorf("%s has lost its order", place)
		}
	}
	if got, want := written(t, varied), written(t, plain); got != want {
		t.Error("the directory has another journal, letter or report")
	}
}

// checkPlaces wants places.
func checkPlaces(t *testing.T, what string, got map[string]bool, want string) {
	t.Helper()
	if list := strings.Join(slices.Sorted(maps.Keys(got)), " "); list != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, list, want)
	}
}

// written closes a directory, checks it, and returns its lines, letters and reports.
func written(t *testing.T, x *client) string {
	t.Helper()
	if err := x.s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.Directory(durable.Dir(x.dir), false, inspect.Expected{}); err != nil {
		t.Error(err)
	}
	var all strings.Builder
	for _, pattern := range []string{"journal/*", "outbox/*", "reports/*"} {
		files, _ := filepath.Glob(filepath.Join(x.dir, pattern))
		if len(files) == 0 {
			t.Errorf("there are no %s", pattern)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "%s\n%s", filepath.Base(file), text)
		}
	}
	return all.String()
}
