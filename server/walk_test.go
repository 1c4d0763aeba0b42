package server_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
)

// slugs returns the slugs of the demo's cities.
func slugs(b *testing.B, s *server.Server) (list []string) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/v2/cities?take=100", nil))
	var answer struct {
		Data struct{ Cities []struct{ Slug string } }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		b.Fatal(err)
	}
	for _, c := range answer.Data.Cities {
		list = append(list, c.Slug)
	}
	return list
}

// BenchmarkScheduleWalk is of searches of 14 days for each two cities, none of which was asked before: run it
// with -benchtime 4000x.
func BenchmarkScheduleWalk(b *testing.B) {
	for changes, name := range []string{"direct", "changes"} {
		b.Run(name, func(b *testing.B) {
			s, _ := rig.Demo(b, server.Config{MaxTransfers: changes})
			cities := slugs(b, s)
			i := 0
			for b.Loop() {
				q := url.Values{}
				q.Set("departureCitySlug", cities[i%len(cities)])
				q.Set("arrivalCitySlug", cities[i/len(cities)%len(cities)])
				weeks := i / len(cities) / len(cities)
				q.Set("date", rig.Start.Add(time.Duration(1+14*weeks)*24*time.Hour).Format(time.DateOnly))
				q.Set("days", "14")
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest("GET", "/v2/offers/schedule?"+q.Encode(), nil))
				if w.Code != 200 {
					b.Fatalf("status %d: %s", w.Code, w.Body)
				}
				i++
			}
		})
	}
}
