package web

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

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

// Body reads a request's body; nil when it is empty. Only JSON will do; what has no bytes has no type.
func Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	coding := strings.ToLower(strings.Join(r.Header["Content-Encoding"], ","))
	var tooLarge *http.MaxBytesError
	switch {
	case len(b) == 0 && err == nil:
		return nil, nil
	case !isJSON(r.Header["Content-Type"]):
		return nil, ErrMediaType
	case coding != "" && coding != "identity":
		w.Header()["Accept-Encoding"] = []string{"identity"}
		return nil, errEncoded
	case errors.As(err, &tooLarge):
		return nil, ErrTooLarge
	case err != nil:
		return nil, Invalid(Problem("body", "was cut short"))
	case bytes.HasPrefix(b, []byte("\ufeff")):
		return nil, Invalid(Problem("body", "begins with a byte order mark, which JSON has not"))
	}
	return b, nil
}

// isJSON reports whether a Content-Type is that of JSON, or none.
func isJSON(types []string) bool {
	if len(types) == 0 || len(types) == 1 && (types[0] == "application/json" || types[0] == "") {
		return true
	}
	media, _, err := mime.ParseMediaType(types[0])
	return len(types) == 1 && err == nil && media == "application/json"
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
