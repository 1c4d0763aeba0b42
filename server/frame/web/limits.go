package web

import (
	"fmt"
	"time"

	"waybill/auth"
	"waybill/server/ledger/wire"
)

// Every size that a client chooses has a limit, and it stands here (decision limits.table). Reaching one is a
// clear answer that costs no more than any other. The page /docs/limits shows them to whoever calls.
const (
	// Of a request. Its header is bounded by package command.
	MaxBody           = 256 << 10 // bytes
	MaxRequestID      = 128       // characters
	MaxIdempotencyKey = 255       // characters
	MaxIDs            = 1000      // tickets that a body names

	// Of a 400, so that no answer is larger than what was asked.
	maxProblems     = wire.MaxProblems // entries
	maxProblemBytes = 64 << 10         // of the whole answer
	// bytes, at least those of the envelope and of the entry that counts the others
	sizeOfMore = 256

	// Of a booking.
	MaxPassengersBooked = 100
	MaxPhones           = 10  // of a passenger
	maxName             = 100 // characters

	// Of a company's users.
	MaxSessions      = auth.MaxSessions // of a user
	maxRefreshes     = auth.MaxRefreshes
	MaxQueuedReports = 20          // of a company, that are not written yet
	MaxKeptReports   = 200         // of a company, that have not expired
	MaxReportBytes   = 500_000_000 // of a company's files

	// Of password checks that fail within 15 minutes (decision passwords.failures).
	EmailFailures   = 10  // of an e-mail
	AddressFailures = 100 // of an address

	// Of e-mails that became files, as there is no mail server: for how many days they are kept.
	LettersDays    = 30
	MaxLettersDays = 3650

	// Of an act of an operator's.
	MaxReason = 500 // characters

	// Of connections.
	MaxConnections   = 10_000 // or half of the files that the process may open
	AddressShare     = 4      // an address has a quarter of them
	SpareConnections = 16     // besides, for probes
	MaxPolls         = 64     // of a partner, that wait

	// Of answers that clients do not read: bytes that were made for them and are not written yet.
	maxBacklogOfAddress = 16 << 20
	maxBacklog          = 128 << 20 // of all addresses

	// Of calls of the provider, each of which may need a connection.
	MaxAsking = 32

	// Of a test bench (decision bench.faults).
	MaxWorlds = 1000
	MaxRules  = 100 // of a world
	MaxFault  = 10 * time.Minute
	// Of the bodies of its last requests, each.
	MaxBodyKept = 4 << 10 // bytes

	// Of what -rate counts: bytes of an answer's body that cost as much as a request.
	BytesAsRequest = 50_000

	// Of a page: take.
	MaxBookings = 50
	MaxReports  = 50
	MaxSchedule = 100
	MaxCities   = 100
	MaxEvents   = 100
)

// Backlogs are the limits of what clients have not taken yet.
var Backlogs = BacklogLimits{
	OfAddress: maxBacklogOfAddress,
	InAll:     maxBacklog,
	Patience:  time.Second,
}

// OfferLife is how long an offer can be booked (interface, Limits).
const OfferLife = 20 * time.Minute

// limitRow is a row of the page /docs/limits.
type limitRow struct{ What, Limit, Beyond string }

// LimitTable is what the page shows: the limits above, and those that a deployment sets.
var LimitTable = []limitRow{
	{"body of a request", fmt.Sprintf("%d KiB", MaxBody>>10), "413 `BODY_TOO_LARGE`"},
	{"header of a request", "16 KiB", "431, plain"},
	{"a request", "10 s for its header, 30 s in all", "the connection is closed"},
	{"`X-Request-Id`", fmt.Sprintf("%d characters", MaxRequestID), "the server makes one"},
	{"`Idempotency-Key`", fmt.Sprintf("%d characters", MaxIdempotencyKey), "400"},
	{"problems in a 400", fmt.Sprintf("%d, and %d KiB", maxProblems, maxProblemBytes>>10), "the last " +
		"entry says how many more there are"},
	{"members of an object, nesting", fmt.Sprintf("%d, and %d levels", wire.MaxMembers, wire.MaxDepth),
		"400, and the rest of the body is not read"},
	{"passengers of a booking", fmt.Sprint(MaxPassengersBooked), "400"},
	{"phones of a passenger", fmt.Sprint(MaxPhones), "400"},
	{"first name, last name", fmt.Sprintf("%d characters", maxName), "400"},
	{"ids in a body", fmt.Sprint(MaxIDs), "400"},
	{"`take`", fmt.Sprintf("%d bookings, orders and reports, %d departures, cities and events", MaxBookings, MaxSchedule), "400"},
	{"requests that wait for events", fmt.Sprintf("%d of a partner", MaxPolls), "answered at once"},
	{"connections", fmt.Sprintf("half of the files that the server may open, at most %d. "+
		"One address (IPv6: a /64) may have a quarter of them", MaxConnections),
		fmt.Sprintf("the connection that has been idle longest is closed: of that address or, when all "+
			"are taken, of any. A request that waits for events is idle. If none is idle, requests get 503; "+
			"%d more connections are kept for probes",
			SpareConnections)},
	{"answers that clients do not read", fmt.Sprintf("%d MiB for an address (IPv6: a /64), %d MiB in "+
		"all. Bytes that are the same for everybody do not count",
		maxBacklogOfAddress>>20, maxBacklog>>20),
		"the connection that has read nothing for the longest time is closed. One larger answer is " +
			"written while no other waits"},
	{"pages of lists", fmt.Sprintf("%d are made at a time, half of them for a partner or an address", pagesAtOnce),
		"further requests wait their turn; after 5 s they get 503 `UNAVAILABLE`"},
	{"calls of the provider", fmt.Sprintf("%d at a time, half of them for a partner", MaxAsking),
		"further requests wait their turn; after 25 s they get 500 `PROVIDER_FAILED`"},
	{"sessions of a user", fmt.Sprint(MaxSessions), "the oldest ends"},
	{"former refresh tokens that end a session", fmt.Sprintf("the last %d", maxRefreshes), "an older " +
		"token gets 401, but the session continues"},
	{"reports that are not written yet", fmt.Sprintf("%d of a company", MaxQueuedReports), "429 `TOO_MANY_REQUESTS`"},
	{"reports that are kept", fmt.Sprintf("%d of a company, and %d MB of files", MaxKeptReports,
		MaxReportBytes/1_000_000), "429 `TOO_MANY_REQUESTS` until the oldest has expired. A report whose file has no room yet is written then"},
	{"password checks", fmt.Sprintf("%d failures of an e-mail, %d of an address in 15 minutes", EmailFailures,
		AddressFailures), "429 `TOO_MANY_REQUESTS`"},
	{"password checks at a time", "one for each core, half of them for an address", "as of pages of lists"},
	{"requests a second", fmt.Sprintf("what the operator sets for a partner or an address. An answer counts as one request more for each whole %d bytes of its body", BytesAsRequest), "429 `TOO_MANY_REQUESTS`"},
	{"worlds of a test bench, rules of one, `for`", fmt.Sprintf("%d, %d, %v", MaxWorlds, MaxRules, MaxFault), "409, 400, 400"},
	{"request bodies on a test bench", fmt.Sprintf("%d KiB", MaxBodyKept>>10), "only the beginning is kept"},
	{"the disk", "the lines of a change must fit", "503 `UNAVAILABLE`, and nothing is changed"},
}
