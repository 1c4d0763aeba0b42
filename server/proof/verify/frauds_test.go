package verify_test

import (
	"crypto/ed25519"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/proof/verify"
	"waybill/server/proof/witness"
	"waybill/store/checkpoint"
	"waybill/store/copies"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/note"
)

// honest is a directory that a witness has seen grow, its state of the day before, and an auditor's notes.
type honest struct {
	dir       string
	yesterday string // with its key: whoever has root can copy that too
	witness   *rig.Cosigner
	kept      []inspect.Kept
	bookings  []string
}

// day is when the second day of an honest directory starts.
var day = rig.Start.Add(24 * time.Hour)

// newHonest sells on two days: a booking that is paid and partly cancelled within the grace, one that is paid
// by its deadline, and on the second day one that is refunded by its rule, and one that is paid.
func newHonest(t *testing.T) *honest {
	t.Helper()
	h := &honest{dir: filepath.Join(t.TempDir(), "honest"), witness: rig.NewCosigner(t, "w.example")}
	h.serve(t, h.dir, rig.Start, h.witness, func(x *trader) {
		x.Knows(h.witness)
		x.sell(2)
		x.cancel(0, 1)
		x.sell(1)
	})
	h.yesterday = copied(t, h.dir)
	h.serve(t, h.dir, day, h.witness, func(x *trader) {
		x.sell(1)
		x.since.Add(int64(time.Hour))
		x.sell(1)
		x.cancel(2, 0)
	})
	note, noNote := checkpoint.Newest(durable.Dir(h.dir))
	key, noKey := checkpoint.PublicKey(durable.Dir(h.dir))
	if noNote != nil || noKey != nil {
		t.Fatal(noNote, noKey)
	}
	h.kept = []inspect.Kept{{Note: note, Key: key}}
	return h
}

// trader is a partner of a server that is serving.
type trader struct {
	*rig.Witnessed
	*honest
	key   string
	since *atomic.Int64
}

// sell sells seats on a run, and has them paid.
func (x *trader) sell(seats int) {
	x.T.Helper()
	offer := rig.Offer(x.T, x.Server, x.key, rig.KyivLviv)
	a := rig.Call(x.T, x.Server, x.key, "POST", "/v2/bookings", rig.BookingBody(offer, seats))
	if a.Status != http.StatusCreated {
		x.T.Fatal(a)
	}
	booking := a.Data.Booking.ID
	if a := rig.Call(x.T, x.Server, x.key, "POST", "/v2/bookings/"+booking+"/pay", ""); a.Status != 200 {
		x.T.Fatal(a)
	}
	x.bookings = append(x.bookings, booking)
}

// cancel cancels a ticket of a booking, by their places.
func (x *trader) cancel(booking, ticket int) {
	x.T.Helper()
	path := "/v2/bookings/" + x.bookings[booking]
	b := rig.Call(x.T, x.Server, x.key, "GET", path, "").Data.Booking
	a := rig.Call(x.T, x.Server, x.key, "POST", path+"/cancel", `{"ticketIds":["`+b.Tickets[ticket].ID+`"]}`)
	if a.Status != 200 {
		x.T.Fatal(a)
	}
}

// serve serves a directory from an instant on, does something, has a witness sign, and stops.
func (h *honest) serve(t *testing.T, dir string, from time.Time, w *rig.Cosigner, do func(*trader)) {
	t.Helper()
	x := &trader{honest: h, since: new(atomic.Int64)}
	s, key := rig.Demo(t, server.Config{
		Dir:       dir,
		FS:        rig.Unsynced(dir),
		Now:       func() time.Time { return from.Add(time.Duration(x.since.Load())) },
		Witnesses: []witness.Peer{w.Peer()},
	})
	x.key = key
	x.Witnessed = &rig.Witnessed{Server: s, T: t, Dir: dir}
	do(x)
	x.Ask()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// servedOn is a copy of a directory that was served for an hour, two days later, and had the witness asked to
// sign; or the copy as it is, where it cannot be served.
func (h *honest) servedOn(t *testing.T, dir string) string {
	t.Helper()
	dir = copied(t, dir)
	later := day.Add(48 * time.Hour)
	s, err := server.Open(server.Config{Dir: dir, Now: func() time.Time { return later }})
	if err != nil {
		return dir
	}
	s.Close()
	h.serve(t, dir, later, h.witness, func(x *trader) {
		x.Write()
		x.since.Add(int64(time.Hour))
		x.Write()
	})
	return dir
}

// copied returns a copy of a directory, with all that is in it.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// without leaves out lines.
func without(drop func(line string) bool) func([]string) []string {
	return func(lines []string) (left []string) {
		for _, l := range lines {
			if !drop(l) {
				left = append(left, l)
			}
		}
		return left
	}
}

// frauds are what somebody with root, the key and all the time in the world does, by their names on the page.
var frauds = map[string]func(t *testing.T, h *honest) (dir string){
	"a seat off the books": func(t *testing.T, h *honest) string { return copied(t, h.dir) },
	"a changed refund": func(t *testing.T, h *honest) string {
		return rig.Forge(t, h.dir, func(lines []string) []string {
			for i, l := range lines {
				lines[i] = regexp.MustCompile(`"refund":\d+,"grace":false`).
					ReplaceAllString(l, `"refund":100,"grace":false`)
			}
			return lines
		})
	},
	"a deleted booking": func(t *testing.T, h *honest) string {
		return rig.Forge(t, h.dir, without(func(l string) bool { return strings.Contains(l, h.bookings[1]) }))
	},
	"a back-dated sale": func(t *testing.T, h *honest) string {
		return rig.Forge(t, h.dir, func(lines []string) (moved []string) {
			for _, l := range lines {
				if strings.Contains(l, `"time":"2026-11-21`) && strings.Contains(l, h.bookings[3]) {
					l = strings.Replace(l, `"time":"2026-11-21T09`, `"time":"2026-11-20T08`, 1)
					moved = append(moved, l)
				}
			}
			rest := without(func(l string) bool { return strings.Contains(l, h.bookings[3]) })(lines)
			for i, l := range rest {
				if strings.Contains(l, `"time":"2026-11-21`) {
					return append(append(append([]string(nil), rest[:i]...), moved...), rest[i:]...)
				}
			}
			return rest
		})
	},
	"yesterday's backup": func(t *testing.T, h *honest) string { return copied(t, h.yesterday) },
	"two copies for two auditors": func(t *testing.T, h *honest) string {
		dir := copied(t, h.yesterday)
		h.serve(t, dir, day, rig.NewCosigner(t, "own.example"), func(x *trader) { x.sell(3) })
		return dir
	},
	"everything rewritten": func(t *testing.T, h *honest) string {
		return impostor(t, h, true)
	},
	"another's name": func(t *testing.T, h *honest) string { return impostor(t, h, false) },
	"a line left out": func(t *testing.T, h *honest) string {
		return rig.Forge(t, h.dir, without(func(l string) bool {
			return strings.Contains(l, `"type":"ticket.paid"`) && strings.Contains(l, h.bookings[2])
		}))
	},
	"a fork as the original": func(t *testing.T, h *honest) string {
		dir := filepath.Join(t.TempDir(), "backup")
		if err := copies.Backup(durable.Dir(h.yesterday), durable.Dir(dir), false, "timetables"); err != nil {
			t.Fatal(err)
		}
		h.serve(t, dir, day, rig.NewCosigner(t, "own.example"), func(x *trader) { x.sell(1) })
		return dir
	},
	"a witness of one's own": func(t *testing.T, h *honest) string {
		dir := filepath.Join(t.TempDir(), "own")
		own := rig.NewCosigner(t, "w.example")
		own.Key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		h.serve(t, dir, rig.Start, own, func(x *trader) { x.Knows(own); x.sell(1) })
		return dir
	},
	"a moved clock": func(t *testing.T, h *honest) string {
		dir := copied(t, h.dir)
		own := rig.NewCosigner(t, "own.example")
		h.serve(t, dir, day.Add(5*time.Hour), own, func(x *trader) { x.sell(1) })
		return dir
	},
	"a false erasure": func(t *testing.T, h *honest) string {
		dir := copied(t, h.dir)
		rig.Erase(t, dir, "Lesia")
		rig.Resign(t, dir)
		return dir
	},
	"a standby": func(t *testing.T, h *honest) string {
		dir := filepath.Join(t.TempDir(), "standby")
		if _, err := rig.Received(dir, rig.Tailed(t, h.yesterday, "copy", 1)); err != nil {
			t.Fatal(err)
		}
		h.serve(t, dir, day, rig.NewCosigner(t, "own.example"), func(x *trader) { x.sell(1) })
		return dir
	},
}

// impostor is a history of somebody else's under the honest directory's name: signed with that one's key, or
// with a key of its own.
func impostor(t *testing.T, h *honest, withKey bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "impostor")
	h.serve(t, dir, rig.Start, rig.NewCosigner(t, "own.example"), func(x *trader) { x.sell(1) })
	key := keyOf(t, dir)
	if withKey {
		key = keyOf(t, h.dir)
		for _, name := range []string{checkpoint.PrivateKeyFile, checkpoint.PublicKeyFile} {
			replace(t, dir, name, h.dir)
		}
	}
	replace(t, dir, "FORMAT", h.dir)
	replace(t, dir, checkpoint.File, h.dir) // whose first line is the name
	name, _, _ := strings.Cut(string(h.kept[0].Note), "\n")
	says := note.NewKey(name, key.Public().(ed25519.PublicKey)).String()
	vkey := regexp.MustCompile(`"key":"waybill/[^"]+"`)
	return rig.Forge(t, dir, func(lines []string) []string {
		for i, l := range lines {
			lines[i] = vkey.ReplaceAllLiteralString(l, `"key":"`+says+`"`)
		}
		return lines
	})
}

// keyOf returns the key that a directory signs with.
func keyOf(t *testing.T, dir string) ed25519.PrivateKey {
	t.Helper()
	key, err := checkpoint.PrivateKey(durable.Dir(dir))
	if err != nil || key == nil {
		t.Fatal(err)
	}
	return key
}

// replace puts another directory's file in place of a directory's.
func replace(t *testing.T, dir, name, of string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(of, name))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fraudRow is a row of the page's table: a fraud, and the verdicts with nothing kept, with a note and the key
// kept, and of a witness.
var fraudRow = regexp.MustCompile("(?m)^\\| ([^|`]+?) \\| `([a-z]+)` \\| `([a-z]+)` \\| `([a-z]+)` \\|")

// What auditing.md says of who sees which fraud is what verify says of each.
func TestFraudsAreSeenAsThePageSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(rig.File("server/docs/auditing.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for _, row := range fraudRow.FindAllStringSubmatch(string(page), -1) {
		told[row[1]] = row[2:]
	}
	h := newHonest(t)
	sizes, roots := maps.Clone(h.witness.Sizes), maps.Clone(h.witness.Roots)
	for name, commit := range frauds {
		h.witness.Sizes, h.witness.Roots = maps.Clone(sizes), maps.Clone(roots) // it has seen no other fraud
		dir := commit(t, h)
		say := func(dir string, e inspect.Expected) string {
			v, err := verify.Judge(durable.Dir(dir), dir, verify.Beside{}, e, "NOTE")
			t.Logf("%s: %s, %v", name, v.Verdict, err)
			return v.Verdict
		}
		said := []string{
			say(dir, inspect.Expected{}),
			say(dir, inspect.Expected{Kept: h.kept}),
			say(h.servedOn(t, dir), inspect.Expected{
				Witnesses: []note.Key{h.witness.VKey()},
				Within:    5 * time.Minute,
			}),
		}
		if !slices.Equal(said, told[name]) {
			t.Errorf("%s is %q, and the page says %q", name, said, told[name])
		}
		delete(told, name)
	}
	if len(told) > 0 {
		t.Errorf("nobody tries %v", told)
	}
}
