package verify_test

import (
	"crypto/ed25519"
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
	"waybill/server/proof/witness"
	"waybill/store/checkpoint"
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
	h.kept = []inspect.Kept{keptOf(t, h.dir)}
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
	now := func() time.Time { return later }
	s, err := server.Open(server.Config{Dir: dir, FS: rig.Unsynced(dir), Now: now})
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

// seen is what somebody with root does to an honest directory; it returns what the auditor gets to see.
type seen func(t *testing.T, h *honest) (dir string)

// Changes of lines, that either forger makes.

// aRefundOf100 says another refund than the rules give.
func aRefundOf100(lines []string) []string {
	after := regexp.MustCompile(`"refund":\d+,"grace":false`) // of the second day
	for i, l := range lines {
		lines[i] = after.ReplaceAllString(l, `"refund":100,"grace":false`)
	}
	return lines
}

// leavesOut leaves out the lines of a booking that have one of some types; without types, all.
func leavesOut(booking string, types ...string) func([]string) []string {
	return without(func(l string) bool {
		is := func(kind string) bool { return strings.Contains(l, `"type":"`+kind+`"`) }
		return strings.Contains(l, booking) && (types == nil || slices.ContainsFunc(types, is))
	})
}

// backDated puts the last sale of the second day on the first.
func backDated(h *honest) func([]string) []string {
	return func(lines []string) []string {
		var moved []string
		for _, l := range lines {
			if strings.Contains(l, h.bookings[3]) {
				moved = append(moved, strings.Replace(l, `"time":"2026-11-21T09`, `"time":"2026-11-20T08`, 1))
			}
		}
		rest := leavesOut(h.bookings[3])(lines)
		at := slices.IndexFunc(rest, func(l string) bool { return strings.Contains(l, `"time":"2026-11-21`) })
		return slices.Insert(rest, at, moved...)
	}
}

// careful is who has root, the key, the rules and a day, and makes all right again, with this program where
// it helps: by the names of the page.
var careful = map[string]seen{
	"nothing":              func(t *testing.T, h *honest) string { return copied(t, h.dir) },
	"a seat off the books": func(t *testing.T, h *honest) string { return copied(t, h.dir) },
	"a changed refund": func(t *testing.T, h *honest) string { // the ticket is cancelled later, for less
		dir := forge(t, h.dir, leavesOut(h.bookings[2], "tickets.canceled"))
		h.serve(t, dir, day.Add(30*time.Hour), rig.NewCosigner(t, "own.example"), func(x *trader) {
			x.cancel(2, 0)
		})
		return dir
	},
	"a deleted booking": func(t *testing.T, h *honest) string {
		return h.completed(t, forge(t, h.dir, leavesOut(h.bookings[1])))
	},
	"a back-dated sale": func(t *testing.T, h *honest) string {
		return h.completed(t, forge(t, h.dir, backDated(h)))
	},
	"yesterday's backup": func(t *testing.T, h *honest) string { return copied(t, h.yesterday) },
	"two copies for two auditors": func(t *testing.T, h *honest) string {
		dir := copied(t, h.yesterday)
		h.serve(t, dir, day, rig.NewCosigner(t, "own.example"), func(x *trader) { x.sell(3) })
		return dir
	},
	"everything rewritten": func(t *testing.T, h *honest) string {
		return h.completed(t, impostor(t, h, true, true))
	},
	"another's name": func(t *testing.T, h *honest) string {
		return h.completed(t, impostor(t, h, false, true))
	},
	"a line left out": func(t *testing.T, h *honest) string { // and all that follows from it
		dir := forge(t, h.dir, leavesOut(h.bookings[2], "ticket.paid", "tickets.canceled"))
		return h.completed(t, dir)
	},
	"a fork as the original": func(t *testing.T, h *honest) string {
		dir := filepath.Join(t.TempDir(), "backup")
		err := inspect.Backup(durable.Dir(h.yesterday), durable.Dir(dir), false, "timetables")
		if err != nil {
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
	"a false erasure": func(t *testing.T, h *honest) string { // as a true one
		dir := copied(t, h.dir)
		h.serve(t, dir, day.Add(5*time.Hour), rig.NewCosigner(t, "own.example"), func(x *trader) {
			if said, err := rig.Forget(x.Server, "booking", h.bookings[3]); err != nil {
				t.Fatal(said, err)
			}
		})
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

// careless is who hashes the lines anew, and has no key, or does not think of the notes, the tree, the
// snapshots and the hashes of personal parts; in one row, who does not hash anew, and in one, who signs and
// has no rules.
var careless = map[string]seen{
	"a seat off the books": careful["a seat off the books"],
	"an edited line": func(t *testing.T, h *honest) string { // whose hash stays as it was
		return spoiltCopy(t, h.dir, func(dir string) error {
			name := filepath.Join(dir, rig.JournalFile)
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, []byte(strings.Join(aRefundOf100([]string{string(text)}), "")), 0o600)
		})
	},
	"a refund as one likes": func(t *testing.T, h *honest) string { return forge(t, h.dir, aRefundOf100) },
	"a changed refund":      func(t *testing.T, h *honest) string { return rehashed(t, h.dir, aRefundOf100) },
	"a deleted booking": func(t *testing.T, h *honest) string {
		return rehashed(t, h.dir, leavesOut(h.bookings[1]))
	},
	"a back-dated sale": func(t *testing.T, h *honest) string { return rehashed(t, h.dir, backDated(h)) },
	"yesterday's backup": func(t *testing.T, h *honest) string { // of the journal alone
		dir := copied(t, h.dir)
		replace(t, dir, rig.JournalFile, h.yesterday)
		return dir
	},
	"two copies for two auditors": func(t *testing.T, h *honest) string { // with notes of both histories
		dir := careful["two copies for two auditors"](t, h)
		replace(t, dir, checkpoint.File, h.dir)
		replace(t, dir, checkpoint.LogFile, h.dir)
		return dir
	},
	"everything rewritten": func(t *testing.T, h *honest) string { // beside the true notes
		dir := copied(t, h.dir)
		replace(t, dir, rig.JournalFile, impostor(t, h, true, true))
		return dir
	},
	"another's name": func(t *testing.T, h *honest) string { // that line 1 does not have
		return impostor(t, h, false, false)
	},
	"a line left out": func(t *testing.T, h *honest) string {
		return rehashed(t, h.dir, leavesOut(h.bookings[2], "ticket.paid"))
	},
	"a fork as the original": func(t *testing.T, h *honest) string {
		return withoutItsFork(t, careful["a fork as the original"](t, h))
	},
	"a witness of one's own": func(t *testing.T, h *honest) string { // its signature is of another note
		dir := careful["a deleted booking"](t, h)
		text, err := os.ReadFile(filepath.Join(h.dir, checkpoint.File))
		signature := regexp.MustCompile(`(?m)^— w\.example .*\n`).Find(text)
		own, noOwn := os.ReadFile(filepath.Join(dir, checkpoint.File))
		if err != nil || noOwn != nil || signature == nil {
			t.Fatal(err, noOwn, string(text))
		}
		text = slices.Concat(own, signature)
		notes := map[string][]byte{checkpoint.File: text, checkpoint.LogFile: append(text, '\n')}
		for name, text := range notes {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	},
	"a moved clock": func(t *testing.T, h *honest) string { // in the last line
		return rehashed(t, h.dir, func(lines []string) []string {
			last := &lines[len(lines)-1]
			*last = strings.Replace(*last, `"time":"2026-11-21T09`, `"time":"2026-11-21T10`, 1)
			return lines
		})
	},
	"a false erasure": func(t *testing.T, h *honest) string {
		dir := copied(t, h.dir)
		rig.Erase(t, dir, "Lesia")
		return dir
	},
	"a standby": func(t *testing.T, h *honest) string { return withoutItsFork(t, careful["a standby"](t, h)) },
}

// withoutItsFork takes away the line that gave a copy its name.
func withoutItsFork(t *testing.T, dir string) string {
	return rehashed(t, dir, without(func(l string) bool { return strings.Contains(l, `"type":"forked"`) }))
}

// completed serves a forged directory for a moment, which makes its tree and a snapshot.
func (h *honest) completed(t *testing.T, dir string) string {
	h.serve(t, dir, day.Add(5*time.Hour), rig.NewCosigner(t, "own.example"), func(*trader) {})
	return dir
}

// impostor is a history of somebody else's under the honest directory's name: signed with that one's key, or
// with a key of its own. Its line 1 says that the name is its own where it is thorough.
func impostor(t *testing.T, h *honest, withKey, thorough bool) string {
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
	return forge(t, dir, func(lines []string) []string {
		for i, l := range lines {
			if !thorough {
				break
			}
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
