package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/auth"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
)

// asker asks for pages, each of which takes a second to make.
type asker struct {
	*Core
	id      *auth.Partner
	address string
	now     atomic.Int32 // pages that are being made
}

// page asks for one, and returns its error.
func (a *asker) page(ctx context.Context) error {
	r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
	r.RemoteAddr = a.address
	_, err := a.makePage(&Recorder{Partner: a.id}, r, func(*wire.Writer) error {
		a.now.Add(1)
		time.Sleep(time.Second)
		a.now.Add(-1)
		return nil
	})
	return err
}

// Decision places.half: no partner, from however many addresses, and no address, whoever calls from there,
// has more than half of the places. So another is answered, however many pages they ask for.
func TestNobodyHasAllPlaces(t *testing.T) {
	many := &auth.Partner{ID: ids.ID{1}}
	other := &auth.Partner{ID: ids.ID{2}}
	for what, c := range map[string]struct{ first, second, other *asker }{
		"a partner from two addresses": {
			&asker{id: many, address: "192.0.2.1:1"},
			&asker{id: many, address: "192.0.2.2:1"},
			&asker{id: other, address: "192.0.2.3:1"},
		},
		"two callers of an address": {
			&asker{id: many, address: "192.0.2.1:1"},
			&asker{address: "192.0.2.1:2"},
			&asker{id: other, address: "192.0.2.3:1"},
		},
		"one of two partners of an address": {
			&asker{id: many, address: "192.0.2.1:1"},
			&asker{id: many, address: "192.0.2.1:1"},
			&asker{id: other, address: "192.0.2.1:1"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			core := NewCore(Config{})
			for _, a := range []*asker{c.first, c.second, c.other} {
				a.Core = core
			}
			for range 750 {
				go c.first.page(t.Context())
				go c.second.page(t.Context())
			}
			synctest.Wait()
			if n := c.first.now.Load() + c.second.now.Load(); n != pagesAtOnce/2 {
				t.Errorf("%s: they have %d places", what, n)
			}
			start := time.Now()
			if err := c.other.page(t.Context()); err != nil || time.Since(start) > 3*time.Second {
				t.Errorf("%s: another waits %v, %v", what, time.Since(start), err)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			core.making.mu.Lock()
			defer core.making.mu.Unlock()
			if n := len(core.making.halves); n != 0 {
				t.Errorf("%s: of %d something is kept", what, n)
			}
		})
	}
}

// Decision places.half: a request that waits for 5 s is a 503 that says when to try again.
func TestAWaitForAPlaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asker{Core: NewCore(Config{}), address: "192.0.2.1:1"}
		var made, refused atomic.Int32
		for range 10 * pagesAtOnce {
			go func() {
				start := time.Now()
				err := a.page(t.Context())
				f := Explain(err)
				switch {
				case err == nil:
					made.Add(1)
				case f.Status == http.StatusServiceUnavailable && f.RetryAfter != "" &&
					time.Since(start) == PlaceWait:
					refused.Add(1)
				default:
					t.Errorf("after %v: %v", time.Since(start), err)
				}
			}()
		}
		time.Sleep(time.Minute)
		if n := made.Load(); n < 2*pagesAtOnce || n+refused.Load() != 10*pagesAtOnce {
			t.Errorf("%d are made, and %d refused", n, refused.Load())
		}
	})
}

// A client that has left makes way at once.
func TestAClientThatHasLeftHasNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asker{Core: NewCore(Config{}), address: "192.0.2.1:1"}
		ctx, leave := context.WithCancel(t.Context())
		var gone atomic.Int32
		for range 10 * pagesAtOnce {
			go func() {
				if a.page(ctx) != nil {
					gone.Add(1)
				}
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		if n := gone.Load(); n != 10*pagesAtOnce-pagesAtOnce/2 {
			t.Errorf("%d wait no longer", n)
		}
		start := time.Now()
		if err := a.page(t.Context()); err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("the next waits %v, %v", time.Since(start), err)
		}
		time.Sleep(time.Minute)
	})
}

// Nor does a page wait for ever for clients that take their answers slowly.
func TestAWaitForRoomEnds(t *testing.T) {
	x := newSlowReaders(t, answers(100, 2), false)
	x.backlog.limits.Patience = time.Hour
	for port := range 3 {
		x.get(fmt.Sprintf("192.0.2.1:%d", port+1), "")
	}
	ctx, leave := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() { waits <- x.backlog.awaitRoom(ctx) }()
	leave()
	if err := <-waits; err != errBusy {
		t.Error(err)
	}
}
