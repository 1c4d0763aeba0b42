package store

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/ed25519"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"time"

	"waybill/store/durable"
)

// Report is what Verify found sound.
type Report struct {
	Head      Head
	Files     int
	Snapshots int
	// lines that there are checkpoints of; with none, and lines, nobody has signed the journal
	Checkpoints int
	Older       *Older     // the file checkpoint is older than the log; nil where it is not
	Unerased    []Unerased // lines whose personal parts are still to be erased: an Erase was cut short
	Torn        *Torn      // an end that the next start would cut
}

// Unsigned reports whether no checkpoint vouches for the journal: whoever has the disk can have written it.
func (r *Report) Unsigned() bool {
	return r.Checkpoints == 0 && r.Head.Seq > 0
}

// Older says that the file checkpoint is of an earlier line than the newest note of checkpoints.log.
type Older struct{ Published, Logged uint64 }

// Unerased is a line whose personal part is named to be erased, and since when, and is still there.
type Unerased struct {
	Seq uint64
	At  time.Time // of the line that names it
}

// Read goes through the whole journal from line 1, checks it, and calls visit for each line. It only reads
// and takes no lock. Where live says that a server is writing the journal, an unfinished end is the server's
// and is left out.
func Read(fsys durable.FS, live bool, visit func(Place, *Line) error) (Report, error) {
	s := scan{
		fsys:  fsys,
		visit: visit,
		whole: true,
		live:  live,
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
	s.visit = func(_ Place, l *Line) error {
		return visit(l)
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

// Kept is a checkpoint that an auditor kept, and the key it is signed with.
type Kept struct {
	Note []byte
	Key  ed25519.PublicKey
}

// KeptFile is what errors call the file of checkpoints that an auditor has kept.
const KeptFile = "the file given"

// Verify checks every byte of the journal and of the snapshots, that each snapshot holds what replaying the
// journal gives, and that the journal extends each checkpoint, its own and those kept. check, which sees the
// state before each event, and inspect, which sees the state after the last line, look at what the events
// mean.
func Verify[S, E any](cfg Config[S, E], live bool, kept []Kept, check func(S, Stamp, E) error,
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
	seqs, err := numbers(cfg.FS, "snapshots")
	names, unlisted := cfg.FS.List("journal")
	i := slices.IndexFunc(names, func(name string) bool {
		return !journalFile.MatchString(name)
	})
	if i >= 0 {
		return Report{}, inFile("journal/"+names[i], "is not a file of the journal")
	}
	if live {
		awaitCheckpoint(cfg.FS)
	}
	err = cmp.Or(err, unlisted, r.heedAll())
	for _, k := range kept {
		err = cmp.Or(err, r.heed(k.Note, k.Key, evidence{
			from: KeptFile,
			kept: true,
		}))
	}
	if err != nil {
		return Report{}, err
	}
	for _, seq := range seqs {
		r.proof = seq
	}
	checked := 0
	r.visit = func(at Place, l *Line) error {
		if err := r.apply(at, l); err != nil || !slices.Contains(seqs, l.Seq) {
			return err
		}
		checked++
		return r.compare(l)
	}
	if err = r.run(); err == nil {
		err = r.explainLater()
	}
	if err == nil {
		err = r.unexplained()
	}
	if err == nil {
		err = inspect(r.state, r.head.Stamp)
	}
	return Report{r.head, r.files, checked, len(r.evidence), r.older, r.unerased(), r.torn}, err
}

// journalFile is what the files of the journal are called; a copy of one, or one under another name, is none.
var journalFile = regexp.MustCompile(`^[0-9]{12,}\.jsonl(` + durable.TempSuffix + `)?$`)

// compare checks that the snapshot of a line is, byte for byte, what replaying the journal gives, unless it
// is of an earlier version.
func (r *replay[S, E]) compare(l *Line) error {
	name := "snapshots/" + numbered(l.Seq)
	same := false
	err := durable.Read(r.fsys, name, func(f *io.SectionReader) error {
		c := comparison{bufio.NewReaderSize(f, 1<<18), true}
		_, err := writeSnapshot(&c, l.Head, r.cfg.Freeze(r.state))
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
		return inFile(name, "is not the snapshot that replaying the journal gives")
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
