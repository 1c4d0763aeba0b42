package server

import (
	"cmp"
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
	"waybill/server/wire"
)

// query reads a request's query parameters and collects what is wrong with them. An empty value counts as absent, a
// repeated one is a problem, an unknown name is ignored (contract §3).
type query struct {
	values url.Values
	wrong  complaints
}

func newQuery(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.complain("query", "is not a well-formed query string")
	}
	return q
}

func (q *query) complain(field, message string) {
	q.wrong.add(problem(field, message))
}

// err gives the answer for all problems found, nil when there are none.
func (q *query) err() error { return q.wrong.err() }

// text gives a parameter; "" when it is absent.
func (q *query) text(name string) string {
	switch list := q.values[name]; {
	case len(list) == 0:
	case len(list) > 1:
		q.complain(name, "is given more than once")
	case !utf8.ValidString(list[0]):
		q.complain(name, "is not valid UTF-8")
	default:
		return list[0]
	}
	return ""
}

// required gives a parameter that must be there.
func (q *query) required(name string) string {
	before := len(q.wrong.list)
	v := q.text(name)
	if v == "" && len(q.wrong.list) == before {
		q.complain(name, "is required")
	}
	return v
}

// number gives a whole number from least to most.
func (q *query) number(name string, absent, least, most int) int {
	v := q.text(name)
	if v == "" {
		return absent
	}
	if n, err := strconv.Atoi(v); err == nil && v[0] != '+' && v[0] != '-' && least <= n && n <= most {
		return n
	}
	q.complain(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	return absent
}

const unbounded = 1<<31 - 1

// page gives take and skip.
func (q *query) page(most int) (take, skip int) {
	return q.number("take", 50, 1, most), q.skip("skip")
}

// showPage answers with the page that a query asks for of what find gives, and how many there are in all.
func showPage[T any](s *Server, w http.ResponseWriter, q *query, name string, most int,
	find func(st *ledger.State, skip, take int) ([]T, int), write func(*wire.Writer, T, time.Time)) error {
	take, skip := q.page(most)
	if err := q.err(); err != nil {
		return err
	}
	var page []T
	var total int
	var now time.Time
	err := s.st.View(func(st *ledger.State, at time.Time) {
		page, total = find(st, skip, take)
		now = at
	})
	return show(w, err, func(w *wire.Writer) {
		wire.Each(w, name, page, func(x T) { write(w, x, now) })
		w.Int("total", int64(total))
	})
}

// page gives the part of a list that take and skip ask for.
func page[T any](list []T, skip, take int) []T {
	return list[min(skip, len(list)):min(skip+take, len(list))]
}

// skip gives a number of items to leave out; null counts as absent.
func (q *query) skip(name string) int {
	if q.values.Get(name) == "null" && len(q.values[name]) == 1 {
		return 0
	}
	return q.number(name, 0, 0, unbounded)
}

// day reads v, the value of a parameter, as a date; false when it is absent or wrong.
func (q *query) day(name, v string) (schedule.Day, bool) {
	if v == "" {
		return 0, false
	}
	d, err := schedule.ParseDay(v)
	if err != nil {
		q.complain(name, "must be a date as in 2026-11-20")
	}
	return d, err == nil
}

// optionalDay reads a parameter as a date; nil when it is absent or wrong.
func (q *query) optionalDay(name string) *schedule.Day {
	if day, ok := q.day(name, q.text(name)); ok {
		return &day
	}
	return nil
}

// choice gives one of the values allowed.
func (q *query) choice(name, absent string, allowed []string) string {
	v := cmp.Or(q.text(name), absent)
	if v != absent && !slices.Contains(allowed, v) {
		q.complain(name, "must be one of "+strings.Join(allowed, ", "))
	}
	return v
}

// readBody has a request's body read, unless it is empty and may be. Its error lists everything wrong with it.
func readBody(w http.ResponseWriter, r *http.Request, optional bool, fields func(*wire.Reader)) error {
	b, err := body(w, r)
	if err != nil || optional && len(b) == 0 {
		return err
	}
	in := wire.NewReader(b)
	fields(in)
	return finish(in)
}

// show answers 200 with what write writes, unless there is an error.
func show(w http.ResponseWriter, err error, write func(*wire.Writer)) error {
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, write)
}

// showWritten does so after line seq of the journal.
func showWritten(w http.ResponseWriter, seq uint64, err error, write func(*wire.Writer)) error {
	if err == nil {
		wrote(w, seq)
	}
	return show(w, err, write)
}
