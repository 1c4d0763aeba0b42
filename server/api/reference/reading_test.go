package reference_test

import (
	"cmp"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// The pages to read are pages in a browser: nothing of how they are written is left, every answer is folded
// away, and every link leads somewhere.
func TestPagesToReadArePages(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{Dir: t.TempDir()})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w
	}
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		path := "/docs/" + strings.TrimSuffix(filepath.Base(name), ".md")
		questions := 0
		switch path {
		case "/docs/decisions":
			continue // it is made into /docs/silent
		case "/docs/tour":
			questions = 14 * 3
		}
		w := get(path)
		_, page, _ := strings.Cut(w.Body.String(), "<main")
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Fatalf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
		if n := strings.Count(page, "<details>\n<summary>"); n != questions ||
			strings.Count(page, "</details>") != n {
			t.Errorf("%s asks %d questions, want %d", path, n, questions)
		}
		prose := regexp.MustCompile("(?s)<pre>.*?</pre>|<code>.*?</code>").ReplaceAllString(page, "")
		left := regexp.MustCompile("(?m)`|^#|^- |^\\||\\*\\*|\\]\\(|&lt;details").FindString(prose)
		if left != "" {
			t.Errorf("%s shows %q as it was written", path, left)
		}
		for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			to, place, _ := strings.Cut(m[1], "#")
			if strings.HasPrefix(to, "https:") {
				continue
			}
			w := get(cmp.Or(to, path))
			if w.Code != 200 || place != "" && !strings.Contains(w.Body.String(), `id="`+place+`"`) {
				t.Errorf("%s leads to %s: %d, or no such place", path, m[1], w.Code)
			}
		}
	}
}
