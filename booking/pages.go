package booking

// pageSize is how many texts a page has: so many are copied, at most, for one to change.
const pageSize = 256

type page [pageSize]string

// A pageList is a long list of texts that can be copied at once, however long it is: the copy shares its
// pages with the list, which copies a page before it changes what is on it. The zero value is empty.
type pageList struct {
	frozenPages
	own []bool // by page: no copy has it, too
}

// frozenPages is a list as it was. It may be read from any goroutine.
type frozenPages struct {
	pages  []*page
	length int
}

// Len returns how many texts there are.
func (f *frozenPages) Len() int {
	return f.length
}

// At returns the text at a position.
func (f *frozenPages) At(i int) string {
	return f.pages[i/pageSize][i%pageSize]
}

// Append adds a text at the end. No copy looks at what is behind its own end.
func (l *pageList) Append(text string) {
	if l.length == len(l.pages)*pageSize {
		l.pages = append(l.pages, new(page))
		l.own = append(l.own, true)
	}
	l.pages[l.length/pageSize][l.length%pageSize] = text
	l.length++
}

// Set replaces the text at a position.
func (l *pageList) Set(i int, text string) {
	n := i / pageSize
	if !l.own[n] {
		copied := *l.pages[n]
		l.pages[n] = &copied
		l.own[n] = true
	}
	l.pages[n][i%pageSize] = text
}

// Freeze returns the list as it is. It takes a microsecond for each hundred thousand texts.
func (l *pageList) Freeze() frozenPages {
	clear(l.own)
	return frozenPages{append([]*page(nil), l.pages...), l.length}
}
