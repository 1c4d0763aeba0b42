package tour

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// What stands where, in pixels.
const (
	column  = 122 // from one line to the next
	row     = 62  // from one level of the tree to the next
	width   = 108 // of a box
	height  = 40  // of a box in the tree
	link    = 58  // height of a box in the chain
	margin  = 6
	between = 34 // from the leaves to the chain
)

// place places the nodes: the leaves in a row, each node above what it is of. What stands for the lines
// before is at the left, on the level of its neighbour.
func (d *drawing) place() {
	for i := range d.lines {
		d.lines[i].node.x = d.middle(i)
	}
	d.root.place()
}

// middle returns the middle of the column of a line. The first column is that of the lines before.
func (d *drawing) middle(line int) int { return margin + width/2 + (line+1)*column }

// place places a node above its leaves.
func (n *node) place() {
	if n.left == nil {
		return
	}
	n.left.place()
	n.right.place()
	n.row = 1 + max(n.left.row, n.right.row)
	n.x = (n.left.x + n.right.x) / 2
	if n.left.box {
		n.left.x = margin + width/2
		n.left.row = n.right.row
		n.x = n.right.x
	}
}

// picture is a picture that is being written.
type picture struct {
	*drawing
	out    strings.Builder
	bottom int // of the leaves
}

// svg returns the picture, which says in its description what it shows.
func (d *drawing) svg() string {
	p := &picture{drawing: d}
	p.bottom = margin + (d.root.row+1)*row + height
	wide := d.middle(len(d.lines)-1) + width/2 + margin
	high := p.bottom + between + link + margin
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" class="picture tree" role="img" `+
		`aria-labelledby="tree-title" aria-describedby="tree-says">`+"\n", wide, high)
	p.printf("<style>%s</style>\n", style)
	p.printf("<title id=\"tree-title\">The last %d of %d lines of the journal, as chain and as tree</title>\n",
		len(d.lines), d.root.last)
	p.printf("<desc id=\"tree-says\">%s</desc>\n", html.EscapeString(strings.Join(d.sentences(), " ")))
	p.note()
	p.edges(d.root)
	p.nodes(d.root)
	p.chain()
	p.printf("</svg>\n")
	return p.out.String()
}

// printf writes a part of the picture.
func (p *picture) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// top returns the upper edge of a box of the tree.
func (p *picture) top(n *node) int { return p.bottom - height - n.row*row }

// note draws what is signed, above the root.
func (p *picture) note() {
	x := p.root.x
	top := p.top(p.root)
	p.edge(x, top, x, top-row+height, true)
	p.printf("<g class=\"note-box broken\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"14\"/>\n", x-width*2/3,
		margin, width*4/3, height)
	p.text(x, margin+17, "what", fmt.Sprintf("note of line %d", p.root.last))
	p.text(x, margin+32, "small", "signs the root")
	p.printf("</g>\n")
	p.cross(x+width*2/3, margin)
}

// edges draws the lines from a node to what it is of.
func (p *picture) edges(n *node) {
	if n.left == nil {
		return
	}
	for _, below := range []*node{n.left, n.right} {
		p.edge(below.x, p.top(below), n.x, p.top(n)+height, below.broken)
		p.edges(below)
	}
}

// edge draws a line from the top of a box to the bottom of the one above. It leads straight up first, so that
// it passes beside what stands between.
func (p *picture) edge(x, y, toX, toY int, broken bool) {
	class := "edge"
	if broken {
		class += " broken"
	}
	p.printf("<path class=\"%s\" d=\"M%d %dV%dL%d %d\"/>\n", class, x, y, toY+row-height, toX, toY)
}

// nodes draws a node and what is below it.
func (p *picture) nodes(n *node) {
	says := fmt.Sprintf("lines %d–%d", n.first, n.last)
	class := "node"
	switch {
	case n.box:
		class = "box"
		says = fmt.Sprintf("%d lines, %d–%d", n.size(), n.first, n.last)
		if n.size() == 1 {
			says = fmt.Sprintf("1 line, %d", n.first)
		}
	case n.left == nil:
		says = "leaf"
	}
	if n == p.root {
		says = "root of " + says
	}
	p.box(class, n.x, p.top(n), height, n.broken, n.number > 0)
	p.text(n.x, p.top(n)+17, "hash", short(n.hash[:]))
	p.text(n.x, p.top(n)+32, "small", says)
	p.printf("</g>\n")
	if n.broken {
		p.cross(n.x+width/2, p.top(n))
	}
	if n.number > 0 {
		p.badge(n.x-width/2, p.top(n), n.number)
	}
	if n.left != nil {
		p.nodes(n.left)
		p.nodes(n.right)
	}
}

// box begins a group with a box, which its caller ends.
func (p *picture) box(class string, x, y, height int, broken, proof bool) {
	if broken {
		class += " broken"
	}
	if proof {
		class += " proof"
	}
	p.printf("<g class=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n", class, x-width/2, y,
		width, height)
}

// fits is how many characters of the small text fit into a box.
const fits = 17

// text writes a text around a place. A longer one than fits is made narrower.
func (p *picture) text(x, y int, class, says string) {
	narrow := ""
	if class == "small" && utf8.RuneCountInString(says) > fits {
		narrow = fmt.Sprintf(` textLength="%d" lengthAdjust="spacingAndGlyphs"`, width-10)
	}
	p.printf("<text class=\"%s\" x=\"%d\" y=\"%d\"%s>%s</text>\n", class, x, y, narrow, html.EscapeString(says))
}

// cross marks what would be another: not by its colour alone.
func (p *picture) cross(x, y int) {
	p.printf("<g class=\"cross\"><circle cx=\"%d\" cy=\"%d\" r=\"8\"/><path d=\"M%d %dl8 8m0 -8l-8 8\"/></g>\n", x-4,
		y+2, x-8, y-2)
}

// badge marks a node of the proof by its number.
func (p *picture) badge(x, y, number int) {
	p.printf("<g class=\"badge\"><circle cx=\"%d\" cy=\"%d\" r=\"10\"/>\n", x+4, y+2)
	p.text(x+4, y+6, "small", fmt.Sprint(number))
	p.printf("</g>\n")
}

// chain draws the lines, each with its hash, and what each goes on from.
func (p *picture) chain() {
	y := p.bottom + between
	left := margin + width/2
	p.box("box", left, y, link, false, false)
	p.text(left, y+19, "what", "before")
	p.text(left, y+36, "hash", short(p.before[:]))
	says := "the hash of FORMAT"
	if first := p.lines[0].Seq; first > 1 {
		says = fmt.Sprintf("of line %d", first-1)
	}
	p.text(left, y+50, "small", says)
	p.printf("</g>\n")
	for i, l := range p.lines {
		x := p.middle(i)
		from := x - column + width/2
		class := "edge"
		if i > 0 && p.lines[i-1].broken {
			class += " broken"
		}
		p.printf("<path class=\"%s\" d=\"M%d %dH%d\"/>\n", class, from, y+link/2, x-width/2)
		class = "edge"
		if l.node.broken {
			class += " broken"
		}
		p.printf("<path class=\"%s\" d=\"M%d %dV%d\"/>\n", class, x, y, p.bottom)
		class = "line"
		if l.Seq == p.marked {
			class += " marked"
		}
		p.box(class, x, y, link, l.broken, false)
		p.text(x, y+19, "what", fmt.Sprintf("line %d", l.Seq))
		p.text(x, y+36, "hash", short(l.Hash[:]))
		p.text(x, y+50, "small", l.kind)
		p.printf("</g>\n")
		if l.broken {
			p.cross(x+width/2, y)
		}
	}
}

// short returns the first eight digits of a hash.
func short(hash []byte) string { return fmt.Sprintf("%x", hash[:4]) }

// style are the colours of the picture where it is seen by itself, as in the repository, and its rules. On a
// page both are those of style.css.
const style = `
svg { --ink: #1b1f24; --dim: #4b545f; --paper: #fff; --soft: #f3f4f6; --mark: #0a5fb4; --grave: #a3200f; background: #fff; }
@media (prefers-color-scheme: dark) { svg { --ink: #e4e7eb; --dim: #a9b3bf; --paper: #16191d; --soft: #21262c; ` +
	`--mark: #7db8f5; --grave: #ff9c8a; background: #16191d; } }
` + rules

// rules are those that style.css has, too.
const rules = `svg.tree { max-width: none; min-width: 58rem; }
.tree rect { fill: var(--paper); stroke: var(--dim); stroke-width: 1.5; }
.tree .edge { fill: none; stroke: var(--dim); stroke-width: 1.5; }
.tree text { fill: var(--ink); font: 13px system-ui, sans-serif; text-anchor: middle; }
.tree .what, .tree .hash { font-weight: 600; } .tree .hash { font-family: ui-monospace, monospace; }
.tree .small { font-size: 10.5px; } .tree .badge text { fill: var(--paper); font-weight: 700; font-size: 12px; }
.tree .broken rect, .tree .edge.broken { stroke: var(--grave); stroke-dasharray: 6 3; stroke-width: 2; }
.tree .box rect, .tree .marked rect { fill: var(--soft); } .tree .proof rect { stroke: var(--mark); stroke-width: 3.5; }
.tree .cross circle { fill: var(--paper); } .tree .cross path { fill: none; stroke: var(--grave); stroke-width: 2.5; } .tree .badge circle { fill: var(--mark); }
`
