package bench

import (
	"fmt"
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

	Status     int           // what is answered
	RetryAfter int           // seconds; 0 is no such header
	For        time.Duration // of real time
	Bytes      int           // of the body that still leave
	Ticket     int           // the place of a ticket in its booking, from 1; 0 is all
}

// Deed is what a rule does.
type Deed string

// The deeds.
const (
	AnswerStatus    Deed = "status"
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
	AnswerStatus:    {[]string{"status"}, []string{"retryAfter"}},
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

// read reads the members of a rule. partners are those there are.
func (r *Rule) read(in *wire.Reader, routes, partners []string) {
	given := map[string]bool{}
	count := func(name string, least, most int, to *int) wire.Field {
		return wire.May(name, func() {
			given[name] = true
			before := len(in.Problems)
			n := in.Int()
			if len(in.Problems) == before && (n < int64(least) || n > int64(most)) {
				in.Reject(fmt.Sprintf("must be from %d to %d", least, most))
				return
			}
			*to = int(n)
		})
	}
	in.Fields(
		wire.Must("on", func() { r.On = in.Text(oneOf(routes, "a route of the interface, or *")) }),
		wire.May("partner", func() { r.Partner = in.Text(oneOf(partners, "the name of a partner")) }),
		count("skip", 0, maxCount, &r.Skip),
		count("times", 1, maxCount, &r.Times),
		wire.Must("do", func() {
			r.Do = Deed(in.Text(oneOf(deedNames, "a deed")))
		}),
		count("status", 400, 599, &r.Status),
		count("retryAfter", 1, 86_400, &r.RetryAfter),
		wire.May("for", func() {
			given["for"] = true
			in.Text(func(v string) bool {
				d, err := time.ParseDuration(v)
				r.For = d
				return err == nil && d > 0 && d <= web.MaxFault
			}, fmt.Sprintf("be a duration as in 250ms, at most %v", web.MaxFault))
		}),
		count("bytes", 0, web.MaxBody, &r.Bytes),
		count("ticket", 1, web.MaxPassengersBooked, &r.Ticket),
		// What GET shows besides, so that it can be put back.
		wire.May("met", func() { in.Int() }),
		wire.May("applied", func() { in.Int() }),
	)
	r.checkMembers(in, given)
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
	for _, name := range []string{"status", "retryAfter", "for", "bytes", "ticket"} {
		if given[name] && !slices.Contains(d.must, name) && !slices.Contains(d.may, name) {
			in.RejectAt(name, fmt.Sprintf("says nothing where do is %s", r.Do))
		}
	}
	if r.Do == ProviderSilent && r.For > provider.ConfirmTime {
		in.RejectAt("for", fmt.Sprintf("must be at most %v where do is %s: nobody waits longer",
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
	string(AnswerStatus), string(DelayAnswer), string(HangUpBefore), string(HangUpAfter), string(CutAnswer),
	string(ProviderRefuses), string(ProviderSilent), string(MessageFails),
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
	if r.For > 0 {
		w.String("for", r.For.String())
	}
	number("bytes", r.Bytes, r.Do == CutAnswer)
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
