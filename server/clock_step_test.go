package server_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/reach/provider"
)

// Decision clock.step: a step of the machine's clock by more than a minute is not believed. Until it agrees
// with the time that has passed, nothing lapses, changes are 503, the server is not ready, and its log and
// metrics say so. A small correction goes on.
func TestAStepOfTheClockIsNotBelieved(t *testing.T) {
	var passed, wrong atomic.Int64
	log := new(rig.Logged)
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{
		Dir:     dir,
		Now:     func() time.Time { return rig.Start.Add(time.Duration(passed.Load() + wrong.Load())) },
		Elapsed: func() time.Duration { return time.Duration(passed.Load()) },
		Log:     slog.New(slog.NewTextHandler(log, nil)),
	})
	b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
	offer := rig.Offer(t, s, key, rig.Bukovel)
	status := func(method, path, body string) int { return rig.Ask(s, key, method, path, body).Code }
	ticket := func() string {
		return rig.Call(t, s, key, "GET", "/v2/bookings/"+b, "").Data.Booking.Tickets[0].Status
	}
	sells := func() int { return status("POST", "/v2/bookings", rig.BookingBody(offer, 1)) }
	metric := func() string { return rig.Ask(s, "", "GET", "/metrics", "").Body.String() }
	before := ticket()
	for _, step := range []time.Duration{365 * 24 * time.Hour, -2 * time.Minute} {
		wrong.Store(int64(step))
		passed.Add(int64(time.Second))
		if got := ticket(); got != before {
			t.Errorf("after a step of %s the ticket is %s", step, got)
		}
		got := [3]int{sells(), status("GET", "/readyz", ""), status("GET", "/livez", "")}
		if got != [3]int{503, 503, 200} {
			t.Errorf("after a step of %s a sale, readyz and livez are %d", step, got)
		}
		if text := metric(); strings.Contains(text, "waybill_clock_step_seconds 0\n") {
			t.Errorf("after a step of %s the metric says none", step)
		}
		s.RunDue()
		wrong.Store(0)
		if got := [2]int{sells(), status("GET", "/readyz", "")}; got != [2]int{201, 200} {
			t.Errorf("after the clock agrees again: %d", got)
		}
	}
	if !log.Has("ERROR", "the machine's clock has jumped") {
		t.Error("the log does not say so")
	}
	wrong.Store(int64(30 * time.Second))
	if got := sells(); got != 409 && got != 201 {
		t.Errorf("after a correction of 30 s a sale is %d", got)
	}
	if !strings.Contains(metric(), "waybill_clock_step_seconds 0\n") {
		t.Error("a correction of 30 s counts as a step")
	}
	if strings.Contains(rig.JournalText(t, dir), "2027") {
		t.Error("a line is of next year")
	}
}

// Decision clock.step: what the provider has said while the clock jumped is kept once it agrees again, and
// nobody is told that nothing was changed.
func TestAStepWhileTheProviderIsAsked(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var wrong atomic.Int64
		var once sync.Once
		began := time.Now()
		passed := func() time.Duration { return time.Since(began) }
		s, key := rig.Demo(t, server.Config{
			Dir:     dir,
			Now:     func() time.Time { return rig.Start.Add(passed() + time.Duration(wrong.Load())) },
			Elapsed: passed,
			Confirm: func(context.Context, provider.Confirmation) error {
				once.Do(func() { wrong.Store(int64(time.Hour)) })
				return nil
			},
		})
		defer s.Close()
		b, _ := rig.BookForLesia(t, s, key, rig.Bukovel)
		w := rig.Ask(s, key, "POST", "/v2/bookings/"+b+"/pay", "")
		if w.Code != 503 || strings.Contains(w.Body.String(), "nothing was changed") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		wrong.Store(0)
		time.Sleep(time.Minute)
		synctest.Wait()
		ticket := rig.Call(t, s, key, "GET", "/v2/bookings/"+b, "").Data.Booking.Tickets[0]
		if ticket.PaymentStatus != "Paid" {
			t.Errorf("once the clock agrees: %+v", ticket)
		}
	})
}

// Decision clock.step: a server whose clock is more than a minute behind its journal is not ready.
func TestAServerBehindItsJournalIsNotReady(t *testing.T) {
	var c rig.HandClock
	s, _ := rig.Demo(t, server.Config{Now: c.Now})
	for back, want := range map[time.Duration]int{0: 200, -59 * time.Second: 200, -2 * time.Minute: 503} {
		c.Move(back)
		if got := rig.Ask(s, "", "GET", "/readyz", "").Code; got != want {
			t.Errorf("%s behind: readyz is %d, want %d", -back, got, want)
		}
		c.Move(-back)
	}
}
