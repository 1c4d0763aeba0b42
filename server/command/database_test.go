//go:build !lean

package command

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/store/durable"
)

// database is a server of PostgreSQL, and a folder where the commands of the page are given.
type database struct {
	t   *testing.T
	dir string
	env []string
}

// newDatabase starts one, as another user where this one is root. It returns nil where there is none.
func newDatabase(t *testing.T) *database {
	t.Helper()
	program := "postgres"
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // Debian's are not in the PATH
	if len(found) > 0 {
		program = found[len(found)-1]
	}
	if !rig.Has(t, "psql") || !rig.Has(t, program) {
		return nil
	}
	at, err := os.MkdirTemp("", "waybill") // a socket's path is short, and t.TempDir is root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		other, err := user.Lookup("postgres")
		if err != nil {
			t.Log("root cannot be a server of PostgreSQL, and there is no user postgres: ", err)
			return nil
		}
		uid, _ := strconv.Atoi(other.Uid)
		gid, _ := strconv.Atoi(other.Gid)
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(at, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(at, "data")
	initdb := exec.Command(filepath.Join(filepath.Dir(program), "initdb"), "-D", data, "-N", "-A", "trust",
		"-U", "waybill", "-E", "UTF8", "--no-locale")
	serve := exec.Command(program, "-D", data, "-F", "-k", at, "-h", "")
	initdb.Dir, serve.Dir = at, at
	initdb.SysProcAttr, serve.SysProcAttr = as, as
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		serve.Process.Signal(syscall.SIGQUIT) // at once
		serve.Wait()
	})
	d := &database{t, t.TempDir(), append(os.Environ(), "PGHOST="+at, "PGUSER=waybill")}
	rig.Eventually(t, "PostgreSQL serves", func() bool {
		return d.command("createdb waybill").Run() == nil
	})
	return d
}

// command returns a line for a shell.
func (d *database) command(line string) *exec.Cmd {
	sh := exec.Command("sh", "-ec", line)
	sh.Dir, sh.Env = d.dir, d.env
	return sh
}

// run gives a line to a shell, and returns what it prints.
func (d *database) run(line string) string {
	d.t.Helper()
	out, err := d.command(line).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s\n%v\n%s", line, err, out)
	}
	return string(out)
}

// sellAll has tickets come to each end that they can have, also with a run that is cancelled, and leaves some
// in each state.
func sellAll(t *testing.T, s *server.Server, key, trip string, clock *rig.HandClock) {
	t.Helper()
	call := func(path, body string) (a rig.Answer) {
		t.Helper()
		if a = rig.Call(t, s, key, "POST", "/v2/bookings"+path, body); a.Status >= 300 {
			t.Fatalf("%s: %+v", path, a)
		}
		return a
	}
	do := func(op, ticket string, more ...string) {
		t.Helper()
		form := url.Values{"ticket": {ticket}, more[0]: {more[1]}}
		if err := s.Admin.Do(op, &admin.Act{Form: form, Out: new(strings.Builder)}); err != nil {
			t.Fatal(op, err)
		}
	}
	book := func(acts ...string) (id string, ticket string) {
		t.Helper()
		b := call("", rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 2)).Data.Booking
		for _, act := range acts {
			call("/"+b.ID+"/"+act, fmt.Sprintf(`{"ticketIds":[%q]}`, b.Tickets[0].ID))
		}
		return b.ID, b.Tickets[0].ID
	}
	book("pay")
	book("book")
	book("cancel")
	book("book", "cancel")
	book("pay", "cancel")
	_, ticket := book("pay")
	do("ticket-move", ticket, "booking", "new")
	do("ticket-status", ticket, "status", "Prepaid")
	if said, err := rig.ChangeRun(s, "cancel", trip); err != nil {
		t.Fatal(said, err)
	}
	late, _ := book()
	book("book")
	clock.Move(25 * time.Minute)
	call("/"+late+"/pay", "")
	late, _ = book()
	clock.Move(25 * time.Minute)
	call("/"+late+"/cancel", "")
	book("pay", "cancel")
}

// What the page says to keep beside: a table that lines keep up to date says of each ticket what a new export
// says of it.
func TestThePageOfASecondMachineForADatabase(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	if d == nil {
		return
	}
	bin, _ := build(t)
	data, clock := filepath.Join(d.dir, "data"), new(rig.HandClock)
	d.env = append(d.env, "WAYBILL_DATA="+data, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
	for _, name := range []string{"follow", "new"} {
		save(t, filepath.Join(d.dir, name+".sql"), secondBlocks(t, "sql "+name)[0])
	}
	open := func() (*server.Server, string) {
		return rig.Demo(t, server.Config{Dir: data, FS: durable.Dir(data), Now: clock.Now})
	}
	for i, trip := range []string{"kl-0530", "kl-1000", ""} {
		s, key := open()
		if trip != "" {
			sellAll(t, s, key, trip, clock)
		} else if said, err := rig.ChangeRun(s, "cancel", "kl-2230"); err != nil { // nobody is on it
			t.Fatal(said, err)
		}
		if i == 0 { // beside the server
			d.run(secondBlocks(t, "sh tables")[0])
			sellAll(t, s, key, "kl-0700", clock)
		}
		// Windows that are over are noted: sold is as of the lines that say so.
		clock.Move(25 * time.Minute)
		err := s.Close()
		s, key = open()
		rig.Eventually(t, "what is over is noted", func() (noted bool) {
			err = errors.Join(err, s.Store.View(func(st ledger.State, now time.Time) {
				overdue, _, _ := st.Bookings.Overdue(now, 0, 1000)
				noted = len(overdue) == 0
			}))
			return noted
		})
		rig.NewBookingID(t, s, key) // and is not over
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		lines := d.run("psql -tAc 'select max(seq) from lines' waybill")
		d.run(secondBlocks(t, "sh follow")[0])
		if now := d.run("psql -tAc 'select max(seq) from lines' waybill"); now == lines {
			t.Errorf("round %d: no line has come after %s", i, lines)
		}
		out := fmt.Sprint("export", i)
		d.run("waybill export " + out)
		const columns = "ticket_id, booking_id, price, currency, status, payment_status, refund_amount"
		want := columnsOf(t, filepath.Join(d.dir, out, "tickets.csv"), strings.Split(columns, ", "))
		got := strings.Split(d.run("psql --csv -tc 'select "+columns+" from sold' waybill"), "\n")
		got = got[:len(got)-1]
		slices.Sort(got)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("round %d: the table has\n%s\nwant\n%s", i, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
}

// columnsOf returns some columns of a table of an export, in the order of the rows' texts.
func columnsOf(t *testing.T, file string, columns []string) (rows []string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(content(t, file))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all[1:] {
		var cells []string
		for _, column := range columns {
			cells = append(cells, row[slices.Index(all[0], column)])
		}
		rows = append(rows, strings.Join(cells, ","))
	}
	slices.Sort(rows)
	return rows
}
