package recorded

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The names of a pair.
const (
	requestEnd  = ".request"
	responseEnd = ".response"
)

// readPairs reads a directory of pairs, in the order of their names, 2 before 10. Other files are passed
// over.
func readPairs(dir string) ([]*exchange, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	names, err := pairNames(files)
	if err != nil {
		return nil, err
	}
	var list []*exchange
	size := 0
	for _, name := range names {
		request, err := readFile(dir, name+requestEnd, &size)
		if err != nil {
			return nil, err
		}
		response, err := readFile(dir, name+responseEnd, &size)
		if err != nil {
			return nil, err
		}
		x, err := readPair(name, request, response)
		if err != nil {
			return nil, err
		}
		if x != nil {
			list = append(list, x)
		}
	}
	return list, nil
}

// pairNames returns the NAMEs of pairs, of which both files have to be there.
func pairNames(files []os.DirEntry) (names []string, err error) {
	there := map[string]bool{}
	for _, f := range files {
		there[f.Name()] = true
	}
	for _, f := range files { // in the order of their names
		other := f.Name()
		if name, isRequest := strings.CutSuffix(f.Name(), requestEnd); isRequest {
			names = append(names, name)
			other = name + responseEnd
		}
		if name, isResponse := strings.CutSuffix(f.Name(), responseEnd); isResponse {
			other = name + requestEnd
		}
		if !there[other] {
			return nil, fmt.Errorf("%s is missing, want one beside %s", other, f.Name())
		}
	}
	if len(names) == 0 {
		return nil, errors.New("has no pair: want files NAME.request and NAME.response")
	}
	if len(names) > maxExchanges {
		return nil, fmt.Errorf("has %d pairs, at most %d are read", len(names), maxExchanges)
	}
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(padded(a), padded(b)) })
	return names, nil
}

// padded returns a name in which numbers are so long that their order is that of texts.
func padded(name string) string {
	return digits.ReplaceAllStringFunc(name, func(number string) string {
		return strings.Repeat("0", max(0, 20-len(number))) + number
	})
}

var digits = regexp.MustCompile(`[0-9]+`)

// readFile reads a file of a pair, and adds its size to that of all.
func readFile(dir, name string, size *int) ([]byte, error) {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s cannot be read, want a file", name)
	}
	if info.Size() > maxRecording-int64(*size) {
		return nil, fmt.Errorf("%s: all files have more than %d bytes together", name, maxRecording)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read", name)
	}
	*size += len(text)
	return text, nil
}

// The first lines of messages. A request may leave its version out; HTTP/2 and later have no minor one.
var (
	requestLine = regexp.MustCompile(`^([A-Z]+) (\S+)( HTTP/[0-9.]+)?$`)
	statusLine  = regexp.MustCompile(`^HTTP/[0-9](?:\.[0-9])? ([0-9]{3})( .*)?$`)
)

// readPair reads a request and its answer; nil where it is no call of the service.
func readPair(name string, request, response []byte) (*exchange, error) {
	first, asked, err := readMessage(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name+requestEnd, err)
	}
	line := requestLine.FindStringSubmatch(first)
	if line == nil {
		return nil, fmt.Errorf("%s: line 1 is not a request, want METHOD PATH HTTP/1.1", name+requestEnd)
	}
	if len(bytes.TrimSpace(asked.body)) == 0 {
		asked.body = nil // the last line's end of a file that was written by hand
	}
	x, err := newExchange(name, line[1], line[2], asked)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name+requestEnd, err)
	}
	if x == nil {
		return nil, nil
	}
	status, answer, err := readAnswer(response)
	if err == nil {
		err = x.setAnswer(status, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name+responseEnd, err)
	}
	return x, nil
}

// readAnswer reads the last of the answers that a file has: before it may stand those of a proxy, and those
// that only say that one may go on.
func readAnswer(text []byte) (status int, answer message, err error) {
	for {
		first, m, err := readMessage(text)
		if err != nil {
			return 0, m, err
		}
		line := statusLine.FindStringSubmatch(first)
		if line == nil {
			return 0, m, errors.New("line 1 is not an answer, want HTTP/1.1 STATUS, as curl -i shows it")
		}
		status, _ = strconv.Atoi(line[1])
		if !bytes.HasPrefix(m.body, []byte("HTTP/")) {
			return status, m, nil
		}
		text = m.body
	}
}

// readMessage parts a message into its first line, its headers and its body. Lines may end in CR LF or LF.
func readMessage(text []byte) (first string, m message, err error) {
	m.header = http.Header{}
	for n := 1; ; n++ {
		line, rest, found := bytes.Cut(text, []byte("\n"))
		text = rest
		shown := strings.TrimSuffix(string(line), "\r")
		if n == 1 {
			first = shown
		} else if shown == "" {
			m.body = text
			return first, m, nil
		} else {
			name, value, isHeader := strings.Cut(shown, ":")
			if !isHeader || name == "" || strings.ContainsAny(name, " \t") {
				return "", m, fmt.Errorf("line %d is not a header, want NAME: VALUE, and an empty line "+
					"before the body", n)
			}
			addHeader(m.header, name, strings.TrimSpace(value))
		}
		if !found {
			return first, m, nil
		}
	}
}
