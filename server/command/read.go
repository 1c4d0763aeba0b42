package command

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
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

func (c *call) log() (int, error) {
	f := server.LogFilter{Booking: c.text("booking"), Ticket: c.text("ticket")}
	for _, name := range []string{"booking", "ticket"} {
		if _, ok := booking.ParseID(c.text(name)); !ok && c.text(name) != "" {
			return exitUsage, fmt.Errorf("-%s %q is not an id", name, c.text(name))
		}
	}
	if at := c.text("at"); at != "" {
		t, err := instant(at)
		if err != nil {
			return exitUsage, fmt.Errorf("-at %w", err)
		}
		f.At = &t
	}
	return exitFailed, server.Log(store.Dir(c.dir), running(c.dir), f, c.Stdout)
}

func (c *call) verify() (int, error) {
	against := c.text("against")
	kept, err := keptCheckpoints(c.dir, against, c.text("key"))
	if err != nil {
		return exitFailed, err
	}
	rep, err := server.Verify(store.Dir(c.dir), running(c.dir), kept)
	switch {
	case errors.As(err, new(*store.Damage)):
		return exitFailed, fmt.Errorf("damaged: %w", err)
	case err != nil:
		return exitFailed, err
	case rep.Torn != nil:
		return exitTorn, fmt.Errorf("torn tail: %w; the next start cuts these %d bytes and keeps them", &rep.Torn.Damage, rep.Torn.Bytes)
	}
	fmt.Fprintf(c.Stdout, "sound: %d lines in %d files, %d snapshots, %d checkpoints; the last line's hash is %x\n", rep.Head.Seq, rep.Files, rep.Snapshots, rep.Checkpoints, rep.Head.Hash)
	if rep.Unerased > 0 {
		fmt.Fprintf(c.Stdout, "the personal data of %d lines is still to be erased: run waybill forget again\n", rep.Unerased)
	}
	fmt.Fprintf(c.Stdout, "the books at %s: %s\n", rep.Head.Time.UTC().Format(time.RFC3339), rep.Books)
	if kept != nil {
		fmt.Fprintf(c.Stdout, "the journal extends each of the %d checkpoints in %s\n", len(kept), against)
	}
	return exitDone, nil
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

func (c *call) checkpoint() (int, error) {
	note, err := store.NewestCheckpoint(store.Dir(c.dir))
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no checkpoint yet; a server makes one as soon as it has started")
	}
	c.Stdout.Write(note)
	return exitFailed, err
}

// outside gives the directory to write, which must not lie within the one to read.
func (c *call) outside() (store.Dir, error) {
	out := c.Arg(0)
	from, _ := filepath.Abs(c.dir)
	if to, _ := filepath.Abs(out); strings.HasPrefix(to+"/", from+"/") {
		return "", fmt.Errorf("%s lies in the data directory", out)
	}
	return store.Dir(out), nil
}

func (c *call) export() (int, error) {
	out, err := c.outside()
	var head store.Head
	if err == nil {
		head, err = server.Export(store.Dir(c.dir), running(c.dir), out)
	}
	if err != nil {
		return exitFailed, fmt.Errorf("%s: %w", c.Arg(0), err)
	}
	fmt.Fprintf(c.Stdout, "%s has all up to line %d, of %s; how to load it stands in %s\n", out, head.Seq, head.Time.Format(time.RFC3339), filepath.Join(string(out), "schema.sql"))
	return exitDone, nil
}

func (c *call) backup() (int, error) {
	out, err := c.outside()
	if err != nil {
		return exitFailed, err
	}
	rep, err := server.Backup(store.Dir(c.dir), running(c.dir), out)
	if err == nil {
		fmt.Fprintf(c.Stdout, "%s is sound and has all up to line %d, of %s\n", out, rep.Head.Seq, rep.Head.Time.Format(time.RFC3339))
	}
	return exitFailed, err
}

func (c *call) repair() (int, error) {
	cutAt, reason := c.get("cut-at").(uint64), c.text("reason")
	switch {
	case cutAt < 2:
		return exitUsage, errors.New("-cut-at must be a seq from 2 on")
	case strings.TrimSpace(reason) == "":
		return exitUsage, errors.New("-reason must be given")
	case running(c.dir):
		return exitFailed, errors.New("a server is running on the directory; stop it first")
	}
	out, err := c.outside()
	if err != nil {
		return exitFailed, err
	}
	rep, err := server.Repair(store.Dir(c.dir), out, cutAt, reason)
	if err == nil {
		fmt.Fprintf(c.Stdout, "%s is sound and has the lines before %d; line %d says what was cut\n", out, cutAt, rep.Head.Seq)
	}
	return exitFailed, err
}

func (c *call) version() (int, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return exitFailed, errors.New("the binary holds no build information")
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
	fmt.Fprintf(c.Stdout, "waybill %s\n%s\nrevision %s\ndependencies%s\n", info.Main.Version, info.GoVersion, revision, cmp.Or(dependencies, " none"))
	return exitDone, nil
}
