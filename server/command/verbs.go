package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"

	"waybill/booking"
	"waybill/server"
	"waybill/store"
)

func verbs() []verb {
	return []verb{
		{"serve", "", "opens the data directory and serves it until SIGINT or SIGTERM", setupServe},
		{"import", "FEED", "makes a GTFS feed, a directory or .zip, the timetable in force", admin("import", "feed",
			onOff("strict", "change nothing if a row has to be skipped"),
			onOff("dry-run", "only report"),
			onOff("bus-only", "keep only routes of type 3, 200-299 and 700-799"),
			text("fare-per-km", "price rides that no fare matches by distance, as in `EUR:0.06`"))},
		{"partner add", "NAME", "prints a new API key of a partner, new or known; only its hash is kept", admin("partner-add", "name",
			text("company", "the `slugs` of the only companies it may sell, with commas; empty: all"))},
		{"partner list", "", "lists partners and their keys", admin("partner-list", "")},
		{"partner revoke", "NAME", "ends the keys of a partner, or one of them", admin("partner-revoke", "name",
			text("key", "only the key with this `name`, as partner list shows it"))},
		{"ticket move", "TICKET BOOKING|new", "moves a ticket to another booking of the same partner", admin("ticket-move", "ticket booking")},
		{"ticket status", "TICKET Confirmed|NotConfirmed|Prepaid", "gives a ticket a status of the carrier's lifecycle", admin("ticket-status", "ticket status")},
		{"user add", "", "gives a company user an access; a new user's password is the first line of standard input", admin("user-add", "",
			text("email", "the user's e-mail `address`"),
			text("first-name", "a new user's first `name`"),
			text("last-name", "a new user's last `name`"),
			text("company", "the `slug` of the company"),
			text("role", "`ADMIN`, who may do everything of the company, or VIEWER, who may sign in"))},
		{"user remove", "EMAIL", "removes a user and ends the user's sessions", admin("user-remove", "email")},
		{"idtoken", "", "mints an ID token of the built-in development identity provider", admin("idtoken", "",
			text("email", "the `address` that the token vouches for"))},
		{"key rotate", "", "signs offers with a new key; offers already given stay good", admin("rotate-keys", "")},
		{"log", "", "shows the journal as readable history", setupLog},
		{"verify", "", "checks every byte of journal and snapshots, then the books", setupVerify},
		{"version", "", "prints version, Go version, revision and dependencies", setupVersion},
	}
}

func setupLog(flags *flag.FlagSet) action {
	data := dataFlag(flags)
	bookingID := flags.String("booking", "", "only what happened to the booking with this `id`")
	ticketID := flags.String("ticket", "", "only what happened to the ticket with this `id`")
	at := flags.String("at", "", "only what had happened by this `instant`, and the booking as it stood then")
	return func(p *Process, _ []string) int {
		f := server.LogFilter{Booking: *bookingID, Ticket: *ticketID}
		for _, name := range []string{"booking", "ticket"} {
			id := flags.Lookup(name).Value.String()
			if _, ok := booking.ParseID(id); !ok && id != "" {
				return p.end(exitUsage, fmt.Errorf("-%s %q is not an id", name, id))
			}
		}
		if *at != "" {
			t, err := instant(*at)
			if err != nil {
				return p.end(exitUsage, fmt.Errorf("-at %w", err))
			}
			f.At = &t
		}
		return p.end(exitFailed, server.Log(store.Dir(*data), running(*data), f, p.Stdout))
	}
}

func setupVerify(flags *flag.FlagSet) action {
	data := dataFlag(flags)
	return func(p *Process, _ []string) int {
		rep, err := server.Verify(store.Dir(*data), running(*data))
		var damage *store.Damage
		switch {
		case errors.As(err, &damage):
			return p.end(exitFailed, fmt.Errorf("damaged: %w", err))
		case err != nil:
			return p.end(exitFailed, err)
		case rep.Torn != nil:
			return p.end(exitTorn, fmt.Errorf("torn tail: %w; the next start cuts these %d bytes and keeps them", &rep.Torn.Damage, rep.Torn.Bytes))
		}
		fmt.Fprintf(p.Stdout, "sound: %d lines in %d files, %d snapshots; the last line's hash is %x\n", rep.Head.Seq, rep.Files, rep.Snapshots, rep.Head.Hash)
		return exitDone
	}
}

func setupVersion(*flag.FlagSet) action {
	return func(p *Process, _ []string) int {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return p.end(exitFailed, errors.New("the binary holds no build information"))
		}
		revision, dependencies := "unknown", ""
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
		for _, d := range info.Deps {
			dependencies += " " + d.Path + "@" + d.Version
		}
		fmt.Fprintf(p.Stdout, "waybill %s\n%s\nrevision %s\ndependencies%s\n", info.Main.Version, info.GoVersion, revision, cmp.Or(dependencies, " none"))
		return exitDone
	}
}
