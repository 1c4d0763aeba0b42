package web

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	"waybill/server/wire"
)

// ReplyTagged is [Reply] for what changes rarely and is the same for everyone: a client that has it already
// gets 304.
func ReplyTagged(w http.ResponseWriter, r *http.Request, write func(*wire.Writer)) error {
	return SendTagged(w, r, ContentType, func(w *wire.Writer) {
		WriteReply(w, write)
		w.B = append(w.B, '\n')
	})
}

// SendTagged answers with the whole body that write appends, and its ETag; with 304 where If-None-Match names
// that.
func SendTagged(w http.ResponseWriter, r *http.Request, contentType []string,
	write func(*wire.Writer)) error {
	body := wire.NewWriter()
	write(body)
	sum := sha256.Sum256(body.B)
	tag := fmt.Sprintf(`"%x"`, sum[:16])
	w.Header()["Etag"] = []string{tag}
	for known := range strings.SplitSeq(strings.Join(r.Header["If-None-Match"], ","), ",") {
		known = strings.TrimSpace(known)
		if known == "*" || strings.TrimPrefix(known, "W/") == tag {
			body.Release()
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	SendBody(w, http.StatusOK, contentType, body)
	return nil
}
