package markdown

import (
	"strings"
	"testing"
)

// TestHTML renders each kind of block that a page may have.
func TestHTML(t *testing.T) {
	page := strings.Join([]string{
		"# A title with `code`",
		"## Where, and 2 more",
		"A paragraph of\ntwo lines, with [a link](tour.md#the-end), [one within](#where-and-2-more) & <no tag>.",
		"- one\n- `two`",
		"```sh\necho '<b>' # no heading\n```",
		"<details>\n<summary>Why?</summary>",
		"Because.",
		"</details>",
	}, "\n\n") + "\n"
	r := Renderer{Link: func(page string) string { return "/docs/" + strings.TrimSuffix(page, ".md") }}
	const want = `<h1>A title with <code>code</code></h1>
<h2 id="where-and-2-more">Where, and 2 more</h2>
<p>A paragraph of
two lines, with <a href="/docs/tour#the-end">a link</a>, <a href="#where-and-2-more">one within</a> &amp; &lt;no tag&gt;.</p>
<ul>
<li>one</li>
<li><code>two</code></li>
</ul>
<pre>echo &#39;&lt;b&gt;&#39; # no heading
</pre>
<details>
<summary>Why?</summary>
<p>Because.</p>
</details>
`
	if got := string(r.HTML(page)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
