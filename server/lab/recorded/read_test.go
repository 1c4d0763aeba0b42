package recorded

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// entry is a HAR of one entry.
func entry(text string) string { return `{"log":{"entries":[` + text + `]}}` }

// What is no recording is one line that names the file, the entry and what was expected, and nothing of what
// stands there.
func TestHARsThatCannotBeRead(t *testing.T) {
	const asked = `"request":{"method":"GET","url":"/v2/cities"}`
	for text, says := range map[string]string{
		"":                            "is not a HAR: want JSON, which breaks off at byte 0",
		`{"log":{"marker`:             "is not a HAR: want JSON, which breaks off at byte 15",
		`[]`:                          "is not a HAR:  is of another type, want an object",
		`{"log":{}}`:                  "is not a HAR: log.entries is missing, want a list of requests with their responses",
		`{"log":{"entries":3}}`:       "is not a HAR: log.entries is of another type, want an array",
		entry(`{}`):                   "entry 1: request is missing, want an object",
		entry(`{"request":{}}`):       "entry 1: request.method or request.url is missing, want a string",
		entry(`{` + asked + `}`):      "entry 1: response is missing, want an object",
		entry(`{"request":"marker"}`): "entry 1: request is of another type, want an object",
		entry(`{` + asked + `,"response":{"status":"marker"}}`):                                                        "entry 1: response.status is of another type, want an integer",
		entry(`{` + asked + `,"response":{"status":99}}`):                                                              "entry 1: the answer has no status, want one from 200 to 599",
		entry(`{"request":{"method":"GET","url":"http://%zz"},"response":{"status":200}}`):                             "entry 1: the URL cannot be read",
		entry(`{` + asked + `,"response":{"status":200,"content":{"text":"marker","encoding":"base64"}}}`):             "entry 1: response.content.text is not base64, as its encoding says",
		entry(`{"request":{"method":"GET","url":"/logo.png"},"response":{"status":200}}`):                              "has no call of the service: want requests for /v2/… or /rest/…",
		entry(`{` + asked + `,"response":{"status":200,"content":{"text":"` + strings.Repeat("x", maxBody+1) + `"}}}`): "entry 1: the answer's body has more than 8388608 bytes",
		`{"log":{"entries":[` + strings.Repeat("{},", maxExchanges) + `{}]}}`:                                          "has 20001 entries, at most 20000 are read",
	} {
		file := writeFile(t, text)
		_, err := Read(file)
		if err == nil || err.Error() != file+": "+says {
			t.Errorf("%.100s: %v\nwant %s", text, err, says)
		}
	}
}

// As of HARs, so of directories.
func TestDirectoriesThatCannotBeRead(t *testing.T) {
	const asked = "GET /v2/cities HTTP/1.1\n\n"
	for what, x := range map[string]struct {
		files map[string]string
		says  string
	}{
		"empty": {nil, "has no pair: want files NAME.request and NAME.response"},
		"no answer": {map[string]string{"a.request": asked}, "a.response is missing, want one " +
			"beside a.request"},
		"no request": {map[string]string{"a.response": ""}, "a.request is missing, want one beside " +
			"a.response"},
		"no line": {map[string]string{"a.request": "marker", "a.response": ""}, "a.request: line " +
			"1 is not a request, want METHOD PATH HTTP/1.1"},
		"no status": {map[string]string{"a.request": asked, "a.response": "marker"}, "a.response: " +
			"line 1 is not an answer, want HTTP/1.1 STATUS, as curl -i shows it"},
		"no header": {map[string]string{"a.request": asked, "a.response": "HTTP/1.1 200 " +
			"OK\nmarker\n"}, "a.response: line 2 is not a header, want NAME: VALUE, and an empty line " +
			"before the body"},
		"broken gzip": {map[string]string{"a.request": asked, "a.response": "HTTP/1.1 200 " +
			"OK\n\n\x1f\x8bmarker"}, "a.response: the answer's body is gzip that cannot be unpacked"},
		"a long request": {map[string]string{"a.request": "POST /v2/bookings\n\n" + strings.Repeat("x", maxBody+1), "a.response": "HTTP/1.1 400 X\n\n"}, "a.request: the request's body has more than 8388608 bytes"},
	} {
		dir := t.TempDir()
		for name, text := range x.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Read(dir)
		if err == nil || err.Error() != dir+": "+x.says {
			t.Errorf("%s: %v\nwant %s", what, err, x.says)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// A body that unpacks to more than is read is refused before it is unpacked whole.
func TestABodyThatGrows(t *testing.T) {
	bomb := packed(t, strings.Repeat("0", 4*maxBody))
	m := message{body: bomb}
	if err := m.unpack(); err != nil || len(m.body) != maxBody+1 {
		t.Errorf("%d bytes, %v", len(m.body), err)
	}
	_, err := readPair("a", []byte("GET /v2/cities\n\n"), append([]byte("HTTP/1.1 200 OK\n\n"), bomb...))
	if err == nil || err.Error() != "a.response: the answer's body has more than 8388608 bytes" {
		t.Error(err)
	}
}

// A recording is no larger than what is read of it.
func TestARecordingThatIsTooLarge(t *testing.T) {
	file := writeFile(t, "{}")
	if err := os.Truncate(file, maxRecording+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), "at most 134217728 are read") {
		t.Error(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"a.request", "a.response"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, "a.response"), maxRecording+1); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir)
	if err == nil || !strings.Contains(err.Error(), "more than 134217728 bytes together") {
		t.Error(err)
	}
}
