package bench

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/reach/provider"
)

// Rule says what goes wrong (decision bench.faults).
type Rule struct {
	On      string // a route as in the table of the interface, or anyRoute
	Partner string // only requests of this partner; "" is of anybody
	Skip    int    // so many requests that fit are let go first
	Times   int    // how often it is applied; 0 is always
	Do      Deed

	Status     int    // of the answer; 0: 200 for a body
	RetryAfter int    // seconds; 0: the service's own
	ErrorCode  string // "": the service's own for the status; so for the next two
	Message    string
	Details    []byte        // in JSON, or nil
	Content    string        // the type of Text; "" is JSON's
	Text       string        // a whole body
	For        time.Duration // of real time
	Every      time.Duration // of real time
	Bytes      int           // of the body that still leave, or as many at a time
	Ticket     int           // the place of a ticket in its booking, from 1; 0 is all
}

// Deed is what a rule does.
type Deed string

// The deeds.
const (
	AnswerStatus    Deed = "status"
	AnswerBody      Deed = "body"
	DripAnswer      Deed = "drip"
	DelayAnswer     Deed = "delay"
	HangUpBefore    Deed = "hangup-before"
	HangUpAfter     Deed = "hangup-after"
	CutAnswer       Deed = "cut"
	ProviderRefuses Deed = "provider-refuses"
	ProviderSilent  Deed = "provider-silent"
	MessageFails    Deed = "message-fails"
)

const (
	anyRoute = "*"
	maxCount = 1_000_000_000 // of skip and times
)

// deeds has what a rule of each deed must say besides, and what it may.
var deeds = map[Deed]struct{ must, may []string }{
	AnswerStatus:    {[]string{"status"}, []string{"retryAfter", "errorCode", "message", "details"}},
	AnswerBody:      {[]string{"text"}, []string{"status", "contentType"}},
	DripAnswer:      {[]string{"bytes", "every"}, nil},
	DelayAnswer:     {[]string{"for"}, nil},
	HangUpBefore:    {nil, nil},
	HangUpAfter:     {nil, nil},
	CutAnswer:       {[]string{"bytes"}, nil},
	ProviderRefuses: {nil, []string{"ticket"}},
	ProviderSilent:  {nil, []string{"for", "ticket"}},
	MessageFails:    {nil, []string{"ticket"}},
}

// routesOf are the only routes on which a deed can be done; nil is all.
func (d Deed) routesOf() []string {
	switch d {
	case ProviderRefuses, ProviderSilent:
		return []string{payRoute, bookRoute, legacyRoute}
	case MessageFails:
		return []string{payRoute, bookRoute, cancelRoute, legacyRoute}
	}
	return nil
}

// The routes that ask the provider, or have messages sent.
const (
	payRoute    = "POST /v2/bookings/{id}/pay"
	bookRoute   = "POST /v2/bookings/{id}/book"
	cancelRoute = "POST /v2/bookings/{id}/cancel"
	legacyRoute = "PATCH /rest/orders"
)

// isInterface reports whether a route is of the interface, and not of those who watch or test a server: no
// rule shuts the tester out.
func isInterface(route string) bool {
	_, path, _ := strings.Cut(route, " ")
	return strings.HasPrefix(path, "/v2/") || strings.HasPrefix(path, "/rest/")
}

// fits reports whether a request by a route is one that the rule is for.
func (r *Rule) fits(route string, caller *auth.Partner) bool {
	if r.Partner != "" && (caller == nil || caller.Name != r.Partner) {
		return false
	}
	if r.On != anyRoute {
		return r.On == route
	}
	only := r.Do.routesOf()
	return isInterface(route) && (only == nil || slices.Contains(only, route))
}

// members are those that a deed must or may have, in the order in which they are shown.
var members = []string{
	"status", "retryAfter", "errorCode", "message", "details", "contentType", "text", "for", "every", "bytes",
	"ticket",
}

// read reads the members of a rule. partners are those there are.
func (r *Rule) read(in *wire.Reader, routes, partners []string) {
	x := ruleReader{
		Reader: in,
		given:  map[string]bool{},
	}
	in.Fields(
		wire.Must("on", func() { r.On = in.Text(oneOf(routes, "a route of the interface, or *")) }),
		wire.May("partner", func() { r.Partner = in.Text(oneOf(partners, "the name of a partner")) }),
		x.count("skip", 0, maxCount, &r.Skip),
		x.count("times", 1, maxCount, &r.Times),
		wire.Must("do", func() {
			r.Do = Deed(in.Text(oneOf(deedNames, "a deed")))
		}),
		x.count("status", 200, 599, &r.Status),
		x.count("retryAfter", 1, 86_400, &r.RetryAfter),
		x.text("errorCode", isSomething, "not be empty", &r.ErrorCode),
		x.text("message", isSomething, "not be empty", &r.Message),
		x.member("details", func() { r.Details = bytes.Clone(in.Raw()) }),
		x.text("contentType", isHeader, "be printable characters of ASCII", &r.Content),
		x.text("text", isAny, "", &r.Text),
		x.duration("for", &r.For),
		x.duration("every", &r.Every),
		x.count("bytes", 0, web.MaxBody, &r.Bytes),
		x.count("ticket", 1, web.MaxPassengersBooked, &r.Ticket),
		// What GET shows besides, so that it can be put back.
		wire.May("met", func() { in.Int() }),
		wire.May("applied", func() { in.Int() }),
	)
	r.checkMembers(in, x.given)
}

// ruleReader reads a rule, and remembers which members it has.
type ruleReader struct {
	*wire.Reader
	given map[string]bool
}

// member returns the field of a member that read reads.
func (x *ruleReader) member(name string, read func()) wire.Field {
	return wire.May(name, func() {
		x.given[name] = true
		read()
	})
}

// count returns the field of a number from least to most.
func (x *ruleReader) count(name string, least, most int, to *int) wire.Field {
	return x.member(name, func() {
		before := len(x.Problems)
		n := x.Int()
		if len(x.Problems) == before && (n < int64(least) || n > int64(most)) {
			x.Reject(fmt.Sprintf("must be from %d to %d", least, most))
			return
		}
		*to = int(n)
	})
}

// text returns the field of a text that ok accepts; of others it says what they must do.
func (x *ruleReader) text(name string, ok func(string) bool, must string, to *string) wire.Field {
	return x.member(name, func() { *to = x.Text(ok, must) })
}

// duration returns the field of a length of time.
func (x *ruleReader) duration(name string, to *time.Duration) wire.Field {
	return x.member(name, func() {
		x.Text(func(v string) bool {
			d, err := time.ParseDuration(v)
			*to = d
			return err == nil && d > 0 && d <= web.MaxFault
		}, fmt.Sprintf("be a duration as in 250ms, at most %v", web.MaxFault))
	})
}

func isSomething(text string) bool { return text != "" }

func isAny(string) bool { return true }

// isHeader reports whether a text can be the value of a header.
func isHeader(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
}

// checkMembers complains about members that the deed needs and has not, and about those that say nothing of
// it.
func (r *Rule) checkMembers(in *wire.Reader, given map[string]bool) {
	if r.Do == "" {
		return // and that was said
	}
	d := deeds[r.Do]
	for _, name := range d.must {
		if !given[name] {
			in.RejectAt(name, fmt.Sprintf("is required where do is %s", r.Do))
		}
	}
	for _, name := range members {
		if given[name] && !slices.Contains(d.must, name) && !slices.Contains(d.may, name) {
			in.RejectAt(name, fmt.Sprintf("says nothing where do is %s", r.Do))
		}
	}
	if r.Do == AnswerStatus && given["status"] && r.Status != 0 && r.Status < http.StatusBadRequest {
		in.RejectAt("status", fmt.Sprintf("must be from 400 to 599 where do is %s", r.Do))
	}
	if r.Do == DripAnswer && given["bytes"] && r.Bytes == 0 {
		in.RejectAt("bytes", fmt.Sprintf("must be at least 1 where do is %s", r.Do))
	}
	if r.Do == ProviderSilent && r.For > provider.ConfirmTime {
		in.RejectAt("for", fmt.Sprintf("must be at most %v where do is %s",
			provider.ConfirmTime, r.Do))
	}
	only := r.Do.routesOf()
	if r.On != "" && r.On != anyRoute && only != nil && !slices.Contains(only, r.On) {
		must := fmt.Sprintf("must be *, or one of %s, where do is %s", strings.Join(only, ", "), r.Do)
		in.RejectAt("on", must)
	}
}

// deedNames are the names of the deeds.
var deedNames = []string{
	string(AnswerStatus), string(AnswerBody), string(DripAnswer), string(DelayAnswer), string(HangUpBefore),
	string(HangUpAfter), string(CutAnswer), string(ProviderRefuses), string(ProviderSilent),
	string(MessageFails),
}

// oneOf returns what approves of the words of a list, and what it says of others. It names them where they
// are few.
func oneOf(list []string, what string) (ok func(string) bool, must string) {
	must = "be " + what
	if len(list) > 0 && len(list) <= len(deeds) {
		must += ": " + strings.Join(list, ", ")
	}
	return func(v string) bool { return slices.Contains(list, v) }, must
}

// write writes a rule as it was given.
func (r *Rule) write(w *wire.Writer) {
	w.String("on", r.On)
	if r.Partner != "" {
		w.String("partner", r.Partner)
	}
	number := func(name string, n int, there bool) {
		if there {
			w.Int(name, int64(n))
		}
	}
	number("skip", r.Skip, r.Skip > 0)
	number("times", r.Times, r.Times > 0)
	w.String("do", string(r.Do))
	number("status", r.Status, r.Status > 0)
	number("retryAfter", r.RetryAfter, r.RetryAfter > 0)
	text := func(name, v string, there bool) {
		if there {
			w.String(name, v)
		}
	}
	text("errorCode", r.ErrorCode, r.ErrorCode != "")
	text("message", r.Message, r.Message != "")
	if r.Details != nil {
		w.Raw("details", r.Details)
	}
	text("contentType", r.Content, r.Content != "")
	text("text", r.Text, r.Do == AnswerBody)
	text("for", r.For.String(), r.For > 0)
	text("every", r.Every.String(), r.Every > 0)
	number("bytes", r.Bytes, r.Do == CutAnswer || r.Do == DripAnswer)
	number("ticket", r.Ticket, r.Ticket > 0)
}

// readRules reads a list of rules.
func (s *Bench) readRules(in *wire.Reader) (list []*Rule) {
	var partners []string
	s.Store.View(func(st ledger.State, _ time.Time) {
		for _, p := range st.Partners.All() {
			partners = append(partners, p.Name)
		}
	})
	routes := append([]string{anyRoute}, s.routes...)
	in.ArrayOf(web.MaxRules, func(int) {
		r := new(Rule)
		r.read(in, routes, partners)
		list = append(list, r)
	})
	return list
}
