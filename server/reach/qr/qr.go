// Package qr draws QR codes (ISO/IEC 18004): texts of up to 213 bytes, in byte mode, with error correction of
// level M: a code can be read with 15 % of it spoilt.
//
//	code, err := qr.Encode("WB1.…")
//	svg := code.SVG("Ticket, seat 12")
//
// A code is a square of modules, dark or light. Fixed patterns tell a reader where it is and how it lies; the
// rest holds the text and its error correction. A mask inverts the modules of a pattern among these, so that
// no large areas are alike. Encode tries the eight masks and takes the one that the standard's rules find
// best.
package qr

import (
	"fmt"
	"strings"
)

// Code is a QR code.
type Code struct {
	size   int
	dark   [][]bool // by row and column
	fixed  [][]bool // modules that no data and no mask may change
	number int      // the version: 1 has 21 modules on a side, each after it 4 more
}

// Encode makes the code of a text. It returns an error if the text is too long.
func Encode(text string) (*Code, error) {
	for number := range versions {
		v := &versions[number]
		if len(text) > v.capacity(number+1) {
			continue
		}
		c := newCode(number + 1)
		c.place(v.interleave(v.data(number+1, text)))
		c.mask()
		return c, nil
	}
	return nil, fmt.Errorf(
		"qr: %d bytes are more than a code of this kind has room for",
		len(text),
	)
}

// quiet is how many light modules there must be around a code.
const quiet = 4

// SVG draws the code as an image with a title for people who do not see it. The title is escaped by the
// caller.
func (c *Code) SVG(title string) string {
	var path strings.Builder
	for row := range c.size {
		for column := range c.size {
			if c.dark[row][column] {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", column+quiet, row+quiet)
			}
		}
	}
	side := c.size + 2*quiet
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" `+
			`shape-rendering="crispEdges"><title>%s</title><path fill="#fff" d="M0 0h%dv%dH0z"/><path d="%s"/></svg>`,
		side,
		side,
		title,
		side,
		side,
		path.String(),
	)
}

// newCode makes a code with its fixed patterns.
func newCode(number int) *Code {
	c := &Code{size: 17 + 4*number, number: number}
	for range c.size {
		c.dark = append(c.dark, make([]bool, c.size))
		c.fixed = append(c.fixed, make([]bool, c.size))
	}
	for i := range c.size { // timing: one line of alternating modules each way
		c.fix(6, i, i%2 == 0)
		c.fix(i, 6, i%2 == 0)
	}
	end := c.size - 7
	c.finder(0, 0)
	c.finder(0, end)
	c.finder(end, 0)
	squares := versions[number-1].alignment
	for i, row := range squares {
		for k, column := range squares {
			last := len(squares) - 1
			if i == 0 && (k == 0 || k == last) || i == last && k == 0 {
				continue // a finder is there
			}
			c.align(row, column)
		}
	}
	c.format(0) // holds the places; the mask is known later
	c.version()
	return c
}

// fix sets a module for good.
func (c *Code) fix(row, column int, dark bool) {
	c.dark[row][column] = dark
	c.fixed[row][column] = true
}

// finder draws one of the three squares in the corners, with the light line around it.
func (c *Code) finder(top, left int) {
	for i := -1; i <= 7; i++ {
		for k := -1; k <= 7; k++ {
			row := top + i
			column := left + k
			if row < 0 || column < 0 || row >= c.size || column >= c.size {
				continue
			}
			ring := max(abs(i-3), abs(k-3))
			c.fix(row, column, ring != 2 && ring != 4)
		}
	}
}

// align draws one of the small squares that show how the code is bent.
func (c *Code) align(row, column int) {
	for i := -2; i <= 2; i++ {
		for k := -2; k <= 2; k++ {
			c.fix(row+i, column+k, max(abs(i), abs(k)) != 1)
		}
	}
}

func abs(x int) int { return max(x, -x) }

// remainder returns the check bits of a value: what is left of its bits, from the highest down, by a
// polynomial of degree n.
func remainder(value, bits, polynomial, n int) int {
	rest := value << n
	for bit := n + bits - 1; bit >= n; bit-- {
		if rest>>bit&1 == 1 {
			rest ^= polynomial << (bit - n)
		}
	}
	return rest
}

// format draws, twice, the level of error correction and the mask.
func (c *Code) format(mask int) {
	const levelM = 0b00
	data := levelM<<3 | mask
	bits := (data<<10 | remainder(data, 5, 0b10100110111, 10)) ^ 0b101010000010010
	at := func(i int) bool { return bits>>i&1 == 1 }
	for i := range 15 {
		// Around the upper left square, past the timing lines; and at the two others.
		switch {
		case i < 6:
			c.fix(i, 8, at(i))
		case i < 8:
			c.fix(i+1, 8, at(i))
		case i == 8:
			c.fix(8, 7, at(i))
		default:
			c.fix(8, 14-i, at(i))
		}
		if i < 8 {
			c.fix(8, c.size-1-i, at(i))
		} else {
			c.fix(c.size-15+i, 8, at(i))
		}
	}
	c.fix(c.size-8, 8, true)
}

// version draws, twice, the number of a version from 7 on: smaller ones are told by their size.
func (c *Code) version() {
	if c.number < 7 {
		return
	}
	bits := c.number<<12 | remainder(c.number, 6, 0b1111100100101, 12)
	for i := range 18 {
		dark := bits>>i&1 == 1
		far := c.size - 11 + i%3
		c.fix(far, i/3, dark)
		c.fix(i/3, far, dark)
	}
}

// place fills in the bits of the text and its error correction: in columns of two, from the right, up and
// down in turn.
func (c *Code) place(bytes []byte) {
	next := 0
	upward := true
	for right := c.size - 1; right >= 1; right -= 2 {
		if right == 6 { // the timing line is no column
			right--
		}
		for i := range c.size {
			row := i
			if upward {
				row = c.size - 1 - i
			}
			for _, column := range []int{right, right - 1} {
				if c.fixed[row][column] {
					continue
				}
				if next < 8*len(bytes) {
					c.dark[row][column] = bytes[next/8]>>(7-next%8)&1 == 1
				}
				next++
			}
		}
		upward = !upward
	}
}
