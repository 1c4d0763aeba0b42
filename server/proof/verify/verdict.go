package verify

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"waybill/server/frame/words"
	"waybill/store/chain/observe"
	"waybill/store/durable/readonly"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Verdict is what verify says of a directory, with -json as an object (decision verify.verdict).
type Verdict struct {
	Sound bool `json:"sound"`
	// only an end that never became durable is wrong: the next start cuts it
	Torn    bool           `json:"torn"`
	Problem string         `json:"problem,omitempty"` // why it is not sound
	Place   *place         `json:"place,omitempty"`   // of damage or of a torn tail
	Found   *findings      `json:"found,omitempty"`   // where all could be read
	Witness []witnessFound `json:"witnesses,omitempty"`
	Remarks []string       `json:"notes,omitempty"`
}

// findings are what verify has read.
type findings struct {
	Signed      bool   `json:"signed"`
	Lines       uint64 `json:"lines"`
	Files       int    `json:"files"`
	Snapshots   int    `json:"snapshots"`
	Checkpoints int    `json:"checkpoints"`
	Hash        string `json:"hash"` // of the last line
	Time        string `json:"time"` // of the last line
	Books       string `json:"books"`
	// what imports have brought about: runs with more passengers than seats, seats that two of them have
	Surplus []string `json:"surplus,omitempty"`
	Kept    int      `json:"kept"` // checkpoints of -against that the journal extends
}

// witnessFound is what a witness of -witness-key has signed.
type witnessFound struct {
	Name string `json:"name"`
	Line uint64 `json:"line"` // the last one that it vouches for; 0: it has signed nothing
	At   string `json:"at,omitempty"`
}

// place is where in the journal something is.
type place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Byte int64  `json:"byte"`
	Seq  uint64 `json:"seq"`
}

// Beside is who else has the directory open.
type Beside struct {
	Live bool   // somebody has
	Sign func() // has the running server sign the newest lines, and waits for that; nil: it cannot be asked
}

// sign has the newest lines signed, where somebody can be asked.
func (b *Beside) sign() {
	if b.Sign != nil {
		b.Sign()
	}
}

// Judge verifies a directory and says what came of it. The error is why it is not sound, with what to do
// next. name is what the user calls the directory, against where the kept checkpoints are from.
func Judge(
	fsys readonly.FS,
	name string,
	beside Beside,
	expected inspect.Expected,
	against string,
) (Verdict, error) {
	beside.sign()
	rep, err := Directory(fsys, beside.Live, expected)
	if err != nil {
		return unsound(err, name, against)
	}
	if beside.Sign != nil && rep.Vouched < rep.Head.Seq { // lines that were written meanwhile
		beside.sign()
		if signed, err := inspect.SignedSince(fsys, rep.Head); err == nil && signed {
			rep.Vouched = rep.Head.Seq
		}
	}
	v := Verdict{Found: &findings{
		Signed:      !rep.Unsigned(),
		Lines:       rep.Head.Seq,
		Files:       rep.Files,
		Snapshots:   rep.Snapshots,
		Checkpoints: rep.Checkpoints,
		Hash:        fmt.Sprintf("%x", rep.Head.Hash),
		Kept:        len(expected.Kept),
		Time:        rep.Head.Time.UTC().Format(time.RFC3339),
		Books:       rep.Books.String(),
		Surplus:     rep.Books.Surplus.Lines(),
	}}
	if rep.Torn != nil { // as after a power cut: nobody was told that these lines are kept
		v.Torn = true
		v.Problem = rep.Torn.Damage.Error()
		v.Place = placeOf(&rep.Torn.Damage)
		return v, fmt.Errorf("torn tail: %w; the next start cuts %s and keeps them", &rep.Torn.Damage,
			words.Counted(rep.Torn.Bytes, "byte"))
	}
	v.Problem = v.unsigned(&rep)
	if v.Problem != "" {
		return v, errors.New(v.Problem)
	}
	v.Sound = true
	v.remark(&rep, beside.Live)
	return v, nil
}

// unsound is the verdict on a directory that cannot be read to its end.
func unsound(err error, name, against string) (Verdict, error) {
	damage, isDamage := errors.AsType[*journal.Damage](err)
	switch {
	case !isDamage:
		return Verdict{Problem: err.Error()}, err
	case damage.File == observe.KeptFile: // it is not the directory that is wrong
		err = fmt.Errorf("-against %s: %s", against, damage.Reason)
		if damage.Forked != "" {
			err = fmt.Errorf("%s: %w", damage.Forked, err)
		}
		return Verdict{Problem: err.Error()}, err
	}
	v := Verdict{
		Problem: err.Error(),
		Place:   placeOf(damage),
	}
	if damage.Forked != "" {
		return v, fmt.Errorf("%s: %w", damage.Forked, err)
	}
	if damage.Books { // there is nothing to cut: the chain is whole
		return v, fmt.Errorf("books: %w", err)
	}
	return v, fmt.Errorf("damaged: %w; %s", err, afterDamage(name, damage))
}

// unsigned says who has not signed the lines, "" where all have that should.
func (v *Verdict) unsigned(rep *Report) (problem string) {
	if !v.Found.Signed {
		return fmt.Sprintf("not signed: %s follow from each other, but there is no checkpoint that "+
			"vouches for them; whoever has the disk can have written them. "+
			"The next start signs them as they are",
			words.Counted(rep.Head.Seq, "line"))
	}
	for _, w := range rep.Witnessed {
		found := witnessFound{
			Name: w.Key.Name,
			Line: w.Seq,
		}
		if w.Seq > 0 {
			found.At = w.At.Format(time.RFC3339)
		} else if problem == "" {
			problem = fmt.Sprintf("not witnessed: %s has signed no checkpoint of this journal", w.Key.Name)
		}
		v.Witness = append(v.Witness, found)
	}
	return problem
}

// remark says what a sound directory has that a reader should know of.
func (v *Verdict) remark(rep *Report, live bool) {
	for _, w := range v.Witness {
		v.Remarks = append(v.Remarks, fmt.Sprintf("%s has signed up to line %d, at %s", w.Name, w.Line, w.At))
	}
	if n := rep.Head.Seq - rep.Vouched; n > 0 {
		v.Remarks = append(v.Remarks, unvouched(n, rep, live))
	}
	for _, name := range rep.Unkept {
		v.Remarks = append(v.Remarks, fmt.Sprintf("what was signed as %s, the name of this directory before, is not "+
			"here", name))
	}
	if o := rep.Older; o != nil {
		v.Remarks = append(v.Remarks, fmt.Sprintf("the file checkpoint is of line %d, and older than the newest "+
			"in checkpoints.log, of line %d: a full disk can leave it so, or somebody has put it there",
			o.Published, o.Logged))
	}
	if n := len(rep.Unerased); n > 0 {
		v.Remarks = append(v.Remarks, fmt.Sprintf("lines with personal data that is still to be erased: %d; "+
			"waybill forget, for whomever, completes that", n))
	}
}

// signedSoon is how old the lines may be that a running server has not signed yet: it signs within a second,
// and waits for a disk that is full.
const signedSoon = time.Minute

// unvouched says of the last n lines that no checkpoint vouches for them, and what that means: beside a
// server that is running, and in a copy, nothing.
func unvouched(n uint64, rep *Report, live bool) string {
	last := words.Counted(n, "line")
	if live && rep.Unvouched <= signedSoon {
		return fmt.Sprintf("not signed yet: the server is running; the newest checkpoint is of line %d, %s ago",
			rep.Vouched, last)
	}
	if rep.Copy {
		return fmt.Sprintf("the newest checkpoint is of line %d, and %s came after it: this directory is a copy, "+
			"in which nothing is signed until it is served", rep.Vouched, last)
	}
	return fmt.Sprintf("no checkpoint vouches for the last %s, after line %d: a server that was killed leaves "+
		"the lines of a second so, or somebody has taken checkpoints away", last, rep.Vouched)
}

// placeOf returns where damage is.
func placeOf(d *journal.Damage) *place {
	if d.File == "" {
		return nil
	}
	return &place{d.File, d.Line, d.Offset, d.Seq}
}

// afterDamage says what to do about damage: what is before it can be saved.
func afterDamage(name string, d *journal.Damage) string {
	if strings.HasPrefix(d.File, "tree/") {
		return "no line is lost with it"
	}
	if d.Seq < 2 {
		return "a backup can be served in its place"
	}
	return fmt.Sprintf("a backup can be served in its place, or what is before it saved: "+
		"waybill repair -data %s -cut-at %d -reason TEXT OUT", name, d.Seq)
}
