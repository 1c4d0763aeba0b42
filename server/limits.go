package server

import (
	"waybill/auth"
	"waybill/server/wire"
)

// Every size that a client chooses has a limit, and it stands here (contract §12). Reaching one is a clear answer that
// costs no more than any other. The page /docs/limits shows them to whoever calls.
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

	// Of a page: take.
	maxBookings = 50
	maxReports  = 50
	maxSchedule = 100
	maxCities   = 100
	maxEvents   = 100
)
