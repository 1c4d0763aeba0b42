package web

import (
	"net/http"
	"strconv"
)

// Shared is a body that is the same for everybody, as a document: all answers are written from the same
// bytes, however many clients take them at a time.
type Shared struct {
	body        []byte
	tag         string // quoted, as an ETag is
	contentType []string
	length      []string
}

// NewShared returns a body that nobody changes any more.
func NewShared(contentType []string, body []byte) *Shared {
	return &Shared{
		body:        body,
		tag:         TagOf(body),
		contentType: contentType,
		length:      []string{strconv.Itoa(len(body))},
	}
}

// Send answers with the body.
func (x *Shared) Send(w http.ResponseWriter) error {
	h := w.Header()
	h["Content-Type"] = x.contentType
	h["Content-Length"] = x.length
	rec := w.(*Recorder)
	rec.WriteHeader(http.StatusOK)
	rec.writeShared(x.body)
	return nil
}

// SendTagged answers with the body and its ETag; with 304 where If-None-Match names that.
func (x *Shared) SendTagged(w http.ResponseWriter, r *http.Request) error {
	if Tagged(w, r, x.tag) {
		return nil
	}
	return x.Send(w)
}
