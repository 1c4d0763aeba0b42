package witness_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/proof/backup"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// A witness that has signed, and whose answer was lost, has not signed for us: the note does not say that all
// have, and it is asked again.
func TestAnAnswerOfAWitnessIsLost(t *testing.T) {
	one := rig.NewCosigner(t, "one.example")
	other := rig.NewCosigner(t, "the.other.example")
	s := openWitnessed(t, t.TempDir(), one, other)
	s.Knows(one, other)
	s.Ask()
	_, before := s.Get("?witnessed")
	asked := 0
	other.Spoil = func(w http.ResponseWriter, r *http.Request) bool {
		asked++
		body, _ := io.ReadAll(r.Body)
		_, signed, _ := strings.Cut(string(body), "\n\n")
		if asked%2 == 0 {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, strings.Split(signed, "\n")[1]+"\n")
		return true
	}
	s.Write()
	s.Ask()
	if _, now := s.Get("?witnessed"); now != before {
		t.Errorf("it counts as signed by all: %s", now)
	}
	was := asked
	s.Ask()
	if asked == was {
		t.Error("it is not asked again")
	}
}

// Where what all have signed cannot be published, the next round does that, and nobody signs twice.
func TestAWitnessSignsOnce(t *testing.T) {
	p := &rig.Proven{Dir: t.TempDir(), Witness: rig.NewCosigner(t, "w.example")}
	var fail atomic.Bool // a start asks as well, in the background
	fail.Store(true)
	fsys := &rig.Troubled{FS: durable.Dir(p.Dir), OnRename: func(to string) error {
		if fail.Load() && strings.HasSuffix(to, "checkpoint.witnessed") {
			return errors.New("no space left")
		}
		return nil
	}}
	w := &rig.Witnessed{T: t}
	w.Server, _ = rig.Demo(t, server.Config{Dir: p.Dir, FS: fsys})
	w.Server.Close()
	fsys.FS = durable.Dir(p.Dir)
	again, err := server.Open(server.Config{
		Dir:       p.Dir,
		FS:        fsys,
		Now:       func() time.Time { return rig.Start },
		Witnesses: append(server.Config{}.Witnesses, p.Witness.Peer()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	w.Server = again
	w.Knows(p.Witness)
	w.Ask()
	w.Ask()
	if code, _ := w.Get("?witnessed"); code != 404 {
		t.Errorf("it is published: %d", code)
	}
	fail.Store(false)
	w.Ask()
	if code, signed := w.Get("?witnessed"); code != 200 || strings.Count(signed, "— w.example ") != 1 {
		t.Errorf("%d %s", code, signed)
	}
}

// A copy whose log of notes ends in a part of one keeps the notes of before.
func TestNotesOfBeforeAreKeptWithAPartOfOne(t *testing.T) {
	t.Parallel()
	p := rig.NewProven(t)
	to := filepath.Join(t.TempDir(), "copy")
	if _, err := backup.Backup(durable.Dir(p.Dir), false, durable.Dir(to)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(to, "checkpoints.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("waybill/ABC\n12"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	rep, err := p.Started(t, to, func() time.Time { return rig.Start })
	if err != nil || rep.Witnessed[0].Seq == 0 || len(rep.Unkept) > 0 {
		t.Errorf("%v: %+v, %+v", err, rep.Witnessed, rep.Unkept)
	}
	// Without the key that checks them they are no longer a proof, and the start does not throw them away.
	other := filepath.Join(t.TempDir(), "other")
	if _, err := backup.Backup(durable.Dir(p.Dir), false, durable.Dir(other)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(other, "checkpoint.pub")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Open(server.Config{Dir: other}); err == nil ||
		!strings.Contains(err.Error(), "checkpoint.pub") {
		t.Errorf("%v", err)
	}
}

// What a witness has signed of lines that a repair has cut off, it has not signed of those that came after.
func TestARepairTakesBackWhatWitnessesHaveSigned(t *testing.T) {
	p := rig.NewProven(t)
	to := filepath.Join(t.TempDir(), "cut")
	cut := inspect.Cut{At: 3, Reason: "test", By: ledger.By{UID: 1}, Force: true}
	_, _, err := backup.Repair(durable.Dir(p.Dir), durable.Dir(to), cut)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := p.Started(t, to, nil)
	if err != nil || rep.Witnessed[0].Seq >= 3 {
		t.Errorf("%v: %+v", err, rep.Witnessed)
	}
}
