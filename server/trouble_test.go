package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/server/ledger"
	"waybill/server/machines/standby"
	"waybill/server/proof/backup"
	"waybill/server/proof/evidence"
	"waybill/server/proof/history"
	"waybill/server/proof/verify"
	"waybill/store"
	"waybill/store/durable"
	"waybill/store/note"
)

// Evidence, witnesses and standbys where a disk fails, an answer is lost, or something was cut short.

// troubled is a directory in which syncs and renames can fail.
type troubled struct {
	durable.FS
	sync   func(name string) error // or nil
	rename func(to string) error   // or nil
}

type troubledFile struct {
	durable.File
	name string
	fsys *troubled
}

func (d *troubled) wrap(f durable.File, name string, err error) (durable.File, error) {
	if err != nil {
		return nil, err
	}
	return &troubledFile{f, name, d}, nil
}

func (d *troubled) Create(name string) (durable.File, error) {
	f, err := d.FS.Create(name)
	return d.wrap(f, name, err)
}

func (d *troubled) Append(name string) (durable.File, error) {
	f, err := d.FS.Append(name)
	return d.wrap(f, name, err)
}

func (d *troubled) Rename(from, to string) error {
	if d.rename != nil {
		if err := d.rename(to); err != nil {
			return err
		}
	}
	return d.FS.Rename(from, to)
}

func (f *troubledFile) Sync() error {
	if f.fsys.sync != nil {
		if err := f.fsys.sync(f.name); err != nil {
			return err
		}
	}
	return f.File.Sync()
}

// What could not be synced, the standby does not say it has; nor does it say so later.
func TestAStandbySaysNothingOfWhatFailed(t *testing.T) {
	p := newProven(t)
	dir := filepath.Join(t.TempDir(), "standby")
	fsys := &troubled{FS: durable.Dir(dir), sync: func(name string) error {
		if strings.HasPrefix(name, "journal/") {
			return errors.New("the disk is broken")
		}
		return nil
	}}
	var out bytes.Buffer
	err := standby.Receive(fsys, strings.NewReader(tailed(t, p.dir, "copy", 1)), &out)
	if !errors.Is(err, store.ErrFailed) || out.String() != "" {
		t.Errorf("it says %q, %v", out.String(), err)
	}
}

// A stream of another directory is refused before any of its keys takes the place of ours.
func TestAForeignStreamChangesNoKey(t *testing.T) {
	t.Parallel()
	ours := newProven(t)
	theirs := newProven(t)
	theirs.forget(t, "email", "somebody@example.com") // it has more lines
	dir := filepath.Join(t.TempDir(), "standby")
	if _, err := received(dir, tailed(t, ours.dir, "copy", 1)); err != nil {
		t.Fatal(err)
	}
	next, err := standby.Next(durable.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := received(dir, tailed(t, theirs.dir, "copy", next)); !errors.As(err, new(*standby.Foreign)) {
		t.Errorf("it is not refused: %v", err)
	}
	for _, key := range []string{"offer-tokens", "idp-development"} {
		was, err := os.ReadFile(filepath.Join(ours.dir, ledger.KeyDir, key))
		if err != nil {
			continue
		}
		is, err := os.ReadFile(filepath.Join(dir, ledger.KeyDir, key))
		if err != nil || !bytes.Equal(was, is) {
			t.Errorf("%s is another: %v", key, err)
		}
	}
}

// What somebody has put beside the keys is no key, and no standby is sent it.
func TestAFileBesideTheKeysIsNotSent(t *testing.T) {
	p := newProven(t)
	beside := filepath.Join(p.dir, ledger.KeyDir, "offer-tokens.bak")
	if err := os.WriteFile(beside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := received(filepath.Join(t.TempDir(), "standby"), tailed(t, p.dir, "copy", 1)); err != nil {
		t.Error(err)
	}
}

// An erasure that stands in the journal and is not carried out yet: there is no evidence with the name in it.
func TestNoEvidenceBesideAnErasure(t *testing.T) {
	t.Parallel()
	p := newProven(t)
	files, err := filepath.Glob(filepath.Join(p.dir, "journal/*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	before := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = string(text)
	}
	p.forget(t, "booking", p.booking)
	for name, was := range before { // as a crash before the erasing leaves it
		now, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(now), "\n")
		copy(lines, strings.SplitAfter(strings.TrimSuffix(was, "\n"), "\n"))
		n := strings.Count(was, "\n")
		lines[n-1] = strings.TrimSuffix(lines[n-1], "\n") + "\n"
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out.zip")
	_, err = evidence.File(durable.Dir(p.dir), false, history.Filter{Booking: p.booking}, out)
	if err == nil || !strings.Contains(err.Error(), "an erasure was cut short") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a file all the same")
	}
}

// A witness that has signed, and whose answer was lost, has not signed for us: the note does not say that all
// have, and it is asked again.
func TestAnAnswerOfAWitnessIsLost(t *testing.T) {
	one := newWitness(t, "one.example")
	other := newWitness(t, "the.other.example")
	s := openWitnessed(t, t.TempDir(), one, other)
	s.knows(one, other)
	s.ask()
	_, before := s.get("?witnessed")
	asked := 0
	other.spoil = func(w http.ResponseWriter, r *http.Request) bool {
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
	s.write()
	s.ask()
	if _, now := s.get("?witnessed"); now != before {
		t.Errorf("it counts as signed by all: %s", now)
	}
	was := asked
	s.ask()
	if asked == was {
		t.Error("it is not asked again")
	}
}

// Where what all have signed cannot be published, the next round does that, and nobody signs twice.
func TestAWitnessSignsOnce(t *testing.T) {
	p := &proven{dir: t.TempDir(), witness: newWitness(t, "w.example")}
	var fail atomic.Bool // a start asks as well, in the background
	fail.Store(true)
	fsys := &troubled{FS: durable.Dir(p.dir), rename: func(to string) error {
		if fail.Load() && strings.HasSuffix(to, "checkpoint.witnessed") {
			return errors.New("no space left")
		}
		return nil
	}}
	w := &witnessed{t: t}
	w.Server, _ = demoServer(t, Config{Dir: p.dir, FS: fsys})
	w.Server.Close()
	fsys.FS = durable.Dir(p.dir)
	again, err := Open(Config{
		Dir:       p.dir,
		FS:        fsys,
		Now:       func() time.Time { return scriptStart },
		Witnesses: append(Config{}.Witnesses, p.witness.peer()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	w.Server = again
	w.knows(p.witness)
	w.ask()
	w.ask()
	if code, _ := w.get("?witnessed"); code != 404 {
		t.Errorf("it is published: %d", code)
	}
	fail.Store(false)
	w.ask()
	if code, signed := w.get("?witnessed"); code != 200 || strings.Count(signed, "— w.example ") != 1 {
		t.Errorf("%d %s", code, signed)
	}
}

// started opens a copy for the first time, and verifies it with the witness's key.
func (p *proven) started(t *testing.T, dir string, now func() time.Time) (verify.Report, error) {
	t.Helper()
	s, err := Open(Config{Dir: dir, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	witnesses := []note.Key{p.witness.vkey()}
	return verify.Directory(durable.Dir(dir), false, store.Expected{Witnesses: witnesses})
}

// A copy whose log of notes ends in a part of one keeps the notes of before.
func TestNotesOfBeforeAreKeptWithAPartOfOne(t *testing.T) {
	t.Parallel()
	p := newProven(t)
	to := filepath.Join(t.TempDir(), "copy")
	if _, err := backup.Backup(durable.Dir(p.dir), false, durable.Dir(to)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(to, "checkpoints.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("waybill/ABC\n12"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	rep, err := p.started(t, to, func() time.Time { return scriptStart })
	if err != nil || rep.Witnessed[0].Seq == 0 || len(rep.Unkept) > 0 {
		t.Errorf("%v: %+v, %+v", err, rep.Witnessed, rep.Unkept)
	}
	// Without the key that checks them they are no longer a proof, and the start does not throw them away.
	other := filepath.Join(t.TempDir(), "other")
	if _, err := backup.Backup(durable.Dir(p.dir), false, durable.Dir(other)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(other, "checkpoint.pub")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: other}); err == nil || !strings.Contains(err.Error(), "checkpoint.pub") {
		t.Errorf("%v", err)
	}
}

// What a witness has signed of lines that a repair has cut off, it has not signed of those that came after.
func TestARepairTakesBackWhatWitnessesHaveSigned(t *testing.T) {
	p := newProven(t)
	to := filepath.Join(t.TempDir(), "cut")
	cut := store.Cut{At: 3, Reason: "test", By: ledger.By{UID: 1}, Force: true}
	_, _, err := backup.Repair(durable.Dir(p.dir), durable.Dir(to), cut)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := p.started(t, to, nil)
	if err != nil || rep.Witnessed[0].Seq >= 3 {
		t.Errorf("%v: %+v", err, rep.Witnessed)
	}
}

// Of what lines only imply, statements for a database tell as well: sessions that end with the start of
// another, reports that are made again, and a subject whose provider is not known yet.
func TestTailForADatabaseTellsWhatIsImplied(t *testing.T) {
	if !has(t, "sqlite3") {
		return
	}
	dir := t.TempDir()
	now := scriptStart
	s, err := Open(Config{Dir: dir, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	user := auth.ID{1}
	link := auth.NewLink("", "subject")
	done := booking.ID{9}
	record := func(events ...ledger.Event) {
		t.Helper()
		for _, e := range events {
			if err := s.Record(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	record(
		&auth.UserAdded{
			User:   user,
			Link:   &link,
			Access: auth.Access{Company: auth.Company{ID: "c"}, Role: "ADMIN"},
			Person: auth.Person{Email: "a@example.com"},
		},
		&auth.SessionStarted{
			Session: auth.ID{2},
			User:    user,
			Company: "c",
			Tokens:  auth.NewTokens(now, "a", "b"),
		},
		&report.Ordered{
			ID:      done,
			Company: "c",
			User:    booking.ID(user),
			OrderBy: report.CreatedAt,
			Start:   now,
			End:     now,
		},
		&report.Completed{ID: done, SHA256: "00"},
	)
	now = now.Add(40 * 24 * time.Hour)
	record(
		&auth.SessionStarted{
			Session: auth.ID{3},
			User:    user,
			Company: "c",
			Tokens:  auth.NewTokens(now, "c", "d"),
		},
		&ledger.PersonalErased{Reason: "asked", Reports: []booking.ID{done}},
	)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(t.TempDir(), "db")
	c := exec.Command("sqlite3", "-bail", database)
	c.Stdin = strings.NewReader("pragma foreign_keys = on;\n" + tailed(t, dir, "sql", 1))
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v %s", err, out)
	}
	for query, want := range map[string]string{
		"select session_id from sessions":                         fmt.Sprint(auth.ID{3}),
		"select count(*) from reports where completed_at is null": "1",
		"select issuer from identities":                           "?",
	} {
		got, err := exec.Command("sqlite3", database, query).CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %s, want %s: %v", query, got, want, err)
		}
	}
}
