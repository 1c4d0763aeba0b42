package web

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"waybill/server/wire"
)

// AllowOrigin lets pages of the configured origins call the server and read its answers, without cookies
// (CORS). It reports whether it has answered, which it does to a browser's question beforehand.
func (s *Core) AllowOrigin(w http.ResponseWriter, r *http.Request) bool {
	if s.Config.Origins == nil {
		return false
	}
	h := w.Header()
	origin := Single(r.Header["Origin"])
	h["Vary"] = []string{"Origin"}
	if !slices.Contains(s.Config.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Waybill-Seq, X-Request-Id, Idempotent-Replayed, Retry-After, Allow, ETag, Deprecation, Sunset, Link")
	if r.Method != http.MethodOptions || r.Header["Access-Control-Request-Method"] == nil {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, PATCH, POST")
	h.Set("Access-Control-Allow-Headers", "x-api-key, content-type, idempotency-key, if-none-match, x-request-id")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

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
