package reference

import (
	"bytes"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"

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

// openAPI returns the document as it is sent.
var openAPI = sync.OnceValue(func() *web.Shared {
	return web.NewShared(web.ContentType, OpenAPI)
})

// texts returns the pages of server/docs as they are sent as text, by name.
var texts = sync.OnceValue(func() map[string]*web.Shared {
	list := map[string]*web.Shared{}
	for _, pattern := range []string{"*.md", "*.py"} {
		for name, text := range read(pattern) {
			list[name] = web.NewShared(textType, text)
		}
	}
	return list
})

// pages returns the pages that say the same to everybody, by their paths below /docs.
var pages = sync.OnceValue(func() map[string]*web.Shared {
	list := map[string]*web.Shared{}
	for _, pattern := range []string{"made/*.html", "made/*/*.html"} {
		for name, made := range read(pattern) {
			page, err := framed(made)
			if err != nil {
				panic(err) // they are our own, and a test has made each
			}
			path := strings.TrimSuffix(strings.TrimPrefix(name, "made/"), ".html")
			list[path] = web.NewShared(htmlType, page)
		}
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
	return template.Must(template.ParseFS(docs.Files, "filled/*.html"))
})

// framed puts what a test has made of a page, a line with its title and what follows, into the frame.
func framed(made []byte) ([]byte, error) {
	title, body, _ := strings.Cut(string(made), "\n")
	var page bytes.Buffer
	err := filled().ExecuteTemplate(&page, "frame.html", map[string]any{
		"Title": template.HTML(title),
		"Style": template.CSS(Style),
		"Body":  template.HTML(body),
	})
	return page.Bytes(), err
}

// fill returns a page with what values has for it.
func fill(name string, values map[string]any) ([]byte, error) {
	var made bytes.Buffer
	if err := filled().ExecuteTemplate(&made, name+".html", values); err != nil {
		return nil, err
	}
	return framed(made.Bytes())
}

// sendFilled answers with a page that is filled in for the caller.
func sendFilled(w http.ResponseWriter, name string, values map[string]any) error {
	page, err := fill(name, values)
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"] = htmlType
	h.Set("Content-Security-Policy", PagePolicy)
	h.Set("Content-Length", strconv.Itoa(len(page)))
	_, err = w.Write(page)
	return err
}
