package command

import (
	"slices"
	"time"

	"waybill/server/frame/web"
)

// verb is one of the commands.
type verb struct {
	name, operands, about string                            // operands has a word for each; in []: if at all
	do                    func(*call) (code int, err error) // code is of an error; nil: not in this build
	flags                 []option                          // besides -data
}

// What only some verbs are, by their names.
var (
	// Quiet verbs show no progress: they show other things all the time, or ask for something. All others may
	// have to read a long journal.
	quiet = []string{"serve", "desk", "log", "bench", "version", "user add", "ready", "conform",
		"tail", "receive", "ticket check", "tour", "completion"}
	// Of some, who reads the output may stop, as head does, and that is no failure.
	mayBeCut = []string{"log", "import", "tail", "conform"}
	// Of some, programs read the output, whatever the flags.
	exact = []string{"tail", "receive", "checkpoint", "idtoken", "completion"}
	// Some are of no directory, and have no flag -data as others: they ask a server, or nobody. That of
	// ticket check is its own, without a default.
	noData = []string{"version", "ready", "conform", "receive", "ticket check", "tour", "completion"}
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
	runReason = option{"reason", "", "`why`: it stands in the journal, and passengers read it"}
	dryRun    = option{"dry-run", false, "only say what would happen"}
	runJSON   = option{"json", false, "print one object"}
)

// verbs are those of this build. One of them, completion, reads them: so they are set after the table is.
var verbs []verb

func init() {
	verbs = slices.DeleteFunc(slices.Clone(table), func(v verb) bool { return v.do == nil })
}

// table has the verbs of all builds, in the order in which help lists them.
var table = []verb{
	// What is served, and to whom.
	{"serve", "", "opens the data directory and serves it until SIGINT or SIGTERM", (*call).serve, slices.Concat(benchFlags, []option{
		{"addr", "127.0.0.1:8080", "the `address` to listen on; port 0 picks a free one"},
		{"max-transfers", 1, "changes a journey may have, 0 or 1"},
		{"legacy-since", "",
			"the `instant` since when the legacy interface is deprecated; without it the directory's creation"},
		{"idp-issuer", "",
			"the identity provider's issuer, `exactly` as in its ID tokens; without it the built-in development provider is trusted"},
		{"idp-audience", "", "the `audience` of its ID tokens: this service's client id there"},
		{"idp-jwks", "", "the `file or URL` of its key set"},
		{"idp-email-claim", "", "the `claim` that holds the e-mail, instead of email"},
		{"provider-url", "",
			"the `URL` that is asked to confirm each ticket that is paid or booked; without it they are confirmed at once"},
		{"witness", []string(nil),
			"the `URL VKEY` of a witness, which is asked to sign that the journal has only grown; may be given again"},
		{"keep", "",
			"the `command` that keeps each line elsewhere before it is answered, as ssh HOST waybill receive DIR"},
		{"messenger-url", "", "the `URL` that is told what to send to passengers' phones; without it nothing"},
		{"smtp", "",
			"the mail server, `HOST:PORT`; without it e-mails to passengers become files in DIR/outbox"},
		{"letters-days", web.LettersDays, "the `days` that such files are kept, 1 to 3650"},
		{"smtp-from", "waybill@localhost", "the `address` they come from"},
		{"smtp-user", "", "the `name` to sign in with at the mail server"},
		{"smtp-password-file", "", "the `file` whose first line is the password"},
		{"smtp-tls", "",
			"implicit, starttls or none; without it implicit on port 465, else starttls where offered"},
		{"tls-cert", "",
			"the `file` of a certificate and its chain, in PEM: TLS is spoken; it is read again once it has changed"},
		{"tls-key", "", "the `file` of its key, in PEM"},
		{"trusted-proxy", "",
			"the `networks`, as in 10.0.0.0/8,fd00::/8, of proxies whose X-Forwarded-For and X-Forwarded-Proto count"},
		{"rate", "",
			"`N/s[:BURST]` requests a second of each partner, or address without a valid key, and how many at once (N); then 429; an answer of 50,000 bytes costs one more"},
		{"cors-origin", "",
			"the `origins`, as in https://shop.example.com, with commas, whose pages may call the server"},
		{"secure-cookies", false, "mark cookies Secure: clients come over TLS, which a proxy speaks"},
		{"log-level", "info", "debug, info (a line for each request), warn or error"}})},
	{"desk", "",
		"prints a link, good once, to pages for who runs the directory, whose server must be running",
		(*call).desk, []option{
			{"addr", "127.0.0.1:8082", "the loopback `address` to listen on; port 0 picks a free one"}}},
	{"import", "FEED",
		"makes a GTFS feed, a directory or .zip, the timetable in force",
		verbOf("import", "feed"), []option{
			{"strict", false, "change nothing if a row has to be skipped"},
			{"dry-run", false, "only report"},
			{"bus-only", false, "keep only routes of type 3, 200-299 and 700-799"},
			{"fare-per-km", "", "price rides that no fare matches by distance, as in `EUR:0.06`"}}},
	{"partner add", "NAME",
		"prints a new API key of a partner, new or known; only its hash is kept",
		verbOf("partner-add", "name"), []option{
			{"company", "", "the `slugs` of the only companies it may sell, with commas; empty: all"}}},
	{"partner list", "",
		"lists partners, their keys, and when the legacy interface will be gone for them",
		verbOf("partner-list"), []option{
			asJSON,
			{"legacy-since", "", "the `instant` that serve is given, where no server is running"}}},
	{"partner revoke", "NAME",
		"ends the keys of a partner, or one of them",
		verbOf("partner-revoke", "name"), []option{
			{"key", "", "only the key with this `name`, as partner list shows it"}}},
	{"company list", "",
		"lists the companies of the timetable in force, by the slugs that other commands take",
		verbOf("company-list"), []option{asJSON}},
	// What carriers and the provider do to tickets, in their place.
	{"ticket move", "TICKET BOOKING|new",
		"moves a ticket to another booking of the same partner",
		verbOf("ticket-move", "ticket", "booking"), nil},
	{"ticket status", "TICKET Confirmed|NotConfirmed|Prepaid",
		"gives a ticket a status of the carrier's lifecycle",
		verbOf("ticket-status", "ticket", "status"), nil},
	{"ticket asked", "",
		"lists the tickets that the provider was asked about and has not answered",
		verbOf("ticket-asked"), []option{asJSON}},
	{"ticket answer", "TICKET confirmed|refused",
		"answers in the provider's place about a ticket that it was asked about",
		verbOf("ticket-answer", "ticket", "answer"), []option{
			{"reason", "", "`why`: it stands in the journal"}}},
	{"ticket check", "CODE|-",
		"tells without a network whether a ticket's code is genuine, and what it is for; - reads codes from standard input",
		(*call).ticketCheck, []option{
			{"key", "tickets.pub", "the `file` of the carrier's public key; with -data the directory's own"},
			{"data", "", "the data `directory` that tells cities and local times, and has the key; " +
				"WAYBILL_DATA counts only without -key and -feed"},
			{"feed", "", "the GTFS `feed`, a directory or .zip, that tells cities and local times"},
			{"trip", "", "the `id` of the trip that it must be for"},
			{"date", "", "the service `day` of that run, as in 2026-11-20"},
			{"json", false, "print an object for each code"}}},
	// What carriers do to a run, in their place.
	{"run cancel", "TRIP DATE",
		"cancels a run: who has paid gets all of it back, nothing more of it is sold, passengers are told",
		verbOf("run-cancel", "trip", "date"), []option{runReason, dryRun, runJSON}},
	{"run move", "TRIP DATE",
		"has a run leave earlier or later than its timetable says; tickets stay valid, passengers are told",
		verbOf("run-move", "trip", "date"), []option{
			{"minutes", "", "how `many` later than the timetable, or below zero earlier; 0 is as it says"},
			runReason, dryRun, runJSON}},
	{"run restore", "TRIP DATE",
		"takes back a cancellation of a run, or else a move, if no passenger was touched by it",
		verbOf("run-restore", "trip", "date"), []option{runReason, dryRun, runJSON}},
	{"manifest", "TRIP DATE",
		"prints who travels on a run, by stop and seat, and how full it is; that it was read stands in the journal",
		verbOf("manifest", "trip", "date"), []option{
			{"format", "text", "text, csv, or html, which a browser prints on A4"},
			{"json", false, "print one object, as the list over HTTP has it"}}},
	// People: who may sign in, who is to be forgotten, who is still to hear of a ticket.
	{"user add", "",
		"gives a company user an access; a new user's password is the first line of standard input",
		verbOf("user-add"), []option{
			{"email", "", "the user's e-mail `address`"},
			{"first-name", "", "a new user's first `name`"},
			{"last-name", "", "a new user's last `name`"},
			{"company", "", "the `slug` of the company"},
			{"idp-subject", "",
				"link the user to this `sub` of the identity provider, whose ID tokens then need no e-mail"},
			{"idp-issuer", "",
				"the `issuer` of the subject; without it that of the running server, or else the first that vouches for it"},
			{"role", "", "`ADMIN`, who may do everything of the company, or VIEWER, who may read reports"}}},
	{"user list", "",
		"lists the company users, and what they are for which company",
		verbOf("user-list"), []option{asJSON}},
	{"user remove", "EMAIL",
		"removes a user and ends the user's sessions",
		verbOf("user-remove", "email"), nil},
	{"forget", "",
		"erases names, e-mail addresses and phones from state, journal, snapshots and reports",
		verbOf("forget"), []option{
			{"booking", "", "of the passengers of the booking with this `id`, and those booked along with them"},
			{"email", "", "of who was booked with this `address`, or was a user with it"},
			{"reason", "", "`why`: it stands in the journal"}}},
	{"outbox list", "",
		"lists the messages to passengers that are not sent yet, or parked",
		verbOf("outbox-list"), []option{asJSON}},
	{"outbox retry", "MESSAGE|all",
		"has a parked message tried again, or all",
		verbOf("outbox-retry", "message"), nil},
	// Keys.
	{"idtoken", "",
		"mints an ID token of the built-in development identity provider",
		verbOf("idtoken"), []option{
			{"email", "", "the `address` that the token vouches for"}}},
	{"key rotate", "",
		"signs offers with a new key; offers already given stay good",
		verbOf("rotate-keys"), nil},
	// The directory as evidence. These read only, beside a server that runs.
	{"log", "", "shows the journal as readable history", (*call).log, []option{
		{"booking", "", "only what happened to the booking with this `id`"},
		{"ticket", "", "only what happened to the ticket with this `id`"},
		{"at", "", "only what had happened by this `instant`, and the booking as it stood then"},
		{"f", false, "follow: show further lines as they are written, until the command is stopped"},
		{"json", false, "print an object for each line"}}},
	{"verify", "", "checks every byte of journal and snapshots, then the books", (*call).verify, []option{
		{"json", false, "print one object"},
		{"against", "", "a `file` of checkpoints kept elsewhere, which the journal must extend"},
		{"key", "",
			"the `file` of the public key they are signed with; without it the directory's checkpoint.pub"},
		{"witness-key", []string(nil), "the `VKEY` of a witness that must have signed; may be given again"},
		{"witnessed-within", 5 * time.Minute, "by how much a line may be older than the last that it has not signed; a `duration`"}}},
	{"checkpoint", "", "prints the newest signed checkpoint, to be kept elsewhere", (*call).checkpoint, []option{
		{"key", false, "print the verifier key instead, as witnesses take it"},
		{"json", false, "print one object: the note, what it says, and the verifier key"}}},
	{"evidence", "OUT.zip",
		"writes what proves the lines that tell of a booking or a ticket, to whoever gets it, without this program",
		(*call).evidence, []option{
			{"booking", "", "of the booking with this `id`"},
			{"ticket", "", "of the ticket with this `id`"}}},
	{"statement", "", "prints which money moved in some days: each sale and each refund, and by what rule",
		(*call).statement, []option{
			{"from", "", "the first `day`, as in 2026-11-01"},
			{"to", "", "the last `day`, which is included"},
			{"partner", "", "only what the partner with this `name` has sold"},
			{"company", "", "only of the company with this `slug`"},
			{"zone", "", "the time `zone` of the days, as in Europe/Kyiv; without it UTC"},
			{"format", "csv", "csv, or text for people"}}},
	{"audit", "[OUT.zip]",
		"writes what an auditor takes home of some days: statement, acts, readings, notes and a proof between them",
		(*call).audit, []option{
			{"from", "", "the first `day`, as in 2026-11-01, in UTC"},
			{"to", "", "the last `day`, which is included"},
			{"script", false, "print audit.py instead, a second auditor that needs nothing but Python and the files"}}},
	{"tail", "", "writes the journal's lines once they are on the disk, for a standby or another engine", (*call).tail,
		[]option{
			{"from", uint64(1), "the `seq` of the first line"},
			{"follow", false, "go on with further lines as they are written, until the command is stopped"},
			{"format", "json",
				"json (the lines), copy (also the files that waybill receive needs) or sql (for the tables of export)"}}},
	{"receive", "DIR",
		"takes what tail -format copy writes, on standard input, into a standby, and prints the last line of each batch",
		(*call).receive, []option{
			{"next", false, "take nothing, and print the seq to ask tail for"}}},
	{"backup", "OUT",
		"copies the directory into the new directory OUT, also while a server is running, and checks the copy",
		(*call).backup, nil},
	{"repair", "OUT",
		"copies what is before a damaged line into the new directory OUT; never in place",
		(*call).repair, []option{
			{"cut-at", uint64(0), "the `seq` of the first line that is left out, as verify names it"},
			{"force", false, "cut also where no line from there on is damaged"},
			{"reason", "", "`why`: it stands in the new directory's journal"}}},
	{"export", "OUT",
		"writes every entity as CSV and a schema.sql, for databases, into the new directory OUT",
		(*call).export, nil},
	// The program itself.
	benchVerb,
	tourVerb,
	{"ready", "", "says by its exit code whether a server is ready: 0, else 1", (*call).ready, []option{
		{"addr", "http://127.0.0.1:8080", "the `URL` of the server"},
		{"wait", time.Duration(0), "how long to wait for it to become ready, a `duration` as 30s; without it it is asked once"}}},
	conformVerb,
	{"completion", "bash|zsh|fish", "prints what makes a shell complete commands and flags", (*call).completion, nil},
	{"version", "", "prints version, Go version, revision and dependencies", (*call).version, []option{
		{"json", false, "print one object"}}},
}
