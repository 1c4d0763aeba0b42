package bench

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"

	"waybill/server/frame/web"
)

// heldAnswer is an answer that is whole before the client sees anything of it. Of its fields only to must be
// set.
type heldAnswer struct {
	to     http.ResponseWriter // whose header it shares
	status int                 // 0: nothing was written
	body   bytes.Buffer
	shared []byte // instead of body, where that is the same for everybody
}

// Header returns the header of the answer.
func (h *heldAnswer) Header() http.Header {
	return h.to.Header()
}

// WriteHeader keeps the first status.
func (h *heldAnswer) WriteHeader(status int) {
	h.status = cmp.Or(h.status, status)
}

// Write keeps a part of the body.
func (h *heldAnswer) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

// KeepShared keeps a whole body that is the same for everybody, and that nobody changes.
func (h *heldAnswer) KeepShared(b []byte) {
	h.WriteHeader(http.StatusOK)
	h.shared = b
}

// bytes returns the body.
func (h *heldAnswer) bytes() []byte {
	if h.shared != nil {
		return h.shared
	}
	return h.body.Bytes()
}

// FlushError lets nothing go.
func (h *heldAnswer) FlushError() error {
	return nil
}

// Unwrap lets http.ResponseController reach the connection.
func (h *heldAnswer) Unwrap() http.ResponseWriter {
	return h.to
}

// release sends the answer to a request.
func (h *heldAnswer) release(r *http.Request) {
	h.to.WriteHeader(cmp.Or(h.status, http.StatusOK))
	if h.shared != nil {
		web.WriteShared(h.to, r, h.shared)
		return
	}
	h.to.Write(h.body.Bytes()) // a client that is gone misses it
}

// start sends the header, which promises the whole body, and so many bytes of it.
func (h *heldAnswer) start(bytes int) {
	h.startHeader()
	h.send(h.bytes()[:bytes])
}

// startHeader sends the header, which promises the whole body.
func (h *heldAnswer) startHeader() {
	h.Header().Set("Content-Length", strconv.Itoa(len(h.bytes())))
	h.to.WriteHeader(cmp.Or(h.status, http.StatusOK))
}

// send sends bytes of the body at once. Its error is that of a client that is gone, or that wants no body.
func (h *heldAnswer) send(b []byte) error {
	if _, err := h.to.Write(b); err != nil {
		return err
	}
	return http.NewResponseController(h.to).Flush()
}
