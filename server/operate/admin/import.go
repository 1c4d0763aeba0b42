package admin

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/journey"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
	"waybill/store/durable"
)

// ImportOptions are the choices of one import (decision feed.options).
type ImportOptions struct {
	Strict       bool // a row that cannot be used changes nothing and is an error
	DryRun       bool // only report
	gtfs.Options      // its Skip is the import's own
}

// FeedRead is a feed that was read and is good to be the timetable in force.
type FeedRead struct {
	ImportOptions
	name    string
	feed    *gtfs.Feed
	skipped int
}

// adminImport reads a feed and makes it the timetable in force.
func (s *Executor) adminImport(a *Act) (string, error) {
	read, err := ReadFeed(a.Form, a.Out, s.Store.Pace())
	if err != nil {
		return "", err
	}
	return "", s.Adopt(a.By, read, a.Out)
}

// ReadFeed reads the feed that an import's form names and reports on it line by line. It is read at a
// pace.
func ReadFeed(form url.Values, out io.Writer, pace *durable.Pace) (*FeedRead, error) {
	path := form.Get("feed")
	dir, end, err := openFeed(path)
	if err != nil {
		return nil, err
	}
	defer end()
	opt := ImportOptions{form.Has("strict"), form.Has("dry-run"), gtfs.Options{BusOnly: form.Has("bus-only")}}
	if fare, ok := gtfs.ParseFarePerKm(form.Get("fare-per-km")); ok {
		opt.FarePerKm = []schedule.FarePerKm{fare}
	}
	return readAndReport(pace.Reads(dir), filepath.Base(path), opt, out)
}

// openFeed opens a feed, a directory or a zip archive, which end closes. Errors: gtfs.ErrInvalid, and the
// file system's.
func openFeed(path string) (dir fs.FS, end func() error, err error) {
	name := filepath.Base(path)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		return os.DirFS(path), func() error { return nil }, nil
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%w: %s is neither a directory nor a zip archive", gtfs.ErrInvalid, name)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s is neither a directory nor a zip archive (%w)", gtfs.ErrInvalid,
			name, err)
	}
	// Zip archives can unpack to more than fits: they are checked before anything is read of them.
	if err := gtfs.CheckZip(&z.Reader); err != nil {
		return nil, nil, errors.Join(err, z.Close())
	}
	return z, z.Close, nil
}

// ReadTimetable returns the timetable of a feed, a directory or a zip archive, as its import into a new
// directory would have it; rows that cannot be used are skipped. Errors: those of an import.
func ReadTimetable(path string) (*schedule.Timetable, error) {
	dir, end, err := openFeed(path)
	if err != nil {
		return nil, err
	}
	defer end()
	read, err := readAndReport(dir, filepath.Base(path), ImportOptions{}, io.Discard)
	if err != nil {
		return nil, err
	}
	return schedule.New(read.feed.Tables(new(schedule.Tables)))
}

// Import makes a feed the timetable in force, and reports on it line by line. The process does it.
func (s *Executor) Import(dir fs.FS, name string, opt ImportOptions, out io.Writer) error {
	read, err := readAndReport(dir, name, opt, out)
	if err != nil {
		return err
	}
	return s.Adopt(Self(), read, out)
}

// readAndReport reads a feed, writes the report, and decides whether it is good enough to be adopted.
func readAndReport(dir fs.FS, name string, opt ImportOptions, out io.Writer) (*FeedRead, error) {
	skipped := map[string]int{} // by file
	reasons := map[string]int{}
	all := 0
	opt.Skip = func(file string, line int, reason string) {
		skipped[file]++
		reasons[file+": "+cell.ReplaceAllString(reason, "$1…")]++
		all++
		fmt.Fprintf(out, "%s:%d: %s\n", file, line, reason)
	}
	read, counts, err := gtfs.Read(dir, opt.Options)
	if err != nil {
		return nil, err
	}
	// The report: by file, by reason, then what was decided, and what came of it all.
	for _, file := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "%s: %s", file, words.Counted(counts[file], "row"))
		if n := skipped[file]; n > 0 {
			fmt.Fprintf(out, ", %d skipped", n)
		}
		fmt.Fprintln(out)
	}
	for i, reason := range slices.Sorted(maps.Keys(reasons)) {
		if i == maxReasons {
			fmt.Fprintf(out, "and %s more\n", words.Counted(len(reasons)-i, "reason"))
			break
		}
		fmt.Fprintf(out, "%d skipped of %s\n", reasons[reason], reason)
	}
	for _, d := range read.Decisions() {
		fmt.Fprintln(out, d)
	}
	for _, remark := range read.Remarks() {
		fmt.Fprintln(out, remark)
	}
	tables := read.Size()
	fmt.Fprintf(out, "%s, %s, %s, %s, %s, %s; %s skipped\n",
		words.Counted(len(tables.Companies), "company"), words.Counted(len(tables.Cities), "city"),
		words.Counted(len(tables.Stops), "stop"), words.Counted(len(tables.Routes), "route"),
		words.Counted(len(tables.Trips), "trip"), words.Counted(len(tables.Fares), "fare"),
		words.Counted(all, "row"))
	switch {
	case len(tables.Trips) == 0:
		return nil, errors.New("the feed has no usable trip: what is skipped or not used is named above")
	case opt.Strict && all > 0:
		return nil, errors.New("rows were skipped; with -strict nothing is changed")
	}
	return &FeedRead{opt, name, read, all}, nil
}

// cell is what a reason says of one row only: without it, rows that are skipped for the same reason are
// alike.
var cell = regexp.MustCompile(`(stop_sequence )\d+|"(?:[^"\\]|\\.)*"`)

// Judge decides whether a feed may follow a timetable: if no day of it is left, it sells nothing. Of a dry
// run it says the end.
func (f *FeedRead) Judge(before *schedule.Tables, now time.Time, out io.Writer) error {
	if f.feed.Size().Over(now) {
		const over = "no day of the feed is left: it sells nothing"
		switch {
		case f.Strict:
			return errors.New(over + "; with -strict nothing is changed")
		case !before.Over(now):
			last, _ := before.LastDay()
			return fmt.Errorf("%s, and the timetable in force has days until %s; nothing is changed", over, last)
		}
		fmt.Fprintln(out, over)
	}
	if f.DryRun {
		fmt.Fprintln(out, "dry run: nothing is changed")
	}
	return nil
}

// Adopt makes a feed that was read the timetable in force, unless it is a dry run.
func (s *Executor) Adopt(by ledger.By, read *FeedRead, out io.Writer) error {
	s.acting.Lock()
	defer s.acting.Unlock()
	now, err := s.Now()
	if err == nil {
		err = read.Judge(&s.Timetable.Load().Tables, now, out)
	}
	if err != nil || read.DryRun {
		return err
	}
	// Cities keep their ids and slugs, so that the tables depend on the timetable before, and are made under
	// the lock of imports. A dry run could not say that.
	apart := read.feed.Apart()
	tables := read.feed.Tables(&s.Timetable.Load().Tables)
	if now := read.feed.Apart(); !slices.Equal(apart, now) {
		for _, line := range now {
			fmt.Fprintln(out, line)
		}
	}
	tt, err := schedule.New(tables)
	if err != nil {
		return err
	}
	if !s.Config.Verb {
		journey.Prepare(tt) // before it is in force, and without the store's lock
	}
	e := &ledger.TimetableImported{
		Feed:    read.name,
		Cities:  len(tables.Cities),
		Routes:  len(tables.Routes),
		Trips:   len(tables.Trips),
		Skipped: read.skipped,
		Loaded:  tt,
	}
	if e.Hash, err = tables.Encode(io.Discard); err != nil {
		return err
	}
	err = durable.Publish(s.Config.FS, ledger.TimetableDir, e.Hash+".jsonl", func(w io.Writer) error {
		_, err := tables.Encode(w)
		return err
	})
	if err != nil {
		return err
	}
	err = s.administer(by, func(ledger.State, time.Time) (ledger.Event, error) {
		return e, nil
	})
	if err != nil {
		s.Shown.Wake() // it may be in doubt
		return err
	}
	inForce, err := s.ShowTimetable() // with what was changed of its runs
	if err != nil {
		return err
	}
	if err := s.nameOversold(inForce, out); err != nil {
		return fmt.Errorf("timetable %s is in force, and what it does to what was sold cannot be said: %w",
			e.Hash, err)
	}
	_, err = fmt.Fprintf(out, "timetable %s is in force\n", e.Hash)
	return err
}

const maxReasons = 50 // that an import sums up

const maxRunsNamed = 20 // that an import names of those that a timetable no longer has

// nameOversold names the runs that were sold and that a new timetable no longer has, those that differ from
// what tickets say, and those on which more seats are sold than their buses have.
func (s *Executor) nameOversold(tt *schedule.Timetable, out io.Writer) error {
	var sold booking.Frozen
	var now time.Time
	err := s.Store.View(func(st ledger.State, at time.Time) {
		sold = st.Bookings.Freeze()
		sold.Step = s.Store.Pace().Step
		now = at
	})
	if err != nil {
		return err
	}
	withdrawn := sold.Withdrawn(tt, now)
	for i, x := range withdrawn {
		if i == maxRunsNamed {
			fmt.Fprintf(out, "and %s more are no longer in the timetable\n",
				words.Counted(len(withdrawn)-i, "run"))
			break
		}
		stay := "stay"
		if x.Tickets == 1 {
			stay = "stays"
		}
		fmt.Fprintf(out, "%s is no longer in the timetable: %s %s as sold\n", x.Run,
			words.Counted(x.Tickets, "ticket"), stay)
	}
	differing := carrier.FindDiffering(sold, tt, now)
	for i, x := range differing {
		if i == maxRunsNamed {
			fmt.Fprintf(
				out,
				"and %s more differ from what tickets say\n",
				words.Counted(len(differing)-i, "run"),
			)
			break
		}
		fmt.Fprintln(out, x)
	}
	surplus := sold.Surplus(tt, now)
	for _, x := range surplus.Oversold {
		fmt.Fprintf(out, "%s now; no more seats are sold on that part of it while that is so\n", x)
	}
	for _, x := range surplus.Shared {
		if _, err := fmt.Fprintf(out, "%s now; both stay as sold, and one needs another "+
			"seat\n", x); err != nil {
			return err
		}
	}
	return nil
}
