package partner_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// An import, or a run that is changed, is no reason to refuse what has nothing to do with it. Of searches,
// sales and cancellations of one route, beside moves of a run of another and beside imports of the same feed,
// each is done.
func TestNoSaleIsRefusedBesideChangesOfTheTimetable(t *testing.T) {
	for name, change := range map[string]func(*server.Server, int){
		"moves of another run": func(s *server.Server, n int) {
			if said, err := rig.ChangeRun(s, "move", "kl-0530", "minutes", fmt.Sprint(1+n%60)); err != nil {
				t.Error(said, err)
			}
		},
		"imports of the same feed": func(s *server.Server, _ int) {
			rig.Import(t, s, rig.FeedWith(t, nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, key := rig.Demo(t, server.Config{Dir: dir})
			query := "departureCitySlug=kyiv&arrivalCitySlug=odesa"
			body := rig.BookingBody(rig.Offer(t, s, key, query), 1)
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
						w := rig.Ask(s, key, "GET", "/v2/offers?departureDate="+rig.RunDay+"&"+query, "")
						statuses <- fmt.Sprint("search ", w.Code)
						made := rig.Call(t, s, key, "POST", "/v2/bookings", body)
						statuses <- fmt.Sprint("sale ", made.Status)
						// The bus is never full.
						w = rig.Ask(s, key, "POST", "/v2/bookings/"+made.Data.Booking.ID+"/cancel", "")
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
			rig.CompareWithReplay(t, s, dir, false)
		})
	}
}
