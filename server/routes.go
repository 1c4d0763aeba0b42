package server

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/frame/web"
)

// routes is the interface's summary table: method, path, who may call, and what answers.
func (s *Server) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /v2/offers/schedule":                         s.Public(s.search.GetSchedule),
		"GET /v2/offers":                                  s.Partner(s.search.GetOffers),
		"POST /v2/bookings":                               s.Partner(s.partner.Keyed(s.partner.PostBooking)),
		"GET /v2/bookings":                                s.Partner(s.partner.ListBookings),
		"GET /v2/bookings/{id}":                           s.Partner(s.partner.GetBooking),
		"GET /v2/bookings/{id}/refund-rules":              s.Partner(s.partner.GetRefundRules),
		"POST /v2/bookings/{id}/pay":                      s.Partner(s.partner.Keyed(s.partner.Act(booking.Pay))),
		"POST /v2/bookings/{id}/book":                     s.Partner(s.partner.Keyed(s.partner.Act(booking.Book))),
		"POST /v2/bookings/{id}/cancel":                   s.Partner(s.partner.Keyed(s.partner.Act(booking.Cancel))),
		"POST /v2/bookings/{id}/pay/preview":              s.Partner(s.partner.Preview(booking.Pay)),
		"POST /v2/bookings/{id}/book/preview":             s.Partner(s.partner.Preview(booking.Book)),
		"POST /v2/bookings/{id}/cancel/preview":           s.Partner(s.partner.Preview(booking.Cancel)),
		"GET /v2/tickets/{id}":                            s.Partner(s.partner.GetTicket),
		"GET /v2/tickets/{id}/document":                   s.Partner(s.partner.GetDocument),
		"GET /v2/events":                                  s.Partner(s.partner.GetEvents),
		"GET /v2/cities":                                  s.Public(s.search.ListCities),
		"GET /v2/cities/{slug}":                           s.Public(s.search.GetCity),
		"GET /v2/stops/{id}":                              s.Public(s.search.GetStop),
		"POST /v2/auth/idp/login":                         s.Public(s.company.PostLogin),
		"POST /v2/auth/pre-login":                         s.Public(s.company.PostPreLogin),
		"POST /v2/auth/refresh":                           s.Public(s.company.PostRefresh),
		"POST /v2/auth/logout":                            s.Public(s.company.PostLogout),
		"GET /v2/auth/session":                            s.company.User(auth.None, s.company.GetSession),
		"POST /v2/reports/company/orders":                 s.company.User(auth.Orders, s.company.PostReport),
		"GET /v2/reports/company/orders":                  s.company.User(auth.Reports, s.company.ListReports),
		"GET /v2/reports/company/orders/{id}/download":    s.company.User(auth.Reports, s.company.GetDownload),
		"GET /v2/reports/files/{token}":                   s.Public(s.company.GetReportFile),
		"PATCH /v2/geolocation/fms-objects/{fmsObjectId}": s.company.User(auth.Geolocation, s.company.PatchFMSObject),
		"GET /v2/company/runs/{tripId}/{date}/passengers": s.company.User(auth.Passengers, s.carrier.GetPassengers),
		"GET /rest/offers":                                s.legacy.Partner(s.legacy.GetOffers),
		"POST /rest/orders":                               s.legacy.Partner(s.legacy.PostOrders),
		"GET /rest/orders":                                s.legacy.Partner(s.legacy.ListOrders),
		"PATCH /rest/orders":                              s.legacy.Partner(s.legacy.PatchOrders),
		"GET /rest/orders/{id}":                           s.legacy.Partner(s.legacy.GetOrder),
		"GET /rest/orders/{id}/refund-rules":              s.legacy.Partner(s.legacy.GetRefundRules),
		"/rest/offers":                                    s.legacy.Partner(s.legacy.NoRoute),
		"/rest/offers/":                                   s.legacy.Partner(s.legacy.NoRoute),
		"/rest/orders":                                    s.legacy.Partner(s.legacy.NoRoute),
		"/rest/orders/":                                   s.legacy.Partner(s.legacy.NoRoute),
		"GET /openapi.json":                               s.Public(s.reference.GetOpenAPI),
		"GET /{$}":                                        s.Public(s.reference.GetHome),
		"GET /docs":                                       s.Public(s.reference.GetIndex),
		"GET /docs/operations/{operationId}":              s.Public(s.reference.GetPage),
		"GET /docs/errors/{code}":                         s.Public(s.reference.GetPage),
		"GET /docs/migration":                             s.Public(s.reference.GetMigrationGuide),
		"GET /docs/{page...}":                             s.Public(s.reference.GetPage),
		"GET /checkpoint":                                 s.Public(s.witness.GetCheckpoint),
		"GET /metrics":                                    s.Public(s.ops.GetMetrics),
		"GET /test/clock":                                 s.Public(s.lab().GetClock),
		"POST /test/clock":                                s.Public(s.lab().PostClock),
		"GET /livez":                                      s.Public(s.ops.GetLive),
		"GET /readyz":                                     s.Public(s.ops.GetLive),
		"GET /healthz":                                    s.Public(s.ops.GetLive),
	}
}

// route makes the handler of all routes. Nothing of ServeMux's own answers is ever seen.
func (s *Server) route() {
	routes := s.routes()
	if s.Counts = s.options.Counts; s.Counts == nil {
		s.Counts = web.NewCounts(routes)
	}
	for pattern, h := range routes {
		s.Mux.HandleFunc(pattern, h)
	}
	s.Mux.HandleFunc("/", s.Public(s.NotRouted))
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Frame(w, r, s.answer)
}

// answer answers a request by its path.
func (s *Server) answer(rec *web.Recorder, r *http.Request) {
	p := r.URL.Path
	switch {
	case s.AllowOrigin(rec, r): // and has answered
	case s.unavailable && p != "/livez":
		s.Refuse(rec, r, web.ErrUnavailable)
	case rec.Spare() && !slices.Contains(web.Unlimited, p):
		rec.Header().Set("Connection", "close")
		s.Refuse(rec, r, web.ErrManyConnections)
	case (strings.HasPrefix(p, "/rest/offers/") || strings.HasPrefix(p, "/rest/orders/")) &&
		path.Clean(p) != p:
		r.Pattern = p[:len("/rest/orders/")]
		s.legacy.Partner(s.legacy.NoPath)(rec, r)
	case strings.HasPrefix(p, "/docs/") && path.Clean(p) != p:
		s.Public(s.reference.SayMissing)(rec, r)
	case p == "" || p[0] != '/' || path.Clean(p) != p || r.Method == http.MethodConnect ||
		r.RequestURI == "*":
		s.Refuse(rec, r, web.ErrNotFound)
	default:
		s.Mux.ServeHTTP(rec, r)
	}
}

// Unavailable returns what answers the requests that come before a server of the configuration is open, or
// while it drains: alive, not ready.
func Unavailable(cfg Config) *Server {
	cfg.Loaded = Loaded{}
	s := newServer(cfg, cfg.web())
	s.unavailable = true
	return s
}
