package command

import (
	"slices"
	"time"

	"waybill/server/frame/web"
)

// verb is one of the commands.
type verb struct {
	name     string
	operands string // a word for each; in []: if at all; with ... at its end: one or more

	// about is what it does, as an imperative without a capital or a full stop: with the name at most 78
	// columns of the list (decision verbs.help). more is what its own page says besides, in sentences.
	about, more string

	do    func(*call) (code int, err error) // code is of an error; nil: not in this build
	flags []option                          // besides -data
}

// chapter is a group of verbs in the list of all (decision verbs.help).
type chapter struct {
	title string
	verbs []verb
}

// What only some verbs are, by their names.
var (
	// Quiet verbs show no progress: they show other things all the time, or ask for something. All others may
	// have to read a long journal.
	quiet = []string{"serve", "desk", "log", "audit", "version", "user add", "ready", "conform",
		"tail", "receive", "ticket check", "tour", "completion"}
	// Of some, who reads the output may stop, as head does, and that is no failure.
	mayBeCut = []string{"log", "import", "tail", "conform"}
	// Of some, programs read the output, whatever the flags.
	exact = []string{"audit", "tail", "receive", "checkpoint", "idtoken", "completion"}
	// Some are of no directory, and have no flag -data as others: they ask a server, or nobody. That of
	// ticket check is its own, without a default.
	noData = []string{"audit", "version", "ready", "conform", "receive", "ticket check", "tour", "completion"}
)

// is reports whether a verb is one of some.
func (v *verb) is(some []string) bool {
	return slices.Contains(some, v.name)
}

// option is a flag; value, which it has where it is not given, tells its type. A word between backquotes in
// about names the value in the help (package flag).
type option struct {
	name  string
	value any
	about string
}

// asJSON is the flag of the verbs that list something.
var asJSON = option{"json", false, "print one array instead of lines"}

// Flags of the verbs that change a run.
var (
	runReason = option{"reason", "", "`why`; the journal keeps it and passengers read it"}
	dryRun    = option{"dry-run", false, "print what would happen, and change nothing"}
	runJSON   = option{"json", false, "print one object"}
)

// table has the verbs of all builds, in the order in which help lists them.
var table = slices.Concat(serveVerbs, lookVerbs, runVerbs, testVerbs)

// verbs are those of this build.
var verbs = slices.DeleteFunc(slices.Clone(table), func(v verb) bool { return v.do == nil })

// chapters has the same verbs as the list shows them.
var chapters = []chapter{
	{"Serve", serveVerbs},
	{"Look", lookVerbs},
	{"Run it", runVerbs},
	{"Test", testVerbs},
}

// serveVerbs are what clients and operators reach.
var serveVerbs = []verb{
	{"serve", "", "serve a data directory until SIGINT or SIGTERM",
		"A directory that does not exist is made. A new one that is served on a loopback address gets the demo " +
			"network.",
		(*call).serve, slices.Concat(benchFlags, []option{
			{"addr", "127.0.0.1:8080", "the `address` to listen on; port 0 picks a free port"},
			{"max-transfers", 1, "the largest `number` of changes in a journey, 0 or 1"},
			{"legacy-since", "",
				"the `instant` from which the legacy interface is deprecated; by default the directory's creation"},
			{"idp-issuer", "",
				"the `issuer` of the identity provider, exactly as in its ID tokens; by default the server trusts the built-in development provider"},
			{"idp-audience", "", "the `audience` of the provider's ID tokens, which is this service's client ID"},
			{"idp-jwks", "", "the `file or URL` of the identity provider's key set"},
			{"idp-email-claim", "", "the `claim` of an ID token that holds the e-mail address; by default email"},
			{"provider-url", "",
				"the `URL` that confirms each ticket before it counts as paid or booked; by default tickets are confirmed at once"},
			{"witness", []string(nil),
				"the `URL VKEY` of a witness that signs that the journal has only grown; repeat the flag for more"},
			{"keep", "",
				"the `command` that keeps each line elsewhere before it is answered, as in ssh HOST waybill receive -keeper DIR"},
			{"messenger-url", "", "the `URL` that receives texts for passengers' phones; by default no text is sent"},
			{"smtp", "",
				"the mail server, `HOST:PORT`; by default e-mails to passengers become files in DIR/outbox"},
			{"letters-days", web.LettersDays, "keep e-mails that became files for this number of `days`, 1 to 3650"},
			{"smtp-from", "waybill@localhost", "the `address` that e-mails come from"},
			{"smtp-user", "", "the `name` that signs in at the mail server"},
			{"smtp-password-file", "", "the `file` whose first line is the password for the mail server; it is read at each sign-in there"},
			{"smtp-tls", "",
				"the `mode` of TLS to the mail server: implicit, starttls or none; by default implicit on port 465, else starttls where the server offers it"},
			{"tls-cert", "",
				"serve over TLS with the certificate and chain in this `file`, in PEM; a changed file is read again"},
			{"tls-key", "", "the `file` of the certificate's key, in PEM"},
			{"trusted-proxy", "",
				"the `networks` of proxies whose X-Forwarded-For and X-Forwarded-Proto count, as in 10.0.0.0/8,fd00::/8"},
			{"rate", "",
				"`N/s[:BURST]`: the requests a second that a partner may make, or an address without a valid key; BURST (by default N) may come at once, others get 429; an answer costs one more for each 50,000 bytes"},
			{"cors-origin", "",
				"the `origins` whose pages may call the server, as in https://shop.example.com, separated by commas"},
			{"secure-cookies", false, "mark cookies Secure, for clients that a proxy serves over TLS"},
			{"log-level", "info", "the lowest `level` that is logged: debug, info (a line for each request), warn or error"}})},
	{"desk", "", "print a one-time link to the operator's pages",
		"The link opens in one browser. The directory's server must be running. It serves the pages until it is " +
			"stopped.",
		(*call).desk, []option{
			{"addr", "127.0.0.1:8082", "the loopback `address` to listen on; port 0 picks a free port"}}},
	{"ready", "", "exit with 0 if a server is ready, else with 1", "",
		(*call).ready, []option{
			{"addr", "http://127.0.0.1:8080", "the `URL` of the server"},
			{"wait", time.Duration(0), "wait up to this `duration` for the server, as in 30s; by default it is asked once"}}},
}

// lookVerbs read a directory, beside a server that runs, and change nothing.
var lookVerbs = []verb{
	{"log", "", "print the journal as readable history", "", (*call).log, []option{
		{"booking", "", "only the history of the booking with this `id`"},
		{"ticket", "", "only the history of the ticket with this `id`"},
		{"at", "", "only the history up to this `instant`, and the booking as it stood then"},
		{"f", false, "follow: print further lines as they are written, until the command is stopped"},
		{"json", false, "print an object for each line"}}},
	{"verify", "", "check every byte of journal and snapshots, then the books",
		"The books are every price, refund and seat: all are decided again by the rules.",
		(*call).verify, []option{
			{"json", false, "print one object"},
			{"against", "", "a `file` of checkpoints kept elsewhere, which the journal must extend"},
			{"key", "",
				"the `file` of the key that must have signed these checkpoints; by default the directory's checkpoint.pub"},
			{"witness-key", []string(nil), "the `VKEY` of a witness that must have signed; repeat the flag for more"},
			{"witnessed-within", 5 * time.Minute,
				"the longest `duration` by which lines without a witness's signature may be older than the last line"}}},
	{"checkpoint", "", "print the newest signed checkpoint, to be kept elsewhere", "", (*call).checkpoint, []option{
		{"key", false, "print the verifier key instead, as witnesses take it"},
		{"json", false, "print one object: the note, its contents and the verifier key"}}},
	{"evidence", "OUT.zip", "write a proof of one booking or ticket",
		"OUT.zip holds the lines and their proof. Anybody can check it, without the journal and this program.",
		(*call).evidence, []option{
			{"booking", "", "prove the booking with this `id`"},
			{"ticket", "", "prove the ticket with this `id`"}}},
	{"statement", "", "print the sales and refunds of some days",
		"Each row names the rule that it follows.",
		(*call).statement, []option{
			{"from", "", "the first `day`, as in 2026-11-01"},
			{"to", "", "the last `day`, which is included"},
			{"partner", "", "only sales of the partner with this `name`"},
			{"company", "", "only tickets of the company with this `slug`"},
			{"zone", "", "the time `zone` of the days, as in Europe/Kyiv; by default UTC"},
			{"format", "csv", "the `format`: csv, or text for people"}}},
	{"audit", "", "print audit.py, a second auditor that needs only Python", "",
		(*call).audit, []option{
			{"script", false, "print the program; this must be given"}}},
	{"export", "OUT", "write every entity as CSV, with a schema.sql for databases",
		"OUT is a new directory.",
		(*call).export, nil},
	{"partner list", "", "list partners and their keys",
		"The list has the day on which the legacy interface ends for each partner.",
		verbOf("partner-list"), []option{
			asJSON,
			{"legacy-since", "", "the `instant` that serve is given; it counts only where no server is running"}}},
	{"company list", "", "list the companies of the timetable in force",
		"The list has the slugs that other commands take.",
		verbOf("company-list"), []option{asJSON}},
	{"user list", "", "list company users, their companies and roles", "",
		verbOf("user-list"), []option{asJSON}},
	{"outbox list", "", "list messages to passengers that wait or are parked", "",
		verbOf("outbox-list"), []option{asJSON}},
	{"ticket asked", "", "list the tickets that wait for the provider's answer", "",
		verbOf("ticket-asked"), []option{asJSON}},
	{"ticket check", "CODE|-", "check a ticket's code without a network",
		"The output says whether the code is genuine, and for which journey. " +
			"With - codes are read from standard input.",
		(*call).ticketCheck, []option{
			{"key", "tickets.pub", "the `file` of the carrier's public key; with -data the directory's own key"},
			{"data", "", "the data `directory` with cities, local times and the key; " +
				"WAYBILL_DATA counts only without -key and -feed"},
			{"feed", "", "the GTFS `feed` with cities and local times, a directory or .zip"},
			{"trip", "", "the `id` of the trip that the ticket must be for"},
			{"date", "", "the service `day` of that run, as in 2026-11-20"},
			{"json", false, "print an object for each code"}}},
	{"version", "", "print version, revision, Go version and dependencies", "", (*call).version, []option{
		{"json", false, "print one object"}}},
	{"completion", "bash|zsh|fish", "print a script that completes commands in a shell", "",
		(*call).completion, nil},
}

// runVerbs are what operators do: with the timetable and partners, in the place of carriers and the provider,
// with people, and with a second machine.
var runVerbs = []verb{
	{"import", "FEED", "make a GTFS feed the timetable in force",
		"FEED is a directory or a .zip file. Each row that is skipped is printed with its file, line and reason.",
		verbOf("import", "feed"), []option{
			{"strict", false, "change nothing if a row must be skipped or no day is left"},
			{"dry-run", false, "print the report, and change nothing"},
			{"bus-only", false, "keep only routes of type 3, 200-299 and 700-799"},
			{"fare-per-km", "", "price rides that no fare matches by distance, as in `EUR:0.06`"}}},
	{"partner add", "NAME", "print a new API key for a new or a known partner",
		"The key is printed once; only its hash is kept.",
		verbOf("partner-add", "name"), []option{
			{"company", "", "the `slugs` of the only companies that it may sell, separated by commas; by default all"}}},
	{"partner revoke", "NAME", "end the keys of a partner, or one of them", "",
		verbOf("partner-revoke", "name"), []option{
			{"key", "", "end only the key with this `name`, as partner list shows it"}}},
	{"key rotate", "", "sign offers with a new key",
		"Offers that were signed before remain valid.",
		verbOf("rotate-keys"), nil},
	{"run cancel", "TRIP DATE", "cancel a run",
		"Paid tickets are refunded in full, all others are canceled, and passengers are told. No more seats are sold.",
		verbOf("run-cancel", "trip", "date"), []option{runReason, dryRun, runJSON}},
	{"run move", "TRIP DATE", "make a run leave earlier or later than its timetable says",
		"Tickets remain valid, and passengers are told.",
		verbOf("run-move", "trip", "date"), []option{
			{"minutes", "", "how `many` minutes later than the timetable; negative is earlier, 0 is as planned"},
			runReason, dryRun, runJSON}},
	{"run restore", "TRIP DATE", "take back a cancellation or a move of a run",
		"A change that has affected a passenger cannot be taken back.",
		verbOf("run-restore", "trip", "date"), []option{runReason, dryRun, runJSON}},
	{"manifest", "TRIP DATE", "print the passenger list of a run",
		"The list is by stop and seat, with the seats that are free. The journal records that it was read.",
		verbOf("manifest", "trip", "date"), []option{
			{"format", "text", "the `format`: text, csv, or html, which a browser prints on A4"},
			{"json", false, "print one object, as the interface has it"}}},
	{"ticket move", "TICKET BOOKING|new", "move a ticket to another booking of the same partner", "",
		verbOf("ticket-move", "ticket", "booking"), nil},
	{"ticket cancel", "TICKET...", "cancel tickets in their partner's place",
		"What is refunded is what the partner's own call would bring now. All are canceled, or none.",
		verbOf("ticket-cancel", "tickets"), []option{
			dryRun,
			{"reason", "", "`why`; the journal keeps it"}}},
	{"ticket status", "TICKET Confirmed|NotConfirmed|Prepaid", "set a ticket's status in the carrier's lifecycle", "",
		verbOf("ticket-status", "ticket", "status"), nil},
	{"ticket answer", "TICKET confirmed|refused", "answer for the provider about a ticket that waits", "",
		verbOf("ticket-answer", "ticket", "answer"), []option{
			{"reason", "", "`why`; the journal keeps it"}}},
	{"user add", "", "give a company user access to a company",
		"The first line of standard input is the password of a new user.",
		verbOf("user-add"), []option{
			{"email", "", "the user's e-mail `address`"},
			{"first-name", "", "a new user's first `name`"},
			{"last-name", "", "a new user's last `name`"},
			{"company", "", "the `slug` of the company"},
			{"idp-subject", "",
				"link the user to this `sub` of the identity provider, whose ID tokens then need no e-mail"},
			{"idp-issuer", "",
				"the `issuer` of the subject; by default that of the running server, else the first issuer that shows it"},
			{"role", "", "the `role`: ADMIN may do everything for the company, VIEWER may read reports"}}},
	{"user remove", "EMAIL", "remove a user and end the user's sessions", "",
		verbOf("user-remove", "email"), nil},
	{"forget", "", "erase names, e-mail addresses and phones of passengers",
		"They are erased from state, journal, snapshots, reports and letters. All who were sold together go together, also " +
			"those moved to other bookings: each ticket is named first. The journal's hashes stay as they were. " +
			"Reasons, Idempotency-Keys and request ids are kept for ever: no names belong in them.",
		verbOf("forget"), []option{
			{"booking", "", "erase all passengers of the booking with this `id`"},
			{"email", "", "erase the passengers and users with this `address`"},
			dryRun,
			{"reason", "", "`why`; the journal keeps it"}}},
	{"outbox retry", "MESSAGE|all", "try a parked message again, or all of them", "",
		verbOf("outbox-retry", "message"), nil},
	{"backup", "OUT", "copy the directory into a new one, and check the copy",
		"It works beside a running server.",
		(*call).backup, nil},
	{"repair", "OUT", "copy the lines before a damaged one into a new directory",
		"The damaged directory stays as it is. The copy's first new line says what was cut, and why.",
		(*call).repair, []option{
			{"cut-at", uint64(0), "the `seq` of the first line to leave out, as verify names it"},
			{"force", false, "cut even if no line from there on is damaged"},
			{"reason", "", "`why`; the new directory's journal keeps it"}}},
	{"tail", "", "write the journal's lines for a standby or another engine",
		"A line is written once it is on the disk.",
		(*call).tail, []option{
			{"from", uint64(1), "the `seq` of the first line"},
			{"follow", false, "write further lines as they come, until the command is stopped"},
			{"format", "json",
				"the `format`: json (the lines) or copy (also the files that waybill receive needs)"}}},
	{"receive", "DIR", "append the lines of tail -format copy to a standby",
		"The lines are read from standard input. The last line of each batch is printed once it is on the disk.",
		(*call).receive, []option{
			{"next", false, "read nothing, and print the seq to ask tail for"},
			{"keeper", false, "take the directory from a keeper whose sender is gone, or give it up"}}},
}

// testVerbs are what testers and students use.
var testVerbs = []verb{
	tourVerb,
	conformVerb,
	{"idtoken", "", "mint an ID token from the built-in development provider", "",
		verbOf("idtoken"), []option{
			{"email", "", "the e-mail `address` in the token"}}},
}
