package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

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
	// for each line that follows from the one before
	visits journal.Visits
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
	origin   string                // the name in FORMAT
	names    []named               // that the directory has had; the last is its name now
	namedAt  uint64                // the line at which names were known already
	evidence map[uint64][]evidence // by seq
	// witnessed has a member for each witness that is asked after.
	witnessed []Witnessed
	repairs   []repaired // that the journal tells of
	fits      uint64     // the newest line that a checkpoint agrees with
	// unvouchedFrom is the time of the first line after that; zero where there is none.
	unvouchedFrom time.Time
	keptFits      uint64              // of those that were kept
	older         *Older              // what the file checkpoint is, compared with the log
	unsigned      bool                // there is no checkpoint
	named         map[uint64][]string // when lines' personal parts were erased, as others say
	gone          map[uint64]erasedAt // what stands in them instead

	blocks journal.Blocks
	batch  []journal.Visited // what is to visit of the block

	first Head // see readCreated
	head  Head
	at    Place // of the last good line of what was read line by line
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

// run goes through the files, and has the lines visited.
func (s *scan) run() error {
	err := s.visits.Beside(s.walk)
	if err == errEnough {
		err = nil
	}
	return err
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
	s.origin = origin
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
		wrong := s.damage(fmt.Sprintf("a checkpoint in %s proves that seq %d was durable, with hash %x; %s",
			e.from, e.Seq, e.Hash, s.newestFit(e)))
		if e.kept {
			wrong.Forked = e.twoHistories()
		}
		return wrong
	}
	return nil
}

// inTree reports whether the tree has all lines up to one, or none is wanted.
func (s *scan) inTree(seq uint64) bool {
	return s.tree == nil || seq <= s.tree.Size()
}

// damage is the error of a journal that ends, or is torn, before what was durable.
func (s *scan) damage(proof string) *Damage {
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

// read goes through the lines of a file.
func (s *scan) read(f *io.SectionReader) error {
	s.blocks.Begin(f)
	n := 0
	for s.blocks.Next() {
		text := s.blocks.Text()
		s.batch = make([]journal.Visited, 0, bytes.Count(text, journal.Newline))
		var ended error
		for line := range bytes.Lines(text) {
			n++
			if ended = s.line(n, line); ended != nil {
				break
			}
		}
		s.visits.Hand(s.batch)
		if ended != nil {
			return ended
		}
	}
	return s.blocks.Err()
}

// line reads the line n of a file. After the first bad one it looks for proof that this had been durable.
func (s *scan) line(n int, text []byte) error {
	l, bad := s.parse(text)
	if s.torn != nil {
		s.torn.Bytes += int64(len(text))
		if bad == nil && l.Synced >= s.torn.Seq {
			return s.damage(fmt.Sprintf("line %d, written later, says that seq %d was durable", n, l.Synced))
		}
		return nil
	}
	if bad == nil {
		bad = l.Follows(s.head)
	} else if l.IsNewer(bad, s.head) {
		return fmt.Errorf("%s: line %d: %w: it %v", s.last, n, ErrNewer, bad)
	}
	at := Place{File: s.last, Line: n, Offset: s.size}
	if bad != nil {
		s.torn = &Torn{
			Damage:     *journal.DamageAt(at, s.head.Seq+1, bad.Error()),
			Bytes:      int64(len(text)),
			unfinished: bad == errNewline,
		}
		return nil
	}
	if !s.inTree(l.Seq) {
		s.tree.Add(tree.Leaf(l.Chained))
	}
	if err := s.note(at, &l); err != nil {
		if wrong, ok := errors.AsType[*Damage](err); ok {
			return wrong
		}
		return journal.DamageAt(at, l.Seq, err.Error())
	}
	switch {
	case l.Seq > s.from.Seq:
		s.batch = append(s.batch, journal.Visited{At: at, Line: l})
	case l.Seq == s.from.Seq && l.Hash != s.from.Hash:
		return journal.DamageAt(at, l.Seq, "is not the line that the snapshot of this seq was made after")
	}
	s.head = l.Head
	s.at = at
	s.lines = n
	s.size += int64(len(text))
	if l.Seq == s.until || s.visits.Failed() {
		return errEnough
	}
	return nil
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

// decoded is the event of a line, or why it has none.
type decoded[E any] struct {
	event E
	err   error
}

// decode decodes the events of lines, before it is their turn to be applied; but in their order, and one at a
// time, so that Decode may remember what it has read.
func (r *replay[S, E]) decode(batch []journal.Visited) {
	list := make([]decoded[E], len(batch))
	for i := range batch {
		if v := &batch[i]; !Own(v.Line.Type) {
			list[i].event, list[i].err = r.event(v)
			v.Event = &list[i]
		}
	}
}

// event decodes the event of a line.
func (r *replay[S, E]) event(v *journal.Visited) (e E, err error) {
	defer v.Misfit(&err)
	e, err = r.cfg.Decode(v.Line.Type, v.Line.Data, v.Line.Personal)
	if errors.Is(err, ErrNewer) {
		return e, fmt.Errorf("%s: line %d: %w", v.At.File, v.At.Line, err)
	}
	if err != nil {
		err = journal.DamageAt(v.At, v.Line.Seq, "cannot be read: "+err.Error())
	}
	return e, err
}

// apply applies a line's event.
func (r *replay[S, E]) apply(v *journal.Visited) error {
	x, ok := v.Event.(*decoded[E])
	if !ok {
		return nil // the line is the store's own
	}
	if x.err != nil {
		return x.err
	}
	if r.check != nil {
		if err := r.check(r.state, v.Line.Stamp, x.event); err != nil {
			wrong := journal.DamageAt(v.At, v.Line.Seq, err.Error())
			wrong.Books = true
			return wrong
		}
	}
	r.cfg.Apply(r.state, v.Line.Stamp, x.event)
	return nil
}
