package vary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"waybill/server/lab/vary"
)

// leaning are clients that lean on what the interface leaves open, one on each kind. They return what they
// have understood of the answers that they were given.
var leaning = map[string]func(answers map[string][]byte) string{
	"order of members": func(answers map[string][]byte) string {
		m := regexp.MustCompile(`"booking":\{"id":"([^"]{22})`).FindSubmatch(answers["POST booking"])
		if m == nil {
			return "no id"
		}
		return string(m[1])
	},
	"unknown members": func(answers map[string][]byte) string {
		in := json.NewDecoder(bytes.NewReader(answers["GET city"]))
		in.DisallowUnknownFields()
		var city struct {
			Data struct {
				City struct{ ID, Name, Slug, Country, TimeZone string }
			}
		}
		return fmt.Sprint(in.Decode(&city), city.Data.City)
	},
	"length of ids": func(answers map[string][]byte) string {
		column := regexp.MustCompile(`"bookingId":"[A-Za-z0-9_-]{22}"`)
		return fmt.Sprint(column.Match(answers["GET ticket"]))
	},
	"words of messages": func(answers map[string][]byte) string {
		return fmt.Sprint(bytes.Contains(answers["POST pay again"], []byte("current state")))
	},
	"order of lists": func(answers map[string][]byte) string {
		var made struct {
			Data struct {
				Booking struct {
					Tickets []struct{ Passenger struct{ FirstName string } }
				}
			}
		}
		if err := json.Unmarshal(answers["POST booking"], &made); err != nil {
			return err.Error()
		}
		return fmt.Sprint(made.Data.Booking.Tickets)
	},
}

// Decision bench.vary: for each kind that varies there are clients that lean on it, and break: each with most
// numbers. One that leans on nothing understands all of them, see TestWhatVariesAndWhatDoesNot.
func TestClientsThatLeanBreak(t *testing.T) {
	x := start(t, 1, false)
	x.play()
	plain := map[string][]byte{}
	for _, h := range x.heard {
		if slices.Contains([]string{"POST booking", "GET city", "GET ticket", "POST pay again"}, h.asked) {
			plain[h.asked] = []byte(h.body)
		}
	}
	for kind, understand := range leaning {
		want := understand(plain)
		if slices.Contains([]string{"no id", "false"}, want) {
			t.Errorf("%s: the client understands nothing: %s", kind, want)
		}
		broken := 0
		const numbers = 12
		for number := range uint64(numbers) {
			varied := map[string][]byte{}
			for name, body := range plain {
				varied[name] = vary.New(number + 1).Answer(body)
			}
			if understand(varied) != want {
				broken++
			}
		}
		if broken < numbers/2 {
			t.Errorf("%s: it breaks with %d of %d numbers", kind, broken, numbers)
		}
	}
}
