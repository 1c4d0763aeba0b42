package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"waybill/booking"
	"waybill/server/frame/resource"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// answers makes the answers to sales again, of which lines have the SHA-256. Another program may write them
// otherwise: so only those of this one are judged, and the others are counted.
type answers struct {
	this   *ledger.Program
	same   bool // the program of the last start is this one
	writer *resource.Writer

	known, judged int
}

func newAnswers() *answers {
	return &answers{
		this:   ledger.ThisProgram(),
		writer: resource.NewWriter(),
	}
}

// opened takes up which program a start was of. Lines that are the store's own, but of no start, say nothing
// of it.
func (x *answers) opened(l *journal.Line) {
	if l.Type != journal.KindOpened {
		return
	}
	var data struct{ Program *ledger.Program }
	err := json.Unmarshal(l.Data, &data)
	x.same = err == nil && x.this.SameAs(data.Program)
}

// count counts the lines that have the hash of an answer, whatever else is wrong with them.
func (x *answers) count(entry ledger.Entry) {
	if isAnswered(entry) {
		x.known++
	}
}

// isAnswered reports whether a line is of a sale whose answer it has the hash of.
func isAnswered(entry ledger.Entry) bool {
	_, sale := entry.Event.(*booking.Created)
	return sale && entry.Idempotency != nil && entry.Idempotency.Answer != ""
}

// check returns an error where a sale has the hash of another answer than follows from it. It sees the state
// before the line. Of passengers who were forgotten no answer can be made.
func (x *answers) check(s ledger.State, at journal.Stamp, entry ledger.Entry) error {
	if !isAnswered(entry) {
		return nil
	}
	e := entry.Event.(*booking.Created)
	if !x.same || len(e.Passengers) != len(e.Tickets) {
		return nil
	}
	x.judged++
	var w wire.Writer
	x.writer.BookingReply(&w, s.Bookings.Sold(at.Time, e), at.Time)
	sum := sha256.Sum256(w.B)
	if made := hex.EncodeToString(sum[:]); made != entry.Idempotency.Answer {
		return fmt.Errorf("booking %s has an answer with the SHA-256 %.16s…; the answer that follows "+
			"from this line has %.16s…", e.ID, entry.Idempotency.Answer, made)
	}
	return nil
}
