// Package pages holds a long list of texts that can be copied at once, however long it is: the copy shares
// its pages with the list, which copies a page before it changes what is on it.
//
//	l.Append("a")
//	was := l.Freeze()
//	l.Set(0, "b")
//	was.At(0) // "a"
package pages

// size is how many texts a page has: so many are copied, at most, for one to change.
const size = 256

type page [size]string

// A List is a list of texts. The zero value is empty.
type List struct {
	Frozen
	own []bool // by page: no copy has it, too
}

// Frozen is a list as it was. It may be read from any goroutine.
type Frozen struct {
	pages  []*page
	length int
}

// Len returns how many texts there are.
func (f *Frozen) Len() int {
	return f.length
}

// At returns the text at a position.
func (f *Frozen) At(i int) string {
	return f.pages[i/size][i%size]
}

// Append adds a text at the end. No copy looks at what is behind its own end.
func (l *List) Append(text string) {
	if l.length == len(l.pages)*size {
		l.pages = append(l.pages, new(page))
		l.own = append(l.own, true)
	}
	l.pages[l.length/size][l.length%size] = text
	l.length++
}

// Set replaces the text at a position.
func (l *List) Set(i int, text string) {
	n := i / size
	if !l.own[n] {
		copied := *l.pages[n]
		l.pages[n] = &copied
		l.own[n] = true
	}
	l.pages[n][i%size] = text
}

// Freeze returns the list as it is. It takes a microsecond for each hundred thousand texts.
func (l *List) Freeze() Frozen {
	clear(l.own)
	return Frozen{append([]*page(nil), l.pages...), l.length}
}
