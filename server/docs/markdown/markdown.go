// Package markdown renders the pages of server/docs as HTML. It knows the little of Markdown that they are
// written in, and no more:
//
//	# Title                      ## Heading, which can be linked to
//	- an entry, one line each    ``` code between fences ```
//	<details>                    a paragraph with `code` and [a link](page.md#heading)
//
// Blocks stand between empty lines.
//
// It is for tests, and for tools that write the pages: a server has them as a test has rendered them.
package markdown

import (
	"html/template"
	"regexp"
	"strings"
)

// Renderer renders pages.
type Renderer struct {
	// Link returns the address of another page, by its name.
	Link func(page string) string
}

// HTML returns a page as HTML.
func (r *Renderer) HTML(page string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(page), "\n\n") {
		first, rest, _ := strings.Cut(block, "\n")
		mark, text, _ := strings.Cut(first, " ")
		switch {
		case mark == "#":
			b.WriteString(r.element("h1", text))
		case mark == "##":
			b.WriteString("<h2 " + anchor(text) + ">" + r.inline(text) + "</h2>\n")
		case mark == "-":
			b.WriteString("<ul>\n")
			for line := range strings.SplitSeq(block, "\n") {
				b.WriteString(r.element("li", strings.TrimPrefix(line, "- ")))
			}
			b.WriteString("</ul>\n")
		case strings.HasPrefix(first, "```"):
			code := strings.TrimSuffix(rest, "```")
			b.WriteString("<pre>" + template.HTMLEscapeString(code) + "</pre>\n")
		case first == "<details>":
			question := strings.TrimSuffix(strings.TrimPrefix(rest, "<summary>"), "</summary>")
			b.WriteString(first + "\n" + r.element("summary", question))
		case first == "</details>":
			b.WriteString(first + "\n")
		default:
			b.WriteString(r.element("p", block))
		}
	}
	return template.HTML(b.String())
}

// element returns an element with a text.
func (r *Renderer) element(name, text string) string {
	return "<" + name + ">" + r.inline(text) + "</" + name + ">\n"
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

var (
	links = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)
	ticks = regexp.MustCompile("`([^`]+)`")
)

// inline returns a text with its code and its links.
func (r *Renderer) inline(text string) string {
	text = Code(template.HTMLEscapeString(text))
	return links.ReplaceAllStringFunc(text, func(found string) string {
		m := links.FindStringSubmatch(found)
		page, place, within := strings.Cut(m[2], "#")
		to := ""
		if page != "" {
			to = r.Link(page)
		}
		if within {
			to += "#" + place
		}
		return `<a href="` + to + `">` + m[1] + "</a>"
	})
}

// Code returns a text of HTML in which what stands between backticks is code.
func Code(html string) string {
	return ticks.ReplaceAllString(html, "<code>$1</code>")
}
