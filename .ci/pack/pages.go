package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// host is the address that the pages name as the server's, wherever they were fetched from.
const host = "127.0.0.1:8080"

var hrefs = regexp.MustCompile(`href="(/[^"#]*)(#[^"]*)?"`)

// pages fetches the pages of a server, from /docs to all that they lead to, and writes them as files that lead
// to each other.
func pages(x *request) error {
	files := map[string][]byte{}                    // by path on the server
	todo := []string{"/docs", "/docs/decisions.md"} // a page is made of that one, and texts lead to it
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if files[at] != nil {
			continue
		}
		content, err := get(x.operand, at)
		if err != nil {
			return err
		}
		files[at] = content
		if !isPage(at) {
			continue
		}
		for _, link := range hrefs.FindAllSubmatch(content, -1) {
			if to := string(link[1]); to != "/" {
				todo = append(todo, to)
			}
		}
	}
	for at, content := range files {
		name := filepath.Join(x.out, filepath.FromSlash(fileOf(at)))
		if isPage(at) {
			content = relink(at, content)
		}
		if strings.HasPrefix(at, "/docs/checking") {
			content = x.named(content)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

var names = regexp.MustCompile(`\b(VERSION|REV)\b`)

// named returns a page with the version and the commit in the place of their names: its commands can be pasted.
func (x *request) named(content []byte) []byte {
	return names.ReplaceAllFunc(content, func(name []byte) []byte {
		if string(name) == "REV" {
			return []byte(x.commit)
		}
		return []byte(x.version)
	})
}

// isPage reports whether there is a page of HTML at a path, and not a file as it stands.
func isPage(at string) bool { return path.Ext(at) == "" }

// fileOf returns the file for a path: what is below /docs, and openapi.json beside it. The home page of a server
// shows what it knows now, and is not among them: the list of pages is in its place.
func fileOf(at string) string {
	switch {
	case at == "/" || at == "/docs":
		return "index.html"
	case isPage(at):
		// A page in another language is a file of its own: a link to a file has no query.
		return strings.Replace(strings.TrimPrefix(at, "/docs/"), "?lang=", ".", 1) + ".html"
	}
	return strings.TrimPrefix(strings.TrimPrefix(at, "/docs"), "/")
}

// relink has a page lead to files.
func relink(at string, content []byte) []byte {
	up := strings.Repeat("../", strings.Count(fileOf(at), "/"))
	return hrefs.ReplaceAllFunc(content, func(link []byte) []byte {
		parts := hrefs.FindSubmatch(link)
		return fmt.Appendf(nil, `href="%s%s%s"`, up, fileOf(string(parts[1])), parts[2])
	})
}

// get asks the server as if it were at host.
func get(server, at string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, server+at, nil)
	if err != nil {
		return nil, err
	}
	r.Host = host
	r.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", at, resp.Status)
	}
	return content, err
}
