package server_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/auth"
	"waybill/schedule"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/operate/stand"
	"waybill/server/reach/provider"
	"waybill/store/journal"
)

// pausing is a keeper that has each line at once, but while it is held up.
type pausing struct {
	mu     sync.Mutex
	heldUp bool
	last   uint64 // that it was given
	kept   func(uint64)
}

func (p *pausing) keep(kept func(uint64), _ func(error)) func([]journal.Line) {
	p.kept = kept
	return func(lines []journal.Line) {
		p.mu.Lock()
		p.last = lines[len(lines)-1].Seq
		heldUp := p.heldUp
		p.mu.Unlock()
		if !heldUp {
			kept(p.last)
		}
	}
}

func (p *pausing) holdUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heldUp = true
}

func (p *pausing) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heldUp = false
	p.kept(p.last)
}

// keptBy returns a test bench whose lines a keeper keeps.
func keptBy(lab *stand.Lab, k *pausing) *stand.Lab {
	open := lab.Open
	lab.Open = func(o *ledger.Options, start time.Time) {
		open(o, start)
		o.Keep = k.keep
	}
	return lab
}

// kept is a server whose keeper can be held up, in a bubble, with a user who is signed in and two bookings.
type kept struct {
	*rig.Visitor
	pausing
	t      *testing.T
	asked  atomic.Int64 // questions to the provider
	onAsk  func()
	former []byte              // the file of keys as it was
	shown  *schedule.Timetable // and the timetable
}

func newKept(t *testing.T, dir string, withProvider bool) *kept {
	k := &kept{t: t, onAsk: func() {}}
	cfg := server.Config{Dir: dir, Now: rig.BubbleClock(), Lab: keptBy(rig.NoClock(), &k.pausing)}
	if withProvider {
		cfg.Confirm = func(context.Context, provider.Confirmation) error {
			k.asked.Add(1)
			k.onAsk()
			return nil
		}
	}
	s, key := rig.Demo(t, cfg)
	k.Visitor = &rig.Visitor{T: t, S: s, Dir: dir, Key: key, Names: map[string]string{}}
	demo := auth.Person{Email: "demo@example.com", FirstName: "Demo", LastName: "User"}
	rig.AddUser(t, s, admin.Self(), demo, "correct-horse", "zorevia-lines", "ADMIN")
	k.Names["TOKEN"] = k.Admin("idtoken", "email", "demo@example.com")
	k.SignIn()
	k.Names["BOOKING"], k.Names["TICKET"] = rig.BookForLesia(t, s, key, rig.Bukovel)
	k.Names["OFFER"] = rig.Offer(t, s, key, rig.Bukovel)
	k.former = k.file(ledger.KeyDir + "/" + ledger.RingFile)
	k.shown = s.Timetable.Load()
	return k
}

// file reads a file of the directory.
func (k *kept) file(name string) []byte {
	text, err := os.ReadFile(filepath.Join(k.Dir, name))
	if err != nil {
		k.t.Fatal(err)
	}
	return text
}

// post returns an act that is a request.
func post(target, body string) func(*kept) string {
	return func(k *kept) string {
		w := k.Ask("POST", target, body)
		return fmt.Sprint(w.Code, " ", w.Body)
	}
}

// paid returns how the booking's ticket stands.
func paid(k *kept) string {
	t := rig.Call(k.t, k.S, k.Key, "GET", k.Fill("/v2/bookings/$BOOKING"), "").Data.Booking.Tickets[0]
	return t.Status + "/" + t.PaymentStatus
}

const doubt = "it is not known whether this was done"

// Decision keep.silent: what is answered with a doubt is done once the keeper speaks, and nothing else has to
// happen for it: the provider is asked, letters leave, a report is written, somebody is erased, keys change,
// a timetable is shown. Until then nothing of it is done. No answer says that nothing was changed.
func TestADoubtIsFollowedOnceTheKeeperSpeaks(t *testing.T) {
	cases := []struct {
		what     string
		provider bool
		act      func(*kept) string
		says     string
		done     func(*kept) string // what tells that it is done
		want     string
	}{
		{"a payment that the provider confirms", true, post("/v2/bookings/$BOOKING/pay", ""), doubt,
			func(k *kept) string { return fmt.Sprint(paid(k), k.asked.Load()) }, "Confirmed/Paid1"},
		{"a payment whose answer is held up", true, func(k *kept) string {
			k.goOn()
			k.onAsk = k.holdUp
			return post("/v2/bookings/$BOOKING/pay", "")(k)
		}, doubt, paid, "Confirmed/Paid"},
		{"a payment without a provider", false, post("/v2/bookings/$BOOKING/pay", ""), doubt,
			func(k *kept) string { return fmt.Sprint(len(rig.Letters(k.t, k.Dir))) }, "1"},
		{"a sale behind another", false, func(k *kept) string {
			body := rig.BookingBody(k.Names["OFFER"], 1)
			go k.Ask("POST", "/v2/bookings", body)
			time.Sleep(time.Second)
			return post("/v2/bookings", body)(k)
		}, doubt, func(k *kept) string { return fmt.Sprint(rig.SeatsLeft(k.t, k.S, rig.Bukovel)) }, "0"},
		{"a report", false, post("/v2/reports/company/orders",
			`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`), doubt,
			func(k *kept) string { return fmt.Sprint(rig.QueuedReports(k.t, k.S)) }, "0"},
		{"an erasure", false, func(k *kept) string {
			said, err := rig.Forget(k.S, "booking", k.Names["BOOKING"])
			return fmt.Sprint(said, err)
		}, doubt, func(k *kept) string { return fmt.Sprint(rig.FilesWith(k.t, k.Dir, "Ukrainka")) }, "[]"},
		{"a rotation of keys", false, func(k *kept) string {
			var out strings.Builder
			return fmt.Sprint(k.S.Admin.Do("rotate-keys", &admin.Act{Out: &out}), &out)
		}, "with a new key", func(k *kept) string {
			return fmt.Sprint(bytes.Equal(k.former, k.file(ledger.KeyDir+"/"+ledger.RingFile)))
		}, "false"},
		{"a change of a run", false, func(k *kept) string {
			_, err := rig.ChangeRun(k.S, "cancel", "kl-0700")
			return fmt.Sprint(err)
		}, doubt, func(k *kept) string {
			return fmt.Sprint(k.S.Timetable.Load() == k.shown)
		}, "false"},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				k := newKept(t, dir, c.provider)
				defer k.S.Close()
				synctest.Wait()
				k.holdUp()
				said := c.act(k)
				if !strings.Contains(said, c.says) || strings.Contains(said, "nothing was changed") {
					t.Errorf("it says %s", said)
				}
				time.Sleep(6 * time.Second)
				if n := k.asked.Load(); n > 1 || len(rig.Letters(t, dir)) > 0 {
					t.Errorf("%d questions and %d letters have left before their lines were kept", n,
						len(rig.Letters(t, dir)))
				}
				k.goOn()
				synctest.Wait()
				if got := c.done(k); got != c.want {
					t.Errorf("once the keeper has spoken: %s, want %s", got, c.want)
				}
				rig.CompareWithReplay(t, k.S, dir, false)
			})
		})
	}
}
