// Package inspect reads a directory and says whether it is as it was written. It changes nothing, takes no
// lock, and may be used beside a server that has the directory open.
//
// [Verify] checks all: the journal's lines, snapshots, notes, the hashes of the tree, what was erased, and by
// a function of the caller what the events mean. [Read] and [Follow] check the lines, and show them to the
// caller.
//
//	rules := inspect.Rules[*State, Event]{Check: check}
//	rep, err := inspect.Verify(fsys, false, &model, inspect.Expected{}, rules)
//	// err is nil, or says the first thing that is wrong: a *journal.Damage has its place
//
// [Backup] and [Repair] write a directory's lines, and what vouches for them, into a new directory: all of
// them, or those before a cut. A [Copy] is how that goes, step by step; the store forks an open directory by
// it, too. With [PublishNew] a new directory appears whole, or not at all. A copy has no key to sign with:
// its first start gives it a name and a key of its own.
package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"time"

	"waybill/store/chain"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

// Report has the findings of Verify on a sound directory.
type Report struct {
	Head      journal.Head
	Last      journal.Place // of the last line
	Files     int
	Snapshots int
	// Checkpoints is the number of lines that have checkpoints. Where it is 0 and there are lines, nobody
	// has signed the journal.
	Checkpoints int
	Vouched     uint64            // the last line that a checkpoint vouches for
	Unvouched   time.Duration     // how long the lines after that were in the writing
	Copy        bool              // there is no key: nothing signs here until it is served
	Unkept      []chain.Unkept    // earlier names of the directory, whose checkpoints are not there
	Older       *chain.Older      // the file checkpoint is older than the log; nil where it is not
	Unerased    []journal.Erasure // lines whose personal parts were left by an Erase that was cut short
	Torn        *chain.Torn       // an end that the next start will cut off
	Witnessed   []chain.Witnessed // for each witness that was asked after
	Origin      string            // the directory's name, as far as the journal was read
	Key         note.Key          // of that name; zero where the journal was not read as far as that
	Forks       chain.Forks       // notes that do not fit
	Happened    []chain.Event     // to the journal, in the order of its lines
	// Misfits are the lines that break a rule, where rules were asked for. Their bytes are good.
	Misfits chain.Misfits
}

// Unsigned reports whether no checkpoint vouches for the journal. Anybody who can write to the disk can
// have written it.
func (r *Report) Unsigned() bool {
	return r.Checkpoints == 0 && r.Head.Seq > 0
}

// Expected has what the caller knows about the directory from elsewhere.
type Expected struct {
	Kept      []Kept
	Witnesses []note.Key    // that should have signed
	Within    time.Duration // how much older than the last a line may be that one of them has not signed
}

// Rules look at what the events of a journal mean. Each may be nil.
type Rules[S, E any] struct {
	Check chain.Check[S, E] // sees the state before each event
	// End sees the state after the last line; applied reports that no line was left out of it.
	End func(state S, end journal.Stamp, applied bool) error
}

// Verify checks every byte of the journal and of the snapshots, that each snapshot holds what replaying the
// journal gives, that the journal extends each checkpoint, its own and those kept, and that the hashes beside
// it are of its lines. It reports what witnesses have signed. live says that a server may be writing the
// journal.
func Verify[S, E any](fsys durable.ReadFS, live bool, model *journal.Model[S, E], expected Expected,
	rules Rules[S, E]) (Report, error) {
	seqs, err := journal.Numbers(fsys, "snapshots")
	if err == nil {
		err = onlyJournalFiles(fsys)
	}
	if live {
		checkpoint.Await(fsys, 1) // of a server that has just made its directory
	}
	x := verification{fsys: fsys}
	if err == nil {
		err = x.collect(live, expected)
	}
	if err != nil {
		return Report{}, err
	}
	var snapshots checks
	r := chain.NewReplay(model, model.New(), rules.Check)
	var misfits chain.Misfits
	if rules.Check != nil {
		r.Misfits = &misfits
	}
	r.Visits.Visit = func(v *chain.Visited) error {
		if err := r.Apply(v); err != nil || misfits.Unapplied || !slices.Contains(seqs, v.Line.Seq) {
			return err
		}
		write := model.Freeze(r.State)
		snapshots.begin(func() (err error) {
			defer v.Misfit(&err)
			return chain.CompareSnapshot(model, fsys, v.Line.Head, write)
		})
		return nil
	}
	proven := uint64(0)
	if len(seqs) > 0 && !x.isCopy() { // which may be a part of another directory, with snapshots of all of it
		proven = seqs[len(seqs)-1]
	}
	err = x.read(live, proven, &r.Visits)
	whole := err == nil
	if whole {
		err = x.afterwards()
	}
	forked := x.notes.Forks.First()
	if err == nil && rules.End != nil {
		err = rules.End(r.State, x.end.Head.Stamp, !misfits.Unapplied)
	}
	// A snapshot may be of a line before the one that stopped the reading. Where a note shows another
	// history, a snapshot may be of that.
	wrong, spoilt := snapshots.wait()
	if forked == nil && whole {
		err = cmp.Or(err, wrong)
	} else if forked == nil {
		err = cmp.Or(wrong, err)
	}
	err = cmp.Or(err, forked)
	rep := x.report()
	failed := r.Visits.Failed
	if damage, ok := errors.AsType[*journal.Damage](err); ok && !whole {
		failed = cmp.Or(failed, damage.Seq)
	}
	rep.Happened = slices.DeleteFunc(rep.Happened, func(e chain.Event) bool {
		return failed > 0 && e.Seq >= failed
	})
	if spoilt = cmp.Or(x.notes.Spoilt, spoilt, x.spoilt); spoilt != nil && err == nil {
		rep.Happened = append(rep.Happened, chain.Event{Kind: "cache", Text: spoilt.Error()})
	}
	rep.Misfits = misfits
	rep.Snapshots = len(snapshots.wrong)
	return rep, err
}

// verification is a directory that is being verified.
type verification struct {
	fsys     durable.ReadFS
	notes    chain.Notes
	names    *chain.Names
	erasures *chain.Erasures
	happened chain.Happened
	end      chain.End
	spoilt   error // what a start makes anew of the tree; nil: nothing
}

// collect takes up everything that the journal must agree with: the directory's checkpoints, and what the
// caller expects.
func (x *verification) collect(live bool, expected Expected) error {
	x.notes = chain.Notes{
		FS:        x.fsys,
		GoOn:      true,
		Witnesses: chain.NewWitnesses(expected.Witnesses),
		Repairs:   new(chain.Repairs),
	}
	if err := x.notes.AddAll(live); err != nil {
		return err
	}
	for _, k := range expected.Kept {
		err := x.notes.AddKept(k.Note, k.Key)
		if wrong, ok := errors.AsType[*journal.Damage](err); ok && k.Line > 0 {
			wrong.Reason = fmt.Sprintf("the checkpoint at line %d %s", k.Line, wrong.Reason)
		}
		if err != nil {
			return err
		}
	}
	x.erasures = chain.NewErasures()
	var err error
	x.names, err = chain.NewNames(x.fsys)
	x.notes.Names = x.names
	return err
}

// read goes through the journal. It has lines visited, and compares the hashes of the tree with the lines.
// proven is the line of the newest snapshot.
func (x *verification) read(live bool, proven uint64, visits *chain.Visits) error {
	lines, err := tree.NewCheck(x.fsys, x.notes.Signed())
	if err != nil {
		return err
	}
	x.notes.Tree = lines
	observers := []chain.Observer{
		chain.Leaves{Tree: lines},
		x.erasures,
		x.notes.Repairs,
		x.names,
		chain.Snapshots{Newest: proven},
		&x.happened,
		&x.notes,
		visits,
	}
	if live {
		observers = slices.Insert(observers, 0, chain.Observer(chain.InUse{}))
	}
	x.end, err = visits.Read(chain.Reader{FS: x.fsys}, observers...)
	wrong := lines.Close()
	if _, spoilt := errors.AsType[*tree.Wrong](wrong); spoilt {
		x.spoilt = fmt.Errorf("%w: %w", chain.ErrSpoilt, wrong)
	} else if err == nil && x.notes.Forks.First() == nil { // else it may be of the other history
		err = wrong
	}
	return err
}

// afterwards checks what can be checked only once the journal was read.
func (x *verification) afterwards() error {
	if err := x.notes.Foreign(); err != nil {
		return err
	}
	if err := x.publicKeyIsOwn(); err != nil {
		return err
	}
	return x.erasures.Unexplained(x.fsys, x.end.Head)
}

// report returns the findings.
func (x *verification) report() Report {
	return Report{
		Origin:      x.names.Origin(),
		Key:         x.names.Key(),
		Forks:       x.notes.Forks,
		Happened:    x.happened.Events(),
		Head:        x.end.Head,
		Last:        x.end.At,
		Files:       x.end.Files,
		Checkpoints: x.notes.Count(),
		Vouched:     x.notes.Vouched(x.end.Head.Seq),
		Unvouched:   x.notes.Unvouched(),
		Copy:        x.isCopy(),
		Unkept:      x.notes.Unkept(),
		Older:       x.notes.Older(),
		Unerased:    x.erasures.Unerased(),
		Torn:        x.end.Torn,
		Witnessed:   x.notes.Witnesses.List(),
	}
}

// isCopy reports whether the directory has no key to sign with.
func (x *verification) isCopy() bool {
	_, err := durable.ReadFile(x.fsys, checkpoint.PrivateKeyFile)
	return errors.Is(err, fs.ErrNotExist)
}

// publicKeyIsOwn returns an error for a checkpoint.pub that is not the key which the journal says. A copy
// may lack its key before the first checkpoint of its name, as its first start may have been cut short.
func (x *verification) publicKeyIsOwn() error {
	if x.notes.SignedAs(x.names.Origin()) == 0 && x.isCopy() {
		return nil
	}
	public, err := checkpoint.PublicKey(x.fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there are no checkpoints
	}
	if err != nil {
		return err
	}
	return x.names.CheckOwnKey(public)
}

// onlyJournalFiles returns an error where another file lies among those of the journal.
func onlyJournalFiles(fsys durable.ReadFS) error {
	names, err := fsys.List("journal")
	i := slices.IndexFunc(names, func(name string) bool {
		return !journalFile.MatchString(name)
	})
	if i >= 0 {
		return journal.InFile("journal/"+names[i], "is not a file of the journal")
	}
	return err
}

// journalFile matches the names of the journal's files. A copy of one under another name does not match.
var journalFile = regexp.MustCompile(`^[0-9]{12,}\.jsonl(` + durable.TempSuffix + `)?$`)
