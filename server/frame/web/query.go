package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/schedule"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// query reads a request's query parameters and collects what is wrong with them. An empty value counts as
// absent, a repeated one is a problem, an unknown name is ignored (decision query.parameters).
type query struct {
	Values  url.Values
	request *http.Request
	wrong   Complaints
}

// NewQuery reads the query of a request.
func NewQuery(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{
		Values:  values,
		request: r,
	}
	if err != nil {
		q.Complain("query", "is not a well-formed query string")
	}
	return q
}

// Complain adds a problem with a parameter.
func (q *query) Complain(field, message string) {
	q.wrong.Add(Problem(field, message))
}

// Err returns the answer for all problems found, nil when there are none.
func (q *query) Err() error {
	return q.wrong.Err()
}

// Text returns a parameter; "" when it is absent.
func (q *query) Text(name string) string {
	list := q.Values[name]
	switch {
	case len(list) == 0:
	case len(list) > 1:
		q.Complain(name, "is given more than once")
	case !utf8.ValidString(list[0]):
		q.Complain(name, "is not valid UTF-8")
	default:
		return list[0]
	}
	return ""
}

// Required returns a parameter that must be there.
func (q *query) Required(name string) string {
	before := len(q.wrong.List)
	v := q.Text(name)
	if v == "" && len(q.wrong.List) == before {
		q.Complain(name, "is required")
	}
	return v
}

// Number returns a whole number from least to most.
func (q *query) Number(name string, absent, least, most int) int {
	v := q.Text(name)
	if v == "" {
		return absent
	}
	if n, err := strconv.Atoi(v); err == nil && v[0] != '+' && v[0] != '-' && least <= n && n <= most {
		return n
	}
	q.Complain(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	return absent
}

// Unbounded is the largest number that a parameter without another limit may be.
const Unbounded = 1<<31 - 1

// TakeSkip returns take and skip.
func (q *query) TakeSkip(most int) (take, skip int) {
	return q.Number("take", 50, 1, most), q.Skip("skip")
}

// ShowPage answers with the page that a query asks for of what find returns, and how many there are in all,
// once the line is kept that they rest on. What find returns as list is called without the lock.
func ShowPage[T any](s *Core, w http.ResponseWriter, q *query, name string, most int,
	find func(st ledger.State, skip, take int) (list func() (page []T, total int), line uint64),
	write func(*wire.Writer, T, time.Time)) error {
	take, skip := q.TakeSkip(most)
	if err := q.Err(); err != nil {
		return err
	}
	body, err := s.makePage(w.(*Recorder), q.request, func(body *wire.Writer) error {
		var list func() ([]T, int)
		var now time.Time
		err := s.Store.ViewOn(func(st ledger.State, at time.Time) (line uint64) {
			now = at
			list, line = find(st, skip, take)
			return line
		})
		if err != nil {
			return err
		}
		page, total := list()
		wire.Reply(body, func(w *wire.Writer) {
			wire.Each(w, name, page, func(x T) {
				write(w, x, now)
			})
			w.Int("total", int64(total))
		})
		return nil
	})
	if err == nil {
		SendBody(w, http.StatusOK, ContentType, body)
	}
	return err
}

// Page has a page that was found under the lock.
func Page[T any](page []T, total int) func() ([]T, int) {
	return func() ([]T, int) { return page, total }
}

// pagesAtOnce is how many pages of lists are made at a time. A page may have millions of bytes, which count
// nowhere until it is whole; more pages at a time than there are processors would only take more memory.
// While clients are slow to take what they have asked for, no more pages are made.
const pagesAtOnce = 8

// makePage has a page made once it is its turn, and there is room. A request waits 5 s for both.
func (s *Core) makePage(w *Recorder, r *http.Request, fill func(*wire.Writer) error) (*wire.Writer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), PlaceWait)
	defer cancel()
	who := []string{Address(r)}
	if w.Partner != nil {
		who = []string{string(w.Partner.ID[:]), who[0]}
	}
	leave, err := s.making.Take(ctx, who...)
	if err != nil {
		return nil, err
	}
	defer leave()
	if c := w.Conn.Conn; c != nil {
		if err := c.pool.backlog.awaitRoom(ctx); err != nil {
			return nil, err
		}
	}
	body := wire.NewWriter()
	if err := fill(body); err != nil {
		body.Release()
		return nil, err
	}
	body.B = append(body.B, '\n')
	return body, nil
}

// PageOf returns the part of a list that take and skip ask for.
func PageOf[T any](list []T, skip, take int) []T {
	return list[min(skip, len(list)):min(skip+take, len(list))]
}

// Skip returns a number of items to leave out; null counts as absent.
func (q *query) Skip(name string) int {
	if q.Values.Get(name) == "null" && len(q.Values[name]) == 1 {
		return 0
	}
	return q.Number(name, 0, 0, Unbounded)
}

// Day reads v, the value of a parameter, as a date; false when it is absent or wrong.
func (q *query) Day(name, v string) (schedule.Day, bool) {
	if v == "" {
		return 0, false
	}
	d, err := schedule.ParseDay(v)
	if err != nil {
		q.Complain(name, "must be "+schedule.DayRule)
	}
	return d, err == nil
}

// OptionalDay reads a parameter as a date; nil when it is absent or wrong.
func (q *query) OptionalDay(name string) *schedule.Day {
	if day, ok := q.Day(name, q.Text(name)); ok {
		return &day
	}
	return nil
}

// Choice returns one of the values allowed.
func (q *query) Choice(name, absent string, allowed []string) string {
	v := cmp.Or(q.Text(name), absent)
	if v != absent && !slices.Contains(allowed, v) {
		q.Complain(name, "must be one of "+strings.Join(allowed, ", "))
	}
	return v
}
