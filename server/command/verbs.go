package command

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"strings"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule/gtfs"
	"waybill/server"
	"waybill/store"
)

// setupAdmin makes a verb of an admin operation whose operands become form fields.
func setupAdmin(op string, fields []string) func(*flag.FlagSet) func(*Process, []string) int {
	return func(flags *flag.FlagSet) func(*Process, []string) int {
		data := dataFlag(flags)
		return func(p *Process, operands []string) int {
			form := url.Values{}
			for i, field := range fields {
				if err := checkOperand(field, operands[i]); err != nil {
					return p.fail(exitUsage, err)
				}
				form.Set(field, operands[i])
			}
			return p.admin(*data, op, form)
		}
	}
}

// checkOperand finds what the command line alone shows wrong.
func checkOperand(field, text string) error {
	_, isID := booking.ParseID(text)
	_, isStatus := booking.ParseCarrier(text)
	switch {
	case field == "ticket" && !isID:
		return fmt.Errorf("%q is not a ticket's id", text)
	case field == "booking" && !isID && text != "new":
		return fmt.Errorf("%q is neither a booking's id nor the word new", text)
	case field == "status" && !isStatus:
		return fmt.Errorf("%q is not one of Confirmed, NotConfirmed, Prepaid", text)
	}
	return nil
}

func setupImport(flags *flag.FlagSet) func(*Process, []string) int {
	data := dataFlag(flags)
	strict := flags.Bool("strict", false, "change nothing if a row has to be skipped")
	dry := flags.Bool("dry-run", false, "only report")
	bus := flags.Bool("bus-only", false, "keep only routes of type 3, 200-299 and 700-799")
	perKm := flags.String("fare-per-km", "", "price rides that no fare matches by distance, as in `EUR:0.06`")
	return func(p *Process, operands []string) int {
		feed, err := filepath.Abs(operands[0])
		if err != nil {
			return p.fail(exitFailed, err)
		}
		if _, ok := gtfs.ParseFarePerKm(*perKm); *perKm != "" && !ok {
			return p.fail(exitUsage, fmt.Errorf("-fare-per-km %q is not a currency and a price as in EUR:0.06", *perKm))
		}
		form := url.Values{"feed": {feed}, "fare-per-km": {*perKm}}
		for name, set := range map[string]bool{"strict": *strict, "dry-run": *dry, "bus-only": *bus} {
			if set {
				form.Set(name, "1")
			}
		}
		return p.admin(*data, "import", form)
	}
}

func setupPartnerAdd(flags *flag.FlagSet) func(*Process, []string) int {
	data := dataFlag(flags)
	company := flags.String("company", "", "the `slugs` of the only companies it may sell, with commas; empty: all")
	return func(p *Process, operands []string) int {
		if operands[0] == "" {
			return p.fail(exitUsage, errors.New("a partner has a name"))
		}
		return p.admin(*data, "partner-add", url.Values{"name": {operands[0]}, "company": {*company}})
	}
}

func setupPartnerRevoke(flags *flag.FlagSet) func(*Process, []string) int {
	data := dataFlag(flags)
	key := flags.String("key", "", "only the key with this `name`, as partner list shows it")
	return func(p *Process, operands []string) int {
		return p.admin(*data, "partner-revoke", url.Values{"name": {operands[0]}, "key": {*key}})
	}
}

func setupUserAdd(flags *flag.FlagSet) func(*Process, []string) int {
	data := dataFlag(flags)
	form := url.Values{}
	for name, about := range map[string]string{
		"email": "the user's e-mail `address`", "first-name": "a new user's first `name`", "last-name": "a new user's last `name`",
		"company": "the `slug` of the company", "role": "`ADMIN`, who may do everything of the company, or VIEWER, who may sign in",
	} {
		flags.Func(name, about, func(v string) error {
			form.Set(name, v)
			return nil
		})
	}
	return func(p *Process, _ []string) int {
		if _, err := auth.ParseRole(form.Get("role")); err != nil {
			return p.fail(exitUsage, fmt.Errorf("-role: %w", err))
		}
		if !server.ValidEmail(form.Get("email")) || form.Get("company") == "" {
			return p.fail(exitUsage, errors.New("-email and -company must be given"))
		}
		line, err := bufio.NewReader(io.LimitReader(p.Stdin, maxPassword)).ReadString('\n')
		if err != nil && err != io.EOF {
			return p.fail(exitFailed, err)
		}
		form.Set("password", strings.TrimRight(line, "\r\n"))
		return p.admin(*data, "user-add", form)
	}
}

// maxPassword is the length of the longest line that is read for a password, in bytes.
const maxPassword = 4 << 10

func setupUserRemove(flags *flag.FlagSet) func(*Process, []string) int {
	data := dataFlag(flags)
	company := flags.String("company", "", "only the access to the company with this `slug`")
	return func(p *Process, operands []string) int {
		return p.admin(*data, "user-remove", url.Values{"email": {operands[0]}, "company": {*company}})
	}
}

func setupIDToken(flags *flag.FlagSet) func(*Process, []string) int {
	data := dataFlag(flags)
	email := flags.String("email", "", "the `address` that the token vouches for")
	return func(p *Process, _ []string) int {
		if !server.ValidEmail(*email) {
			return p.fail(exitUsage, fmt.Errorf("-email %q is not an e-mail address", *email))
		}
		return p.admin(*data, "idtoken", url.Values{"email": {*email}})
	}
}

func setupLog(flags *flag.FlagSet) func(*Process, []string) int {
	data := dataFlag(flags)
	bookingID := flags.String("booking", "", "only what happened to the booking with this `id`")
	ticketID := flags.String("ticket", "", "only what happened to the ticket with this `id`")
	at := flags.String("at", "", "only what had happened by this `instant`, and the booking as it stood then")
	return func(p *Process, _ []string) int {
		var f server.LogFilter
		for _, x := range []struct {
			flag, text string
			to         **booking.ID
		}{{"booking", *bookingID, &f.Booking}, {"ticket", *ticketID, &f.Ticket}} {
			if x.text == "" {
				continue
			}
			id, ok := booking.ParseID(x.text)
			if !ok {
				return p.fail(exitUsage, fmt.Errorf("-%s %q is not an id", x.flag, x.text))
			}
			*x.to = &id
		}
		if *at != "" {
			t, err := instant(*at)
			if err != nil {
				return p.fail(exitUsage, fmt.Errorf("-at %w", err))
			}
			f.At = &t
		}
		if err := server.Log(store.Dir(*data), running(*data), f, p.Stdout); err != nil {
			return p.fail(exitFailed, err)
		}
		return exitDone
	}
}

func setupVerify(flags *flag.FlagSet) func(*Process, []string) int {
	data := dataFlag(flags)
	return func(p *Process, _ []string) int {
		rep, err := server.Verify(store.Dir(*data), running(*data))
		var damage *store.Damage
		switch {
		case errors.As(err, &damage):
			return p.fail(exitFailed, fmt.Errorf("damaged: %w", err))
		case err != nil:
			return p.fail(exitFailed, err)
		case rep.Torn != nil:
			return p.fail(exitTorn, fmt.Errorf("torn tail: %w; the next start cuts these %d bytes and keeps them", &rep.Torn.Damage, rep.Torn.Bytes))
		}
		fmt.Fprintf(p.Stdout, "sound: %d lines in %d files, %d snapshots; the last line's hash is %x\n", rep.Head.Seq, rep.Files, rep.Snapshots, rep.Head.Hash)
		return exitDone
	}
}

func setupVersion(*flag.FlagSet) func(*Process, []string) int {
	return func(p *Process, _ []string) int {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return p.fail(exitFailed, errors.New("the binary holds no build information"))
		}
		revision := "unknown"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
		fmt.Fprintf(p.Stdout, "waybill %s\n%s\nrevision %s\ndependencies", info.Main.Version, info.GoVersion, revision)
		for _, d := range info.Deps {
			fmt.Fprintf(p.Stdout, " %s@%s", d.Path, d.Version)
		}
		if len(info.Deps) == 0 {
			fmt.Fprint(p.Stdout, " none")
		}
		fmt.Fprintln(p.Stdout)
		return exitDone
	}
}
