package admin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"
	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/live"
)

// Erasure of personal data: `waybill forget`. A line of the type personal.erased says whose passengers are
// forgotten, which lines of the journal lose their personal part, and which reports are written anew; of more
// than manyForgotten passengers, lines of the type passengers.forgotten say so before it. From these lines on
// no state has the names, so that nothing written later can show them; what was written before is what there
// is to look for.
//
// A forget can be cut short at any moment. What its personal.erased has named is then still to be done, which
// the loop of erasures does, after a start too (store.Store.Erase). One that was cut short before that line
// is to be run again.

// erasure is one forget on its way: what it has found, and what it has done.
type erasure struct {
	s      *Executor
	act    *Act
	email  string          // folded; "" where a booking is sought
	sought map[ids.ID]bool // tickets whose passengers are to be forgotten
	held   map[ids.ID]bool // bookings that have, or had, one of these
	code   *ledger.Codec   // reads lines
	read   journal.Head    // up to where the journal was looked through
	pace   *durable.Pace   // at which that is
	begun  uint64          // the first line that this forget wrote; 0 before

	lines []uint64        // found since the last line was written
	users map[ids.ID]bool // who are gone and had the address
	// completions has, by report, the lines that have the hash of its file.
	completions map[ids.ID][]uint64
	// reportsNamed says that a line names the reports: those that are written after it have no names.
	reportsNamed bool
	done         struct{ tickets, lines, reports int }
}

// adminForget erases what the directory knows of the passengers of a booking, or of the bearer of an e-mail
// address: in the state, in the journal, in snapshots, in reports and in letters. If it is cut short, doing
// it again does the rest.
func (s *Executor) adminForget(a *Act) (string, error) {
	s.acting.Lock()
	defer s.acting.Unlock()
	x := &erasure{
		s:      s,
		act:    a,
		sought: map[ids.ID]bool{},
		held:   map[ids.ID]bool{},
		code:   ledger.NewCodec(),
		pace:   s.Store.Pace(),
		users:  map[ids.ID]bool{},

		completions: map[ids.ID][]uint64{},
	}
	if err := x.seek(); err != nil {
		return "", err
	}
	if isDryRun(a.Form) {
		if err := x.look(); err != nil || len(x.lines) > 0 {
			return "dry run: nothing is changed", err
		}
		return x.said(), nil
	}
	err := x.run()
	if errors.Is(err, live.ErrDoubt) {
		return "", errors.New("it is not known whether this was done: the second machine that keeps the journal " +
			"does not answer; once it does, the server erases what was named; run this again then")
	}
	if err != nil {
		return "", fmt.Errorf("not everything is erased yet; run it again: %w", err)
	}
	return x.said(), nil
}

// run looks and names until a look finds nothing. What is written while it looks is found by the next look,
// and what is written after a line that names a passenger no longer has the name.
func (x *erasure) run() error {
	defer x.s.erasures.Wake() // what is left is done by the loop
	for {
		if err := x.look(); err != nil {
			return err
		}
		wrote, err := x.name()
		if err != nil {
			return err
		}
		if !wrote {
			break
		}
	}
	return x.s.erase()
}

// erase erases what lines have named, and what lies beside the journal of it: reports are written anew, and
// letters removed. It is called while no other act of its kind runs.
func (s *Executor) erase() error {
	return s.Store.Erase(s.Draining, func() error {
		return errors.Join(s.finishReports(), s.outbox.RemoveLetters())
	})
}

// completeErasures is the work of a loop: it does what forgets have left, cut short by a crash or an error.
func (s *Executor) completeErasures() (time.Duration, error) {
	if s.Store.Unerased() == 0 {
		return web.Rarely, nil
	}
	return 0, s.Alone(s.erase)
}

// update journals what decide returns, and calls after where that is something. Where the keeper is silent,
// what is in the journal is named: the loop of erasures does it once that counts.
func (x *erasure) update(decide func(ledger.State, time.Time) []ledger.Entry,
	after func(now time.Time)) error {
	wrote := false
	seq, err := x.s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		return decide(st, now), nil
	}, func(_ ledger.State, now time.Time) {
		wrote = true
		after(now)
	})
	if wrote && x.begun == 0 {
		x.begun = seq
	}
	return err
}

// said returns what was done, or that there was nothing to do.
func (x *erasure) said() string {
	switch {
	case x.begun > 0:
		return fmt.Sprintf("erased: the personal data of %s, in %s of the journal and %s",
			words.Counted(x.done.tickets, "ticket"), words.Counted(x.done.lines, "line"),
			words.Counted(x.done.reports, "report"))
	case x.email != "":
		return "nothing to erase: no ticket and no line of the journal has that address"
	}
	return "nothing to erase: the passengers of that booking are already forgotten, and no line of the " +
		"journal has their names"
}

// seek finds the tickets that the state knows of.
func (x *erasure) seek() error {
	form := x.act.Form
	x.email = auth.FoldEmail(form.Get("email"))
	id, _ := ids.Parse(form.Get("booking"))
	var user *auth.User
	all := slices.Values[[]*booking.Booking](nil)
	found := true
	err := x.s.Store.View(func(st ledger.State, _ time.Time) {
		if x.email != "" {
			user = st.Accounts.ByEmail(x.email)
			frozen := st.Bookings.Freeze() // to be looked through without the lock, however many there are
			frozen.Step = x.pace.Step
			all = frozen.All()
			return
		}
		b := st.Bookings.Any(id)
		found = b != nil
		if found {
			all = slices.Values([]*booking.Booking{b})
		}
	})
	if err != nil {
		return err
	}
	switch {
	// A company user needs the address to sign in.
	case user != nil:
		return fmt.Errorf("%s is a company user; remove the user first", form.Get("email"))
	case !found:
		return fmt.Errorf("there is no booking %s", form.Get("booking"))
	}
	for b := range all {
		for i := range b.Tickets {
			t := &b.Tickets[i]
			if x.email == "" || x.bears(t.Passenger) {
				x.sought[t.ID] = true
			}
		}
	}
	return nil
}

// bears reports whether a passenger has the address that is sought.
func (x *erasure) bears(p booking.Passenger) bool {
	_, _, address, _ := p.Fields()
	return x.email != "" && auth.FoldEmail(address) == x.email
}

// look goes through the lines that were not looked at yet.
func (x *erasure) look() error {
	rep, err := inspect.Follow(x.s.Config.FS, x.read, x.line)
	if err != nil {
		return err
	}
	x.read = rep.Head
	return nil
}

// line looks at a line of the journal. Its personal part goes if it holds one of the passengers: as booked,
// or in an answer that was kept to be given again, where each is shown with the id "<ticket>.passenger". That
// of a report's hash may go too; name knows the files.
func (x *erasure) line(l *journal.Line) error {
	// Once it has named something, what it has yet to name is not to wait: a backup may be made meanwhile.
	if x.begun == 0 {
		x.pace.Step()
	}
	if len(l.Personal) == 0 && l.Type != "ticket.moved" || journal.Own(l.Type) {
		return nil // no such line has a form that a later one names: sales have passengers
	}
	entry, err := x.code.Decode(l.Type, l.Data, l.Personal)
	if err != nil {
		return fmt.Errorf("seq %d: %w", l.Seq, err)
	}
	// A booking is known by its tickets, a user by the address, an answer by the passengers that it shows, a
	// refusal, which shows none, by its booking.
	found := false
	erased := journal.Erased(l.Personal)
	switch e := entry.Event.(type) {
	case *booking.Created:
		x.held[e.ID] = x.created(e, l.Seq)
		found = x.held[e.ID] && !erased
	case *booking.Moved:
		x.held[e.To] = x.held[e.To] || x.sought[e.Ticket]
	case *ledger.Answered:
		found = x.held[e.Booking] && !erased || x.shows(l.Personal)
	case *auth.UserAdded:
		found = x.email != "" && auth.FoldEmail(e.Person.Email) == x.email && x.userIsGone(e.User)
		x.users[e.User] = found
	case *auth.AccessGiven:
		found = x.users[e.User] && !erased
	case *auth.SessionStarted:
		found = x.users[e.User] && !erased
	case *report.Completed:
		if !erased {
			x.completions[e.ID] = append(x.completions[e.ID], l.Seq)
		}
	default:
		found = x.shows(l.Personal)
	}
	if found {
		x.lines = append(x.lines, l.Seq)
	}
	return nil
}

// userIsGone reports whether a user was removed. One who was added since the erasure began is not meant.
func (x *erasure) userIsGone(id ids.ID) bool {
	gone := false
	err := x.s.Store.View(func(st ledger.State, _ time.Time) {
		gone = st.Accounts.User(id) == nil
	})
	return gone && err == nil
}

// created reports whether a booking has a passenger who is sought, seeks those who were booked along, and
// says of each ticket why it is erased. A booking that was made after the erasure had begun is not meant,
// unless it shares a ticket.
func (x *erasure) created(e *booking.Created, seq uint64) bool {
	old := x.begun == 0 || seq < x.begun
	why := "has that address"
	if x.email == "" {
		why = "is in that booking"
	}
	var meant, along []ids.ID
	for i, t := range e.Tickets {
		if x.sought[t.ID] || old && len(e.Passengers) > 0 && x.bears(e.Passengers[i]) {
			meant = append(meant, t.ID)
		} else {
			along = append(along, t.ID)
		}
	}
	if len(meant) == 0 {
		return false
	}
	for i, id := range slices.Concat(meant, along) {
		x.sought[id] = true
		if i == len(meant) {
			why = fmt.Sprintf("was sold together with %s, and goes with it", meant[0])
		}
		if len(e.Passengers) > 0 {
			fmt.Fprintf(x.act.Out, "ticket %s %s\n", id, why)
		}
	}
	return true
}

// shows reports whether an answer shows one of the passengers.
func (x *erasure) shows(answer []byte) bool {
	const mark = ".passenger"
	for rest := answer; ; {
		before, after, found := bytes.Cut(rest, []byte(mark))
		if !found {
			return false
		}
		at := len(before) - len(ids.ID{}.String())
		if at >= 0 && x.sought[ids.Of(string(before[at:]))] {
			return true
		}
		rest = after
	}
}

// manyForgotten is how many passengers a line forgets at most: some milliseconds under the lock.
const manyForgotten = 1000

// name writes the line that names what was found since the last one, and reports whether there was anything.
// No report is being written meanwhile: one that was written before is found, one that is written after has
// no names.
//
// The lines are named last. A forget that is cut short before finds them again by what they still hold.
func (x *erasure) name() (wrote bool, err error) {
	s := x.s
	s.Reporting.Lock()
	defer s.Reporting.Unlock()
	reports, files, err := s.reportsOf(x.sought)
	if err != nil {
		return false, err
	}
	todo := slices.SortedFunc(maps.Keys(x.sought), func(a, b ids.ID) int {
		return bytes.Compare(a[:], b[:])
	})
	reason := x.act.Form.Get("reason")
	for len(todo) > manyForgotten {
		e := &ledger.PassengersForgotten{Reason: reason}
		err := x.update(func(st ledger.State, _ time.Time) []ledger.Entry {
			e.Passengers = st.ToForget(todo[:manyForgotten])
			if len(e.Passengers) == 0 {
				return nil
			}
			return []ledger.Entry{{Event: e, By: &x.act.By}}
		}, func(time.Time) {
			x.done.tickets += len(e.Passengers)
			x.reportsNamed = false
		})
		if err != nil {
			return false, err
		}
		todo = todo[manyForgotten:]
	}
	// What a file was told of the person, as its hash does: also where the file is gone, which may have been
	// of anybody.
	hashes := x.hashesOf(reports, files)
	e := &ledger.PersonalErased{Reason: reason}
	err = x.update(func(st ledger.State, now time.Time) []ledger.Entry {
		e.Passengers = st.ToForget(todo)
		e.Reports = nil
		e.Lines = x.lines
		mayHaveNames := len(e.Passengers) > 0 || !x.reportsNamed && len(x.lines)+x.done.tickets > 0
		if mayHaveNames {
			e.Reports = slices.DeleteFunc(slices.Clone(reports), func(id ids.ID) bool {
				_, unknown := st.Reports.Find(id, "", now)
				return unknown != nil // its file goes with those of reports that are over
			})
			e.Lines = slices.Concat(x.lines, hashes)
		}
		if len(e.Lines) == 0 && len(e.Passengers) == 0 {
			return nil
		}
		return []ledger.Entry{{Event: e, By: &x.act.By}}
	}, func(now time.Time) {
		wrote = true
		named := make([]journal.Erasure, len(e.Lines))
		for i, line := range e.Lines {
			named[i] = journal.Erasure{Seq: line, At: now}
		}
		s.Store.ToErase(named)
		x.lines = nil
		x.reportsNamed = true
		x.done.lines += len(e.Lines)
		x.done.tickets += len(e.Passengers)
		x.done.reports += len(e.Reports)
	})
	return wrote, err
}

// hashesOf takes out of completions the lines that have the hash of a file which told of the person, or which
// is gone.
func (x *erasure) hashesOf(reports []ids.ID, files map[ids.ID]bool) (lines []uint64) {
	for id, seqs := range x.completions {
		if !files[id] || slices.Contains(reports, id) {
			lines = append(lines, seqs...)
			delete(x.completions, id)
		}
	}
	slices.Sort(lines)
	return lines
}

// reportsOf finds the reports whose files have one of the tickets, and all reports that have files.
func (s *Executor) reportsOf(tickets map[ids.ID]bool) (list []ids.ID, files map[ids.ID]bool, err error) {
	files = map[ids.ID]bool{}
	names, err := s.Config.FS.List(ledger.ReportDir)
	for _, name := range names {
		id, ok := ledger.ReportOf(name)
		if !ok || err != nil {
			continue
		}
		files[id] = true
		var told bool
		if told, err = s.inReport(name, tickets); told {
			list = append(list, id)
		}
	}
	return list, files, err
}

// inReport reports whether a report's file has one of the tickets.
func (s *Executor) inReport(name string, tickets map[ids.ID]bool) (bool, error) {
	f, err := s.Config.FS.Open(ledger.ReportDir + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // it has expired meanwhile
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	rows := bufio.NewScanner(f)
	rows.Buffer(nil, 1<<20)
	for rows.Scan() {
		order, _, _ := bytes.Cut(rows.Bytes(), []byte{','})
		if ticket, ok := ids.Parse(string(bytes.Trim(order, "'"))); ok && tickets[ticket] {
			return true, nil
		}
	}
	return false, rows.Err()
}
