// Package report keeps the reports of orders that companies ask for, and
// writes them as files of comma-separated values ([Write]).
//
// A [State] is changed only by events, as in package booking. The package has
// no lock, clock or I/O: whoever runs the queue tells the instant and gives the writer.
package report

import (
	"errors"
	"slices"
	"time"

	"waybill/booking"
)

// OrderBy is what a report's range and order go by (interface, Report).
type OrderBy string

// The values of OrderBy.
const (
	CreatedAt     OrderBy = "CreatedAt"
	DepartureDate OrderBy = "DepartureDate"
)

// MaxRange is the longest range of a report (interface, Limits).
const MaxRange = 366 * 24 * time.Hour

// Life is how long after its completion a report can be downloaded (contract §10).
const Life = 7 * 24 * time.Hour

// Report is a company's report. It is immutable; a change makes a new one.
type Report struct {
	Ordered
	Created    time.Time `json:"created"`
	Completed  time.Time `json:"completed,omitzero"` // zero: it is still queued
	Downloaded time.Time `json:"downloaded,omitzero"`
}

// Ordered says that a user asked for a report.
type Ordered struct {
	ID      booking.ID `json:"report"`
	Company string     `json:"company"` // its id
	User    booking.ID `json:"user"`
	OrderBy OrderBy    `json:"orderBy"`
	Start   time.Time  `json:"startDate"` // inclusive
	End     time.Time  `json:"endDate"`   // inclusive
}

// Completed says that a report's file is there, whole and durable.
type Completed struct {
	ID     booking.ID `json:"report"`
	Rows   int        `json:"rows"`
	SHA256 string     `json:"sha256"`
}

// Downloaded says that a report was fetched for the first time.
type Downloaded struct {
	ID booking.ID `json:"report"`
}

// State is all that is remembered of reports.
type State struct {
	list []*Report // in the order they were asked for
	byID map[booking.ID]int
}

// NewState gives the state before the first report.
func NewState() *State { return &State{byID: map[booking.ID]int{}} }

// ErrNotFound is the reason why not for an unknown report, another company's, and one whose time is over.
var ErrNotFound = errors.New("report: not found")

// Expires is when the file goes; false while it is queued.
func (r *Report) Expires() (at time.Time, ok bool) {
	return r.Completed.Add(Life), !r.Completed.IsZero()
}

// Find gives a report that has not expired; company "" is any. The error is ErrNotFound.
func (s *State) Find(id booking.ID, company string, now time.Time) (*Report, error) {
	i, ok := s.byID[id]
	if !ok || company != "" && s.list[i].Company != company {
		return nil, ErrNotFound
	}
	if at, done := s.list[i].Expires(); done && !now.Before(at) {
		return nil, ErrNotFound
	}
	return s.list[i], nil
}

// List gives a page of a company's reports, the newest first, and how many there are.
func (s *State) List(company string, skip, take int) (page []*Report, total int) {
	for _, r := range slices.Backward(s.list) {
		if r.Company != company {
			continue
		}
		if total >= skip && len(page) < take {
			page = append(page, r)
		}
		total++
	}
	return page, total
}

// Queued gives the reports whose files are not there yet, the oldest first.
func (s *State) Queued() (list []*Report) {
	for _, r := range s.list {
		if r.Completed.IsZero() {
			list = append(list, r)
		}
	}
	return list
}

// All gives all reports in the order they were asked for.
func (s *State) All() []*Report { return slices.Clone(s.list) }

// Restore puts a report back as a snapshot has it.
func (s *State) Restore(r *Report) {
	s.byID[r.ID] = len(s.list)
	s.list = append(s.list, r)
}

func (s *State) ApplyOrdered(now time.Time, e *Ordered) {
	s.Restore(&Report{Ordered: *e, Created: now})
}

func (s *State) ApplyCompleted(now time.Time, e *Completed) {
	s.change(e.ID, func(r *Report) { r.Completed = now })
}

func (s *State) ApplyDownloaded(now time.Time, e *Downloaded) {
	s.change(e.ID, func(r *Report) { r.Downloaded = now })
}

func (s *State) change(id booking.ID, f func(*Report)) {
	n := *s.list[s.byID[id]]
	f(&n)
	s.list[s.byID[id]] = &n
}
