package markdown

import (
	"html/template"
	"reflect"
	"strings"
	"testing"
)

// TestPage renders each kind of block that a page may have.
func TestPage(t *testing.T) {
	page := strings.Join([]string{
		"# A title with `code`",
		"## Where, and 2 more",
		"A paragraph of\ntwo lines, with [a link](tour.md#the-end), [`one` within](#where-and-2-more) & <no tag>.",
		"- one\n- `two` of\n  two lines\n- **three**",
		"1. first\n2. *second*, 2 * 3",
		"A list may follow at once:\n- here",
		"### Where, and 2 more",
		"| a | b |\n|---|---|\n| `x*` | y \\| **z** |",
		"```sh\necho '<b>' # no heading\n\n| no table\n```",
		"<details>\n<summary>Why `so`?</summary>\n\nBecause.\n</details>",
	}, "\n\n") + "\n"
	r := Renderer{Link: func(page string) string { return "/docs/" + strings.TrimSuffix(page, ".md") }}
	const want = `<h2 id="where-and-2-more">Where, and 2 more</h2>
<p>A paragraph of
two lines, with <a href="/docs/tour#the-end">a link</a>, <a href="#where-and-2-more"><code>one</code> within</a> &amp; &lt;no tag&gt;.</p>
<ul>
<li>one</li>
<li><code>two</code> of
two lines</li>
<li><strong>three</strong></li>
</ul>
<ol>
<li>first</li>
<li><em>second</em>, 2 * 3</li>
</ol>
<p>A list may follow at once:</p>
<ul>
<li>here</li>
</ul>
<h3 id="where-and-2-more-1">Where, and 2 more</h3>
<div class="wide" tabindex="0">
<table>
<thead>
<tr>
<th>a</th>
<th>b</th>
</tr>
</thead>
<tbody>
<tr>
<td><code>x*</code></td>
<td>y | <strong>z</strong></td>
</tr>
</tbody>
</table>
</div>
<pre>echo &#39;&lt;b&gt;&#39; # no heading

| no table
</pre>
<details>
<summary>Why <code>so</code>?</summary>
<p>Because.</p>
</details>
`
	got := r.Page(page)
	if string(got.Body) != want {
		t.Errorf("%s\nwant\n%s", got.Body, want)
	}
	headings := []Heading{{"where-and-2-more", template.HTML("Where, and 2 more")}}
	if got.Title != "A title with <code>code</code>" || !reflect.DeepEqual(got.Headings, headings) {
		t.Errorf("%q %+v", got.Title, got.Headings)
	}
}

// A picture stands in the page itself, without the styles that it has as a file, and what it shows below it.
func TestAPictureStandsInThePage(t *testing.T) {
	r := Renderer{Picture: func(target string) string {
		return "<svg xmlns=\"http://www.w3.org/2000/svg\">\n<style>\nrect { fill: red; }\n</style>\n<title>" + target + "</title>\n</svg>\n"
	}}
	const want = `<p>Before.</p>
<figure>
<div class="wide" tabindex="0">
<svg>
<title>chain.svg</title>
</svg>
</div>
<figcaption>What it
shows, in <code>code</code></figcaption>
</figure>
`
	got := r.Page("# Title\n\nBefore.\n\n![What it\nshows, in `code`](chain.svg)\n").Body
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
