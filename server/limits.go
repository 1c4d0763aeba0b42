package server

import (
	"fmt"

	"waybill/auth"
	"waybill/server/wire"
)

// Every size that a client chooses has a limit, and it stands here (contract §12). Reaching one is a clear
// answer that costs no more than any other. The page /docs/limits shows them to whoever calls.
const (
	// Of a request. Its header is bounded by package command.
	maxBody           = 256 << 10 // bytes
	maxRequestID      = 128       // characters
	maxIdempotencyKey = 255       // characters
	maxIDs            = 1000      // tickets that a body names

	// Of a 400, so that no answer is larger than what was asked.
	maxProblems     = wire.MaxProblems // entries
	maxProblemBytes = 64 << 10         // of the whole answer
	sizeOfMore      = 256              // bytes, at least those of the envelope and of the entry that counts the others

	// Of a booking.
	maxPassengersBooked = 100
	maxPhones           = 10  // of a passenger
	maxName             = 100 // characters

	// Of a company's users.
	maxSessions      = auth.MaxSessions // of a user
	maxRefreshes     = auth.MaxRefreshes
	maxQueuedReports = 20 // of a company, that are not written yet

	// Of an act of an operator's.
	maxReason = 500 // characters

	// Of connections.
	MaxConnections   = 10_000 // or half of the files that the process may open
	addressShare     = 4      // an address has a quarter of them
	spareConnections = 16     // besides, for probes
	maxPolls         = 64     // of a partner, that wait

	// Of calls of the provider, each of which may need a connection.
	maxAsking = 32

	// Of a page: take.
	maxBookings = 50
	maxReports  = 50
	maxSchedule = 100
	maxCities   = 100
	maxEvents   = 100
)

// limitRow is a row of the page /docs/limits.
type limitRow struct{ What, Limit, Beyond string }

// limitTable is what the page shows: the limits above, and those that a deployment sets.
var limitTable = []limitRow{
	{"body of a request", fmt.Sprintf("%d KiB", maxBody>>10), "413 `BODY_TOO_LARGE`"},
	{"header of a request", "16 KiB", "431, plain"},
	{"a request", "10 s for its header, 30 s in all", "the connection is closed"},
	{"`X-Request-Id`", fmt.Sprintf("%d characters", maxRequestID), "the server makes one of its own"},
	{"`Idempotency-Key`", fmt.Sprintf("%d characters", maxIdempotencyKey), "400"},
	{"problems in a 400", fmt.Sprintf("%d, and %d KiB", maxProblems, maxProblemBytes>>10), "the last entry says how many more there are"},
	{"members of an object, nesting", fmt.Sprintf("%d, and %d levels", wire.MaxMembers, wire.MaxDepth), "400: the body is not read any further"},
	{"passengers of a booking", fmt.Sprint(maxPassengersBooked), "400"},
	{"phones of a passenger", fmt.Sprint(maxPhones), "400"},
	{"first name, last name", fmt.Sprintf("%d characters", maxName), "400"},
	{"ids in a body", fmt.Sprint(maxIDs), "400"},
	{"`take`", fmt.Sprintf("%d bookings, orders and reports, %d departures, cities and events", maxBookings, maxSchedule), "400"},
	{"requests that wait for events", fmt.Sprintf("%d of a partner", maxPolls), "answered at once"},
	{"connections", fmt.Sprintf("half of the files that the server may open, at most %d; a %s of that for an address (IPv6: a /64)", MaxConnections, "quarter"),
		fmt.Sprintf("the longest idle one of that address is closed, or, when all are taken, of anyone; a request that waits for events is idle. "+
			"Where none is idle, probes have %d places more, and other requests get 503 there", spareConnections)},
	{"calls of the provider", fmt.Sprintf("%d at a time", maxAsking), "the others wait their turn; what has not had it after 25 s is 500 `PROVIDER_FAILED`"},
	{"sessions of a user", fmt.Sprint(maxSessions), "the oldest ends"},
	{"former refresh tokens that end a session", fmt.Sprintf("the last %d", maxRefreshes), "an older one is 401, and the session goes on"},
	{"reports that are not written yet", fmt.Sprintf("%d of a company", maxQueuedReports), "429 `TOO_MANY_REQUESTS`"},
	{"password checks", fmt.Sprintf("%d failures of an e-mail, %d of an address in 15 minutes", emailFailures, addressFailures), "429 `TOO_MANY_REQUESTS`"},
	{"requests a second", "what the operator sets, of a partner or an address", "429 `TOO_MANY_REQUESTS`"},
	{"the disk", "what a change writes must fit, whatever its size", "503 `UNAVAILABLE`, and nothing is changed"},
}
