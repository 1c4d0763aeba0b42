package command

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server"
	"waybill/store"
)

// The verbs that only read: they take no lock and work beside a running server.

// instant reads a time given on the command line.
func instant(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%q is not an instant as in 2026-11-20T08:30:00Z", s)
	}
	return t, nil
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
	against := flags.String("against", "", "a `file` of checkpoints kept elsewhere, which the journal must extend")
	key := flags.String("key", "", "the `file` of the public key they are signed with; without it the directory's checkpoint.pub")
	return func(p *Process, _ []string) int {
		kept, err := keptCheckpoints(*data, *against, *key)
		if err != nil {
			return p.end(exitFailed, err)
		}
		rep, err := server.Verify(store.Dir(*data), running(*data), kept)
		var damage *store.Damage
		switch {
		case errors.As(err, &damage):
			return p.end(exitFailed, fmt.Errorf("damaged: %w", err))
		case err != nil:
			return p.end(exitFailed, err)
		case rep.Torn != nil:
			return p.end(exitTorn, fmt.Errorf("torn tail: %w; the next start cuts these %d bytes and keeps them", &rep.Torn.Damage, rep.Torn.Bytes))
		}
		fmt.Fprintf(p.Stdout, "sound: %d lines in %d files, %d snapshots, %d checkpoints; the last line's hash is %x\n", rep.Head.Seq, rep.Files, rep.Snapshots, rep.Checkpoints, rep.Head.Hash)
		if rep.Unerased > 0 {
			fmt.Fprintf(p.Stdout, "the personal data of %d lines is still to be erased: run waybill forget again\n", rep.Unerased)
		}
		fmt.Fprintf(p.Stdout, "the books at %s: %s\n", rep.Head.Time.UTC().Format(time.RFC3339), rep.Books)
		if kept != nil {
			fmt.Fprintf(p.Stdout, "the journal extends each of the %d checkpoints in %s\n", len(kept), *against)
		}
		return exitDone
	}
}

// keptCheckpoints reads a file of checkpoints; none when it has no name.
func keptCheckpoints(dir, file, keyFile string) (kept []store.Kept, err error) {
	if file == "" {
		return nil, nil
	}
	notes, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	keyText, err := os.ReadFile(cmp.Or(keyFile, filepath.Join(dir, "checkpoint.pub")))
	if err != nil {
		return nil, err
	}
	key, err := store.ParsePublicKey(keyText)
	if err != nil {
		return nil, fmt.Errorf("the key %w", err)
	}
	list := bufio.NewScanner(bytes.NewReader(notes))
	for list.Split(store.SplitCheckpoints); list.Scan(); {
		kept = append(kept, store.Kept{Note: bytes.Clone(list.Bytes()), Key: key})
	}
	if kept == nil {
		err = fmt.Errorf("%s holds no checkpoint", file)
	}
	return kept, err
}

func setupCheckpoint(flags *flag.FlagSet) action {
	data := dataFlag(flags)
	return func(p *Process, _ []string) int {
		note, err := store.NewestCheckpoint(store.Dir(*data))
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is no checkpoint yet; a server makes one as soon as it has started")
		}
		p.Stdout.Write(note)
		return p.end(exitFailed, err)
	}
}

// outside finds that a directory to write lies within the one to read.
func outside(data, out string) error {
	from, _ := filepath.Abs(data)
	if to, _ := filepath.Abs(out); strings.HasPrefix(to+"/", from+"/") {
		return fmt.Errorf("%s lies in the data directory", out)
	}
	return nil
}

func setupExport(flags *flag.FlagSet) action {
	data := dataFlag(flags)
	return func(p *Process, operands []string) int {
		out := operands[0]
		err := outside(*data, out)
		var head store.Head
		if err == nil {
			head, err = server.Export(store.Dir(*data), running(*data), store.Dir(out))
		}
		if err != nil {
			return p.end(exitFailed, fmt.Errorf("%s: %w", out, err))
		}
		fmt.Fprintf(p.Stdout, "%s has all up to line %d, of %s; how to load it stands in %s\n", out, head.Seq, head.Time.Format(time.RFC3339), filepath.Join(out, "schema.sql"))
		return exitDone
	}
}

func setupBackup(flags *flag.FlagSet) action {
	data := dataFlag(flags)
	return func(p *Process, operands []string) int {
		if err := outside(*data, operands[0]); err != nil {
			return p.end(exitFailed, err)
		}
		rep, err := server.Backup(store.Dir(*data), running(*data), store.Dir(operands[0]))
		if err == nil {
			fmt.Fprintf(p.Stdout, "%s is sound and has all up to line %d, of %s\n", operands[0], rep.Head.Seq, rep.Head.Time.Format(time.RFC3339))
		}
		return p.end(exitFailed, err)
	}
}

func setupRepair(flags *flag.FlagSet) action {
	data := dataFlag(flags)
	cutAt := flags.Uint64("cut-at", 0, "the `seq` of the first line that is left out, as verify names it")
	reason := flags.String("reason", "", "`why`: it stands in the new directory's journal")
	return func(p *Process, operands []string) int {
		switch {
		case *cutAt < 2:
			return p.end(exitUsage, errors.New("-cut-at must be a seq from 2 on"))
		case strings.TrimSpace(*reason) == "":
			return p.end(exitUsage, errors.New("-reason must be given"))
		case running(*data):
			return p.end(exitFailed, errors.New("a server is running on the directory; stop it first"))
		}
		if err := outside(*data, operands[0]); err != nil {
			return p.end(exitFailed, err)
		}
		rep, err := server.Repair(store.Dir(*data), store.Dir(operands[0]), *cutAt, *reason)
		if err == nil {
			fmt.Fprintf(p.Stdout, "%s is sound and has the lines before %d; line %d says what was cut\n", operands[0], *cutAt, rep.Head.Seq)
		}
		return p.end(exitFailed, err)
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
