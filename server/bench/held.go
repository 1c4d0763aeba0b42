package bench

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
)

// held is an answer that is whole before the client sees anything of it. Of its fields only to must be set.
type held struct {
	to     http.ResponseWriter // whose header it shares
	status int                 // 0: nothing was written
	body   bytes.Buffer
}

// Header returns the header of the answer.
func (h *held) Header() http.Header {
	return h.to.Header()
}

// WriteHeader keeps the first status.
func (h *held) WriteHeader(status int) {
	h.status = cmp.Or(h.status, status)
}

// Write keeps a part of the body.
func (h *held) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

// FlushError lets nothing go.
func (h *held) FlushError() error {
	return nil
}

// Unwrap lets http.ResponseController reach the connection.
func (h *held) Unwrap() http.ResponseWriter {
	return h.to
}

// release sends the answer.
func (h *held) release() {
	h.to.WriteHeader(cmp.Or(h.status, http.StatusOK))
	h.to.Write(h.body.Bytes()) // a client that is gone misses it
}

// start sends the header, which promises the whole body, and so many bytes of it.
func (h *held) start(bytes int) {
	h.Header().Set("Content-Length", strconv.Itoa(h.body.Len()))
	h.to.WriteHeader(cmp.Or(h.status, http.StatusOK))
	h.to.Write(h.body.Bytes()[:bytes])
	http.NewResponseController(h.to).Flush()
}
