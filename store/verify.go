package store

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

// Report is what Verify found sound.
type Report struct {
	Head      Head
	Last      Place // of the last line
	Files     int
	Snapshots int
	// lines that there are checkpoints of; with none, and lines, nobody has signed the journal
	Checkpoints int
	Vouched     uint64      // the last line that a checkpoint vouches for
	Unvouched   time.Time   // of the first line after that; zero where there is none
	Copy        bool        // there is no key: nothing signs here until it is served
	Unkept      []string    // earlier names of the directory, whose checkpoints are not there
	Older       *Older      // the file checkpoint is older than the log; nil where it is not
	Unerased    []Erasure   // lines whose personal parts are still to be erased: an Erase was cut short
	Torn        *Torn       // an end that the next start would cut
	Witnessed   []Witnessed // for each witness that was asked after
}

// Unsigned reports whether no checkpoint vouches for the journal: whoever has the disk can have written it.
func (r *Report) Unsigned() bool {
	return r.Checkpoints == 0 && r.Head.Seq > 0
}

// Older says that the file checkpoint is of an earlier line than the newest note of checkpoints.log.
type Older struct{ Published, Logged uint64 }

// Read goes through the whole journal from line 1, checks it, and calls visit for each line. It only reads
// and takes no lock. Where live says that a server is writing the journal, an unfinished end is the server's
// and is left out.
func Read(fsys durable.FS, live bool, visit func(Place, *Line) error) (Report, error) {
	s := scan{
		fsys:  fsys,
		whole: true,
		live:  live,
	}
	s.visits.Visit = func(v *journal.Visited) error {
		return visit(v.At, &v.Line)
	}
	err := s.run()
	return Report{
		Head:  s.head,
		Files: s.files,
		Torn:  s.torn,
	}, err
}

// Follow goes through the lines after one of a journal that may be in use, and calls visit for each; after
// the zero Head it visits all, and the report has what is still to be erased. It checks the chain and only
// reads.
func Follow(fsys durable.FS, after Head, visit func(*Line) error) (Report, error) {
	s := scan{
		fsys:     fsys,
		from:     after,
		live:     true,
		erasures: true,
	}
	s.visits.Visit = func(v *journal.Visited) error {
		return visit(&v.Line)
	}
	if err := s.run(); err != nil {
		return Report{}, err
	}
	return Report{
		Head:     s.head,
		Files:    s.files,
		Unerased: s.unerased(),
	}, nil
}

// Proven returns the last line that is known to be on the disk: that a checkpoint or a snapshot was made of.
// A line says that of those before it, too.
func Proven(fsys durable.FS) (seq uint64, err error) {
	seqs, err := journal.Numbers(fsys, "snapshots")
	if len(seqs) > 0 {
		seq = seqs[len(seqs)-1]
	}
	signed, none := checkpoint.Newest(fsys)
	if none != nil && !errors.Is(none, fs.ErrNotExist) {
		return seq, none
	}
	public, none := checkpoint.PublicKey(fsys)
	if none != nil {
		return seq, err // a copy
	}
	if c, bad := checkpoint.Parse(signed, public); bad == nil {
		seq = max(seq, c.Seq)
	}
	return seq, err
}

// SignedSince reports whether the newest checkpoint of a journal that is in use vouches for a line: it is of
// that line, or of a later one that follows from it.
func SignedSince(fsys durable.FS, line Head) (bool, error) {
	signed, err := checkpoint.Newest(fsys)
	if err != nil {
		return false, err
	}
	public, err := checkpoint.PublicKey(fsys)
	if err != nil {
		return false, err
	}
	c, err := checkpoint.Parse(signed, public)
	if err != nil || c.Seq < line.Seq {
		return false, err
	}
	fits := c.Seq == line.Seq && c.Hash == line.Hash
	_, err = Follow(fsys, line, func(l *Line) error {
		fits = fits || l.Seq == c.Seq && l.Hash == c.Hash
		return nil
	})
	return fits, err
}

// Kept is a checkpoint that an auditor kept, and the key it is signed with.
type Kept struct {
	Note []byte
	Key  ed25519.PublicKey // nil: the directory's own, of the name that has signed
}

// KeptFile is what errors call the file of checkpoints that an auditor has kept.
const KeptFile = "the file given"

// Expected is what somebody knows who verifies a directory, from elsewhere.
type Expected struct {
	Kept      []Kept
	Witnesses []note.Key // who should have signed
}

// Verify checks every byte of the journal and of the snapshots, that each snapshot holds what replaying the
// journal gives, that the journal extends each checkpoint, its own and those kept, and that the hashes beside
// it are of its lines. It reports what witnesses have signed. check, which sees the state before each event,
// and inspect, which sees the state after the last line, look at what the events mean.
func Verify[S, E any](cfg Config[S, E], live bool, expected Expected, check func(S, Stamp, E) error,
	inspect func(S, Stamp) error) (Report, error) {
	r := replay[S, E]{
		cfg: cfg,
		scan: scan{
			fsys:  cfg.FS,
			whole: true,
			live:  live,
		},
		state: cfg.New(),
		check: check,
	}
	seqs, err := journal.Numbers(cfg.FS, "snapshots")
	if err == nil {
		err = onlyJournalFiles(cfg.FS)
	}
	if live {
		awaitCheckpoint(cfg.FS)
	}
	if err == nil {
		err = r.expect(expected)
	}
	if err != nil {
		return Report{}, err
	}
	for _, seq := range seqs {
		r.proof = seq
	}
	var snapshots journal.Checks
	r.visits.Prepare = r.decode
	r.visits.Visit = func(v *journal.Visited) error {
		if err := r.apply(v); err != nil || !slices.Contains(seqs, v.Line.Seq) {
			return err
		}
		write := r.cfg.Freeze(r.state)
		snapshots.Begin(func() (err error) {
			defer v.Misfit(&err)
			return r.compare(&v.Line, write)
		})
		return nil
	}
	err = r.runBesideTree()
	for _, step := range []func() error{r.misnamed, r.publicKeyIsOwn, r.explainLater, r.unexplained} {
		if err == nil {
			err = step()
		}
	}
	if err == nil {
		err = inspect(r.state, r.head.Stamp)
	}
	// A snapshot is of a line before the one that stopped what goes through them.
	err = cmp.Or(snapshots.Wait(), err)
	return Report{
		Head:        r.head,
		Last:        r.at,
		Files:       r.files,
		Snapshots:   snapshots.Len(),
		Checkpoints: len(r.evidence),
		Vouched:     r.vouched(),
		Unvouched:   r.unvouchedFrom,
		Copy:        r.isCopy(),
		Unkept:      r.unkept(),
		Older:       r.older,
		Unerased:    r.unerased(),
		Torn:        r.torn,
		Witnessed:   r.witnessed,
	}, err
}

// isCopy reports whether the directory has no key to sign with.
func (s *scan) isCopy() bool {
	_, err := durable.ReadFile(s.fsys, checkpoint.PrivateKeyFile)
	return errors.Is(err, fs.ErrNotExist)
}

// onlyJournalFiles returns an error for a file among those of the journal that is none.
func onlyJournalFiles(fsys durable.FS) error {
	names, err := fsys.List("journal")
	i := slices.IndexFunc(names, func(name string) bool {
		return !journalFile.MatchString(name)
	})
	if i >= 0 {
		return journal.InFile("journal/"+names[i], "is not a file of the journal")
	}
	return err
}

// expect makes the scan hold the journal against the directory's checkpoints, and against what somebody knows
// from elsewhere.
func (s *scan) expect(expected Expected) error {
	for _, key := range expected.Witnesses {
		s.witnessed = append(s.witnessed, Witnessed{Key: key})
	}
	if err := s.heedAll(); err != nil {
		return err
	}
	for _, k := range expected.Kept {
		_, err := s.heed(k.Note, k.Key, evidence{
			from: KeptFile,
			kept: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runBesideTree goes through the journal, and holds the hashes of the tree against its lines.
func (s *scan) runBesideTree() error {
	lines, err := tree.NewCheck(s.fsys, s.signedUpTo())
	if err != nil {
		return err
	}
	s.tree = lines
	err = s.run()
	wrong := lines.Close()
	if err == nil && wrong != nil {
		err = treeDamage(wrong)
	}
	return err
}

// publicKeyIsOwn returns an error for a checkpoint.pub that is not the key that the journal says. Before the
// first checkpoint of its name, the first start of a copy may have been cut short: it has not got the key
// yet.
func (s *scan) publicKeyIsOwn() error {
	if s.signedAs(s.name()) == 0 && s.isCopy() {
		return nil
	}
	public, err := checkpoint.PublicKey(s.fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there are no checkpoints
	}
	if err != nil {
		return err
	}
	return s.ownKey(public)
}

// signedUpTo returns the newest line whose note has a root: the hashes of the tree were on the disk before
// it.
func (s *scan) signedUpTo() (newest uint64) {
	for seq, list := range s.evidence {
		for i := range list {
			if list[i].Rooted && !list[i].kept {
				newest = max(newest, seq)
			}
		}
	}
	return newest
}

// signedAs returns the newest line that the directory has signed under a name, 0 where it has signed none.
func (s *scan) signedAs(origin string) (newest uint64) {
	for seq, list := range s.evidence {
		for i := range list {
			if list[i].Origin == origin {
				newest = max(newest, seq)
			}
		}
	}
	return newest
}

// vouched returns the last line that a checkpoint of this journal vouches for.
func (s *scan) vouched() (newest uint64) {
	for seq, list := range s.evidence {
		for i := range list {
			if s.concerns(&list[i]) && seq <= s.head.Seq {
				newest = max(newest, seq)
			}
		}
	}
	return newest
}

// unkept returns the earlier names of the directory whose checkpoints are not there.
func (s *scan) unkept() (names []string) {
	for _, n := range s.names {
		if n.left > 0 && s.signedAs(n.origin) == 0 {
			names = append(names, n.origin)
		}
	}
	return names
}

// treeDamage is the error of a file of hashes that has a wrong one. Nothing is lost with it.
func treeDamage(err error) error {
	if wrong, ok := errors.AsType[*tree.Wrong](err); ok {
		return journal.InFile(
			wrong.File,
			fmt.Sprintf("byte %d: is not the hash of the lines up to seq %d; without the "+
				"directory %s the next start makes it again", wrong.Offset, wrong.Leaf+1, tree.Dir),
		)
	}
	return err
}

// journalFile is what the files of the journal are called; a copy of one, or one under another name, is none.
var journalFile = regexp.MustCompile(`^[0-9]{12,}\.jsonl(` + durable.TempSuffix + `)?$`)

// compare checks that the snapshot of a line is, byte for byte, what write writes, as replaying the journal
// gives, unless it is of an earlier version.
func (r *replay[S, E]) compare(l *Line, write func(io.Writer) error) error {
	name := "snapshots/" + journal.Name(l.Seq)
	same := false
	err := durable.Read(r.fsys, name, func(f *io.SectionReader) error {
		c := comparison{bufio.NewReaderSize(f, 1<<18), true}
		_, err := journal.WriteSnapshot(&c, l.Head, write)
		_, end := c.r.ReadByte()
		same = c.same && end == io.EOF
		return err
	})
	if err == nil && !same {
		was := replay[S, E]{
			cfg:  r.cfg,
			scan: scan{fsys: r.fsys},
		}
		err = was.thawFrom(l.Seq)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // a running server has dropped it since
	case errors.Is(err, ErrOlder):
		return nil // no start uses it
	case err == nil && !same:
		return journal.InFile(name, "is not the snapshot that replaying the journal gives")
	}
	return err
}

// comparison is a Writer that reports whether what is written to it is the same as what r reads.
type comparison struct {
	r    *bufio.Reader
	same bool
}

func (c *comparison) Write(b []byte) (int, error) {
	have := make([]byte, len(b))
	_, err := io.ReadFull(c.r, have)
	c.same = c.same && err == nil && bytes.Equal(have, b)
	return len(b), nil
}
