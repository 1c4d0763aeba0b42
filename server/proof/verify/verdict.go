package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/store/chain"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/note"
)

// Verdict is what verify says of a directory, with -json as an object (decision verify.verdict).
type Verdict struct {
	// Verdict is the first of the kinds that holds, see [Kinds].
	Verdict     string         `json:"verdict"`
	Origin      string         `json:"origin"` // the directory's name
	Key         string         `json:"key"`    // that its notes are signed with, as a verifier key; "": none
	Lines       uint64         `json:"lines"`
	Files       int            `json:"files"`
	Snapshots   int            `json:"snapshots"`
	Checkpoints int            `json:"checkpoints"`
	Witnesses   []WitnessFound `json:"witnesses"`
	Problems    []Problem      `json:"problems"`
	Remarks     []chain.Event  `json:"remarks"`
	Books       *booking.Books `json:"books"` // of nothing, where they could not be made up

	Hash     string    `json:"-"` // of the last line that was read, in hex
	Time     time.Time `json:"-"` // of that line
	Kept     int       `json:"-"` // checkpoints of -against, which the journal extends where it is not forked
	Audited  bool      `json:"-"` // the books could be made up
	Unerased int       `json:"-"` // lines that an erasure has named, and was cut short before
}

// Kinds are what a verdict and its problems may be, in the order in which they count.
var Kinds = []string{
	"failed", // it could not be read
	"newer",
	"damaged",
	"forked", // a note does not fit
	"books",  // a line breaks a rule; its bytes are good
	"torn",   // only an end that never became durable is wrong: the next start cuts it
	"unsigned",
	"unwitnessed",
	"sound",
}

// Sound reports whether nothing is wrong.
func (v *Verdict) Sound() bool { return v.Verdict == "sound" }

// Problem is one thing that is wrong. Line, byte and seq are 0 where it is of no line.
type Problem struct {
	Kind string `json:"kind"`
	File string `json:"file"`
	Line int    `json:"line"`
	Byte int64  `json:"byte"`
	Seq  uint64 `json:"seq"`
	Text string `json:"text"`
}

// WitnessFound is what a witness of -witness-key has signed.
type WitnessFound struct {
	Name  string `json:"name"`
	Lines uint64 `json:"lines"` // that it vouches for; 0: it has signed nothing
	Time  string `json:"time"`  // "" where it has signed nothing
}

// Failed is the verdict where a directory could not be looked at, or was not. Whose it is is said where that
// can be read.
func Failed(fsys durable.ReadFS, err error) Verdict {
	v := newVerdict(&Report{})
	v.names(fsys, new(Report), err)
	v.problem(Problem{Kind: "failed", Text: err.Error()})
	return v.judged()
}

// newVerdict returns what a report has found, before it is judged.
func newVerdict(rep *Report) Verdict {
	v := Verdict{
		Origin:      rep.Origin,
		Lines:       rep.Head.Seq,
		Files:       rep.Files,
		Snapshots:   rep.Snapshots,
		Checkpoints: rep.Checkpoints,
		Witnesses:   []WitnessFound{},
		Problems:    []Problem{},
		Remarks:     append([]chain.Event{}, rep.Happened...),
		Books:       rep.Books,
		Hash:        fmt.Sprintf("%x", rep.Head.Hash),
		Time:        rep.Head.Time,
		Audited:     rep.Books != nil,
		Unerased:    len(rep.Unerased),
	}
	if v.Books == nil {
		v.Books = booking.New()
	}
	return v
}

// problem adds a problem.
func (v *Verdict) problem(p Problem) {
	v.Problems = append(v.Problems, p)
}

// judged returns the verdict that the problems lead to: the kind of the first, once they are sorted by how
// much they count.
func (v Verdict) judged() Verdict {
	slices.SortStableFunc(v.Problems, func(a, b Problem) int {
		return cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind))
	})
	v.Verdict = "sound"
	if len(v.Problems) > 0 {
		v.Verdict = v.Problems[0].Kind
	}
	if v.Verdict == "failed" { // what was read is not all that there is
		v.Remarks = v.Remarks[:0]
		v.Books, v.Audited = booking.New(), false
	}
	slices.SortStableFunc(v.Remarks, func(a, b chain.Event) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Kind, b.Kind))
	})
	return v
}

// OnlyTorn reports whether nothing is wrong but an end that the next start cuts.
func (v *Verdict) OnlyTorn() bool {
	return v.Verdict == "torn" && len(v.Problems) == 1
}

// Beside is who else has the directory open.
type Beside struct {
	Live bool   // somebody has
	Sign func() // has the running server sign the newest lines, and waits for that; nil: it cannot be asked
}

// Judge verifies a directory and says what came of it. The error is why it is not sound, with what to do
// next. name is what the user calls the directory, against where the kept checkpoints are from.
func Judge(
	fsys durable.ReadFS,
	name string,
	beside Beside,
	expected inspect.Expected,
	against string,
) (Verdict, error) {
	if beside.Sign != nil {
		beside.Sign()
	}
	rep, err := Directory(fsys, beside.Live, expected)
	if isRead(err) && beside.Sign != nil && rep.Vouched < rep.Head.Seq { // lines that were written meanwhile
		beside.Sign()
		if c, ok := newest(fsys); ok && (c.Seq > rep.Head.Seq || c.Hash == rep.Head.Hash) {
			rep.Vouched = rep.Head.Seq
		}
	}
	v := newVerdict(&rep)
	v.Kept = len(expected.Kept)
	v.names(fsys, &rep, err)
	said := v.wrong(err, &rep, name, against)
	if rep.Torn != nil { // as after a power cut: nobody was told that these lines are kept
		v.problem(problemOf("torn", &rep.Torn.Damage))
		said = cmp.Or(said, fmt.Errorf("torn tail: %w; the next start cuts %s and keeps them",
			&rep.Torn.Damage, words.Counted(rep.Torn.Bytes, "byte")))
	}
	if isRead(err) {
		said = cmp.Or(said, v.unsigned(&rep, expected.Within))
		v.remark(fsys, &rep, beside.Live)
	}
	return v.judged(), said
}

// newest returns the newest checkpoint of a directory; false where none can be read.
func newest(fsys durable.ReadFS) (checkpoint.Checkpoint, bool) {
	public, _ := checkpoint.PublicKey(fsys)
	signed, _ := checkpoint.Newest(fsys)
	c, err := checkpoint.Parse(signed, public)
	return c, err == nil
}

// isRead reports whether a directory was read to its end, whatever came of it.
func isRead(err error) bool {
	damage, ok := errors.AsType[*journal.Damage](err)
	return err == nil || ok && (damage.Books || damage.Forked != "")
}

// names says whose journal it is: by its lines, or, where these were not read to their end, by the newest
// note, or else by FORMAT. A key that a line says precedes that which lies beside the journal.
func (v *Verdict) names(fsys durable.ReadFS, rep *Report, err error) {
	public, noKey := checkpoint.PublicKey(fsys)
	if rep.Origin == "" || !isRead(err) {
		c, _ := newest(fsys)
		v.Origin = c.Origin
		if first, _, err := journal.ReadOrigin(fsys); v.Origin == "" && err == nil {
			v.Origin = first
		}
	}
	switch {
	case v.Origin == "":
	case rep.Key.Name == v.Origin:
		v.Key = rep.Key.String()
	case noKey == nil:
		v.Key = note.NewKey(v.Origin, public).String()
	}
}

// problemOf returns damage as a problem.
func problemOf(kind string, d *journal.Damage) Problem {
	return Problem{kind, d.File, d.Line, d.Offset, d.Seq, d.Reason}
}

// wrong adds what is wrong with a directory, and returns the error with what to do next; nil where there is
// none.
func (v *Verdict) wrong(err error, rep *Report, name, against string) error {
	v.forked(rep.Forks.Own, rep.Forks.MoreOwn, against)
	v.forked(rep.Forks.Kept, rep.Forks.MoreKept, against)
	for _, d := range rep.Misfits.List {
		v.problem(problemOf("books", d))
	}
	misfits := len(rep.Misfits.List) + rep.Misfits.More
	if n := rep.Misfits.More; n > 0 {
		v.problem(Problem{Kind: "books", Text: fmt.Sprintf("and %d more lines break a rule", n)})
	}
	damage, isDamage := errors.AsType[*journal.Damage](err)
	kept := isDamage && damage.File == chain.KeptFile
	if kept { // it is not the directory that is wrong
		err = fmt.Errorf("-against %s: %s", against, damage.Reason)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, journal.ErrNewer):
		v.problem(Problem{Kind: "newer", Text: err.Error()})
		return err
	case !isDamage:
		v.problem(Problem{Kind: "failed", Text: err.Error()})
		return err
	case damage.Forked != "":
		if rep.Forks.First() == nil { // it was found before the journal was read
			v.forked(damage, 0, against)
		}
		return fmt.Errorf("%s: %w", damage.Forked, err)
	case kept:
		v.problem(Problem{Kind: "failed", File: against, Text: err.Error()})
		return err
	case damage.Books: // there is nothing to cut: the chain is whole
		if misfits == 0 { // it is what ends the reading where no rules are asked
			v.problem(problemOf("books", damage))
		}
		if misfits > 1 {
			err = fmt.Errorf("%w; other lines that break a rule: %d", err, misfits-1)
		}
		return fmt.Errorf("books: %w", err)
	}
	v.problem(problemOf("damaged", damage))
	if strings.HasPrefix(damage.File, ledger.TimetableDir+"/") {
		return fmt.Errorf("damaged: %w", err)
	}
	return fmt.Errorf("damaged: %w; %s", err, afterDamage(name, damage))
}

// forked adds that notes do not fit: the first that does not, and how many more there are.
func (v *Verdict) forked(first *journal.Damage, more int, against string) {
	if first == nil {
		return
	}
	p := problemOf("forked", first)
	if p.File == chain.KeptFile {
		p.File = against
	}
	p.Text = first.Forked + ": " + p.Text
	if more > 0 {
		p.Text += fmt.Sprintf("; other notes that do not fit: %d", more)
	}
	v.problem(p)
}

// unsigned says who has not signed the lines; nil where all have that should. A line that is older than the
// last by more than within must have been signed.
func (v *Verdict) unsigned(rep *Report, within time.Duration) (said error) {
	if rep.Unsigned() && v.Kept == 0 { // a note that is given and does not fit is another problem
		said = fmt.Errorf("not signed: the hashes of %s follow from each other, but no checkpoint "+
			"covers them. Anybody with access to the disk could have written them. The next start signs them",
			words.Counted(rep.Head.Seq, "line"))
		v.problem(Problem{Kind: "unsigned", Text: said.Error()})
	}
	for _, w := range rep.Witnessed {
		found := WitnessFound{
			Name:  w.Key.Name,
			Lines: w.Seq,
		}
		missing := fmt.Errorf("not witnessed: %s has signed no checkpoint of this journal", w.Key.Name)
		if w.Seq > 0 {
			found.Time = w.At.Format(time.RFC3339)
			behind := rep.Head.Time.Sub(w.Since)
			missing = fmt.Errorf("not witnessed: %s has signed up to line %d; the next line is %s older than "+
				"the last line", w.Key.Name, w.Seq, behind.Round(time.Second))
			if w.Since.IsZero() || behind <= within {
				missing = nil
			}
		}
		if missing != nil {
			v.problem(Problem{Kind: "unwitnessed", Text: missing.Error()})
		}
		said = cmp.Or(said, missing)
		v.Witnesses = append(v.Witnesses, found)
	}
	return said
}

// remark says what a sound directory has that a reader should know of.
func (v *Verdict) remark(fsys durable.ReadFS, rep *Report, live bool) {
	if c, ok := newest(fsys); ok && rep.Copy {
		rep.remark("copy", 0, "no key is here: this is a copy; its newest note is of %s",
			c.Time.Format(journal.TimeLayout))
	}
	if n := rep.Head.Seq - rep.Vouched; n > 0 && rep.Vouched > 0 {
		rep.remark("unsigned", rep.Vouched+1, "%s", unvouched(n, rep, live))
	}
	for _, x := range rep.Unkept {
		rep.remark("forked", x.Left, "the notes that were signed under the earlier name %s are not here", x.Origin)
	}
	if o := rep.Older; o != nil {
		rep.remark("unsigned", o.Published, "the file checkpoint is missing, or older than the newest note in "+
			"checkpoints.log, which covers line %d: the disk was full, or somebody changed it", o.Logged)
	}
	v.Remarks = append(v.Remarks, rep.Beside...)
}

// signedSoon is how old the lines may be that a running server has not signed yet: it signs within a second,
// and waits for a disk that is full.
const signedSoon = time.Minute

// unvouched says of the last n lines that no checkpoint vouches for them, and what that means: beside a
// server that is running, and in a copy, nothing.
func unvouched(n uint64, rep *Report, live bool) string {
	last := words.Counted(n, "line")
	if live && rep.Unvouched <= signedSoon {
		return fmt.Sprintf("not signed yet: the server is running; the newest checkpoint covers line "+
			"%d, %s ago; it is not known yet whether what came after that line counts",
			rep.Vouched, last)
	}
	if rep.Copy {
		return fmt.Sprintf("the newest checkpoint covers line %d, and %s came after it: this directory "+
			"is a copy, which signs nothing until it is served", rep.Vouched, last)
	}
	return fmt.Sprintf("no checkpoint covers the last %s, after line %d: the server was killed before "+
		"it signed them, or somebody removed checkpoints", last, rep.Vouched)
}

// afterDamage says what to do about damage: what is before it can be saved.
func afterDamage(name string, d *journal.Damage) string {
	if strings.HasPrefix(d.File, "tree/") {
		return "no line is lost by it"
	}
	if d.Seq < 2 {
		return "serve a backup instead"
	}
	return fmt.Sprintf("serve a backup instead, or save the lines before it: waybill repair -data %s "+
		"-cut-at %d -reason TEXT OUT", durable.ForShell(name), d.Seq)
}
