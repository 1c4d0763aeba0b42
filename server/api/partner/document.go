package partner

import (
	"bytes"
	"net/http"
	"time"

	"waybill/auth"
	"waybill/server/docs"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/reach/ticket"
)

var pageType = []string{"text/html; charset=utf-8"}

// pagePolicy is of the page's own style sheet; there is no script in it.
var pagePolicy = []string{ticket.PagePolicy}

// GetDocument answers GET /v2/tickets/{id}/document: the ticket on a page to print (decision
// ticket.document).
func (s *Seller) GetDocument(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, t, now, err := s.ViewTicket(r, p)
	if err != nil {
		return err
	}
	var clock *docs.Clock
	err = s.Store.ViewOn(func(st ledger.State, _ time.Time) uint64 {
		clock = web.TestClock(st, now)
		return restsOn(st, b)
	})
	if err != nil {
		return err
	}
	// The page is sent whole or not at all: half of one may already show the code.
	var page bytes.Buffer
	if err := ticket.WriteDocument(&page, b, t, s.TicketKey, now, clock); err != nil {
		return err
	}
	body := wire.NewWriter()
	body.B = append(body.B, page.Bytes()...)
	h := w.Header()
	h["Content-Security-Policy"] = pagePolicy
	web.SendBody(w, http.StatusOK, pageType, body)
	return nil
}
