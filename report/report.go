// Package report keeps the reports of orders that companies ask for, and writes them as CSV that spreadsheets
// read ([Write]).
//
// A [State] is changed only by events, as in package booking. The package has no lock, clock or files of its
// own.
package report

import (
	"errors"
	"maps"
	"slices"
	"sort"
	"time"

	"waybill/schedule/ids"
)

// OrderBy is what a report's range and order go by (interface, Report).
type OrderBy string

const (
	CreatedAt     OrderBy = "CreatedAt"
	DepartureDate OrderBy = "DepartureDate"

	MaxRange = 366 * 24 * time.Hour // the longest a report covers (interface, Limits)
	Life     = 7 * 24 * time.Hour   // from its completion to its end (decision reports.life)
)

// Report is a company's report. It is immutable; a change makes a new one.
type Report struct {
	Ordered
	Created    time.Time `json:"created"`
	Completed  time.Time `json:"completed,omitzero"` // zero: it is still queued
	Downloaded time.Time `json:"downloaded,omitzero"`
	SHA256     string    `json:"sha256,omitempty"` // of the file, in hex; "" once that was erased
	Line       uint64    `json:"line,omitempty"`   // that says that it is completed
}

// Ordered says that a user asked for a report.
type Ordered struct {
	ID      ids.ID    `json:"report"`
	Company string    `json:"company"` // its id
	User    ids.ID    `json:"user"`
	OrderBy OrderBy   `json:"orderBy"`
	Start   time.Time `json:"startDate"` // inclusive
	End     time.Time `json:"endDate"`   // inclusive
	// FirstDay and LastDay are the days of Start and End in the offsets that the user wrote.
	FirstDay Day `json:"firstDay"`
	LastDay  Day `json:"lastDay"`
}

// Day is a calendar day, as in 2026-11-20.
type Day string

// UnmarshalText reads a day that there is.
func (d *Day) UnmarshalText(text []byte) error {
	*d = Day(text)
	_, err := time.Parse(time.DateOnly, string(text))
	return err
}

// Completed says that a report's file is there, whole and durable. The hash of the file is personal, as the
// file has names.
type Completed struct {
	ID     ids.ID `json:"report"`
	Rows   int    `json:"rows"`
	Salt   ids.ID `json:"-"` // of the personal part
	SHA256 string `json:"-"`
}

// PersonalPart is what the journal keeps apart, so that it can be erased.
func (e *Completed) PersonalPart() any {
	return &struct {
		Salt   *ids.ID `json:"salt"`
		SHA256 *string `json:"sha256"`
	}{&e.Salt, &e.SHA256}
}

// Downloaded says that a report was fetched for the first time.
type Downloaded struct {
	ID ids.ID `json:"report"`
}

// State is all that is remembered of reports. It has no method that changes it: see [Recorder].
type State struct {
	list      []*Report // in the order they were asked for
	byID      map[ids.ID]int
	byCompany map[string][]int
	queued    map[int]bool   // those whose files are still to be written
	waiting   map[string]int // how many of these there are, by company
	// done are those whose files are there, by company, in the order of their completion, and so of their
	// expiry. Some of the first may have expired.
	done map[string][]int
}

// Recorder is a State with the methods that change it, each as an event says. The package that makes the
// State holds its one Recorder, and hands out the State alone.
type Recorder struct{ *state }

type state = State // under a name that no other package can set the field by

// NewRecorder returns the state before the first report.
func NewRecorder() Recorder {
	return Recorder{&State{
		byID:      map[ids.ID]int{},
		byCompany: map[string][]int{},
		queued:    map[int]bool{},
		waiting:   map[string]int{},
		done:      map[string][]int{},
	}}
}

// State returns what is recorded, to read and to decide on.
func (s Recorder) State() *State { return s.state }

// ErrNotFound is the reason why not for an unknown report, another company's, and one whose time is over.
var ErrNotFound = errors.New("report: not found")

// Expires is when the file goes; false while it is queued.
func (r *Report) Expires() (time.Time, bool) {
	return r.Completed.Add(Life), !r.Completed.IsZero()
}

// Find returns a report that has not expired; company "" is any. The error is ErrNotFound.
func (s *State) Find(id ids.ID, company string, now time.Time) (*Report, error) {
	if i, ok := s.byID[id]; ok && (company == "" || s.list[i].Company == company) {
		at, done := s.list[i].Expires()
		if !done || now.Before(at) {
			return s.list[i], nil
		}
	}
	return nil, ErrNotFound
}

// List returns a page of a company's reports, the newest first, and how many there are.
func (s *State) List(company string, skip, take int) (page []*Report, total int) {
	of := s.byCompany[company]
	for i := len(of) - 1 - skip; i >= 0 && len(page) < take; i-- {
		page = append(page, s.list[of[i]])
	}
	return page, len(of)
}

// Waiting returns how many reports of a company are not written yet.
func (s *State) Waiting(company string) int {
	return s.waiting[company]
}

// Kept returns how many reports of a company are not written yet or have not expired, and when the first of
// them expires; zero where none is written. It does not look through them.
func (s *State) Kept(company string, now time.Time) (n int, expires time.Time) {
	done := s.done[company]
	gone := s.expired(done, now)
	if gone < len(done) {
		expires, _ = s.list[done[gone]].Expires()
	}
	return s.waiting[company] + len(done) - gone, expires
}

// NextExpiry returns when a report expires, of whatever company; zero where none is to.
func (s *State) NextExpiry(now time.Time) (first time.Time) {
	for company := range s.done {
		_, expires := s.Kept(company, now)
		if first.IsZero() || !expires.IsZero() && expires.Before(first) {
			first = expires
		}
	}
	return first
}

// expired returns how many of a company's completed reports have expired: they are the first.
func (s *State) expired(done []int, now time.Time) int {
	return sort.Search(len(done), func(n int) bool {
		expires, _ := s.list[done[n]].Expires()
		return now.Before(expires)
	})
}

// Queued returns the reports whose files are not there yet, the oldest first.
func (s *State) Queued() (list []*Report) {
	for _, i := range slices.Sorted(maps.Keys(s.queued)) {
		list = append(list, s.list[i])
	}
	return list
}

// All returns all reports in the order they were asked for.
func (s *State) All() []*Report {
	return slices.Clone(s.list)
}

// Restore puts a report back as a snapshot has it.
func (s Recorder) Restore(r *Report) {
	i := len(s.list)
	s.byID[r.ID] = i
	s.byCompany[r.Company] = append(s.byCompany[r.Company], i)
	s.list = append(s.list, r)
	if r.Completed.IsZero() {
		s.queue(i, true)
		return
	}
	s.shelve(i)
}

// shelve adds a report that is completed to its company's. Those of one instant are in the order in which
// they were ordered, as a snapshot has them.
func (s Recorder) shelve(i int) {
	done := s.done[s.list[i].Company]
	after := sort.Search(len(done), func(n int) bool {
		order := s.list[done[n]].Completed.Compare(s.list[i].Completed)
		return order > 0 || order == 0 && done[n] > i
	})
	s.done[s.list[i].Company] = slices.Insert(done, after, i)
}

// unshelve takes a report from its company's that are completed.
func (s Recorder) unshelve(i int) {
	company := s.list[i].Company
	s.done[company] = slices.DeleteFunc(s.done[company], func(other int) bool { return other == i })
}

// queue counts a report among those whose files are to be written, or no longer.
func (s Recorder) queue(i int, on bool) {
	if s.queued[i] == on {
		return
	}
	company := s.list[i].Company
	if on {
		s.queued[i] = true
		s.waiting[company]++
		return
	}
	delete(s.queued, i)
	s.waiting[company]--
	if s.waiting[company] == 0 {
		delete(s.waiting, company)
	}
}

// Requeue has files written anew.
func (s Recorder) Requeue(ids []ids.ID) error {
	for _, id := range ids {
		if err := s.change(id, func(r *Report) {
			r.Completed = time.Time{}
			r.SHA256 = ""
		}); err != nil {
			return err
		}
	}
	return nil
}

// Erase drops the hashes of files that erased lines have said.
func (s Recorder) Erase(lines []uint64) {
	erased := map[uint64]bool{}
	for _, line := range lines {
		erased[line] = true
	}
	for _, r := range s.list {
		if erased[r.Line] {
			s.change(r.ID, func(r *Report) { r.SHA256 = "" })
		}
	}
}

// ApplyOrdered queues a report.
func (s Recorder) ApplyOrdered(now time.Time, e *Ordered) error {
	s.Restore(&Report{Ordered: *e, Created: now})
	return nil
}

// ApplyCompleted remembers that a report's file is written, as a line says.
func (s Recorder) ApplyCompleted(line uint64, now time.Time, e *Completed) error {
	if err := s.change(e.ID, func(r *Report) {
		r.Completed = now
		r.SHA256 = e.SHA256
		r.Line = line
	}); err != nil {
		return err
	}
	company := s.list[s.byID[e.ID]].Company
	s.done[company] = slices.Delete(s.done[company], 0, s.expired(s.done[company], now))
	return nil
}

// ApplyDownloaded remembers the first download of a report.
func (s Recorder) ApplyDownloaded(now time.Time, e *Downloaded) error {
	return s.change(e.ID, func(r *Report) {
		r.Downloaded = now
	})
}

// change replaces a report by one that differs. The error says that there is none.
func (s Recorder) change(id ids.ID, f func(*Report)) error {
	i, ok := s.byID[id]
	if !ok {
		return ids.Unknown("report", id)
	}
	before := s.list[i].Completed
	n := *s.list[i]
	f(&n)
	if !before.IsZero() && !n.Completed.Equal(before) {
		s.unshelve(i)
	}
	s.list[i] = &n
	s.queue(i, n.Completed.IsZero())
	if !n.Completed.IsZero() && !n.Completed.Equal(before) {
		s.shelve(i)
	}
	return nil
}
