package report

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"waybill/schedule/ids"

	"github.com/google/go-cmp/cmp"
)

// asked is a state of five reports, the odd ones of a, in the order they were asked for.
func asked() Recorder {
	s := NewRecorder()
	for n := 1; n <= 5; n++ {
		s.ApplyOrdered(day0.Add(time.Duration(n)*time.Second), &Ordered{
			ID:      id(n),
			Company: []string{"b", "a"}[n%2],
			User:    id(100),
			OrderBy: DepartureDate,
			Start:   day0,
			End:     day0.Add(MaxRange),
		})
	}
	return s
}

// numbers returns which reports these are.
func numbers(list []*Report) (n []int) {
	for _, r := range list {
		n = append(n, int(r.ID[15]))
	}
	return n
}

// Interface, Report: a new report is Queued, and becomes Completed; decision reports.life: it expires 7 days
// after that.
func TestAReportExpiresSevenDaysAfterItsCompletion(t *testing.T) {
	s := asked()
	queued, err := s.Find(id(1), "a", day0.AddDate(10, 0, 0))
	if err != nil {
		t.Fatal("one that is queued has expired:", err)
	}
	if _, done := queued.Expires(); done || !queued.Completed.IsZero() || !queued.Downloaded.IsZero() {
		t.Errorf("%+v", queued)
	}
	was := *queued
	s.ApplyCompleted(9, day0.Add(time.Hour), &Completed{ID: id(1), Rows: 3})
	s.ApplyDownloaded(day0.Add(2*time.Hour), &Downloaded{id(1)})
	if diff := cmp.Diff(was, *queued); diff != "" {
		t.Errorf("a report that was given away has changed: %s", diff)
	}
	end := day0.Add(time.Hour + 7*24*time.Hour)
	r, err := s.Find(id(1), "a", end.Add(-time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	at, done := r.Expires()
	if !done || !at.Equal(end) || !r.Completed.Equal(day0.Add(time.Hour)) ||
		!r.Downloaded.Equal(day0.Add(2*time.Hour)) || !r.Created.Equal(day0.Add(time.Second)) {
		t.Errorf("%v, %+v", at, r)
	}
	for _, now := range []time.Time{end, end.Add(time.Millisecond), end.AddDate(1, 0, 0)} {
		if r, err := s.Find(id(1), "a", now); !errors.Is(err, ErrNotFound) || r != nil {
			t.Errorf("at %v: %v, %v", now, r, err)
		}
	}
}

// Decision reports.dates: what belongs to another company answers as if unknown.
func TestAReportIsFoundByItsCompanyAlone(t *testing.T) {
	s := asked()
	for _, c := range []struct {
		id      ids.ID
		company string
		found   bool
	}{
		{id(1), "a", true}, {id(2), "b", true}, {id(1), "", true}, {id(1), "b", false}, {id(2), "a",
			false}, {id(2), "A", false}, {id(6), "a", false}, {id(6), "", false}, {ids.ID{}, "", false},
	} {
		r, err := s.Find(c.id, c.company, day0)
		if c.found && (err != nil || r.ID != c.id) || !c.found && (!errors.Is(err, ErrNotFound) || r != nil) {
			t.Errorf("%v of %q: %v, %v", c.id, c.company, r, err)
		}
	}
}

// Interface, GET /v2/reports/company/orders: a page of the company's reports, the newest first, and how many
// there are.
func TestReportsAreListedNewestFirst(t *testing.T) {
	s := asked()
	for _, c := range []struct {
		company    string
		skip, take int
		want       []int
		total      int
	}{
		{"a", 0, 50, []int{5, 3, 1}, 3}, {"a", 0, 2, []int{5, 3}, 3}, {"a", 1, 1, []int{3}, 3}, {"a", 2, 50,
			[]int{1}, 3}, {"a", 3, 50, nil, 3}, {"a", 1000, 50, nil, 3},
		{"a", 0, 0, nil, 3}, {"b", 0, 50, []int{4, 2}, 2}, {"c", 0, 50, nil, 0}, {"", 0, 50, nil, 0},
	} {
		page, total := s.List(c.company, c.skip, c.take)
		if diff := cmp.Diff(c.want, numbers(page)); diff != "" || total != c.total {
			t.Errorf("%+v: %d, %s", c, total, diff)
		}
	}
}

// Package report: the queue is what is not completed, the oldest first, also after a restart.
func TestTheQueueIsWhatIsNotCompleted(t *testing.T) {
	s := asked()
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, numbers(s.Queued())); diff != "" {
		t.Error(diff)
	}
	s.ApplyCompleted(9, day0, &Completed{ID: id(3)})
	s.ApplyCompleted(9, day0, &Completed{ID: id(1)})
	restored := NewRecorder()
	for _, r := range s.All() {
		restored.Restore(r)
	}
	if diff := cmp.Diff(s.State(), restored.State(), cmp.AllowUnexported(State{})); diff != "" {
		t.Error(diff)
	}
	for _, s := range []Recorder{s, restored} {
		if diff := cmp.Diff([]int{2, 4, 5}, numbers(s.Queued())); diff != "" {
			t.Error(diff)
		}
	}
	for _, n := range []int{2, 4, 5} {
		restored.ApplyCompleted(9, day0, &Completed{ID: id(n)})
	}
	if restored.Queued() != nil || len(s.Queued()) != 3 {
		t.Error("it is not empty, or that of another state is")
	}
}

// A line that names no report is refused by name; it must not change another report.
func TestAnUnknownReportIsNotChanged(t *testing.T) {
	for what, apply := range map[string]func(Recorder) error{
		"completed":  func(s Recorder) error { return s.ApplyCompleted(9, day0, &Completed{ID: id(6)}) },
		"downloaded": func(s Recorder) error { return s.ApplyDownloaded(day0, &Downloaded{id(6)}) },
		"requeued":   func(s Recorder) error { return s.Requeue([]ids.ID{id(6)}) },
	} {
		for name, s := range map[string]Recorder{"five reports": asked(), "none": NewRecorder()} {
			was := s.All()
			got, want := apply(s), "report "+id(6).String()+" does not exist"
			if got == nil || !strings.HasPrefix(got.Error(), want) {
				t.Errorf("%s, of %s: %v, want %q", what, name, got, want)
			}
			if diff := cmp.Diff(was, s.All()); diff != "" {
				t.Errorf("%s, of %s: %s", what, name, diff)
			}
		}
	}
}

// What a company keeps is counted as if all reports were looked through: those that are not written, and
// those that have not expired, after any history of orders, completions, erasures and restarts.
func TestKeptReportsAreCounted(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := NewRecorder()
		now := day0
		for n := range 300 {
			now = now.Add(time.Duration(random.IntN(5)) * time.Hour)
			queued := s.Queued()
			switch act := random.IntN(10); {
			case act < 5 || len(s.All()) == 0:
				s.ApplyOrdered(now, &Ordered{ID: id(n + 1), Company: []string{"a", "b"}[random.IntN(2)]})
			case act < 8 && len(queued) > 0:
				s.ApplyCompleted(9, now, &Completed{ID: queued[random.IntN(len(queued))].ID})
			case act == 8:
				s.Requeue([]ids.ID{s.All()[random.IntN(len(s.All()))].ID})
			default:
				restored := NewRecorder()
				for _, r := range s.All() {
					restored.Restore(r)
				}
				s = restored
			}
			checkKept(t, s, now)
		}
	}
}

// checkKept compares what is counted with what all reports say.
func checkKept(t *testing.T, s Recorder, now time.Time) {
	t.Helper()
	var next time.Time
	for _, company := range []string{"a", "b", "c"} {
		kept := 0
		var first time.Time
		for _, r := range s.All() {
			if _, err := s.Find(r.ID, company, now); err != nil {
				continue
			}
			kept++
			expires, done := r.Expires()
			if done && (first.IsZero() || expires.Before(first)) {
				first = expires
			}
		}
		if n, expires := s.Kept(company, now); n != kept || !expires.Equal(first) {
			t.Fatalf("company %s keeps %d, the first until %v; want %d, %v", company, n, expires, kept, first)
		}
		if !first.IsZero() && (next.IsZero() || first.Before(next)) {
			next = first
		}
	}
	if got := s.NextExpiry(now); !got.Equal(next) {
		t.Fatalf("the next report expires at %v, want %v", got, next)
	}
}
