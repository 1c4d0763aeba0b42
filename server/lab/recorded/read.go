package recorded

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a recording may have.
const (
	maxRecording = 128 << 20 // bytes of a HAR, or of all files of pairs together
	maxExchanges = 20_000    // entries of a HAR, or pairs
	maxBody      = 8 << 20   // bytes of a body, unpacked
)

// Read reads a recording: a HAR, or a directory of pairs NAME.request and NAME.response. Requests that are
// none of the service, as those for a page's pictures, are passed over. Errors are a line that names the file
// and the entry, and what was expected there; nothing of a recording's values is in them.
func Read(file string) (*Recording, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	r := new(Recording)
	switch {
	case info.IsDir():
		r.exchanges, err = readPairs(file)
	case !info.Mode().IsRegular():
		err = errors.New("is neither a file nor a directory")
	case info.Size() > maxRecording:
		err = fmt.Errorf("has %d bytes, at most %d are read", info.Size(), maxRecording)
	default:
		r.exchanges, err = readHAR(file)
	}
	r.exchanges = slices.DeleteFunc(r.exchanges, func(x *exchange) bool { return !x.isAnswered() })
	if err == nil && len(r.exchanges) == 0 {
		err = errors.New("has no call of the service: want requests for /v2/… or /rest/…")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// newExchange returns an exchange whose request is read; nil where it is no call of the service.
func newExchange(name, method, target string, request message) (*exchange, error) {
	x := &exchange{name: name, method: method, request: request}
	isCall, err := x.setTarget(target)
	if err != nil || !isCall {
		return nil, err
	}
	if len(request.body) > maxBody {
		return nil, fmt.Errorf("the request's body has more than %d bytes", maxBody)
	}
	x.request.decode()
	return x, nil
}

// setAnswer notes what an exchange was answered with.
func (x *exchange) setAnswer(status int, answer message) error {
	if status < 200 || status > 599 {
		return errors.New("the answer has no status, want one from 200 to 599")
	}
	x.status = status
	x.answer = answer
	if err := x.answer.unpack(); err != nil {
		return err
	}
	if len(x.answer.body) > maxBody {
		return fmt.Errorf("the answer's body has more than %d bytes", maxBody)
	}
	x.answer.decode()
	return nil
}

// unpack undoes the encodings of a body. A recorder may have done so already and left the headers as they
// were: a body that is not packed stays as it is.
func (m *message) unpack() error {
	if strings.EqualFold(m.header.Get("Transfer-Encoding"), "chunked") {
		chunks := httputil.NewChunkedReader(bytes.NewReader(m.body))
		whole, err := io.ReadAll(io.LimitReader(chunks, maxBody+1))
		if err == nil {
			m.body = whole
		}
	}
	const gzipMagic = "\x1f\x8b"
	if bytes.HasPrefix(m.body, []byte(gzipMagic)) {
		packed, err := gzip.NewReader(bytes.NewReader(m.body))
		if err == nil {
			m.body, err = io.ReadAll(io.LimitReader(packed, maxBody+1))
		}
		if err != nil {
			return errors.New("the answer's body is gzip that cannot be unpacked")
		}
	}
	if encoding := m.header.Get("Content-Encoding"); encoding != "" && !utf8.Valid(m.body) {
		m.lost = true // packed in a way that the standard library does not know
		m.body = nil
	}
	return nil
}

// addHeader adds a header, but for those that only name the request, as HTTP/2 has them.
func addHeader(h http.Header, name, value string) {
	if !strings.HasPrefix(name, ":") {
		h.Add(name, value)
	}
}
