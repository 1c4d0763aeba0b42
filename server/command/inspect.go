package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"waybill/booking"
	"waybill/server/front"
	"waybill/server/inspect"
	"waybill/server/words"
	"waybill/store"
	"waybill/store/durable"
)

// The verbs that look at a directory and say what is there: log and verify.

// log writes the journal as readable history.
func (c *call) log() (int, error) {
	f := inspect.LogFilter{
		Booking: c.text("booking"),
		Ticket:  c.text("ticket"),
	}
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
	style := inspect.LogStyle{JSON: c.get("json").(bool)}
	if c.get("f").(bool) {
		if f.At != nil {
			return exitUsage, errors.New("-f follows what is still to come, -at ends in the past: " +
				"one of them")
		}
		style.Follow = c.Stop
		c.fsys = durable.Dir(c.dir) // it ends in order, after what is there
	}
	if err := c.mustExist(); err != nil {
		return exitFailed, err
	}
	return exitFailed, inspect.Log(c.fsys, front.Running(c.dir), f, style, c.Stdout)
}

// verdict is what verify says with -json.
type verdict struct {
	Sound bool `json:"sound"`
	// only an end that never became durable is wrong: the next start cuts it
	Torn    bool      `json:"torn"`
	Problem string    `json:"problem,omitempty"` // why it is not sound
	Place   *place    `json:"place,omitempty"`   // of damage or of a torn tail
	Found   *findings `json:"found,omitempty"`   // where all could be read
	Notes   []string  `json:"notes,omitempty"`
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
	Kept        int    `json:"kept"` // checkpoints of -against that the journal extends
}

// place is where in the journal something is.
type place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Byte int64  `json:"byte"`
	Seq  uint64 `json:"seq"`
}

// verify checks a directory and says what it found.
func (c *call) verify() (int, error) {
	if err := c.mustExist(); err != nil {
		return exitFailed, err
	}
	if c.text("key") != "" && c.text("against") == "" {
		return exitUsage, errors.New("-key is of the checkpoints that -against names: give both")
	}
	// One verdict, for people and for programs: both show the same, and the exit code is the same.
	code, v, err := c.judge()
	if c.get("json").(bool) {
		text, failed := json.MarshalIndent(v, "", "  ")
		fmt.Fprintf(c.Stdout, "%s\n", text)
		return code, errors.Join(err, failed)
	}
	if err != nil {
		return code, err
	}
	found := v.Found
	fmt.Fprintf(c.Stdout, "sound: %s in %s, %s, %s; the last line's hash is %s\n",
		words.Counted(found.Lines, "line"), words.Counted(found.Files, "file"),
		words.Counted(found.Snapshots, "snapshot"), words.Counted(found.Checkpoints, "checkpoint"),
		found.Hash)
	for _, note := range v.Notes {
		fmt.Fprintln(c.Stdout, note)
	}
	fmt.Fprintf(c.Stdout, "the books at %s: %s\n", found.Time, found.Books)
	if against := c.text("against"); against != "" {
		fmt.Fprintf(c.Stdout, "the journal extends %s in %s\n", words.Counted(found.Kept, "checkpoint"),
			against)
	}
	return exitDone, nil
}

// judge verifies the directory and says what came of it, with the exit code, and where something is wrong,
// what to do next.
func (c *call) judge() (code int, v verdict, err error) {
	kept, err := keptCheckpoints(c.text("against"), c.text("key"))
	if err != nil {
		return exitFailed, verdict{Problem: err.Error()}, err
	}
	rep, err := inspect.Verify(c.fsys, front.Running(c.dir), store.Expected{Kept: kept})
	damage, isDamage := errors.AsType[*store.Damage](err)
	switch {
	case isDamage && damage.File == store.KeptFile: // it is not the directory that is wrong
		err = fmt.Errorf("-against %s: %s", c.text("against"), damage.Reason)
		return exitFailed, verdict{Problem: err.Error()}, err
	case isDamage:
		v = verdict{
			Problem: err.Error(),
			Place:   placeOf(damage),
		}
		return exitFailed, v, fmt.Errorf("damaged: %w; %s", err, c.afterDamage(damage))
	case err != nil:
		return exitFailed, verdict{Problem: err.Error()}, err
	}
	v.Found = &findings{
		Signed:      !rep.Unsigned(),
		Lines:       rep.Head.Seq,
		Files:       rep.Files,
		Snapshots:   rep.Snapshots,
		Checkpoints: rep.Checkpoints,
		Hash:        fmt.Sprintf("%x", rep.Head.Hash),
		Kept:        len(kept),
		Time:        rep.Head.Time.UTC().Format(time.RFC3339),
		Books:       rep.Books.String(),
	}
	switch {
	case rep.Torn != nil: // as after a power cut: nobody was told that these lines are kept
		v.Torn = true
		v.Problem = rep.Torn.Damage.Error()
		v.Place = placeOf(&rep.Torn.Damage)
		return exitTorn, v, fmt.Errorf("torn tail: %w; the next start cuts %s and keeps them",
			&rep.Torn.Damage, words.Counted(rep.Torn.Bytes, "byte"))
	case !v.Found.Signed:
		v.Problem = fmt.Sprintf("not signed: %s follow from each other, but there is no checkpoint that "+
			"vouches for them; whoever has the disk can have written them. "+
			"The next start signs them as they are",
			words.Counted(rep.Head.Seq, "line"))
		return exitFailed, v, errors.New(v.Problem)
	}
	v.Sound = true
	if o := rep.Older; o != nil {
		v.Notes = append(v.Notes, fmt.Sprintf("the file checkpoint is of line %d, and older than the newest "+
			"in checkpoints.log, of line %d: a full disk can leave it so, or somebody has put it there",
			o.Published, o.Logged))
	}
	if n := len(rep.Unerased); n > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("lines with personal data that is still to be erased: %d; "+
			"waybill forget, for whomever, completes that", n))
	}
	return exitDone, v, nil
}

// placeOf returns where damage is, as verify -json shows it.
func placeOf(d *store.Damage) *place {
	if d.File == "" {
		return nil
	}
	return &place{d.File, d.Line, d.Offset, d.Seq}
}

// afterDamage says what to do about damage: what is before it can be saved.
func (c *call) afterDamage(d *store.Damage) string {
	if d.Seq < 2 {
		return "a backup can be served in its place"
	}
	return fmt.Sprintf("a backup can be served in its place, or what is before it saved: "+
		"waybill repair -data %s -cut-at %d -reason TEXT OUT", c.dir, d.Seq)
}
