// Package markdown renders the pages of server/docs as HTML. It knows the little of Markdown that they are
// written in, and no more:
//
//	# Title    ## Heading    ### Heading      each but the title can be linked to
//	- an entry, also 1. with a number         lines that follow belong to it
//	| a table | with a head |                 a line for each row
//	``` code between fences ```
//	<details>, <summary>                      lines of HTML, as they stand
//	![what it shows](a picture.svg)           alone in a paragraph: the picture, what it shows below
//	a paragraph with `code`, **bold**, *italic* and [a link](page.md#heading)
//
// A block ends where another one begins, or at an empty line.
//
// It is for tests, and for tools that write the pages: a server has them as a test has rendered them.
package markdown

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
)

// Renderer renders pages.
type Renderer struct {
	// Link returns the address of another page or file, by how the page names it; "" leads nowhere, and is
	// shown as text.
	Link func(target string) string
	// Picture returns the text of a file of SVG, by how a page names it. Its own styles are left out: a
	// page has its rules in the one sheet that its policy allows.
	Picture func(target string) string
}

// Page is a page of Markdown as HTML.
type Page struct {
	Title    template.HTML // its first heading
	Headings []Heading     // of the second level, in order
	Body     template.HTML // all but the title
}

// HasContents reports whether a reader wants a list of the headings: there are many, and the page itself has
// no list of them.
func (p *Page) HasContents() bool {
	return len(p.Headings) > 3 && !strings.Contains(string(p.Body), `<li><a href="#`+p.Headings[0].ID+`"`)
}

// Heading is a heading that can be linked to.
type Heading struct {
	ID   string // where the repository is shown, the same
	Text template.HTML
}

// Page renders a page.
func (r *Renderer) Page(text string) *Page {
	p := &writer{
		Renderer: r,
		page:     new(Page),
		ids:      map[string]int{},
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for len(lines) > 0 {
		n := blockLength(lines)
		p.block(lines[:n])
		lines = lines[n:]
	}
	p.page.Body = template.HTML(p.out.String())
	return p.page
}

// writer writes one page.
type writer struct {
	*Renderer
	page *Page
	out  strings.Builder
	ids  map[string]int // how many headings have an id
}

// The first lines of blocks that are no paragraphs.
var (
	heading = regexp.MustCompile(`^(#{1,3}) (.*)$`)
	entry   = regexp.MustCompile(`^(-|\d+\.) `)
	other   = regexp.MustCompile("^(#{1,3} |```|\\||<|-{3}$)")
)

const fence = "```"

// blockLength returns how many lines the first block has.
func blockLength(lines []string) int {
	first := lines[0]
	n := 1
	isPart := func(line string) bool { return false } // of a heading, an empty line, a line of HTML
	switch {
	case strings.HasPrefix(first, fence):
		for n < len(lines) && lines[n] != fence {
			n++
		}
		return min(n+1, len(lines))
	case strings.HasPrefix(first, "|"):
		isPart = func(line string) bool { return strings.HasPrefix(line, "|") }
	case entry.MatchString(first):
		isPart = func(line string) bool { return line != "" && !other.MatchString(line) }
	case first != "" && !other.MatchString(first):
		isPart = func(line string) bool {
			return line != "" && !other.MatchString(line) && !entry.MatchString(line)
		}
	}
	for n < len(lines) && isPart(lines[n]) {
		n++
	}
	return n
}

// block writes a block.
func (p *writer) block(lines []string) {
	first := lines[0]
	switch {
	case first == "":
	case heading.MatchString(first):
		p.heading(heading.FindStringSubmatch(first))
	case strings.HasPrefix(first, fence):
		code := strings.Join(lines[1:len(lines)-1], "\n")
		p.out.WriteString("<pre>" + template.HTMLEscapeString(code) + "\n</pre>\n")
	case strings.HasPrefix(first, "|"):
		p.table(lines)
	case strings.HasPrefix(first, "<summary>"):
		question := strings.TrimSuffix(strings.TrimPrefix(first, "<summary>"), "</summary>")
		p.element("summary", question)
	case strings.HasPrefix(first, "<"):
		p.out.WriteString(first + "\n")
	case entry.MatchString(first):
		p.list(lines)
	default:
		text := strings.Join(lines, "\n")
		if found := image.FindStringSubmatch(text); found != nil {
			p.picture(found[1], found[2])
			return
		}
		p.element("p", text)
	}
}

// image is a picture.
var image = regexp.MustCompile(`^!\[([^\]]+)\]\(([^)\s]+\.svg)\)$`)

// alone is what a picture has for where it is seen by itself: the name of the language, and styles.
var alone = regexp.MustCompile(`(?s) xmlns="[^"]*"|<style>.*?</style>\n?`)

// picture writes a picture, and what it shows below it. It may be wider than the page.
func (p *writer) picture(shows, target string) {
	drawn := alone.ReplaceAllString(p.Picture(target), "")
	p.out.WriteString("<figure>\n<div class=\"wide\" tabindex=\"0\">\n" + drawn + "</div>\n")
	p.element("figcaption", shows)
	p.out.WriteString("</figure>\n")
}

// heading writes a heading, of which mark and text are found.
func (p *writer) heading(found []string) {
	level, text := len(found[1]), found[2]
	if level == 1 {
		p.page.Title = template.HTML(p.inline(text))
		return
	}
	id := anchor(text)
	p.ids[id]++
	if n := p.ids[id]; n > 1 { // as where the repository is shown
		id += fmt.Sprintf("-%d", n-1)
	}
	if level == 2 {
		p.page.Headings = append(p.page.Headings, Heading{id, template.HTML(p.inline(text))})
	}
	fmt.Fprintf(&p.out, "<h%d id=\"%s\">%s</h%d>\n", level, id, p.inline(text), level)
}

// list writes a list. A line that begins no entry belongs to the entry before.
func (p *writer) list(lines []string) {
	kind := "ul"
	if !strings.HasPrefix(lines[0], "-") {
		kind = "ol"
	}
	var entries []string
	for _, line := range lines {
		if mark := entry.FindString(line); mark != "" {
			entries = append(entries, line[len(mark):])
		} else {
			entries[len(entries)-1] += "\n" + strings.TrimSpace(line)
		}
	}
	p.out.WriteString("<" + kind + ">\n")
	for _, text := range entries {
		p.element("li", text)
	}
	p.out.WriteString("</" + kind + ">\n")
}

// table writes a table: the first line is its head, the second the line below.
func (p *writer) table(lines []string) {
	p.out.WriteString("<div class=\"wide\" tabindex=\"0\">\n<table>\n<thead>\n")
	for i, line := range lines {
		kind := "td"
		switch i {
		case 0:
			kind = "th"
		case 1:
			p.out.WriteString("</thead>\n<tbody>\n")
			continue
		}
		p.out.WriteString("<tr>\n")
		for _, cell := range cells(line) {
			p.element(kind, cell)
		}
		p.out.WriteString("</tr>\n")
	}
	p.out.WriteString("</tbody>\n</table>\n</div>\n")
}

// cells returns the cells of a row. A | within one is written \|.
func cells(line string) (list []string) {
	line = strings.ReplaceAll(strings.Trim(line, "| "), `\|`, "\x00")
	for cell := range strings.SplitSeq(line, "|") {
		list = append(list, strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
	}
	return list
}

// element writes an element with a text.
func (p *writer) element(name, text string) {
	p.out.WriteString("<" + name + ">" + p.inline(text) + "</" + name + ">\n")
}

// anchor returns what a heading is linked to by, here as where the repository is shown.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

// spans are what a text has besides characters: code, bold, italic, links. In code nothing else is.
var spans = regexp.MustCompile("`[^`]+`" +
	`|\*\*(?:[^*]|\*[^*])+\*\*` +
	`|\*[^*\s][^*]*\*` +
	"|\\[((?:[^\\]`]|`[^`]+`)+)\\]\\(([^)\\s]+)\\)")

// inline returns a text as HTML.
func (r *Renderer) inline(text string) string {
	var b strings.Builder
	for text != "" {
		at := spans.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		b.WriteString(template.HTMLEscapeString(text[:at[0]]))
		found := text[at[0]:at[1]]
		switch {
		case found[0] == '`':
			b.WriteString("<code>" + template.HTMLEscapeString(strings.Trim(found, "`")) + "</code>")
		case strings.HasPrefix(found, "**"):
			b.WriteString("<strong>" + r.inline(found[2:len(found)-2]) + "</strong>")
		case found[0] == '*':
			b.WriteString("<em>" + r.inline(found[1:len(found)-1]) + "</em>")
		default:
			b.WriteString(r.link(text[at[2]:at[3]], text[at[4]:at[5]]))
		}
		text = text[at[1]:]
	}
	return b.String() + template.HTMLEscapeString(text)
}

// link returns a link with its text.
func (r *Renderer) link(text, target string) string {
	page, place, within := strings.Cut(target, "#")
	if page != "" {
		page = r.Link(page)
		if page == "" {
			return r.inline(text)
		}
	}
	if within {
		page += "#" + place
	}
	return `<a href="` + template.HTMLEscapeString(page) + `">` + r.inline(text) + "</a>"
}

var ticks = regexp.MustCompile("`([^`]+)`")

// Code returns a text of HTML in which what stands between backticks is code.
func Code(html string) string {
	return ticks.ReplaceAllString(html, "<code>$1</code>")
}
