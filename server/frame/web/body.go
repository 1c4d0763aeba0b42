package web

import (
	"errors"
	"io"
	"mime"
	"net/http"

	"waybill/server/ledger/wire"
)

// ReadBody has a request's body read, unless it is empty and may be. Its error lists everything wrong with
// it.
func ReadBody(w http.ResponseWriter, r *http.Request, optional bool, fields func(*wire.Reader)) error {
	b, err := Body(w, r)
	if err != nil || optional && len(b) == 0 {
		return err
	}
	in := wire.NewReader(b)
	fields(in)
	return EndOfBody(in)
}

// Body reads a request's body; nil when it is empty. Only JSON will do.
func Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	ct := r.Header["Content-Type"]
	if len(ct) > 1 || len(ct) == 1 && ct[0] != "application/json" && ct[0] != "" {
		media, _, err := mime.ParseMediaType(ct[0])
		if len(ct) > 1 || err != nil || media != "application/json" {
			return nil, ErrMediaType
		}
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, ErrTooLarge
	case err != nil:
		return nil, Invalid(Problem("body", "was cut short"))
	}
	return b, nil
}

// Document reads a request's body as JSON.
func Document(w http.ResponseWriter, r *http.Request) (*wire.Reader, error) {
	b, err := Body(w, r)
	return wire.NewReader(b), err
}

// EndOfBody reads the end of a body; its error lists what is wrong with it.
func EndOfBody(r *wire.Reader) error {
	r.End()
	wrong := ComplaintsOf(r)
	return wrong.Err()
}
