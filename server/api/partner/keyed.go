package partner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// Idempotency-Key on POST /v2/bookings, pay, book and cancel (decision idempotency.key): a request that comes
// again under its key gets the first answer again. Key, hash of the request and status stand in the line of
// what it changed, the body in that line's personal part, or, of a sale, made again from the line. Pay and
// book name the key in the line of each ticket and close with the line of the answer; where a crash came
// between, the request goes on with the tickets left.

// Attempt is one try of a POST. With an Idempotency-Key it knows what earlier tries have done; the zero
// Attempt is one without.
type Attempt struct {
	key, hash string
	salt      booking.ID
	done      []booking.ID        // by earlier ones
	last      *ledger.Idempotency // for the line of the answer; nil without a key
}

// willAnswer sets what the last line of the request will hold. write writes the answer's body, once that is
// decided: in the goroutine that writes the journal, and again for the client.
func (a *Attempt) willAnswer(status int, write func(*wire.Writer)) {
	if a.key != "" {
		a.last = &ledger.Idempotency{
			Key:    a.key,
			Hash:   a.hash,
			Status: status,
			Salt:   a.salt,
			Reply:  write,
		}
	}
}

// named marks a line as a part of the request that has not the answer. The line of closing has it.
func (a *Attempt) named() *ledger.Idempotency {
	if a.key == "" {
		return nil
	}
	return &ledger.Idempotency{
		Key:  a.key,
		Hash: a.hash,
	}
}

// closing returns the line of the answer, where it is a line of its own.
func (a *Attempt) closing(sel booking.Selection) []ledger.Entry {
	if a.last == nil {
		return nil
	}
	return []ledger.Entry{{
		Event: &ledger.Answered{
			Partner: sel.Partner,
			Booking: sel.Booking.String(),
		},
		Idempotency: a.last,
	}}
}

var (
	errRunning = web.Conflict(booking.InProgress,
		"a request with this Idempotency-Key is still running; send it again for its answer", nil)
	errKeyReused = web.Fail(http.StatusUnprocessableEntity, "IDEMPOTENCY_KEY_REUSED",
		"this Idempotency-Key was used for another request; each has a key of its own")
	errKey = web.Invalid(web.Problem("Idempotency-Key",
		"must be given once, 1 to 255 printable characters of ASCII, in double quotes or without"))
)

// IdempotencyKeyOf reads the header: quoted, as a structured field's string, or bare. "" is none.
func IdempotencyKeyOf(r *http.Request) (string, error) {
	given := r.Header["Idempotency-Key"]
	if len(given) == 0 {
		return "", nil
	}
	key := web.Single(given)
	if inner, ok := strings.CutPrefix(key, `"`); ok {
		key, ok = strings.CutSuffix(inner, `"`)
		if !ok {
			return "", errKey
		}
		// In a structured field's string a quote and a backslash have a backslash before them, and stand
		// nowhere else.
		plain := strings.NewReplacer(`\\`, "", `\"`, "").Replace(key)
		if strings.ContainsAny(plain, `"\`) {
			return "", errKey
		}
		key = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(key)
	}
	// Between the quotes anything goes that can be seen, and so it does without them.
	if key == "" || len(key) > web.MaxIdempotencyKey || strings.ContainsFunc(key, func(c rune) bool {
		return c < ' ' || c > '~'
	}) {
		return "", errKey
	}
	return key, nil
}

// keyedHandler answers a request that may come again under a key.
type keyedHandler func(http.ResponseWriter, *http.Request, *auth.Partner, *Attempt) error

// Keyed wraps the handler of a POST that may come again.
func (s *Seller) Keyed(h keyedHandler) web.PartnerHandler {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
		key, err := IdempotencyKeyOf(r)
		if err != nil {
			return err
		}
		if key == "" {
			return h(w, r, p, new(Attempt))
		}
		// The body is a part of what makes a request the same, so it is read here, and handed on.
		b, err := web.Body(w, r)
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		sum := sha256.Sum256(append([]byte(r.Method+" "+r.URL.EscapedPath()+"\n"), b...))
		try := &Attempt{
			key:  key,
			hash: hex.EncodeToString(sum[:]),
			salt: s.NewID(),
		}
		name := ledger.RequestKey{
			Partner: booking.ID(p.ID),
			Key:     key,
		}
		// First what is under way, then what is known: the other way round, a request that ends in between
		// would be taken for one that never was.
		running, busy := s.underWay.LoadOrStore(name, try.hash)
		// Only who has come first takes the mark away.
		if !busy {
			defer s.underWay.Delete(name)
		}
		var known *ledger.KeyedRequest
		err = s.Store.View(func(st ledger.State, now time.Time) {
			known = st.KeyedRequests.Find(name, now)
		})
		if err != nil {
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
			// A crash has cut it short: it goes on with the tickets that are left.
			try.done = known.Done
		}
		err = h(w, r, p, try)
		return s.keepRefusal(r, name.Partner, try, err)
	}
}

// keepRefusal journals a refusal that a repetition gets again: what the state does not allow, unless that is
// only until the provider has answered.
func (s *Seller) keepRefusal(r *http.Request, partner booking.ID, try *Attempt, err error) error {
	if err == nil {
		return nil
	}
	// All else is found again: it costs nothing, and may be another answer the next time.
	f := web.Explain(err)
	var states *booking.Conflict
	passing := errors.As(err, &states) && states.Code == booking.InProgress
	if passing || f.Status != http.StatusConflict {
		return err
	}
	try.willAnswer(f.Status, f.Write)
	id, ok := booking.ParseID(r.PathValue("id"))
	named := "" // a path may be anything, and long: only an id is kept
	if ok {
		named = id.String()
	}
	_, failed := s.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return []ledger.Entry{{
			Event:       &ledger.Answered{Partner: partner, Booking: named},
			Idempotency: try.last,
		}}, nil
	}, nil)
	if failed != nil {
		return failed
	}
	return err
}

// replay answers as before, from the journal. What was erased from there is no more.
func (s *Seller) replay(w http.ResponseWriter, known *ledger.KeyedRequest) error {
	var answer ledger.Answer
	err := s.lines.Read([]uint64{known.Seq}, func(l *journal.Line) (err error) {
		answer, err = ledger.ReadAnswer(l)
		return err
	})
	if err != nil {
		return err
	}
	// That of a sale is not kept.
	if answer.Sold != nil {
		if err := s.makeAgain(&answer, known.Seq); err != nil {
			return err
		}
	}
	// An erasure takes the answer away with the passenger that it shows.
	if answer.Text == "" {
		return web.ErrNotFound
	}
	// The client can tell that this is not done a second time.
	w.Header()["Idempotent-Replayed"] = []string{"true"}
	if known.Status < http.StatusBadRequest {
		web.Wrote(w, known.Seq)
	} else {
		// The header of an error names the page of its code, which only the body has.
		var failed struct{ Errors []struct{ ErrorCode string } }
		if err := json.Unmarshal([]byte(answer.Text), &failed); err != nil || len(failed.Errors) == 0 {
			return fmt.Errorf("the answer in line %d is no error: %v", known.Seq, err)
		}
		web.LinkHelp(w, failed.Errors[0].ErrorCode)
	}
	web.Send(w, known.Status, func(buf *wire.Writer) {
		buf.B = append(buf.B, answer.Text...)
	})
	return nil
}

// makeAgain makes the answer to a sale from its line. It is another than it was only where a later version of
// the program, within the 24 hours, writes bookings differently.
func (s *Seller) makeAgain(answer *ledger.Answer, seq uint64) error {
	var b *booking.Booking
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		b = st.Bookings.Sold(answer.At, answer.Sold)
	})
	if err != nil {
		return err
	}
	var w wire.Writer
	s.bookingReply(&b, &answer.At)(&w)
	answer.Text = string(w.B)
	if sum := sha256.Sum256(w.B); hex.EncodeToString(sum[:]) != answer.SHA256 {
		s.Log.Warn("the answer to a sale is written differently than when it was made", "line", seq)
	}
	return nil
}
