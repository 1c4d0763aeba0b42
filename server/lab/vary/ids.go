package vary

import (
	"slices"
	"strings"
)

const (
	idLength  = 22 // characters, of an id as the server writes it
	maxSuffix = 24 // characters
)

// urlSafe are the characters of suffixes: those that stand for themselves in a URL (RFC 3986), but the dot,
// after which a browser may look for a file's kind.
const urlSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~"

// suffix returns what an id is shown with.
func (v *Variation) suffix(id string) string {
	chance := v.chance("suffix", id)
	text := make([]byte, 1+chance.IntN(maxSuffix))
	for i := range text {
		text[i] = urlSafe[chance.IntN(len(urlSafe))]
	}
	return string(text)
}

// bare returns an id without the suffix that it was shown with, and any other text as it is. An id that never
// had one, as on a ticket's paper, is good as well.
func (v *Variation) bare(text string) string {
	if len(text) <= idLength {
		return text
	}
	id := text[:idLength]
	if text[idLength:] != v.suffix(id) {
		return text
	}
	return id
}

// idNames are the members that name a booking or a ticket, wherever they stand.
var idNames = []string{"bookingId", "fromBookingId", "orderId", "ordersIds", "ticketId"}

// idOwners are the members whose id is one of a booking, a ticket, a session or a report. The legacy
// interface has tickets in data itself.
var idOwners = []string{
	"booking", "bookings", "ticket", "tickets", "order", "orders", "data", "session", "report", "reports",
}

// isID reports whether the id of a booking, ticket, session or report stands at a place.
func isID(place string) bool {
	name := lastOf(place)
	if name != "id" {
		return slices.Contains(idNames, name)
	}
	return slices.Contains(idOwners, lastOf(strings.TrimSuffix(place, ".id")))
}
