package partner

import (
	"math"
	"net/http"
	"slices"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// Preview answers POST /v2/bookings/{id}/pay/preview, …/book/preview and …/cancel/preview: what the action
// would do. It changes nothing.
func (s *Seller) Preview(action booking.Action) web.PartnerHandler {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
		// The tickets are read as the action itself reads them.
		sel, err := s.subset(w, r, p)
		if err != nil {
			return err
		}
		var list []booking.Outlook
		var now time.Time
		unread := s.Store.View(func(st ledger.State, at time.Time) {
			now = at
			if err = web.Again(w, st, at); err == nil {
				list, err = st.Bookings.Preview(at, st.Timetable(), sel, action)
			}
		})
		if unread != nil {
			return unread
		}
		return web.Show(w, err, func(w *wire.Writer) {
			writePreview(w, list, now)
		})
	}
}

// writePreview writes what would happen to tickets. The total, to pay or to come back, counts the tickets
// that the action is allowed for. Tickets of several currencies, which only a move can bring together, have
// no total.
func writePreview(w *wire.Writer, list []booking.Outlook, now time.Time) {
	allowed := true
	total := int64(0)
	// "" if the tickets have several currencies.
	currency := string(list[0].Currency[:]) // a booking has a ticket
	for i := range list {
		x := &list[i]
		if x.Currency != list[0].Currency {
			currency = ""
		}
		// A ticket that is refused adds nothing to the total.
		switch {
		case x.Code != "":
			allowed = false
		case x.Refund != nil:
			total += x.Refund.Refund
		default:
			total += x.Price()
		}
	}
	w.Bool("allowed", allowed)
	w.OptionalString("currency", currency)
	if currency != "" {
		w.Hundredths("total", total)
	} else {
		w.Null("total")
	}
	wire.Each(w, "tickets", list, func(x booking.Outlook) {
		writeOutlook(w, &x, now)
	})
}

// writeOutlook writes what would happen to a ticket. The rules are those that its refund would follow, one
// for each leg.
func writeOutlook(w *wire.Writer, x *booking.Outlook, now time.Time) {
	var rules []*schedule.RefundRule
	if x.Refund != nil {
		for i, term := range x.Refund.Terms {
			list := x.Itinerary()[i].Run.Form.Rules
			k := slices.IndexFunc(list, func(r schedule.RefundRule) bool {
				return r.ID == term.Rule
			})
			if k >= 0 {
				rules = append(rules, &list[k])
			}
		}
	}
	w.Object("")
	w.ID("ticketId", x.ID)
	w.Bool("allowed", x.Code == "")
	w.OptionalString("code", string(x.Code))
	w.OptionalString("reason", x.Reason)
	if x.Refund != nil && x.Refund.Refunded {
		w.Hundredths("refundAmount", x.Refund.Refund)
	} else {
		w.Null("refundAmount")
	}
	if len(rules) > 0 {
		resource.WriteRule(w, "rule", rules[0])
	} else {
		w.Null("rule")
	}
	wire.Each(w, "rules", rules, func(r *schedule.RefundRule) {
		resource.WriteRule(w, "", r)
	})
	// It is rounded down: a rule of 24 hours does not apply at 23.999.
	w.Hundredths("hoursBeforeDeparture", int64(math.Floor(x.RefundsBy().Sub(now).Hours()*100)))
	w.OptionalTime("validUntil", x.ValidUntil)
	w.EndObject()
}
