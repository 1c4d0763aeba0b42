package vary

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"waybill/server/frame/web"
)

// Request returns a request as the server is to see it: ids have lost their suffixes, in path, query and
// body, and it does not ask whether an answer has changed, as only the edge knows the tags of answers.
func (v *Variation) Request(r *http.Request) *http.Request {
	bare := r.WithContext(r.Context())
	bare.URL = v.bareURL(r.URL)
	bare.Header = maps.Clone(r.Header)
	bare.Header.Del("If-None-Match")
	bare.Body = &body{
		ReadCloser: r.Body,
		bare:       v.bareBody,
	}
	return bare
}

// idsAfter are the segments of a path after which an id may stand.
var idsAfter = []string{"bookings", "tickets", "orders"}

// bareURL returns a URL without the suffixes of its ids.
func (v *Variation) bareURL(u *url.URL) *url.URL {
	bare := *u
	segments := strings.Split(u.EscapedPath(), "/")
	for i := 1; i < len(segments); i++ {
		text, err := url.PathUnescape(segments[i])
		if err == nil && slices.Contains(idsAfter, segments[i-1]) && v.bare(text) != text {
			segments[i] = v.bare(text)
		}
	}
	bare.RawPath = strings.Join(segments, "/")
	if path, err := url.PathUnescape(bare.RawPath); err == nil {
		bare.Path = path
	}
	bare.RawQuery = idInQuery.ReplaceAllStringFunc(u.RawQuery, func(pair string) string {
		name, value, _ := strings.Cut(pair, "=")
		return name + "=" + v.bare(value)
	})
	return &bare
}

// idInQuery is a parameter that names bookings or tickets.
var idInQuery = regexp.MustCompile(`\b(bookingId|ticketIds?|orderIds?|ordersIds)=[^&]*`)

// body is the body of a request, which is read as a whole when somebody wants it.
type body struct {
	io.ReadCloser
	bare func([]byte) []byte
	text io.Reader // nil: nobody has read it yet
}

// Read reads the body without the suffixes of its ids. One that is larger than may be stays as it is.
func (b *body) Read(to []byte) (int, error) {
	if b.text == nil {
		text, err := io.ReadAll(io.LimitReader(b.ReadCloser, web.MaxBody+1))
		if err != nil {
			return 0, err
		}
		if len(text) <= web.MaxBody {
			text = b.bare(text)
		}
		b.text = io.MultiReader(bytes.NewReader(text), b.ReadCloser)
	}
	return b.text.Read(to)
}

var (
	// idsInBody is a member that names bookings or tickets. A body that is no JSON may have one too.
	idsInBody = regexp.MustCompile(`"(bookingId|ticketIds?|orderIds?|ordersIds)"\s*:\s*(\[[^\]]*\]|"[^"]*")`)
	textInIt  = regexp.MustCompile(`"[^"\\]*"`)
)

// bareBody returns a body without the suffixes of its ids, and otherwise as it is.
func (v *Variation) bareBody(text []byte) []byte {
	return idsInBody.ReplaceAllFunc(text, func(member []byte) []byte {
		return textInIt.ReplaceAllFunc(member, func(quoted []byte) []byte {
			return []byte(`"` + v.bare(string(quoted[1:len(quoted)-1])) + `"`)
		})
	})
}
