package reference

import (
	"bytes"
	"html/template"
	"net/http"
	"strconv"
	"sync"

	"waybill/server/docs"
	"waybill/server/frame/web"
)

// What says the same to everybody is made once, when somebody first asks for it: however many clients take
// it at a time, there is one copy of it.

// fixedPages are the pages that templates made, by what they are about.
type fixedPages struct {
	mu   sync.Mutex
	made map[string]*web.Shared
}

// page returns a page that make makes, by a key. There must not be more keys than there are pages.
func (f *fixedPages) page(key string, make func() ([]byte, error)) (*web.Shared, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if page := f.made[key]; page != nil {
		return page, nil
	}
	text, err := make()
	if err != nil {
		return nil, err
	}
	if f.made == nil {
		f.made = map[string]*web.Shared{}
	}
	page := web.NewShared(htmlType, text)
	f.made[key] = page
	return page, nil
}

// pages are those of the document, which the servers of a process share: it is the same for all of them.
var pages fixedPages

var (
	htmlType = []string{"text/html; charset=utf-8"}
	// textType is what a browser shows as it stands.
	textType = []string{"text/plain; charset=utf-8"}
)

// openAPI returns the document as it is sent.
var openAPI = sync.OnceValue(func() *web.Shared {
	return web.NewShared(web.ContentType, OpenAPI)
})

// sharedTexts returns the pages of server/docs as they are sent as text, by name.
var sharedTexts = sync.OnceValue(func() map[string]*web.Shared {
	shared := map[string]*web.Shared{}
	for _, t := range texts() {
		page, err := docs.Files.ReadFile(t.Name)
		if err != nil {
			panic(err) // it was listed
		}
		shared[t.Name] = web.NewShared(textType, page)
	}
	return shared
})

// execute returns the page that a template makes.
func execute(name string, about map[string]any) ([]byte, error) {
	var page bytes.Buffer
	about["Style"] = template.CSS(Style)
	err := referencePages().ExecuteTemplate(&page, name, about)
	return page.Bytes(), err
}

// sendFixed answers with a page that says the same to everybody. about is asked once what the template is to
// show.
func sendFixed(w http.ResponseWriter, f *fixedPages, key, name string, about func() map[string]any) error {
	page, err := f.page(key, func() ([]byte, error) {
		return execute(name, about())
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", GuidePolicy)
	return page.Send(w)
}

// sendPage answers with a page that is made for the caller.
func sendPage(w http.ResponseWriter, name string, about map[string]any) error {
	text, err := execute(name, about)
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"] = htmlType
	h.Set("Content-Security-Policy", GuidePolicy)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, err = w.Write(text)
	return err
}
