package server

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/wire"
	"waybill/store"
)

// Idempotency-Key on POST /v2/bookings, pay, book and cancel (contract §8): a request that comes again under its key
// gets the first answer again. Key, hash of the request and status stand in the line of what it changed, the body in
// that line's personal part, from which it is read again. Pay and book name the key in the line of each ticket and
// close with the line of the answer; where a crash came between, the request goes on with the tickets left.

const retryLife = 24 * time.Hour

// Answered says what was answered to a request with a key that changed nothing, or nothing more.
type Answered struct {
	Partner booking.ID     `json:"partner"`
	Booking string         `json:"booking"` // whose id its path has, or ""
	Retry   *booking.Retry `json:"retry"`
}

// PersonalPart is the answer.
func (e *Answered) PersonalPart() any { return e.Retry.PersonalPart() }

// retries are the requests with keys of the last 24 hours.
type retries struct {
	known map[retryKey]*retry
	order []*retry            // those that are answered, as they were; of one key the last counts
	open  map[retryKey]*retry // those that are not
	aging []*retry            // the same, by their last line; of one key the last counts
}

type retryKey struct {
	Partner booking.ID `json:"partner"`
	Key     string     `json:"key"`
}

// retry is what is known of a request. It is immutable.
type retry struct {
	retryKey
	Hash   string       `json:"hash"`
	Status int          `json:"status"` // 0: it was cut short
	Seq    uint64       `json:"seq"`    // of the last line that tells of it
	At     int64        `json:"at"`     // Unix milliseconds of that line
	Done   []booking.ID `json:"done"`   // tickets that are paid or booked
}

// live tells whether a key still names the request.
func (x *retry) live(now time.Time) bool {
	return x != nil && now.Before(time.UnixMilli(x.At).Add(retryLife))
}

// note remembers what a line tells of a request; done are the tickets that it says are.
func (x *retries) note(at store.Stamp, partner booking.ID, r *booking.Retry, done ...booking.ID) {
	if r == nil {
		return
	}
	x.order = x.expire(x.order, at.Time)
	x.aging = x.expire(x.aging, at.Time)
	next := &retry{retryKey{partner, r.Key}, r.Hash, r.Status, at.Seq, at.Time.UnixMilli(), nil}
	if before := x.open[next.retryKey]; next.Status == 0 {
		if next.Done = done; before != nil && before.Hash == r.Hash {
			next.Done = slices.Concat(before.Done, done)
		}
	}
	x.put(next)
}

// expire drops the first of a list, which is in the order of time, that no longer name a request.
func (x *retries) expire(list []*retry, now time.Time) []*retry {
	for len(list) > 0 && !list[0].live(now) {
		x.drop(list[0])
		list = list[1:]
	}
	return list
}

func (x *retries) put(r *retry) {
	x.known[r.retryKey] = r
	delete(x.open, r.retryKey)
	if r.Status == 0 {
		x.open[r.retryKey] = r
		x.aging = append(x.aging, r)
	} else {
		x.order = append(x.order, r)
	}
}

func (x *retries) drop(r *retry) {
	if x.known[r.retryKey] == r {
		delete(x.known, r.retryKey)
		delete(x.open, r.retryKey)
	}
}

// frozen gives them for a snapshot.
func (x *retries) frozen() []*retry {
	open := slices.Collect(maps.Values(x.open))
	slices.SortFunc(open, func(a, b *retry) int { return cmp.Compare(a.Seq, b.Seq) })
	return append(open, x.order...)
}

// codeRetry is how a request is known again, where its partner gave a key.
func codeRetry(c *coder, r **booking.Retry) {
	if c.optional("retry", *r != nil) {
		c.json("retry", r)
	}
}

// attempt is a request under a key, as often as it came; the zero attempt is one without.
type attempt struct {
	key, hash string
	salt      booking.ID
	done      []booking.ID   // by earlier ones
	last      *booking.Retry // for the line of the answer; nil without a key
}

// answered says what is answered in the end; write writes it whole.
func (a *attempt) answered(status int, write func(*wire.Writer)) {
	if a.key != "" {
		a.last = &booking.Retry{Key: a.key, Hash: a.hash, Status: status, Salt: a.salt, Reply: func() []byte {
			var w wire.Writer
			write(&w)
			return w.B
		}}
	}
}

// named is for a line after which others follow, closing the last, where it is nothing else.
func (a *attempt) named() *booking.Retry {
	if a.key == "" {
		return nil
	}
	return &booking.Retry{Key: a.key, Hash: a.hash}
}

func (a *attempt) closing(sel booking.Selection) []Event {
	if a.last == nil {
		return nil
	}
	return []Event{&Answered{sel.Partner, sel.Booking.String(), a.last}}
}

var (
	errRunning   = conflict(booking.InProgress, "a request with this Idempotency-Key is still running; send it again for its answer", nil)
	errKeyReused = fail(http.StatusUnprocessableEntity, "IDEMPOTENCY_KEY_REUSED", "this Idempotency-Key was used for another request; each has a key of its own")
	errKey       = invalid(problem("Idempotency-Key", "must be given once, 1 to 255 printable characters of ASCII, in double quotes or without"))
)

// retryKeyOf reads the header: quoted, as a structured field's string, or bare. "" is none.
func retryKeyOf(r *http.Request) (string, error) {
	given := r.Header["Idempotency-Key"]
	if len(given) == 0 {
		return "", nil
	}
	key := only(given)
	if inner, ok := strings.CutPrefix(key, `"`); ok {
		if key, ok = strings.CutSuffix(inner, `"`); !ok {
			return "", errKey
		}
		plain := strings.NewReplacer(`\\`, "", `\"`, "").Replace(key)
		if strings.ContainsAny(plain, `"\`) {
			return "", errKey
		}
		key = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(key)
	}
	if key == "" || len(key) > maxIdempotencyKey || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "", errKey
	}
	return key, nil
}

// keyed wraps the handler of a POST that may come again.
func (s *Server) keyed(h func(http.ResponseWriter, *http.Request, *auth.Partner, *attempt) error) func(http.ResponseWriter, *http.Request, *auth.Partner) error {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
		key, err := retryKeyOf(r)
		if err != nil || key == "" {
			if err == nil {
				err = h(w, r, p, new(attempt))
			}
			return err
		}
		b, err := body(w, r)
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		sum := sha256.Sum256(append([]byte(r.Method+" "+r.URL.EscapedPath()+"\n"), b...))
		try := &attempt{key: key, hash: hex.EncodeToString(sum[:]), salt: s.newID()}
		name := retryKey{booking.ID(p.ID), key}
		running, busy := s.underWay.LoadOrStore(name, try.hash)
		if !busy {
			defer s.underWay.Delete(name)
		}
		var known *retry
		if err := s.st.View(func(st *State, now time.Time) {
			if known = st.Retries.known[name]; !known.live(now) {
				known = nil
			}
		}); err != nil {
			return err
		}
		switch {
		case known != nil && known.Hash != try.hash, busy && running != try.hash:
			return errKeyReused
		case known != nil && known.Status != 0: // also while the first answer is still being sent
			return s.replay(w, known)
		case busy:
			return errRunning
		case known != nil:
			try.done = known.Done
		}
		err = h(w, r, p, try)
		return s.keepRefusal(r, name.Partner, try, err)
	}
}

// keepRefusal journals a refusal that a repetition gets again: what there is not, and what the state does not allow,
// unless that is only until the provider has answered.
func (s *Server) keepRefusal(r *http.Request, partner booking.ID, try *attempt, err error) error {
	if err == nil {
		return nil
	}
	f := explain(err)
	var states *booking.Conflict
	passing := errors.As(err, &states) && states.Code == booking.InProgress
	if passing || f.status != http.StatusNotFound && f.status != http.StatusConflict {
		return err
	}
	try.answered(f.status, f.write)
	id, ok := booking.ParseID(r.PathValue("id"))
	named := "" // a path may be anything, and long: only an id is kept
	if ok {
		named = id.String()
	}
	if failed := s.record(&Answered{partner, named, try.last}); failed != nil {
		return failed
	}
	return err
}

// replay answers as before, from the journal. What was erased from there is no more.
func (s *Server) replay(w http.ResponseWriter, known *retry) error {
	var part struct {
		Reply string `json:"reply"`
	}
	if err := s.lines.Read([]uint64{known.Seq}, func(l *store.Line) error { return json.Unmarshal(l.Personal, &part) }); err != nil {
		return err
	}
	if part.Reply == "" {
		return errNotFound
	}
	w.Header()["Idempotent-Replayed"] = []string{"true"}
	if known.Status < http.StatusBadRequest {
		wrote(w, known.Seq)
	} else {
		var failed struct{ Errors []struct{ ErrorCode string } }
		if err := json.Unmarshal([]byte(part.Reply), &failed); err != nil || len(failed.Errors) == 0 {
			return fmt.Errorf("the answer in line %d is no error: %v", known.Seq, err)
		}
		linkHelp(w, failed.Errors[0].ErrorCode)
	}
	send(w, known.Status, func(buf *wire.Writer) { buf.B = append(buf.B, part.Reply...) })
	return nil
}
