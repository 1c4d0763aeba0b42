package tour

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/server"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/lab/seed"
	"waybill/server/lab/transcript"
	"waybill/server/operate/admin"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// world is a served directory that is there for the tour alone. Its clock stands still, and its ids come from
// a number: each tour shows the same.
type world struct {
	out   io.Writer
	dir   string
	fsys  durable.ReadFS
	front *front.Front
	set   bench.Settings

	player transcript.Player
	keys   map[string]string // of partners, by name
	kept   []byte            // an answer
	quiet  bool              // what is asked is not shown
	steps  int               // so far

	head   journal.Head // the last line that was shown
	before []fact       // what could be seen after the step before
}

// newWorld makes a directory with the demo network and two partners, and serves it.
func newWorld(demo fs.FS, out io.Writer) (*world, error) {
	dir, err := os.MkdirTemp("", "waybill-tour-")
	if err != nil {
		return nil, fmt.Errorf("the tour needs room for temporary files, where TMPDIR says: %w", err)
	}
	w := &world{
		out:  out,
		dir:  dir,
		fsys: durable.Dir(dir),
		set: bench.Settings{
			TestClock: true,
			StartAt:   time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
			Frozen:    true,
			Seed:      seed.New(1),
		},
	}
	err = w.serve()
	if err == nil {
		err = w.furnish(demo)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// serve opens the directory, and serves it on a port of this machine.
func (w *world) serve() error {
	cfg := server.Config{
		Dir: w.dir,
		Log: slog.New(slog.DiscardHandler),
		Lab: bench.New(w.set).Lab(),
	}
	f, err := front.Listen(cfg, "127.0.0.1:0", nil)
	if err != nil {
		return err
	}
	if err := f.Open(); err != nil {
		f.Close() // nobody was served yet
		return err
	}
	f.Serve()
	w.front = f
	w.set.Seed = nil // the directory keeps it
	return nil
}

// stop ends the server, as SIGTERM does: requests under way are finished, a snapshot is written, the last
// line is signed. The directory stays.
func (w *world) stop() error {
	if w.front == nil {
		return nil
	}
	f := w.front
	w.front = nil
	return f.Stop()
}

// close ends the server, and takes the directory away. It is called however the tour ends, also before it has
// begun.
func (w *world) close() error {
	return errors.Join(w.stop(), os.RemoveAll(w.dir))
}

// furnish makes what is there before the tour begins.
func (w *world) furnish(demo fs.FS) error {
	do := w.front.Server.Admin
	err := do.Import(demo, "demo", admin.ImportOptions{Strict: true}, io.Discard)
	if err != nil {
		return err
	}
	w.keys = map[string]string{}
	for _, name := range []string{"anna", "other"} {
		if w.keys[name], err = do.AddPartner(name, nil); err != nil {
			return err
		}
	}
	// What this has written is not of the booking, and is not shown.
	report, err := inspect.Follow(w.fsys, journal.Head{}, func(*journal.Line) error { return nil })
	w.head = report.Head
	return err
}

// ask sends a request over TCP, as a partner does, and shows it with its answer. Of a key only the start is
// shown: whoever takes the tour copies its output into a question to others.
func (w *world) ask(r transcript.Request) (answer transcript.Answer, err error) {
	key := w.keys[w.player.Caller]
	if answer, err = w.call(r, key); err != nil || w.quiet {
		return answer, err
	}
	fmt.Fprintf(w.out, "\n  → %s %s\n", r.Method, r.Target)
	if key != "" {
		fmt.Fprintf(w.out, "    x-api-key: %s…\n", key[:8])
	}
	if once := r.Header.Get("Idempotency-Key"); once != "" {
		fmt.Fprintf(w.out, "    Idempotency-Key: %q\n", once)
	}
	if r.Body != "" {
		fmt.Fprintf(w.out, "    %s\n", cut(r.Body))
	}
	fmt.Fprintf(w.out, "  ← %d %s\n", answer.Status, http.StatusText(answer.Status))
	if again := answer.Header.Get("Idempotent-Replayed"); again != "" {
		fmt.Fprintf(w.out, "    Idempotent-Replayed: %s\n", again)
	}
	return answer, w.print("    %s\n", cut(string(answer.Body)))
}

// call sends a request, and shows nothing.
func (w *world) call(r transcript.Request, key string) (answer transcript.Answer, err error) {
	req, err := http.NewRequest(r.Method, w.front.URL+r.Target, strings.NewReader(r.Body))
	if err != nil {
		return answer, err
	}
	if r.Header != nil {
		req.Header = r.Header
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("x-api-key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return transcript.Answer{Status: resp.StatusCode, Header: resp.Header, Body: bytes.TrimSpace(body)}, err
}

// cut returns as much of a text as is worth looking at: its start, and its end. Bytes of a character that is
// cut through are left out.
func cut(text string) string {
	const start, end = 500, 300
	if len(text) <= start+end {
		return text
	}
	return strings.ToValidUTF8(text[:start], "") + " … " + strings.ToValidUTF8(text[len(text)-end:], "")
}

// search is what finds Lesia's bus.
const search = "GET /v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25"

// fact is something that a step may change, as it is shown.
type fact struct{ name, value string }

// look returns what can be seen of the booking and its run. It asks as a partner does, so that what is shown
// as the state is what somebody would be told, and not what is in memory.
func (w *world) look() (facts []fact, err error) {
	now, err := w.front.Server.Now()
	if err != nil {
		return nil, err
	}
	facts = append(facts, fact{"clock", now.Format(time.DateTime)})
	eye := transcript.Player{
		Vars: w.player.Vars,
		Ask:  func(r transcript.Request) (transcript.Answer, error) { return w.call(r, w.keys["anna"]) },
	}
	text := func(path string) string { return strings.Trim(eye.Value(path), `"`) }
	// The first bus of the day is the one that is sold.
	if err := eye.Play(search); err != nil {
		return nil, err
	}
	if left := text("data.offers[0].seatsLeft"); left != "absent" {
		facts = append(facts, fact{"seats left", left})
	}
	if w.player.Vars["booking"] == "" {
		return facts, nil
	}
	if err := eye.Play("GET /v2/bookings/$booking"); err != nil {
		return nil, err
	}
	const ticket = "data.booking.tickets[0]."
	refund, _ := strconv.ParseFloat(text(ticket+"refundAmount"), 64) // null is none
	name := strings.TrimSpace(text(ticket+"passenger.firstName") + " " + text(ticket+"passenger.lastName"))
	return append(facts,
		fact{"booking", text("data.booking.status")},
		fact{"ticket", text(ticket+"status") + ", " + text(ticket+"paymentStatus")},
		fact{"given back", fmt.Sprintf("%.2f UAH", refund)},
		fact{"passenger", cmp.Or(name, "nobody")},
	), nil
}

// showChanges shows what can be seen after a step, and marks what is other than before it.
func (w *world) showChanges() error {
	now, err := w.look()
	if err != nil {
		return err
	}
	fmt.Fprintln(w.out)
	for _, f := range now {
		i := slices.IndexFunc(w.before, func(b fact) bool {
			return b.name == f.name
		})
		was := "–" // it was not there
		if i >= 0 {
			was = w.before[i].value
		}
		// A star stands where something has changed.
		if was == f.value {
			fmt.Fprintf(w.out, "    %-11s %s\n", f.name, f.value)
		} else {
			fmt.Fprintf(w.out, "  * %-11s %s → %s\n", f.name, was, f.value)
		}
	}
	w.before = now
	return nil
}
