package store

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

// evidence is a checkpoint that the journal must agree with.
type evidence struct {
	Checkpoint
	key     note.Key // that has signed it
	from    string   // where it was found
	kept    bool     // by an auditor
	signers []Witnessed
}

// heed makes the scan hold the journal against a checkpoint, and returns it. key is what it must be signed
// with; nil is the directory's own. Whether the directory has ever had the name that it is signed with is
// known once the journal was read.
func (s *scan) heed(signed []byte, key ed25519.PublicKey, e evidence) (Checkpoint, error) {
	if s.evidence == nil {
		s.evidence = map[uint64][]evidence{}
	}
	if bytes.HasSuffix(signed, []byte("\n\n")) {
		signed = signed[:len(signed)-1]
	}
	if key == nil {
		origin, _, _ := bytes.Cut(signed, journal.Newline)
		var err error
		if key, err = checkpoint.KeyOf(s.fsys, string(origin)); err != nil {
			return Checkpoint{}, err
		}
	}
	c, err := checkpoint.Parse(signed, key)
	if err == nil {
		e.signers, err = s.signers(signed)
	}
	if err != nil {
		wrong := journal.InFile(e.from, err.Error())
		if errors.Is(err, note.ErrOtherKey) || errors.Is(err, note.ErrNotSigned) {
			wrong.Forked = anotherJournal
		}
		return c, wrong
	}
	e.Checkpoint = c
	e.key = note.NewKey(c.Origin, key)
	s.evidence[e.Seq] = append(s.evidence[e.Seq], e)
	return c, nil
}

// heedAll heeds all checkpoints of the directory, also those that it signed under names that it had before.
// What is left of one at the log's end, which a crash may leave, is let be unless it is the newest.
//
// Where a checkpoint is older than the log has, that is noted and no damage: a full disk can leave it so.
func (s *scan) heedAll() error {
	if err := s.heedAside(); err != nil {
		return err
	}
	key, err := checkpoint.PublicKey(s.fsys)
	newest, none := checkpoint.Newest(s.fsys)
	if errors.Is(err, fs.ErrNotExist) && errors.Is(none, fs.ErrNotExist) {
		return nil // of a program that made none
	}
	if err == nil {
		_, err = checkpoint.PrivateKey(s.fsys) // a copy has none
	}
	if err != nil {
		return err
	}
	published := none == nil
	found := false
	var last Checkpoint // the newest of the log
	err = s.heedLog(checkpoint.LogFile, key, func(signed []byte, c Checkpoint) {
		found = found || published && bytes.Equal(signed, append(bytes.Clone(newest), '\n'))
		if c.Seq > last.Seq {
			last = c
		}
	}, func() bool { return found || !published })
	if err == nil && (found || !published) && last.Seq > 0 {
		s.noteOlder(key, last.Seq)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !published:
		return nil
	case err == nil && published && !found && !s.live:
		return journal.InFile(checkpoint.File, "is not in "+checkpoint.LogFile)
	case err == nil && published && !found:
		_, err = s.heed(newest, key, evidence{from: checkpoint.File})
	}
	return err
}

// heedLog heeds the notes of a log, and calls each with every one. A last one that is not good is let be
// where spare says that it is not needed.
func (s *scan) heedLog(name string, key ed25519.PublicKey, each func([]byte, Checkpoint),
	spare func() bool) error {
	return durable.Read(s.fsys, name, func(f *io.SectionReader) error {
		notes := bufio.NewScanner(f)
		notes.Split(note.Split)
		var bad error
		for n := 1; notes.Scan(); n++ {
			if bad != nil {
				return bad
			}
			var c Checkpoint
			c, bad = s.heed(notes.Bytes(), key, evidence{from: fmt.Sprintf("%s (number %d)", name, n)})
			if bad == nil {
				each(notes.Bytes(), c)
			}
		}
		wrong, ok := errors.AsType[*Damage](bad)
		foreign := ok && wrong.Forked != "" // a whole note, and not what a crash has left of one
		if bad != nil && (foreign || !spare()) {
			return bad
		}
		return notes.Err()
	})
}

// heedAside heeds the notes of the names that the directory had before.
func (s *scan) heedAside() error {
	earlier, err := checkpoint.Aside(s.fsys)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		key, err := checkpoint.ReadPublicKey(s.fsys, e.Key)
		if err != nil {
			return err
		}
		good := 0
		err = s.heedLog(e.Log, key, func([]byte, Checkpoint) { good++ }, func() bool { return good > 0 })
		if err != nil {
			return err
		}
	}
	return nil
}

// liveWaits is how often a running server's checkpoint is looked at again, checkpointQuiet apart.
const liveWaits = 5

// noteOlder notes that the file checkpoint is missing, or older than the newest note of the log. A server
// that is running publishes it just after it has logged a note.
func (s *scan) noteOlder(key ed25519.PublicKey, logged uint64) {
	for waits := 0; ; waits++ {
		text, _ := checkpoint.Newest(s.fsys)
		newest, _ := checkpoint.Parse(text, key)
		if newest.Seq >= logged {
			return
		}
		if !s.live || waits == liveWaits {
			s.older = &Older{
				Published: newest.Seq,
				Logged:    logged,
			}
			return
		}
		time.Sleep(checkpointQuiet)
	}
}

// newestCheckpoint heeds the newest checkpoint, and the last in the log. One that is none proves nothing. One
// that another key has signed under the directory's name is of another history: the start must not go on
// under that name.
func (r *replay[S, E]) newestCheckpoint() error {
	newest, err := checkpoint.Newest(r.fsys)
	last, _, err2 := checkpoint.Last(r.fsys)
	key, err3 := checkpoint.PublicKey(r.fsys)
	if none := errors.Join(err, err2, err3); errors.Is(none, fs.ErrNotExist) && newest == nil && last == nil {
		r.unsigned = true
		return nil
	}
	for i, note := range [][]byte{last, newest} {
		if err3 == nil && note != nil {
			c, bad := r.heed(note, key, evidence{from: []string{checkpoint.LogFile, checkpoint.File}[i]})
			if wrong, ok := errors.AsType[*Damage](bad); ok && wrong.Forked != "" {
				return wrong
			}
			err = errors.Join(err, bad)
			if bad == nil && c.Rooted && c.Seq > r.anchor.Seq {
				r.anchor = c
			}
		}
	}
	if err := errors.Join(err, err2, err3); err != nil {
		r.cfg.Log.Warn("not all checkpoints can be used", "err", err)
	}
	return nil
}

// repaired is what a line of that type says. It excuses no checkpoint: whoever can write such a line could
// have all others forgotten by it.
type repaired struct {
	line   Stamp  // of it itself
	Reason string `json:"reason"`
	Forced uint64 `json:"forced,omitempty"` // undamaged lines that were cut, where that was asked for
	// Erased are the lines whose personal parts were erased by lines that were cut off, and when.
	Erased map[uint64]string `json:"erased,omitempty"`
	By     any               `json:"by,omitempty"` // who did it, as whoever asks for the repair has it
}

// differs is the error of a checkpoint that was not made of a line of this journal.
func (s *scan) differs(at Place, l *Line, e *evidence) error {
	reason := fmt.Sprintf("is not the line that the checkpoint in %s was made of, on %s, whose hash was %x; %s",
		e.from, e.Time.Format(journal.TimeLayout), e.Hash, s.newestFit(e))
	if e.Hash == l.Hash {
		reason = fmt.Sprintf("has the hash that the checkpoint in %s says, but the lines so far are not those "+
			"of its tree", e.from)
	}
	wrong := journal.DamageAt(at, l.Seq, reason)
	wrong.Forked = e.twoHistories()
	return wrong
}

// anotherJournal is how a note is related to a journal that it does not speak of.
const anotherJournal = "another journal"

// twoHistories is how a note is related to a journal of the same name and key that it does not fit.
func (e *evidence) twoHistories() string {
	return fmt.Sprintf("two histories: this journal and the note are both signed by %s", e.key)
}

// note heeds what a line says of others, and holds it against the checkpoints of its seq.
func (s *scan) note(at Place, l *Line) error {
	if (s.whole || s.erasures) && Erased(l.Personal) {
		when := string(l.Personal[len(`{"erased":"`) : len(l.Personal)-len(`"}`)])
		s.gone[l.Seq] = erasedAt{at, when}
	}
	if l.Type == KindRepaired || l.Type == KindErased && (s.whole || s.erasures) {
		erased, err := journal.ErasedBy(l)
		if err != nil {
			return err
		}
		for _, x := range erased {
			s.named[x.Seq] = append(s.named[x.Seq], x.At.Format(journal.TimeLayout))
		}
	}
	if l.Type == KindRepaired {
		said := repaired{line: l.Stamp}
		if err := json.Unmarshal(l.Data, &said); err != nil {
			return err
		}
		s.repairs = append(s.repairs, said)
	}
	if err := s.rename(l); err != nil {
		return err
	}
	fits := s.fits
	keptFits := s.keptFits
	for _, e := range s.evidence[l.Seq] {
		if e.Hash == l.Hash && s.hasRoot(&e) {
			fits = l.Seq
			if e.kept {
				keptFits = l.Seq
			}
			s.credit(e.signers, l.Seq)
		} else if !s.concerns(&e) {
			continue // misnamed says why
		} else {
			return s.differs(at, l, &e)
		}
	}
	s.fits = fits
	s.keptFits = keptFits
	if fits == l.Seq {
		s.unvouchedFrom = time.Time{}
	} else if s.unvouchedFrom.IsZero() {
		s.unvouchedFrom = l.Time
	}
	return nil
}

// hasRoot reports whether the tree of the lines so far, if it is known, is the one that a checkpoint says.
func (s *scan) hasRoot(e *evidence) bool {
	return !e.Rooted || s.tree == nil || s.tree.Size() != e.Seq || s.tree.Root() == e.Root
}

// newestFit says up to where checkpoints of the same kind agree with the journal.
func (s *scan) newestFit(e *evidence) string {
	fits := s.fits
	if e.kept {
		fits = s.keptFits
	}
	text := fmt.Sprintf("the newest of these that fits is of seq %d", fits)
	if fits == 0 {
		text = "no older one of these fits"
	}
	return text + s.repairStory()
}

// repairStory says what repairs have cut.
func (s *scan) repairStory() (text string) {
	for _, r := range s.repairs {
		text += fmt.Sprintf("; a repair cut the journal at seq %d: %s", r.line.Seq, r.Reason)
	}
	return text
}

// beyond returns the first checkpoint of a line after the journal's end, nil when there is none.
func (s *scan) beyond() (first *evidence) {
	for seq, list := range s.evidence {
		for i := range list {
			if seq > s.head.Seq && s.concerns(&list[i]) && (first == nil || seq < first.Seq) {
				first = &list[i]
			}
		}
	}
	return first
}

// erasedAt is a line whose personal part is gone, and since when.
type erasedAt struct {
	Place
	time string
}

// unnamed returns the lines whose personal parts are gone without a line that says so, and when that was.
func (s *scan) unnamed() map[uint64]string {
	lines := map[uint64]string{}
	for seq, x := range s.gone {
		if !slices.Contains(s.named[seq], x.time) {
			lines[seq] = x.time
		}
	}
	return lines
}

// explainLater looks beyond the end of what was read for lines that say what was erased meanwhile. Such a
// line is written before anything is erased, so it is there by now; but it may have come after the files
// were looked for.
func (s *scan) explainLater() error {
	if len(s.unnamed()) == 0 {
		return nil
	}
	later := scan{
		fsys:     s.fsys,
		from:     s.head,
		live:     true,
		erasures: true,
	}
	if err := later.run(); err != nil {
		return err
	}
	for seq, times := range later.named {
		if _, gone := s.gone[seq]; gone {
			s.named[seq] = append(s.named[seq], times...)
		}
	}
	return nil
}

// unexplained finds a personal part that is gone without a line that says so.
func (s *scan) unexplained() error {
	for _, seq := range slices.Sorted(maps.Keys(s.unnamed())) {
		return s.nobodyErased(seq)
	}
	return nil
}

// nobodyErased is the error of a line whose personal part is gone without a line that says so.
func (s *scan) nobodyErased(seq uint64) *Damage {
	return journal.DamageAt(s.gone[seq].Place, seq,
		"has no personal part, and no line says that it was erased then")
}

// unerased returns the lines that were named to be erased and are not, rising: an erasure was cut short.
func (s *scan) unerased() (list []Erasure) {
	for _, seq := range slices.Sorted(maps.Keys(s.named)) {
		if _, gone := s.gone[seq]; !gone {
			at, _ := time.Parse(journal.TimeLayout, s.named[seq][0]) // it was read from a line
			list = append(list, Erasure{Seq: seq, At: at})
		}
	}
	return list
}
