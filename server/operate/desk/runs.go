package desk

import (
	"net/http"
	"net/url"

	"waybill/schedule"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
)

// runsShown is how many runs a page lists.
const runsShown = 50

// runList is a page of the runs of a day.
type runList struct {
	*carrier.Day
	Pages pager
}

// Serves returns the service day of a run of the list where that is another day than that on which it leaves;
// "" where it is the same.
func (x runList) Serves(run *carrier.RunShown) string {
	if run.Name.Day == schedule.DayOf(run.Leaves) {
		return ""
	}
	return run.Name.Day.String()
}

// listRuns returns the page of a list of runs that a request asks for.
func (s *Desk) listRuns(r *http.Request, q carrier.Query) (x runList, err error) {
	if q.Page, err = pageAsked(r, "page"); err != nil {
		return x, err
	}
	q.PerPage = runsShown
	if x.Day, err = s.carrier.Day(q); err != nil {
		return x, err
	}
	x.Pages = newPager(r, "page", "runs", "runs", x.Page, x.Total, runsShown)
	return x, nil
}

// dayPage is the runs of a day that somebody looks for.
type dayPage struct {
	List                runList
	Date                string
	UnderWay            bool   // those that left before that day and are still under way
	Before, After       string // the paths of the days around; "" is none
	Company, City, Text string
	Companies, Cities   []string // to pick from
}

// runPath returns the path of a run's page.
func runPath(trip, date string) string {
	return "/run?" + url.Values{"trip": {trip}, "date": {date}}.Encode()
}

// getRuns answers GET /runs?date=…&company=…&city=…&q=…: the runs that leave on a day, today without one.
// With underway=true it has those instead that left before today and are still under way.
func (s *Desk) getRuns(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	query := r.URL.Query()
	q := carrier.Query{
		Today:   query.Get("date") == "",
		Company: query.Get("company"),
		City:    query.Get("city"),
		Text:    query.Get("q"),

		UnderWay: query.Get("underway") == "true",
	}
	q.Today = q.Today || q.UnderWay
	var err error
	if !q.Today {
		if q.On, err = readDay(query.Get("date")); err != nil {
			return err
		}
	}
	x := &dayPage{
		Company: q.Company,
		City:    q.City,
		Text:    q.Text,

		UnderWay: q.UnderWay,
	}
	if x.List, err = s.listRuns(r, q); err != nil {
		return err
	}
	x.Date = x.List.On.String()
	x.Before = x.pathOf(x.List.On - 1)
	x.After = x.pathOf(x.List.On + 1)
	x.offer(s.Timetable.Load())
	title := "Runs of " + x.Date
	if x.UnderWay {
		title = "Runs under way that left before " + x.Date
	}
	return s.show(w, r, by, "runs", &page{
		Title: title,
		Here:  "/runs",
		Body:  x,
	})
}

// pathOf returns the path of the same list of another day; "" where that is none that can be asked for.
func (x *dayPage) pathOf(day schedule.Day) string {
	if _, err := schedule.ParseDay(day.String()); err != nil {
		return ""
	}
	query := url.Values{"date": {day.String()}}
	for field, value := range map[string]string{"company": x.Company, "city": x.City, "q": x.Text} {
		if value != "" {
			query.Set(field, value)
		}
	}
	return "/runs?" + query.Encode()
}

// offered is how many names a field offers to pick from. Of more, which nobody looks through, a part is
// typed.
const offered = 500

// offer has the fields of names offer those of a timetable.
func (x *dayPage) offer(tt *schedule.Timetable) {
	if len(tt.Companies) <= offered {
		for i := range tt.Companies {
			x.Companies = append(x.Companies, tt.Companies[i].Name)
		}
	}
	if len(tt.Cities) <= offered {
		for i := range tt.Cities {
			x.Cities = append(x.Cities, tt.Cities[i].Name)
		}
	}
}

// readDay reads a day.
func readDay(text string) (schedule.Day, error) {
	day, err := schedule.ParseDay(text)
	if err != nil {
		return 0, web.Invalid(web.Problem("date", "must be "+schedule.DayRule))
	}
	return day, nil
}
