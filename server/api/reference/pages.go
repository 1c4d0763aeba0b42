package reference

import (
	"bytes"
	"html/template"
	"io/fs"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/server/docs"
	"waybill/server/frame/web"
)

// What says the same to everybody is put together once, when somebody first asks for it: however many clients
// take it at a time, there is one copy of it.

var (
	htmlType = []string{"text/html; charset=utf-8"}
	// textType is what a browser shows as it stands.
	textType = []string{"text/plain; charset=utf-8"}
)

// openAPI returns the document where there is a test clock, and where there is none.
var openAPI = sync.OnceValue(func() map[bool][]byte {
	return map[bool][]byte{true: OpenAPI, false: ofTheClock.ReplaceAll(OpenAPI, nil)}
})

// sharedOpenAPI returns the same as it is sent where cookies have their plain names.
var sharedOpenAPI = sync.OnceValue(func() map[bool]*web.Shared {
	list := map[bool]*web.Shared{}
	for clock, text := range openAPI() {
		list[clock] = web.NewShared(web.ContentType, text)
	}
	return list
})

// cookies matches in the document the name of a cookie, up to its end.
var cookies = regexp.MustCompile(`"name": "waybill_(access|refresh)`)

// ofTheClock matches in the document what only the test clock's calls have.
var ofTheClock = regexp.MustCompile(
	`(?ms)^(  "/test/clock": \{.*?^  \},\n|   "Clock(Move|Answer)": \{.*?^   \},\n)`)

// texts returns the pages of server/docs as they are sent as text, by name.
var texts = sync.OnceValue(func() map[string]*web.Shared {
	list := map[string]*web.Shared{}
	for _, pattern := range []string{"*.md", "uk/*.md", "*.py"} {
		for name, text := range read(pattern) {
			list[name] = web.NewShared(textType, text)
		}
	}
	return list
})

// made returns the pages that a test has made, by their paths below /docs: a line with a title, and a body.
var made = sync.OnceValue(func() map[string][]byte {
	list := map[string][]byte{}
	for _, pattern := range []string{"made/*.html", "made/*/*.html"} {
		for name, text := range read(pattern) {
			list[strings.TrimSuffix(strings.TrimPrefix(name, "made/"), ".html")] = text
		}
	}
	return list
})

// pages returns the same as they are sent where there is no test clock on them.
var pages = sync.OnceValue(func() map[string]*web.Shared {
	list := map[string]*web.Shared{}
	for path, text := range made() {
		page, err := framed(text, nil)
		if err != nil {
			panic(err) // they are our own, and a test has made each
		}
		list[path] = web.NewShared(htmlType, page)
	}
	return list
})

// read returns the files that match a pattern, by name.
func read(pattern string) map[string][]byte {
	files := map[string][]byte{}
	names, _ := fs.Glob(docs.Files, pattern)
	for _, name := range names {
		files[name], _ = docs.Files.ReadFile(name) // it was built in
	}
	return files
}

// filled returns the templates of what a server fills in, among them the frame of all pages.
var filled = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(docs.Files, "filled/*.html", "live/*.html"))
})

// testClock is the clock of a test bench, as a bar above every page shows it (decision pages.clock).
type testClock struct {
	Now   time.Time
	Still bool
}

// framed puts what was made of a page, a line with its title and what follows, into the frame.
func framed(made []byte, clock *testClock) ([]byte, error) {
	title, body, _ := strings.Cut(string(made), "\n")
	var bar, page bytes.Buffer
	if clock != nil {
		if err := filled().ExecuteTemplate(&bar, "clock", clock); err != nil {
			return nil, err
		}
	}
	err := filled().ExecuteTemplate(&page, "frame.html", map[string]any{
		"Title": template.HTML(title),
		"Style": template.CSS(Style),
		"Clock": template.HTML(bar.String()),
		"Body":  template.HTML(body),
	})
	return page.Bytes(), err
}

// fillIn answers with a page that is filled in for the caller.
func (s *Publisher) fillIn(w http.ResponseWriter, status int, name string, values any) error {
	made, err := fill(name, values)
	if err != nil {
		return err
	}
	return s.send(w, status, made)
}

// fill returns a page with what values has for it, not yet in the frame.
func fill(name string, values any) ([]byte, error) {
	var made bytes.Buffer
	err := filled().ExecuteTemplate(&made, name, values)
	return made.Bytes(), err
}

// send answers with a page in the frame, under the test clock where there is one.
func (s *Publisher) send(w http.ResponseWriter, status int, made []byte) error {
	var clock *testClock
	if s.Config.TestClock {
		now, err := s.Now()
		if err != nil {
			return err
		}
		clock = &testClock{now.UTC(), s.Still.Load()}
	}
	page, err := framed(made, clock)
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"] = htmlType
	h.Set("Content-Security-Policy", PagePolicy)
	h.Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(status)
	_, err = w.Write(page)
	return err
}
