package server

import (
	"fmt"
	"maps"
	"sync"
	"testing"
)

// An import, or a run that is changed, is no reason to refuse what has nothing to do with it. Of searches,
// sales and cancellations of one route, beside moves of a run of another and beside imports of the same feed,
// each is done.
func TestNoSaleIsRefusedBesideChangesOfTheTimetable(t *testing.T) {
	for name, change := range map[string]func(*Server, int){
		"moves of another run": func(s *Server, n int) {
			if said, err := doWithRun(s, "move", "kl-0530", "minutes", fmt.Sprint(1+n%60)); err != nil {
				t.Error(said, err)
			}
		},
		"imports of the same feed": func(s *Server, _ int) {
			importFeed(t, s, feedWith(t, nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, key := demoServer(t, Config{Dir: dir})
			query := "departureCitySlug=kyiv&arrivalCitySlug=odesa"
			body := bookingBody(anOffer(t, s, key, query), 1)
			const sellers, sales = 4, 60
			stop := make(chan struct{})
			var changing, selling sync.WaitGroup
			changing.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
						change(s, n)
					}
				}
			})
			statuses := make(chan string, sellers*sales*3)
			for range sellers {
				selling.Go(func() {
					for range sales {
						w := ask(s, key, "GET", "/v2/offers?departureDate="+runDay+"&"+query, "")
						statuses <- fmt.Sprint("search ", w.Code)
						made := call(t, s, key, "POST", "/v2/bookings", body)
						statuses <- fmt.Sprint("sale ", made.status)
						// The bus is never full.
						w = ask(s, key, "POST", "/v2/bookings/"+made.Data.Booking.ID+"/cancel", "")
						statuses <- fmt.Sprint("cancellation ", w.Code)
					}
				})
			}
			selling.Wait()
			close(stop)
			changing.Wait()
			close(statuses)
			counts := map[string]int{}
			for status := range statuses {
				counts[status]++
			}
			want := map[string]int{
				"search 200":       sellers * sales,
				"sale 201":         sellers * sales,
				"cancellation 200": sellers * sales,
			}
			if !maps.Equal(counts, want) {
				t.Errorf("answers are %v, want %v", counts, want)
			}
			compareWithReplay(t, s, dir, false)
		})
	}
}
