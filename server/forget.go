package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/store"
)

// PersonalErased says that names, e-mail addresses and phones were erased from earlier lines. A line's personal part is
// erased as a whole: with a passenger go those who were booked along.
type PersonalErased struct {
	Lines   []uint64     `json:"lines"`
	Reason  string       `json:"reason"`
	Tickets []booking.ID `json:"tickets"` // whose passengers are forgotten
	Reports []booking.ID `json:"reports"` // whose files told of them: they are written anew
}

func applyPersonalErased(s *State, now time.Time, e *PersonalErased) {
	s.Bookings.Forget(now, e.Tickets)
	for id, m := range s.Outbox.messages {
		if slices.Contains(e.Tickets, m.Ticket) {
			s.Outbox.remove(id)
		}
	}
	s.Reports.Requeue(e.Reports)
}

// adminForget erases what the directory knows of the passengers of a booking, or of the bearer of an e-mail address: in
// the state, in the journal, in snapshots and in reports. If it is cut short, doing it again does the rest.
func (s *Server) adminForget(a *Act) (string, error) {
	form := a.Form
	s.importing.Lock()
	defer s.importing.Unlock()
	e, err := s.findPersonal(form.Get("booking"), form.Get("email"))
	if err == nil && len(e.Lines) == 0 {
		err = errors.New("the journal holds no personal data of that booking or address; it may have been erased already")
	}
	if err == nil {
		e.Reports, err = s.reportsOf(e.Tickets)
	}
	if err == nil {
		err = s.removeLetters(e.Tickets) // first: without lines to erase they would not be found again
	}
	if err != nil {
		return "", err
	}
	e.Reason = form.Get("reason")
	var by store.Stamp
	by.Seq, err = s.administer(a.By, func(_ *State, now time.Time) (Event, error) {
		by.Time = now
		return e, nil
	})
	if err == nil {
		err = errors.Join(s.st.Erase(e.Lines, by), s.writeReports(), s.removeLetters(e.Tickets))
	}
	if err != nil {
		return "", fmt.Errorf("not everything is erased yet; do it again: %w", err)
	}
	return fmt.Sprintf("erased: the personal data of %d tickets, in %d lines of the journal and %d reports", len(e.Tickets), len(e.Lines), len(e.Reports)), nil
}

// findPersonal finds the lines of the journal that hold what is to be erased.
func (s *Server) findPersonal(bookingID, email string) (*PersonalErased, error) {
	e, wanted := new(PersonalErased), map[booking.ID]bool{}
	var user *auth.User
	id, _ := booking.ParseID(bookingID)
	err := s.st.View(func(st *State, _ time.Time) {
		user, _ = st.Accounts.Login(email)
		if b := st.Bookings.Any(id); b != nil {
			for _, t := range b.Tickets {
				wanted[t.ID] = true
			}
		}
	})
	switch {
	case err != nil:
		return nil, err
	case bookingID != "" && len(wanted) == 0:
		return nil, fmt.Errorf("there is no booking %s", bookingID)
	case email != "" && user != nil:
		return nil, fmt.Errorf("%s is a company user; remove the user first", email)
	}
	bears := func(address string) bool { return email != "" && auth.FoldEmail(address) == auth.FoldEmail(email) }
	return e, readEvents(s.cfg.FS, true, func(l *store.Line, event Event) error {
		switch event := event.(type) {
		case *booking.TicketsCanceled, *Answered: // what was answered may show them
			if slices.ContainsFunc(e.Tickets, func(id booking.ID) bool { return bytes.Contains(l.Personal, []byte(id.String())) }) {
				e.Lines = append(e.Lines, l.Seq)
			}
		case *auth.UserAdded:
			if bears(event.Person.Email) {
				e.Lines = append(e.Lines, l.Seq)
			}
		case *booking.Created:
			sought := slices.ContainsFunc(event.Tickets, func(t booking.NewTicket) bool { return wanted[t.ID] })
			named := func(p booking.Passenger) bool { _, _, address, _ := p.Fields(); return bears(address) }
			if len(event.Passengers) > 0 && (sought || slices.ContainsFunc(event.Passengers, named)) {
				e.Lines = append(e.Lines, l.Seq)
				for _, t := range event.Tickets {
					e.Tickets = append(e.Tickets, t.ID)
				}
			}
		}
		return nil
	})
}

// removeLetters removes the e-mails to the passengers of tickets that became files.
func (s *Server) removeLetters(tickets []booking.ID) error {
	names, err := s.cfg.FS.List(outboxDir)
	for _, name := range names {
		ticket, _, _ := strings.Cut(name, ".")
		if id := parseID(ticket); slices.Contains(tickets, id) {
			err = errors.Join(err, s.cfg.FS.Remove(outboxDir+"/"+name))
		}
	}
	return errors.Join(err, s.cfg.FS.SyncDir(outboxDir))
}

// reportsOf finds the reports whose files have one of the tickets.
func (s *Server) reportsOf(tickets []booking.ID) (list []booking.ID, err error) {
	names, err := s.cfg.FS.List(reportDir)
	for _, name := range names {
		base, whole := strings.CutSuffix(name, reportSuffix)
		id, ok := booking.ParseID(base)
		if !whole || !ok || err != nil {
			continue
		}
		var f store.File
		if f, err = s.cfg.FS.Open(reportDir + "/" + name); err != nil {
			break
		}
		rows, told := bufio.NewScanner(f), false
		for rows.Buffer(nil, 1<<20); rows.Scan() && !told; {
			order, _, _ := bytes.Cut(rows.Bytes(), []byte{','})
			ticket, _ := booking.ParseID(string(order))
			told = slices.Contains(tickets, ticket)
		}
		if told {
			list = append(list, id)
		}
		err = errors.Join(rows.Err(), f.Close())
	}
	return list, err
}
