package reference

import (
	"bytes"
	"encoding/json"
	"flag"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"waybill/server/api/legacy"
	"waybill/server/docs/markdown"
	"waybill/server/frame/web"
)

var update = flag.Bool("update", false, "write the pages of the reference anew")

// docsDir has what the pages are made of, and has them in made and filled.
const docsDir = "../../docs"

// TestPages makes the pages of the reference, and holds those of server/docs against them.
func TestPages(t *testing.T) {
	const anew = "go test ./server/api/reference -run Pages -update writes the pages anew"
	made := makePages(t)
	for name, page := range made {
		file := filepath.Join(docsDir, name)
		if *update {
			write(t, file, page)
		}
		if there, err := os.ReadFile(file); err != nil || !bytes.Equal(there, page) {
			t.Errorf("%s is not what its sources make (%v); %s", name, err, anew)
		}
	}
	for _, folder := range []string{"made", "filled"} {
		err := fs.WalkDir(os.DirFS(docsDir), folder, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.IsDir() || made[name] != nil:
				return err
			case *update:
				return os.Remove(filepath.Join(docsDir, name))
			}
			t.Errorf("nothing makes %s; %s", name, anew)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// write writes a page, and makes its folder.
func write(t *testing.T, file string, page []byte) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, page, 0o644); err != nil {
		t.Fatal(err)
	}
}

// makePages returns the frame of all pages, and each page by its name in server/docs: a line with its title,
// and then its body.
func makePages(t *testing.T) map[string][]byte {
	doc := readDocument()
	about := map[string]any{
		"Doc":      doc,
		"Silences": readDecisions(t),
		"Limits":   web.LimitTable,
		"Demos":    readJSON[map[string]demonstration](t, "demo.json"),
		"DemoUser": DemoUser,
		"Menu":     readMenu(t),
		"First":    template.HTML(firstAnswer(doc)),
		"Ignored":  legacy.IgnoredFields,
	}
	about["Migrations"] = readMigrations(t, doc)
	// What a server fills in stays as it is.
	for _, name := range []string{"Base", "Date", "Since", "Until"} {
		about[name] = "{{." + name + "}}"
	}
	about["Title"] = template.HTML("{{.Title}}")
	about["Style"] = template.CSS("{{.Style}}")
	about["Clock"] = template.HTML("{{.Clock}}")
	about["Body"] = template.HTML("{{.Body}}")

	templates := readTemplates(t)
	pages := map[string][]byte{}
	add := func(name, of string) {
		var page bytes.Buffer
		if err := templates.ExecuteTemplate(&page, of, about); err != nil {
			t.Fatal(err)
		}
		pages[name+".html"] = page.Bytes()
	}
	for _, name := range []string{"frame", "index", "migration"} {
		add("filled/"+name, name)
	}
	for _, name := range []string{"demo", "errors", "limits", "objects", "silent", "states"} {
		add("made/"+name, name)
	}
	for _, o := range doc.Operations {
		about["Operation"] = o
		add("made/operations/"+o.ID, "operation")
	}
	for _, code := range doc.Codes {
		about["Code"] = code
		add("made/errors/"+code, "error")
	}
	for _, x := range readTexts(t) {
		if name, ours := strings.CutPrefix(x.Path, "/docs/"); ours && x.Path != decisions {
			x.Other = inUkrainian(name)
			about["Text"] = x
			about["Page"] = reading.Page(string(readDocs(t, name+".md")))
			add("made/"+name, "reading")
		}
	}
	about["Text"] = text{Path: "/docs/readme", Title: "README", Other: inUkrainian("readme")}
	about["Page"] = readingReadme.Page(string(readDocs(t, "../../README.md")))
	add("made/readme", "reading")
	names, err := filepath.Glob(filepath.Join(docsDir, "uk/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range names {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		x := *inUkrainian(name)
		page := readDocs(t, x.File)
		x.Title = title(page)
		x.Other = &text{
			Path:  "/docs/" + name,
			Title: "In English",
			Lang:  "en",
		}
		about["Text"] = x
		about["Page"] = readingUkrainian.Page(string(page))
		add("made/uk/"+name, "reading")
	}
	return pages
}

// readDecisions returns the rows of decisions.md: id, where the interface is silent, what is done, code.
func readDecisions(t *testing.T) (list [][]string) {
	rows := regexp.MustCompile("(?m)^\\| `(.*?)` \\| (.*) \\| (.*) \\| (.*) \\|$")
	for _, row := range rows.FindAllStringSubmatch(string(readDocs(t, "decisions.md")), -1) {
		list = append(list, row[1:])
	}
	return list
}

// demonstration says how to bring an error about on the demo.
type demonstration struct {
	Text  string // in words
	Shell string // to be pasted; "" where it takes more than calls
}

// A migration is a row of the table that maps legacy calls to v2 (interface, Versioning). A test of package
// server plays the examples.
type migration struct {
	Old, New      string // method and path; New is "" where nothing took its place
	Operation     string // of New, in the document
	What          string // tells rows of the same Old apart
	Change        string // what a client has to do besides
	Before, After example
}

// example is a call and what is answered; … stands for what is left out.
type example struct {
	Method, Path, Body string
	Status             int
	Answer             string
}

// readMigrations reads the rows of the migration guide.
func readMigrations(t *testing.T, doc *document) []migration {
	list := readJSON[[]migration](t, "migration.json")
	for i := range list {
		for _, o := range doc.Operations {
			if o.Method+" "+o.Path == list[i].New {
				list[i].Operation = o.ID
			}
		}
	}
	return list
}

// reading renders the pages of server/docs.
var reading = markdown.Renderer{Link: pagePath, Picture: readPicture}

// readingReadme renders the README, whose links begin at the top of the repository.
var readingReadme = markdown.Renderer{
	Link: func(name string) string {
		if page, is := strings.CutPrefix(name, "server/docs/"); is {
			name = page
		}
		return pagePath(name)
	},
	Picture: func(name string) string { return readPicture(strings.TrimPrefix(name, "server/docs/")) },
}

// readingUkrainian renders the pages of server/docs/uk.
var readingUkrainian = markdown.Renderer{
	Link: func(name string) string {
		page, isEnglish := strings.CutPrefix(name, "../")
		switch {
		case name == "../../../README.md":
			return "/docs/readme"
		case isEnglish || strings.HasPrefix(name, "https:"):
			return pagePath(page)
		}
		return pagePath(name) + "?lang=uk"
	},
	Picture: func(name string) string { return readPicture(strings.TrimPrefix(name, "../")) },
}

// inUkrainian returns what a page in English links to; nil where there is no translation.
func inUkrainian(name string) *text {
	file := "uk/" + name + ".md"
	if _, err := os.Stat(filepath.Join(docsDir, file)); err != nil {
		return nil
	}
	return &text{
		Path:  "/docs/" + name + "?lang=uk",
		File:  file,
		Title: "Українською",
		Lang:  "uk",
	}
}

// readPicture returns a picture of server/docs; "" where there is none, which a test of the pages finds.
func readPicture(name string) string {
	text, _ := os.ReadFile(path.Join(docsDir, name))
	return string(text)
}

// decisions is the page that decisions.md is made into, by a template of its own.
const decisions = "/docs/silent"

// pagePath returns where a server has a page of server/docs, and "" of what else is in the repository.
func pagePath(name string) string {
	switch {
	case name == "decisions.md":
		return decisions
	case strings.HasPrefix(name, "https:"):
		return name
	case strings.HasPrefix(name, "../"):
		return ""
	}
	return "/docs/" + strings.TrimSuffix(name, ".md")
}

// text is a page that people read in the repository, and of a server as a page or as it stands.
type text struct {
	Path, File, Title string

	Lang  string // "" is English
	Other *text  // the same page in the other language, if it is there
}

// readTexts lists them, by name.
func readTexts(t *testing.T) (list []text) {
	names, err := filepath.Glob(filepath.Join(docsDir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name = filepath.Base(name)
		list = append(list, text{Path: pagePath(name), File: name, Title: title(readDocs(t, name))})
	}
	return list
}

// group is the pages of one kind of readers, as the masthead has them.
type group struct {
	Name  string
	Pages []text
}

// readMenu reads which page stands in which group, with its title.
func readMenu(t *testing.T) (list []group) {
	titles := map[string]string{
		"/docs":           "All calls",
		"/docs/demo":      "The demo network",
		"/docs/errors":    "Errors",
		"/docs/limits":    "Limits",
		"/docs/migration": "Migration, call by call",
		"/docs/objects":   "Objects",
		"/docs/states":    "States",
		"/openapi.json":   "openapi.json",
	}
	for _, x := range readTexts(t) {
		titles[x.Path] = x.Title
	}
	menu := readJSON[[]struct {
		Name  string
		Pages []string
	}](t, "menu.json")
	for _, g := range menu {
		listed := group{Name: g.Name}
		for _, path := range g.Pages {
			if titles[path] == "" {
				t.Errorf("menu.json has %s, which is no page, or has it twice", path)
			}
			listed.Pages = append(listed.Pages, text{Path: path, Title: titles[path]})
			delete(titles, path)
		}
		list = append(list, listed)
	}
	if len(titles) > 0 {
		t.Errorf("menu.json leads nobody to %v", titles)
	}
	return list
}

// firstAnswer returns the document's example of a schedule as the page /docs begins with it: one departure
// of the day that the request beside it names.
func firstAnswer(doc *document) string {
	example := doc.At("paths", "/v2/offers/schedule", "get", "responses", "200", "content",
		"application/json", "example").JSON()
	first, rest, _ := strings.Cut(example, "\n      },\n")
	_, end, _ := strings.Cut(rest, "\n      }\n")
	token := regexp.MustCompile(`"id": "AQA[^"]*"`)
	day := regexp.MustCompile(`"\d{4}-\d\d-\d\d(T[^+"]*)[^"]*"`)
	first = token.ReplaceAllString(first, `"id": "AQAAAAAA…"`)
	first = template.HTMLEscapeString(day.ReplaceAllString(first, `"DAY$1…"`))
	return strings.ReplaceAll(first, "DAY", "{{.Date}}") + "\n      }, …\n" + end
}

// title returns the title of a page in Markdown.
func title(page []byte) string {
	first, _, _ := strings.Cut(string(page), "\n")
	return strings.TrimPrefix(first, "# ")
}

// readTemplates reads the templates that the pages are made with.
func readTemplates(t *testing.T) *template.Template {
	templates := template.New("").Funcs(template.FuncMap{
		"code": code,
		"has": func(list []*node, c string) bool {
			return slices.ContainsFunc(list, func(e *node) bool {
				return code(e) == c
			})
		},
		"prose":  prose,
		"quoted": quoted,
	})
	return template.Must(templates.ParseFS(os.DirFS(docsDir), "reference.html", "migration.html",
		"live/shared.html"))
}

var (
	codes     = sync.OnceValue(func() []string { return readDocument().Codes })
	codeTicks = regexp.MustCompile("`([A-Z]{4,}|[A-Z]+(_[A-Z]+)+)`")
	variables = regexp.MustCompile(`\$([A-Z]+)`)
)

// prose returns a text of the document with its code, which leads on where it is the code of an error.
func prose(text string) template.HTML {
	text = codeTicks.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(ticked string) string {
		code := strings.Trim(ticked, "`")
		if !slices.Contains(codes(), code) {
			return ticked
		}
		return `<a href="/docs/errors/` + code + `"><code>` + code + `</code></a>`
	})
	return template.HTML(markdown.Code(text))
}

// quoted returns a text for a shell, which fills in variables only outside of single quotes.
func quoted(text string) string {
	return "'" + variables.ReplaceAllString(text, `'$$$1'`) + "'"
}

// readDocs reads a file of server/docs.
func readDocs(t *testing.T, name string) []byte {
	text, err := os.ReadFile(path.Join(docsDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readJSON reads a file of server/docs that has JSON.
func readJSON[T any](t *testing.T, name string) (value T) {
	if err := json.Unmarshal(readDocs(t, name), &value); err != nil {
		t.Fatal(name, err)
	}
	return value
}
