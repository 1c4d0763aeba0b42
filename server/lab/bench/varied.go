package bench

import (
	"cmp"
	"net/http"
	"strconv"

	"waybill/server/frame/web"
	"waybill/server/lab/vary"
)

// varied returns a handler that answers as next does, but for what the interface leaves open (decision
// bench.vary). It stands within the bench, so that the answer of a rule does not vary, and the bench
// remembers a request as the client has sent it.
func (s *Bench) varied(next http.Handler) http.Handler {
	number := uint64(1)
	if s.begun.source != nil {
		number = s.begun.source.Number
	}
	v := vary.New(number)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !vary.In(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		answer := &heldAnswer{to: w}
		next.ServeHTTP(answer, v.Request(r))
		varyAnswer(v, answer, r).release(r)
	})
}

// varyAnswer returns the answer to a request as a variation has it. Its tag is that of the bytes that the
// client gets. What is no JSON, as a file, stays as it is.
func varyAnswer(v *vary.Variation, answer *heldAnswer, r *http.Request) *heldAnswer {
	h := answer.Header()
	if h.Get("Content-Type") != web.ContentType[0] {
		return answer
	}
	body := v.Answer(answer.bytes())
	varied := &heldAnswer{to: answer.to}
	if h["Etag"] != nil && web.Tagged(varied, r, web.TagOf(body)) {
		h.Del("Content-Type")
		h.Del("Content-Length")
		return varied
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	varied.WriteHeader(cmp.Or(answer.status, http.StatusOK))
	varied.Write(body)
	return varied
}
