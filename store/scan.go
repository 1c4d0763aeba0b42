package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/tree"
)

// Torn describes an end of the journal that never became durable.
type Torn struct {
	Damage
	Bytes int64  // from Offset to the end of the file
	Kept  string // the file a start keeps the bytes in; "" before that

	unfinished bool // it is one line without its newline
}

// errEnough ends a scan where it was to end.
var errEnough = errors.New("store: enough")

// scan is one pass over the journal, from its first line to its end.
type scan struct {
	fsys durable.FS
	// called for each line that follows from the one before; its error ends the pass
	visit func(Place, *Line) error
	// from is a line that the journal must hold; those up to it are not visited, and of a file that ends
	// before it only the last line is read.
	from  Head
	until uint64 // the line after which to end; 0 is none
	proof uint64 // the highest seq that is known to have been durable
	// whole also checks that every line is one JSON object, which a strict decoder has no need of, and what
	// is erased.
	whole bool
	// erasures notes what is erased, and what lines say is to be.
	erasures bool
	live     bool // a server is writing the journal; an unfinished line at the end is its business

	// tree, unless it is nil, is given the leaf of each line from the one after its last on.
	tree     grower
	names    []named               // that the directory has had; the last is its name now
	namedAt  uint64                // the line at which names were known already
	evidence map[uint64][]evidence // by seq
	// witnessed has a member for each witness that is asked after.
	witnessed []Witnessed
	repairs   []repaired          // that the journal tells of
	fits      uint64              // the newest line that a checkpoint agrees with
	keptFits  uint64              // of those that were kept
	notes     int                 // in the log of checkpoints
	older     *Older              // what the file checkpoint is, compared with the log
	unsigned  bool                // there is no checkpoint
	named     map[uint64][]string // when lines' personal parts were erased, as others say
	gone      map[uint64]erasedAt // what stands in them instead

	text   []byte // room for lines of the batch
	batch  []visited
	ahead  chan []visited
	failed atomic.Bool // a visit has

	first Head // see readCreated
	head  Head
	files int
	last  string // the file the head stands in, or the next line will
	lines int    // of its good part
	size  int64  // of its good part
	torn  *Torn
}

// grower is a tree that grows.
type grower interface {
	Size() uint64
	Add(leaf tree.Hash)
	Root() tree.Hash
}

// visited is a line that is good, and where it stands.
type visited struct {
	at   Place
	line Line
}

// run goes through the files, and has the lines visited, batch by batch, on a goroutine of its own: reading
// and hashing the next ones takes one core, applying these another.
func (s *scan) run() error {
	var failed error
	var visits sync.WaitGroup
	s.ahead = make(chan []visited, 2)
	visits.Go(func() {
		for batch := range s.ahead {
			for i := 0; i < len(batch) && failed == nil; i++ {
				failed = s.show(batch[i].at, &batch[i].line)
			}
			s.failed.Store(failed != nil)
		}
	})
	err := s.walk()
	s.ahead <- s.batch
	close(s.ahead)
	visits.Wait()
	if err == errEnough {
		err = nil
	}
	return cmp.Or(failed, err) // what a visit says is of an earlier line
}

// keep copies a line's text to where it stays until it was visited. The first batches are small: a visit may
// end the pass.
func (s *scan) keep(text []byte) []byte {
	const room = 256 << 10
	if cap(s.text)-len(s.text) < len(text) {
		s.ahead <- s.batch
		s.text = make([]byte, 0, max(min(room, 2*cap(s.text)), len(text)))
		s.batch = nil
	}
	at := len(s.text)
	s.text = append(s.text, text...)
	return s.text[at:]
}

// walk reads the files. A first bad line is left in s.torn if it may be a torn tail, and returned if it is
// damage.
func (s *scan) walk() error {
	s.named = map[uint64][]string{}
	s.gone = map[uint64]erasedAt{}
	firsts, err := journal.Numbers(s.fsys, "journal")
	if err != nil {
		return err
	}
	origin, hash, err := journal.ReadOrigin(s.fsys)
	if err != nil {
		return err
	}
	s.head.Hash = hash
	if s.names == nil {
		s.names = []named{{origin: origin}}
	}
	for i, first := range firsts {
		s.files, s.last, s.lines, s.size = i+1, "journal/"+journal.Name(first), 0, 0
		if first != s.head.Seq+1 {
			return journal.DamageAt(Place{File: s.last, Line: 1}, s.head.Seq+1,
				"the file before it, or a part of that, is missing")
		}
		later := firsts[i+1:]
		read := s.read
		if len(later) > 0 && later[0] <= s.from.Seq && s.inTree(later[0]-1) {
			read = s.skip
		}
		switch err := durable.Read(s.fsys, s.last, read); {
		case err != nil:
			return err
		case s.torn != nil && len(later) > 0:
			return s.damage("later files exist, so it was durable")
		}
	}
	if s.live && s.torn != nil && s.torn.unfinished {
		s.torn = nil
	}
	if s.proof > s.head.Seq {
		return s.damage(fmt.Sprintf("a snapshot proves that seq %d was durable", s.proof))
	}
	if e := s.beyond(); e != nil {
		return s.damage(fmt.Sprintf("a checkpoint in %s proves that seq %d was durable, with hash %x; %s",
			e.from, e.Seq, e.Hash, s.newestFit(e)))
	}
	return nil
}

// inTree reports whether the tree has all lines up to one, or none is wanted.
func (s *scan) inTree(seq uint64) bool {
	return s.tree == nil || seq <= s.tree.Size()
}

// damage is the error of a journal that ends, or is torn, before what was durable.
func (s *scan) damage(proof string) error {
	next := s.head.Seq + 1
	d := journal.DamageAt(Place{File: cmp.Or(s.last, "journal"), Line: s.lines + 1, Offset: s.size}, next,
		fmt.Sprintf("lines from seq %d on are missing", next))
	if s.torn != nil {
		d = &s.torn.Damage
		s.torn = nil
	}
	d.Reason += "; " + proof
	return d
}

// skip goes over a file by its last line alone.
func (s *scan) skip(f *io.SectionReader) error {
	for n := int64(1 << 16); ; n *= 4 {
		end, err := durable.Tail(f, n)
		if err != nil {
			return err
		}
		start := bytes.LastIndexByte(bytes.TrimSuffix(end, journal.Newline), '\n') + 1
		if start == 0 && n < f.Size() {
			continue // a longer line
		}
		l, err := s.parse(end[start:])
		if err != nil {
			return journal.InFile(s.last, "has a last line that "+err.Error())
		}
		s.head = l.Head
		return nil
	}
}

// read goes through the lines of a file. After the first bad one it looks for proof that this had been
// durable.
func (s *scan) read(f *io.SectionReader) error {
	lines := journal.Scan(f)
	for n := 1; lines.Scan(); n++ {
		text := s.keep(lines.Bytes())
		l, bad := s.parse(text)
		if s.torn != nil {
			s.torn.Bytes += int64(len(text))
			if bad == nil && l.Synced >= s.torn.Seq {
				return s.damage(fmt.Sprintf("line %d, written later, says that seq %d was durable", n,
					l.Synced))
			}
			continue
		}
		if bad == nil {
			bad = l.Follows(s.head)
		}
		at := Place{File: s.last, Line: n, Offset: s.size}
		if bad != nil {
			s.torn = &Torn{
				Damage:     *journal.DamageAt(at, s.head.Seq+1, bad.Error()),
				Bytes:      int64(len(text)),
				unfinished: bad == errNewline,
			}
			continue
		}
		if !s.inTree(l.Seq) {
			s.tree.Add(tree.Leaf(l.Chained))
		}
		if err := s.note(at, &l); err != nil {
			return journal.DamageAt(at, l.Seq, err.Error())
		}
		switch {
		case l.Seq > s.from.Seq:
			s.batch = append(s.batch, visited{at, l})
		case l.Seq == s.from.Seq && l.Hash != s.from.Hash:
			return journal.DamageAt(at, l.Seq, "is not the line that the snapshot of this seq was made after")
		}
		s.head = l.Head
		s.lines = n
		s.size += int64(len(text))
		if l.Seq == s.until || s.failed.Load() {
			return errEnough
		}
	}
	return lines.Err()
}

// show has a line visited.
func (s *scan) show(at Place, l *Line) (err error) {
	defer func() {
		if p := recover(); p != nil { // the chain is good, but no program wrote this
			err = journal.DamageAt(at, l.Seq, fmt.Sprintf("does not fit the lines before it: %v", p))
		}
	}()
	return s.visit(at, l)
}

var errNewline = errors.New("has no newline at its end")

// parse reads a line with its newline. One that is to prove something must be whole.
func (s *scan) parse(text []byte) (Line, error) {
	b, ok := bytes.CutSuffix(text, journal.Newline)
	if !ok {
		return Line{}, errNewline
	}
	l, err := journal.Parse(b)
	if err == nil && (s.whole || s.torn != nil) && !journal.Valid(b) {
		err = errors.New("is not one JSON object")
	}
	return l, err
}
