package conform

import "strings"

// pages are where a section of the interface is said under /docs.
var pages = map[string]string{
	"GET /v2/cities":                                  "operations/listCities",
	"GET /v2/cities/{slug}":                           "operations/getCity",
	"GET /v2/stops/{id}":                              "operations/getStop",
	"GET /v2/offers":                                  "operations/searchOffers",
	"GET /v2/offers/schedule":                         "operations/getSchedule",
	"POST /v2/bookings":                               "operations/createBooking",
	"GET /v2/bookings":                                "operations/listBookings",
	"GET /v2/bookings/{id}":                           "operations/getBooking",
	"GET /v2/bookings/{id}/refund-rules":              "operations/getRefundRules",
	"GET /v2/tickets/{id}":                            "operations/getTicket",
	"pay, book, cancel":                               "operations/payBooking",
	"book":                                            "operations/bookBooking",
	"cancel":                                          "operations/cancelBooking",
	"409 conditions":                                  "errors/CONFLICT",
	"POST /v2/auth/idp/login":                         "operations/login",
	"POST /v2/auth/pre-login":                         "operations/preLogin",
	"POST /v2/reports/company/orders":                 "operations/orderReport",
	"GET /v2/reports/company/orders":                  "operations/listReports",
	"GET /v2/reports/company/orders/{id}/download":    "operations/getReportDownload",
	"PATCH /v2/geolocation/fms-objects/{fmsObjectId}": "operations/setGeolocation",

	"City":           "objects#City",
	"Stop record":    "objects#StopRecord",
	"Departure":      "objects#Departure",
	"Offer":          "objects#Offer",
	"Price":          "objects#Price",
	"Slice":          "objects#Slice",
	"Stop":           "objects#BookedStop",
	"Bus":            "objects#Bus",
	"Route":          "objects#Route",
	"Company":        "objects#Company",
	"RefundRule":     "objects#RefundRule",
	"Discount":       "objects#Discount",
	"Booking":        "objects#Booking",
	"Ticket":         "objects#Ticket",
	"Passenger":      "objects#Passenger",
	"Phone":          "objects#Phone",
	"Report":         "objects#Report",
	"FmsObject":      "objects#FmsObject",
	"Login payloads": "objects#Session",

	"States":              "states#ticket",
	"Booking status":      "states#booking",
	"Errors":              "errors",
	"Limits":              "limits",
	"Versioning":          "migration",
	"General conventions": "objects#Instant",
	"Endpoints":           "",
	"Authentication":      "errors/UNAUTHORIZED",

	"Idempotency": "silent",
	"Preview":     "operations/previewCancel",
	"Events":      "operations/listEvents",
	"ETag":        "operations/listCities",
	"HEAD":        "silent",
	"Refresh":     "operations/refreshSession",
	"Logout":      "operations/logout",
	"Session":     "operations/getSession",
}

// Page returns the path of the page that says what a rule is about, as every server of this program has it.
func (r *Rule) Page() string {
	section, _, _ := strings.Cut(r.Section, ", rule ")
	return strings.TrimSuffix("/docs/"+pages[section], "/")
}
