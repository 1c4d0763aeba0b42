package web

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	"waybill/server/ledger/wire"
)

// ReplyTagged is [Reply] for what changes rarely and is the same for everyone: a client that has it already
// gets 304.
func ReplyTagged(w http.ResponseWriter, r *http.Request, write func(*wire.Writer)) error {
	body := wire.NewWriter()
	wire.Reply(body, write)
	body.B = append(body.B, '\n')
	if Tagged(w, r, TagOf(body.B)) {
		body.Release()
		return nil
	}
	SendBody(w, http.StatusOK, ContentType, body)
	return nil
}

// TagOf returns the ETag of a body.
func TagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return fmt.Sprintf(`"%x"`, sum[:16])
}

// Tagged gives an answer an ETag. Where If-None-Match names it, it answers with 304 and reports so.
func Tagged(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header()["Etag"] = []string{tag}
	for known := range strings.SplitSeq(strings.Join(r.Header["If-None-Match"], ","), ",") {
		known = strings.TrimSpace(known)
		if known == "*" || strings.TrimPrefix(known, "W/") == tag {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}
