package standby_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/machines/standby"
	"waybill/server/machines/tail"
	"waybill/store/durable"
	"waybill/store/live"
)

// What could not be synced, the standby does not say it has; nor does it say so later.
func TestAStandbySaysNothingOfWhatFailed(t *testing.T) {
	p := rig.NewProven(t)
	dir := filepath.Join(t.TempDir(), "standby")
	fsys := &rig.Troubled{FS: durable.Dir(dir), OnSync: func(name string) error {
		if strings.HasPrefix(name, "journal/") {
			return errors.New("the disk is broken")
		}
		return nil
	}}
	var out bytes.Buffer
	err := standby.Receive(fsys, standby.Options{}, strings.NewReader(rig.Tailed(t, p.Dir, "copy", 1)), &out)
	if !errors.Is(err, live.ErrFailed) || out.String() != "0 -\n" {
		t.Errorf("it says %q, %v", out.String(), err)
	}
}

// A stream of another directory is refused before any of its keys takes the place of ours.
func TestAForeignStreamChangesNoKey(t *testing.T) {
	t.Parallel()
	ours := rig.NewProven(t)
	theirs := rig.NewProven(t)
	theirs.Forget(t, "email", "somebody@example.com") // it has more lines
	dir := filepath.Join(t.TempDir(), "standby")
	if _, err := rig.Received(dir, rig.Tailed(t, ours.Dir, "copy", 1)); err != nil {
		t.Fatal(err)
	}
	next, err := standby.Next(durable.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rig.Received(dir, rig.Tailed(t, theirs.Dir, "copy", next)); !errors.As(err,
		new(*standby.Foreign)) {
		t.Errorf("it is not refused: %v", err)
	}
	for _, key := range []string{"offer-tokens", "idp-development"} {
		was, err := os.ReadFile(filepath.Join(ours.Dir, ledger.KeyDir, key))
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
	p := rig.NewProven(t)
	beside := filepath.Join(p.Dir, ledger.KeyDir, "offer-tokens.bak")
	if err := os.WriteFile(beside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := rig.Received(filepath.Join(t.TempDir(), "standby"),
		rig.Tailed(t, p.Dir, "copy", 1)); err != nil {
		t.Error(err)
	}
}

// selling is a reader of a tail. While it reads, a server goes on to sell: a seat for each line.
type selling struct {
	t     *testing.T
	s     *server.Server
	key   string
	lines int
}

// Write sells a seat, and has had enough after twenty lines.
func (x *selling) Write(line []byte) (int, error) {
	if x.lines++; x.lines > 20 {
		return 0, errors.New("it does not end")
	}
	offer := rig.Offer(x.t, x.s, x.key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	rig.Call(x.t, x.s, x.key, "POST", "/v2/bookings", rig.BookingBody(offer, 1))
	return len(line), nil
}

// Decision tail.lines: a tail that does not follow ends with the line that was the last when it began.
func TestATailEndsWhileAServerSells(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir, Now: func() time.Time { return rig.Start }})
	rig.NewBookingID(t, s, key)
	want := strings.Count(rig.JournalText(t, dir), "\n")
	reader := &selling{t: t, s: s, key: key}
	err := tail.Write(durable.Dir(dir), func() bool { return true }, tail.Options{}, reader)
	if err != nil || reader.lines != want {
		t.Errorf("%d lines, of %d that were there when it began: %v", reader.lines, want, err)
	}
}
