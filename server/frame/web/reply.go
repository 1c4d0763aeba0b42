package web

import (
	"net/http"
	"strconv"

	"waybill/server/ledger/wire"
)

// Reply answers with {"data":{…}}, the members written by write.
func Reply(w http.ResponseWriter, status int, write func(w *wire.Writer)) error {
	Send(w, status, func(buf *wire.Writer) {
		wire.Reply(buf, write)
	})
	return nil
}

// Send answers with the JSON that write writes, and a newline: a prompt comes after it, not behind it.
func Send(w http.ResponseWriter, status int, write func(w *wire.Writer)) {
	buf := wire.NewWriter()
	write(buf)
	buf.B = append(buf.B, '\n')
	SendBody(w, status, ContentType, buf)
}

// SendBody answers with a whole body, and puts its writer back into the pool.
func SendBody(w http.ResponseWriter, status int, contentType []string, body *wire.Writer) {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = []string{strconv.Itoa(len(body.B))}
	w.(*Recorder).whole(status, body)
}

// Wrote sets the header that names the line of the journal in which a write ended.
func Wrote(w http.ResponseWriter, seq uint64) {
	w.Header()["Waybill-Seq"] = []string{strconv.FormatUint(seq, 10)}
}

// Refuse answers with the error envelope. No cache keeps a refusal: it depends on the instant, as a 429, or
// on the caller.
func (s *Core) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := Explain(err)
	if f.Status >= http.StatusInternalServerError && f.Status != http.StatusServiceUnavailable &&
		f != ErrLegacyDate {
		s.Log.Error("a request failed", "request", RequestID(r), "route", r.Pattern, "err", err)
	}
	w.Header()["Cache-Control"] = NoStore
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f == ErrTooLarge {
		w.Header().Set("Connection", "close")
	}
	LinkHelp(w, f.entries[0].code)
	Send(w, f.Status, f.Write)
}

// LinkHelp names the page of an errorCode. The legacy interface has links of its own.
func LinkHelp(w http.ResponseWriter, code string) {
	if h := w.Header(); h["Link"] == nil {
		h["Link"] = []string{"</docs/errors/" + code + `>; rel="help"; type="text/html"`}
	}
}

// Show answers 200 with what write writes, unless there is an error.
func Show(w http.ResponseWriter, err error, write func(*wire.Writer)) error {
	if err != nil {
		return err
	}
	return Reply(w, http.StatusOK, write)
}

// ShowWritten answers as Show does, after line seq of the journal.
func ShowWritten(w http.ResponseWriter, seq uint64, err error, write func(*wire.Writer)) error {
	if err == nil {
		Wrote(w, seq)
	}
	return Show(w, err, write)
}
