package partner

import (
	"bytes"
	"cmp"
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
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
	"waybill/store/live"
)

// Idempotency-Key on POST /v2/bookings, pay, book and cancel (decision idempotency.key): a request that comes
// again under its key gets the first answer again. The line that a request writes holds the key, the hash of
// the request and the status. The body of the answer stands in that line's personal part; the answer to a
// sale is made again, from the line and the run that it names. Pay and book write a line for each ticket,
// which names the key, and a last one with the answer. After a crash between them a repetition goes on with
// the tickets that are left.

// Attempt is one try of a POST. With an Idempotency-Key it knows the tickets that earlier tries have done.
// The zero Attempt has no key.
type Attempt struct {
	key, hash string
	salt      ids.ID
	done      []ids.ID            // tickets that earlier tries have done
	last      *ledger.Idempotency // for the line of the answer; nil without a key
}

// willAnswer sets what the last line of the request will hold. write writes the body of the answer, once that
// is decided: for the client and, but for a sale, in the goroutine that writes the journal.
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

// named returns the mark of a line that belongs to the request and does not hold its answer. The line of
// closing holds it.
func (a *Attempt) named() *ledger.Idempotency {
	if a.key == "" {
		return nil
	}
	return &ledger.Idempotency{
		Key:  a.key,
		Hash: a.hash,
	}
}

// closing returns the line that holds the answer, for actions that write it as a line of its own; none
// without a key.
func (a *Attempt) closing(sel booking.Selection) []ledger.Entry {
	if a.last == nil {
		return nil
	}
	return []ledger.Entry{{
		Event: &ledger.Answered{
			Partner: sel.Partner,
			Booking: *sel.Booking,
		},
		Idempotency: a.last,
	}}
}

var (
	ErrRunning = web.Conflict(booking.InProgress,
		"a request with this Idempotency-Key is still running; send it again to get its answer", nil)
	ErrKeyReused = web.Fail(http.StatusUnprocessableEntity, "IDEMPOTENCY_KEY_REUSED",
		"this Idempotency-Key was used for another request; use a new key for each request; "+
			"if this is a repetition, send what was sent first")
	errKey = web.Invalid(web.Problem("Idempotency-Key",
		"must be given once, with 1 to 255 printable ASCII characters; double quotes are optional"))
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
		// In the string of a structured field a quote and a backslash have a backslash before them.
		plain := strings.NewReplacer(`\\`, "", `\"`, "").Replace(key)
		if strings.ContainsAny(plain, `"\`) {
			return "", errKey
		}
		key = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(key)
	}
	// Every printable character is allowed, with quotes around the key and without.
	if key == "" || len(key) > web.MaxIdempotencyKey || strings.ContainsFunc(key, func(c rune) bool {
		return c < ' ' || c > '~'
	}) {
		return "", errKey
	}
	return key, nil
}

// keyedHandler answers a request that may be repeated under a key.
type keyedHandler func(http.ResponseWriter, *http.Request, *auth.Partner, *Attempt) error

// Keyed wraps the handler of a POST that may be repeated under a key.
func (s *Seller) Keyed(h keyedHandler) web.PartnerHandler {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
		key, err := IdempotencyKeyOf(r)
		if err != nil {
			return err
		}
		if key == "" {
			return h(w, r, p, new(Attempt))
		}
		// Two requests are the same only if their bodies say the same. So that is read here, and handed on.
		b, err := web.Body(w, r)
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		sum := sha256.Sum256(append([]byte(r.Method+" "+r.URL.Path+"\n"), oneForm(b)...))
		try := &Attempt{
			key:  key,
			hash: hex.EncodeToString(sum[:]),
			salt: s.NewID(),
		}
		name := ledger.RequestKey{
			Partner: p.ID,
			Key:     key,
		}
		// Requests under way are looked up before those that are known. The other way round, a request that
		// ends in between would be taken for a new one.
		running, busy := s.underWay.LoadOrStore(name, try.hash)
		// Only the request that came first removes the mark.
		if !busy {
			defer s.underWay.Delete(name)
		}
		var known *ledger.KeyedRequest
		var gone error // who has no valid key any more is not told what is known
		// Where nothing is known, this waits all the same: the lines of requests of this key may be on their
		// way.
		err = s.Store.View(func(st ledger.State, now time.Time) {
			known = st.KeyedRequests.Find(name, now)
			gone = web.Again(w, st, now)
		})
		if errors.Is(err, live.ErrSilent) && (busy || known != nil) {
			return web.ErrSilentAgain
		}
		if err := cmp.Or(err, gone); err != nil {
			return err
		}
		switch {
		case known != nil && known.Hash == "":
			return web.ErrNotFound // the request was erased, and nobody knows any more what it was
		case known != nil && known.Hash != try.hash, busy && running != try.hash:
			return ErrKeyReused
		case known != nil && known.Status != 0: // also while the first answer is still being sent
			return s.replay(w, known)
		case busy:
			return ErrRunning
		case known != nil:
			// A crash has cut the request short. It goes on with the tickets that are left.
			try.done = known.Done
		}
		err = h(w, r, p, try)
		return s.keepRefusal(w, r, name.Partner, try, err)
	}
}

// oneForm returns what a body says, whatever its blanks and the order of its members. No body says what {}
// does. Where ticketIds are given nothing else is read, and no digest of anything else is kept. What is no
// object of JSON stays as it is: its handler refuses it.
func oneForm(b []byte) []byte {
	if len(b) == 0 {
		return []byte("{}")
	}
	in := json.NewDecoder(bytes.NewReader(b))
	in.UseNumber()
	var members map[string]any
	if !json.Valid(b) || in.Decode(&members) != nil {
		return b
	}
	if members["ticketIds"] != nil {
		delete(members, "orderIds")
	}
	form, err := json.Marshal(members)
	if err != nil {
		return b
	}
	return form
}

// keepRefusal returns the error of a request, which may be nil. It journals a 409 of pay, book and cancel,
// which a repetition gets again; but not one that only lasts until the provider has answered.
func (s *Seller) keepRefusal(w http.ResponseWriter, r *http.Request, partner ids.ID, try *Attempt,
	err error) error {
	if err == nil {
		return nil
	}
	// A repetition decides any other refusal anew: that costs nothing, and the answer may have changed. So
	// it does that of a sale, whose hash would be that of the names in its body.
	f := web.Explain(err)
	var states *booking.Conflict
	passing := errors.As(err, &states) && states.Code == booking.InProgress
	id, ofBooking := ids.Parse(r.PathValue("id"))
	if passing || f.Status != http.StatusConflict || !ofBooking {
		return err
	}
	try.willAnswer(f.Status, f.Write)
	_, failed := s.Update(w, func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return []ledger.Entry{{
			Event:       &ledger.Answered{Partner: partner, Booking: id},
			Idempotency: try.last,
		}}, nil
	}, nil)
	if failed != nil {
		return failed
	}
	return err
}

// replay sends the first answer again, from the journal. An answer that was erased is a 404.
func (s *Seller) replay(w http.ResponseWriter, known *ledger.KeyedRequest) error {
	var answer ledger.Answer
	err := s.lines.Read([]uint64{known.Seq}, func(l *journal.Line) (err error) {
		answer, err = ledger.ReadAnswer(l)
		return err
	})
	if err != nil {
		return err
	}
	// The answer to a sale is not kept: it is made again.
	if answer.Sold != nil {
		if err := s.makeAgain(&answer); err != nil {
			return err
		}
	}
	// An erasure takes the answer away with the passenger that it shows.
	if answer.Text == "" {
		return web.ErrNotFound
	}
	// The client sees from the header that nothing was done a second time.
	w.Header()["Idempotent-Replayed"] = []string{"true"}
	if known.Status < http.StatusBadRequest {
		web.Wrote(w, known.Seq)
	} else {
		// The header of an error names the page of its code, which only the body has.
		var failed struct{ Errors []struct{ ErrorCode string } }
		if err := json.Unmarshal([]byte(answer.Text), &failed); err != nil || len(failed.Errors) == 0 {
			return fmt.Errorf("the answer in line %d is not an error: %v", known.Seq, err)
		}
		web.LinkHelp(w, failed.Errors[0].ErrorCode)
	}
	web.Send(w, known.Status, func(buf *wire.Writer) {
		buf.B = append(buf.B, answer.Text...)
	})
	return nil
}

// makeAgain makes the answer to a sale from its line. It differs from the first answer only if a later
// version of the program, within the 24 hours, writes bookings differently.
func (s *Seller) makeAgain(answer *ledger.Answer) error {
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
	return nil
}
