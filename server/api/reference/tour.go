package reference

import (
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"waybill/server/docs"
)

// Pages that a browser shows as pages, and not as text: who takes the tour opens one answer after the other.
// They are written in the little of Markdown that [markdown] knows.
var shown = []string{"tour.md", "write-your-own.md"}

// Reading answers GET /docs/NAME with the page NAME.md of server/docs, for a browser.
func (s *Service) Reading(name string) http.HandlerFunc {
	return s.Public(func(w http.ResponseWriter, _ *http.Request) error {
		return sendFixed(w, &pages, "reading "+name, "reading", func() map[string]any {
			page, _ := docs.Files.ReadFile(name + ".md") // it is among the files that were built in
			title, _, _ := strings.Cut(string(page), "\n")
			return map[string]any{
				"Doc":   ReadReference(),
				"Title": strings.TrimPrefix(title, "# "),
				"Body":  markdown(string(page)),
			}
		})
	})
}

// markdown returns a page of this repository as HTML. Blocks stand between empty lines: a heading, a list
// with one line an entry, code between fences, details that are folded away, or else a paragraph.
func markdown(page string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(page), "\n\n") {
		first, rest, _ := strings.Cut(block, "\n")
		mark, text, _ := strings.Cut(first, " ")
		switch {
		case mark == "#":
			b.WriteString(element("h1", text))
		case mark == "##":
			b.WriteString("<h2 " + anchor(text) + ">" + inline(text) + "</h2>\n")
		case mark == "-":
			b.WriteString("<ul>\n")
			for line := range strings.SplitSeq(block, "\n") {
				b.WriteString(element("li", strings.TrimPrefix(line, "- ")))
			}
			b.WriteString("</ul>\n")
		case strings.HasPrefix(first, "```"):
			code := strings.TrimSuffix(rest, "```")
			b.WriteString("<pre>" + template.HTMLEscapeString(code) + "</pre>\n")
		case first == "<details>":
			question := strings.TrimSuffix(strings.TrimPrefix(rest, "<summary>"), "</summary>")
			b.WriteString(first + "\n" + element("summary", question))
		case first == "</details>":
			b.WriteString(first + "\n")
		default:
			b.WriteString(element("p", block))
		}
	}
	return template.HTML(b.String())
}

// element returns an element with a text.
func element(name, text string) string {
	return "<" + name + ">" + inline(text) + "</" + name + ">\n"
}

// anchor returns what a heading is linked to by, here as where the repository is shown.
func anchor(heading string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(heading))
	return `id="` + kept + `"`
}

var links = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)

// inline returns a text with its code and its links. A link to another page leads to where that is shown.
func inline(text string) string {
	text = ticks.ReplaceAllString(template.HTMLEscapeString(text), "<code>$1</code>")
	return links.ReplaceAllStringFunc(text, func(found string) string {
		m := links.FindStringSubmatch(found)
		page, place, within := strings.Cut(m[2], "#")
		to := ""
		switch {
		case slices.Contains(shown, page):
			to = "/docs/" + strings.TrimSuffix(page, ".md")
		case page != "":
			to = "/docs/" + page
		}
		if within {
			to += "#" + place
		}
		return `<a href="` + to + `">` + m[1] + "</a>"
	})
}
