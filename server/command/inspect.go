package command

import (
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/front"
	"waybill/server/proof/evidence"
	"waybill/server/proof/history"
	"waybill/server/proof/verify"
	"waybill/store/chain"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/note"
)

// The verbs that look at a directory and say what is there, as log and verify do.

// log writes the journal as readable history.
func (c *call) log() (int, error) {
	f := history.Filter{
		Booking: c.text("booking"),
		Ticket:  c.text("ticket"),
	}
	if err := c.ids(); err != nil {
		return exitUsage, err
	}
	if at := c.text("at"); at != "" {
		t, err := web.ParseInstant(at)
		if err != nil {
			return exitUsage, fmt.Errorf("-at %w", err)
		}
		f.At = &t
	}
	style := history.Style{JSON: c.get("json").(bool)}
	if c.get("f").(bool) {
		if f.At != nil {
			return exitUsage, errors.New("-f follows lines to come, -at ends in the past: give only one " +
				"of them")
		}
		style.Follow = c.Stop
		c.fsys = durable.Dir(c.dir) // it ends in order, after what is there
	}
	if err := c.mustExist(); err != nil {
		return exitFailed, err
	}
	return exitFailed, history.Log(c.fsys, front.StepBackBeside(c.dir, c.StepBack), f, style, c.Stdout)
}

// ids checks the flags that name what a verb is about. A mistyped id is told here: the journal would only be
// read in vain.
func (c *call) ids() error {
	for _, name := range []string{"booking", "ticket"} {
		if _, ok := ids.Parse(c.text(name)); !ok && c.text(name) != "" {
			return fmt.Errorf("-%s %q is not an id", name, c.text(name))
		}
	}
	return nil
}

// evidence writes what proves the lines of a booking or a ticket (decision evidence.lines). It is for people
// who have neither this program nor the rest of the journal, and who need not trust whoever runs it.
func (c *call) evidence() (int, error) {
	of := history.Filter{
		Booking: c.text("booking"),
		Ticket:  c.text("ticket"),
	}
	if err := c.ids(); err != nil {
		return exitUsage, err
	}
	if (of.Booking == "") == (of.Ticket == "") {
		return exitUsage, errors.New("give either -booking or -ticket")
	}
	if err := cmp.Or(c.mustExist(), c.mustBeOutside()); err != nil {
		return exitFailed, err
	}
	// A file that is there already is somebody's: it stays.
	found, err := evidence.File(c.fsys, front.StepBackBeside(c.dir, c.StepBack), of, c.Arg(0))
	if err == nil {
		fmt.Fprintln(c.Stdout, c.Arg(0), found)
	}
	return exitFailed, err
}

// verify checks a directory and says what it found: the same for people and for programs, with the same exit
// code.
func (c *call) verify() (int, error) {
	code, v, err := c.judge()
	if c.get("json").(bool) {
		text, failed := json.MarshalIndent(v, "", "  ")
		fmt.Fprintf(c.Stdout, "%s\n", text)
		return code, errors.Join(err, failed)
	}
	if v.Origin != "" { // else nothing was read
		c.say(&v)
	}
	if against := c.text("against"); against != "" && err == nil {
		fmt.Fprintf(c.Stdout, "the journal extends %s in %s\n", words.Counted(v.Kept, "checkpoint"), against)
	}
	return code, err
}

// say prints a verdict for people: the verdict, whose journal it is, what is wrong with it, what happened to
// it, and its books. How far it was read stands beside the verdict.
func (c *call) say(v *verify.Verdict) {
	read := "nothing was read"
	if v.Lines > 0 {
		read = fmt.Sprintf("%s in %s, %s, %s; the last line's hash is %s",
			words.Counted(v.Lines, "line"), words.Counted(v.Files, "file"),
			words.Counted(v.Snapshots, "snapshot"), words.Counted(v.Checkpoints, "checkpoint"), v.Hash)
	}
	fmt.Fprintf(c.Stdout, "%s: %s\n", v.Verdict, read)
	fmt.Fprintf(c.Stdout, "the journal is %s, its key %s\n", v.Origin, cmp.Or(v.Key, "not here"))
	for _, p := range v.Problems {
		fmt.Fprintln(c.Stdout, problemLine(p))
	}
	for _, w := range v.Witnesses {
		if w.Lines > 0 {
			fmt.Fprintf(c.Stdout, "%s has signed up to line %d, at %s\n", w.Name, w.Lines, w.Time)
		}
	}
	for _, remark := range v.Remarks {
		fmt.Fprintln(c.Stdout, inLine(remark))
	}
	if v.Unerased > 0 {
		fmt.Fprintf(c.Stdout, "lines with personal data that is still to be erased: %d; waybill serve "+
			"completes the erasure\n", v.Unerased)
	}
	if !v.Audited {
		return
	}
	fmt.Fprintf(c.Stdout, "the books at %s: %s\n", v.Time.UTC().Format(time.RFC3339), v.Books)
	for _, line := range v.Books.Surplus.Lines() {
		fmt.Fprintf(c.Stdout, "surplus: %s\n", line)
	}
}

// problemLine says a problem, with its place.
func problemLine(p verify.Problem) string {
	switch {
	case p.File == "":
		return p.Kind + ": " + cutWords(p.Text)
	case p.Line == 0:
		return fmt.Sprintf("%s: %s: %s", p.Kind, p.File, p.Text)
	}
	return fmt.Sprintf("%s: line %d of %s (seq %d, byte %d): "+
		"%s", p.Kind, p.Line, p.File, p.Seq, p.Byte, p.Text)
}

// inLine says a remark, after the line that it is of.
func inLine(e chain.Event) string {
	if e.Seq == 0 || e.Kind == "unsigned" || e.Kind == "clock" { // which name their lines themselves
		return e.Text
	}
	return fmt.Sprintf("line %d, %s: %s", e.Seq, e.Kind, e.Text)
}

// judge verifies the directory against what the caller knows of it from elsewhere.
func (c *call) judge() (code int, v verify.Verdict, err error) {
	if err := c.mustExist(); err != nil {
		err = fmt.Errorf("%w: %w", verify.ErrNoJournal, err)
		return exitFailed, verify.Failed(c.fsys, err), err
	}
	if c.text("key") != "" && c.text("against") == "" {
		err := errors.New("-key checks the checkpoints of -against: give both")
		return exitUsage, verify.Failed(c.fsys, err), err
	}
	var expected inspect.Expected
	if c.isGiven("witness-key") && len(c.list("witness-key")) == 0 {
		err = errors.New("-witness-key is empty: name a witness or leave it out")
		return exitUsage, verify.Failed(c.fsys, err), err
	}
	for _, vkey := range c.list("witness-key") {
		key, err := note.ParseWitnessKey(vkey)
		if err != nil {
			err = fmt.Errorf("-witness-key %.60q %w", vkey, err)
			return exitUsage, verify.Failed(c.fsys, err), err
		}
		expected.Witnesses = append(expected.Witnesses, key)
	}
	expected.Within = c.get("witnessed-within").(time.Duration)
	if expected.Within < 0 || c.isGiven("witnessed-within") && expected.Witnesses == nil {
		err = errors.New("-witnessed-within needs -witness-key and a duration of at least 0")
		return exitUsage, verify.Failed(c.fsys, err), err
	}
	// What is wrong with these is no verdict on the directory.
	against := c.text("against")
	var passed string
	expected.Kept, passed, err = readKept(against, c.text("key"))
	if err != nil {
		return exitFailed, verify.Failed(c.fsys, err), err
	}
	var beside verify.Beside
	if front.StepBackBeside(c.dir, c.StepBack) {
		beside.Sign = func() { front.SignFirst(c.dir) }
	}
	beside.Live = beside.Sign != nil || front.IsLocked(c.dir)
	v, err = verify.Judge(c.fsys, c.dir, beside, expected, against)
	err = inspect.Merged(c.fsys, err)
	if passed != "" {
		v.Remarks = slices.Insert(v.Remarks, 0, chain.Event{
			Kind: "wrapped",
			Text: against + ": " + passed,
		})
	}
	switch {
	case err == nil:
		return exitDone, v, nil
	case v.OnlyTorn():
		return exitTorn, v, err
	}
	return exitFailed, v, err
}

// readKept reads the files that an auditor has kept: of checkpoints, and of the key that has signed them. It
// returns none where the former has no name. passed says what of it was passed over.
func readKept(file, keyFile string) (kept []inspect.Kept, passed string, err error) {
	if file == "" {
		return nil, "", nil
	}
	notes, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	// Without a file of it the key is the directory's own, and may have been changed with the directory.
	var key ed25519.PublicKey // nil: the directory's own
	if keyFile != "" {
		text, err := os.ReadFile(keyFile)
		if err == nil {
			key, err = checkpoint.ParsePublicKey(text)
		}
		if err != nil {
			return nil, "", fmt.Errorf("-key %s %w", keyFile, err)
		}
	}
	if kept, passed, err = inspect.ReadKept(notes, key); err != nil {
		err = fmt.Errorf("-against %s: %w", file, err)
	}
	return kept, passed, err
}
