package outbox

import (
	"container/heap"
	"errors"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/store/live"
)

// Open sets the messenger and the mail server that a configuration names. Calls to the messenger are signed
// with the secret.
func (s *Relay) Open(messengerURL string, mail outbound.MailConfig, secret []byte) (err error) {
	s.mail = mail
	if messengerURL != "" {
		s.messenger, err = outbound.NewPeer(messengerURL, secret, 0)
		s.Phones = true
	}
	if err == nil && mail.Addr != "" {
		s.mailer, err = outbound.NewMailer(mail)
	}
	return err
}

const (
	letterSuffix = ".eml"                 // of the files that e-mails become where there is no mail server
	maxSending   = 8                      // messages at a time, to each peer
	sentDelay    = 100 * time.Millisecond // for which messages that were sent wait to share a line
	FirstRetry   = 30 * time.Second       // after a failure; later the wait doubles, up to maxRetry
	maxRetry     = 4 * time.Hour
	maxAsked     = time.Hour      // for which a messenger may ask to wait
	OutboxLife   = 72 * time.Hour // after which a message is parked
)

// lane holds the messages to one peer, see [ledger.Message.Lane].
type lane struct {
	todo     ledger.Agenda
	underWay int
	// Until then nothing is tried on a clock that stands still: the peer did not answer, and a request waits.
	rests time.Time
}

// sendMessages starts the attempts that are due, several at a time to each peer, and journals which messages
// were sent. It returns the time until the next is due.
func (s *Relay) sendMessages() (wait time.Duration, err error) {
	if s.Still.Load() {
		s.attempts.Wait() // of the time before it stood still
	}
	s.takeResults()
	now, err := s.take()
	if err != nil {
		return 0, err
	}
	if s.Still.Load() {
		s.sendInTurn(now)
		return s.record(), nil
	}
	wait = web.Rarely
	if len(s.sent) > 0 {
		wait = time.Until(s.flush)
	}
	if wait <= 0 {
		wait = s.record() // before the lanes: what it finds lost is tried again
	}
	for i := range s.lanes {
		wait = min(wait, s.start(i, now))
	}
	return wait, nil
}

// Finish waits for the attempts that are under way when the loops have ended, and journals what was sent.
func (s *Relay) Finish() {
	s.attempts.Wait()
	s.takeResults()
	s.record()
}

// take adds the new messages of the outbox to the lanes, and returns the instant.
func (s *Relay) take() (now time.Time, err error) {
	err = s.Store.Await(s.Base, func(st ledger.State, at time.Time) uint64 {
		var list []*ledger.Message
		list, s.known = st.Outbox.Arrived(s.known)
		for _, m := range list {
			heap.Push(&s.lanes[m.Lane()].todo, m.DueAt(m.At))
		}
		now = at
		return live.All
	})
	return now, err
}

// start starts the attempts of a lane that are due, as far as it has places, and returns the time until the
// next. Each wakes the loop at its end.
func (s *Relay) start(which int, now time.Time) time.Duration {
	l := &s.lanes[which]
	for len(l.todo) > 0 && l.underWay < maxSending && s.Base.Err() == nil {
		if wait := l.todo[0].At.Sub(now); wait > 0 {
			return wait
		}
		l.underWay++
		id := heap.Pop(&l.todo).(ledger.Due).ID
		s.attempts.Go(func() {
			ended := s.deliver(id)
			ended.lane = which
			s.results.mu.Lock()
			s.results.list = append(s.results.list, ended)
			s.results.mu.Unlock()
			s.Outgoing.Wake()
		})
	}
	return web.Rarely
}

// takeResults takes the results of the attempts that have ended.
func (s *Relay) takeResults() {
	s.results.mu.Lock()
	list := s.results.list
	s.results.list = nil
	s.results.mu.Unlock()
	for _, r := range list {
		s.lanes[r.lane].underWay--
		s.ended(r)
	}
}

// sendInTurn tries the messages that are due, one after the other.
func (s *Relay) sendInTurn(now time.Time) {
	for i := range s.lanes {
		l := &s.lanes[i]
		for len(l.todo) > 0 && !l.todo[0].At.After(now) && !l.rests.After(now) {
			ended := s.deliver(heap.Pop(&l.todo).(ledger.Due).ID)
			ended.lane = i
			l.rests = ended.again.At // zero where the peer has answered
			s.ended(ended)
		}
	}
}

// ended takes the result of an attempt.
func (s *Relay) ended(r result) {
	switch {
	case r.sent.Message != nil:
		if len(s.sent) == 0 {
			s.flush = time.Now().Add(sentDelay)
		}
		s.sent = append(s.sent, r.sent)
	case r.again.ID != "":
		heap.Push(&s.lanes[r.lane].todo, r.again)
	}
}

// secure makes the letters among the sent messages durable, before a line says that they were sent. Letters
// that may not be durable are tried again.
func (s *Relay) secure() {
	lost, err := s.filed.sync(s.Config.FS, s.sent)
	if err == nil {
		return
	}
	now, _ := s.Now() // after the store has failed, nothing is tried again
	s.sent = slices.DeleteFunc(s.sent, func(m gone) bool {
		if !lost[m.ID] {
			return false
		}
		again := s.failed(m.Message, now, err).again
		if again.ID != "" {
			heap.Push(&s.lanes[m.Lane()].todo, again)
		}
		return true
	})
}

// record journals the messages that were sent. Where that fails, as on a full disk, it returns when to try
// it again.
func (s *Relay) record() (again time.Duration) {
	s.secure()
	if s.recordSent(s.sent) == nil {
		s.sent = nil
		return web.Rarely
	}
	s.flush = time.Now().Add(time.Second)
	return time.Second
}

// overtaken reports whether a message is no longer true of its ticket. A ticket that was refunded while the
// mail server was down gets no letter that it is paid.
func overtaken(m *ledger.Message, t *booking.Ticket) bool {
	switch m.Action {
	case booking.Book:
		return t.Phase != booking.Booked
	case booking.Pay:
		return t.Phase != booking.Paid
	case booking.MoveRun:
		return t.Phase == booking.Canceled || t.Phase == booking.Refunded
	}
	return false
}

// gone is a message that is not to be sent any more, and as what it was sent: see ledger.MessagesSent.
type gone struct {
	*ledger.Message
	as ledger.SentAs
}

// result is the result of an attempt: sent is the message if it was sent or overtaken, again says when it is
// tried again. A message that is parked or forgotten has neither.
type result struct {
	lane  int
	sent  gone
	again ledger.Due
}

// deliver tries a message. It journals at once that one is parked.
func (s *Relay) deliver(id string) result {
	var m *ledger.Message
	var b *booking.Booking
	var t *booking.Ticket
	var now time.Time
	err := s.Store.Await(s.Base, func(st ledger.State, at time.Time) uint64 {
		now = at
		m = st.Outbox.Find(id)
		if m != nil {
			b, t = st.Bookings.AnyTicket(m.Ticket)
		}
		return live.All
	})
	if err != nil || m == nil || m.Parked != "" {
		s.tries.forget(id)
		return result{}
	}
	// A message that an operator has tried again counts as old as the last change of its booking.
	known := time.UnixMilli(min(m.At.UnixMilli(), b.Updated))
	// A retry may come a little before its time, so that not all come at once.
	if now.Sub(known) >= FirstRetry/2 && overtaken(m, t) {
		s.tries.forget(id)
		return result{sent: gone{m, ledger.SentAsNone}}
	}
	err = s.sendObserved(m, b, t)
	if err == nil {
		s.tries.forget(id)
		return result{sent: gone{m, s.sentAs(m)}}
	}
	if s.Base.Err() != nil {
		return result{} // the stop has broken it off
	}
	s.Counts.Failed[m.Lane()].Add(1)
	return s.failed(m, now, err)
}

// sendObserved sends a message, and calls the observer if there is one.
func (s *Relay) sendObserved(m *ledger.Message, b *booking.Booking, t *booking.Ticket) error {
	if s.observer != nil {
		if err := s.observer.Before(m, b); err != nil {
			return err
		}
	}
	l := s.Letter(m, b, t)
	if err := s.send(l, b, t); err != nil {
		return err
	}
	if s.observer != nil {
		l.As = s.sentAs(m)
		s.observer.After(l)
	}
	return nil
}

// sentAs returns whether a message is sent as mail, text or file.
func (s *Relay) sentAs(m *ledger.Message) ledger.SentAs {
	switch {
	case strings.HasPrefix(m.To, booking.ToPhone):
		return ledger.SentAsText
	case s.mailer == nil:
		return ledger.SentAsFile
	}
	return ledger.SentAsMail
}

// failed parks a message that could not be sent if the peer has refused it or it is too old. Any other is
// tried again after as much time as has passed since it was written, within bounds.
func (s *Relay) failed(m *ledger.Message, now time.Time, err error) result {
	age := now.Sub(m.At)
	if errors.Is(err, outbound.ErrRefused) || age >= OutboxLife {
		s.Log.Warn("a message is parked; waybill outbox retry tries it again", "message", m.ID, "err", err)
		err = s.park(&ledger.MessageParked{ID: m.ID, Reason: err.Error()})
		if err == nil {
			s.tries.forget(m.ID)
			return result{}
		}
		// The line could not be written: the message is tried again like any other.
	} else {
		s.Log.Info("a message could not be sent; it will be tried again", "message", m.ID, "err", err)
	}
	wait := min(max(age, FirstRetry), maxRetry)
	// A tenth more or less, so that messages that failed together are not tried again together.
	wait += wait / 1000 * time.Duration(int(crc32.ChecksumIEEE([]byte(m.ID)))%200-100)
	wait = max(wait, min(outbound.RetryAfter(err), maxAsked))
	next := now.Add(min(wait, max(OutboxLife-age, FirstRetry)))
	s.tries.failed(m.ID, err, next)
	return result{again: m.DueAt(next)}
}

// park journals that a message is parked, unless its passenger was forgotten meanwhile.
func (s *Relay) park(e *ledger.MessageParked) error {
	_, err := s.Store.Update(func(st ledger.State, _ time.Time) ([]ledger.Entry, error) {
		if st.Outbox.Find(e.ID) == nil {
			return nil, nil
		}
		return ledger.Entries(e), nil
	}, nil)
	return err
}

// recordSent journals that messages were sent, but for those whose passengers were forgotten meanwhile.
func (s *Relay) recordSent(list []gone) error {
	if len(list) == 0 {
		return nil
	}
	_, err := s.Store.Update(func(st ledger.State, _ time.Time) ([]ledger.Entry, error) {
		var lines []*ledger.MessagesSent // one for each way
		for _, m := range list {
			if st.Outbox.Find(m.ID) == nil {
				continue
			}
			at := slices.IndexFunc(lines, func(e *ledger.MessagesSent) bool { return e.As == m.as })
			if at < 0 {
				at = len(lines)
				lines = append(lines, &ledger.MessagesSent{As: m.as})
			}
			lines[at].IDs = append(lines[at].IDs, m.ID)
		}
		return ledger.Entries(lines...), nil
	}, nil)
	if err != nil {
		s.Log.Warn("the journal does not record yet that messages were sent; those still unrecorded at "+
			"the end are sent again by the next start", "messages", len(list), "err", err)
	}
	return err
}

// RemoveLetters removes the e-mails that became files and whose passengers are forgotten, or whose tickets
// are not known. Those that become files after it are of others.
func (s *Relay) RemoveLetters() error {
	s.filed.mu.Lock() // a letter that is being written may be of somebody who was still known
	names, err := s.Config.FS.List(ledger.OutboxDir)
	s.filed.mu.Unlock()
	if err != nil || len(names) == 0 {
		return err
	}
	const atATime = 500 // under the lock
	for some := range slices.Chunk(names, atATime) {
		var gone []string
		if err := s.Store.View(func(st ledger.State, _ time.Time) {
			for _, name := range some {
				ticket, _, _ := strings.Cut(name, ".")
				_, t := st.Bookings.AnyTicket(ids.Of(ticket))
				if t == nil || t.Passenger.Forgotten() {
					gone = append(gone, name)
				}
			}
		}); err != nil {
			return err
		}
		for _, name := range gone {
			failed := s.Config.FS.Remove(ledger.OutboxDir + "/" + name)
			if !errors.Is(failed, fs.ErrNotExist) { // else somebody has removed it meanwhile
				err = errors.Join(err, failed)
			}
		}
	}
	return errors.Join(err, s.Config.FS.SyncDir(ledger.OutboxDir))
}
