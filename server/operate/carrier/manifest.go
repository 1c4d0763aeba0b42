package carrier

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/docs"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/store/journal"
)

// Reader names the reader of a manifest: an operator, or a user of a company.
type Reader struct {
	By      *ledger.By // the operator; nil is a user
	User    ids.ID
	Company string // by id: the user's, who reads of its runs only
}

// Manifest is who travels on a run, as it stood after a line of the journal.
type Manifest struct {
	*booking.SeatMap
	Name   ids.RunName
	Riders []booking.SeatTaken // of Paid and Booked tickets, by where they board, and by seat
	Held   []booking.SeatTaken // of tickets that are still to be paid or booked, in the same order
	At     time.Time
	// Withdrawn says that the timetable no longer has the run.
	Withdrawn bool
	Bar       *docs.Clock // the test clock then; nil is none
	Seq       uint64      // of the line that says that it was read
	Hash      string      // of that line, in hex
}

// board records who travels, and apart from them whose seats are only held.
func (m *Manifest) board() {
	m.Riders = nil // the store decides again where there was no room
	m.Held = nil
	for _, t := range m.Taken {
		switch t.Ticket.Phase {
		case booking.Paid, booking.Booked:
			m.Riders = append(m.Riders, t)
		default:
			m.Held = append(m.Held, t)
		}
	}
	slices.SortStableFunc(m.Riders, byBoarding)
	slices.SortStableFunc(m.Held, byBoarding)
}

// byBoarding orders seats by where their tickets board, and there by seat.
func byBoarding(a, b booking.SeatTaken) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Seat, b.Seat))
}

// Read returns a run's manifest, and records who has read it.
func (s *Dispatcher) Read(run ids.RunName, who Reader) (*Manifest, error) {
	m := &Manifest{Name: run}
	seq, err := s.Store.UpdateHere(
		func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
			m.SeatMap = st.Bookings.SeatMap(st.Timetable(), run, now)
			if m.SeatMap == nil ||
				who.By == nil && m.Run.Form.Company.ID != who.Company {
				return nil, booking.ErrNoRun
			}
			m.board()
			m.Withdrawn = isWithdrawn(st.Timetable(), run)
			// Who reads is told by the line itself, of a user, or by whose act it is.
			read := &ledger.ManifestRead{Run: run, Passengers: len(m.Riders)}
			if who.By == nil {
				read.User = &who.User
				read.Company = who.Company
			}
			m.At = now
			m.Bar = web.TestClock(st, now)
			return []ledger.Entry{{Event: read, By: who.By}}, nil
		},
	)
	if err != nil {
		return nil, err
	}
	// What is printed can be held against the journal: the line is the one after which it stood so.
	m.Seq = seq
	err = s.lines.Read([]uint64{seq}, func(l *journal.Line) error {
		m.Hash = hex.EncodeToString(l.Hash[:])
		return nil
	})
	return m, err
}

// RecordRead records that an operator is about to be shown people's data on a page of the desk
// (decision desk.readings). Where the line cannot be written, nobody is shown anything.
func (s *Dispatcher) RecordRead(by ledger.By, path string, read *ledger.PersonalRead) error {
	if read == nil || read.People == 0 {
		return nil
	}
	read.Page = path
	_, err := s.Store.UpdateHere(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return []ledger.Entry{{Event: read, By: &by}}, nil
	})
	return err
}

// GetPassengers answers GET /v2/company/runs/{tripId}/{date}/passengers.
func (s *Dispatcher) GetPassengers(
	w http.ResponseWriter,
	r *http.Request,
	p *auth.Principal,
) error {
	// What is no date is a run that there is not, as is one of another company.
	day, err := schedule.ParseDay(r.PathValue("date"))
	if err != nil {
		return web.ErrNotFound
	}
	m, err := s.Read(ids.RunName{Trip: r.PathValue("tripId"), Day: day}, Reader{
		User:    p.User.ID,
		Company: p.Access.Company.ID,
	})
	if errors.Is(err, booking.ErrNoRun) {
		err = web.ErrNotFound
	}
	if err != nil {
		return err
	}
	return web.ShowWritten(w, m.Seq, nil, m.WriteJSON)
}

// News says what has changed of the run, in capitals: whoever holds an older print of the list
// must not miss it. "" is nothing.
func (m *Manifest) News() string {
	c := &m.Change
	switch {
	case c.Canceled:
		return "CANCELLED: " + c.Reason
	case m.Withdrawn:
		return "NO LONGER IN THE TIMETABLE: no more seats are sold; tell its passengers"
	case c.Shift != 0:
		return fmt.Sprintf("MOVED by %+d minutes: %s", c.Shift/60, c.Reason)
	}
	return ""
}
