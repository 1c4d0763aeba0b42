package desk

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"waybill/server/frame/web"
)

// pager leads through a list that is shown in pages, so that nothing of it is out of reach.
type pager struct {
	Of          string // what the list has, for who hears the page
	Page, Pages int    // from 1
	First, Last int    // of the rows that the page shows, from 1; 0 where there are none
	Total       int    // rows

	at    url.URL // of the page that has the list
	field string  // of its query
}

// pageLink is a link to a page of a list.
type pageLink struct {
	Number int
	Path   string
	Here   bool
	Gap    bool // pages are left out before it
}

// pageAsked returns which page of a list a request asks for, by a field of its query: the first unless it
// says another.
func pageAsked(r *http.Request, field string) (int, error) {
	text := r.URL.Query().Get(field)
	if text == "" {
		return 1, nil
	}
	page, err := strconv.Atoi(text)
	if err != nil || page < 1 {
		return 0, web.Invalid(web.Problem(field, "must be the number of a page"))
	}
	return page, nil
}

// newPager returns what leads through a list of so many rows, its page shown last. A page after the last is
// the last. anchor is the id of the list's heading.
func newPager(r *http.Request, field, anchor, of string, page, total, perPage int) pager {
	p := pager{
		Of:    of,
		Pages: max(1, (total+perPage-1)/perPage),
		Total: total,
		at:    url.URL{Path: r.URL.Path, Fragment: anchor},
		field: field,
	}
	p.Page = min(page, p.Pages)
	p.First = min((p.Page-1)*perPage+1, total)
	p.Last = min(p.Page*perPage, total)
	query := r.URL.Query()
	query.Del(noticeField)
	p.at.RawQuery = query.Encode()
	return p
}

// Path returns the path of a page.
func (p pager) Path(page int) string {
	query := p.at.Query()
	query.Set(p.field, strconv.Itoa(page))
	to := p.at
	to.RawQuery = query.Encode()
	return to.String()
}

// Earlier returns the path of the page before; "" is none.
func (p pager) Earlier() string {
	if p.Page == 1 {
		return ""
	}
	return p.Path(p.Page - 1)
}

// Later returns the path of the page after; "" is none.
func (p pager) Later() string {
	if p.Page == p.Pages {
		return ""
	}
	return p.Path(p.Page + 1)
}

// near is how many pages before and after a page it leads to.
const near = 2

// Links returns links to the first page, the last, and those near.
func (p pager) Links() (links []pageLink) {
	numbers := []int{1, p.Pages}
	for n := p.Page - near; n <= p.Page+near; n++ {
		numbers = append(numbers, min(max(n, 1), p.Pages))
	}
	slices.Sort(numbers)
	before := 0
	for _, n := range slices.Compact(numbers) {
		links = append(links, pageLink{
			Number: n,
			Path:   p.Path(n),
			Here:   n == p.Page,
			Gap:    n > before+1,
		})
		before = n
	}
	return links
}

// pageOf returns the rows of a list that a page of it shows.
func pageOf[T any](list []T, p pager) []T {
	if p.Total == 0 {
		return nil
	}
	return list[p.First-1 : p.Last]
}
