package store

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"waybill/store/durable"
	"waybill/store/note"
)

// A Checkpoint says that a journal had a line, with everything before it: what an auditor keeps elsewhere, to
// prove later that today's journal extends the one of then. It is a signed note (C2SP, signed-note) with an
// Ed25519 key that the directory's creation makes:
//
//	waybill/<the id in FORMAT>
//	48213
//	<the line's hash, 64 hex>
//	2026-11-20T16:39:00.123Z
//
//	— waybill/<the id in FORMAT> <base64: 4 bytes of the key, 64 of signature>
//
// The newest stands in the file checkpoint, all of them in checkpoints.log, a blank line after each.
type Checkpoint struct {
	Origin string // waybill/<the id in FORMAT>
	Head
}

const (
	checkpointFile = "checkpoint"
	checkpointLog  = "checkpoints.log"
	privateKeyFile = "checkpoint.key" // PKCS #8, PEM
	publicKeyFile  = "checkpoint.pub" // PKIX, PEM
)

func (c *Checkpoint) text() []byte {
	return fmt.Appendf(nil, "%s\n%d\n%x\n%s\n", c.Origin, c.Seq, c.Hash, c.Time.UTC().Format(timeLayout))
}

// sign returns the checkpoint as a signed note.
func (c *Checkpoint) sign(key ed25519.PrivateKey) []byte {
	return note.Sign(c.text(), c.Origin, key)
}

// ParseCheckpoint reads a checkpoint whose one signature is by the key.
func ParseCheckpoint(signed []byte, key ed25519.PublicKey) (Checkpoint, error) {
	var c Checkpoint
	n, err := note.Parse(signed)
	if err != nil {
		return c, errNoCheckpoint
	}
	// Sscanf is lenient; what it reads must come out the same when it is written.
	var hash []byte
	var at string
	fmt.Sscanf(string(n.Text), "%s\n%d\n%64x\n%s\n", &c.Origin, &c.Seq, &hash, &at)
	c.Time, _ = time.Parse(timeLayout, at)
	copy(c.Hash[:], hash)
	if !bytes.Equal(n.Text, c.text()) || n.Name != c.Origin {
		return c, errNoCheckpoint
	}
	return c, n.Verify(key)
}

var errNoCheckpoint = errors.New("is not a checkpoint")

// ParsePublicKey reads a checkpoint.pub.
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	if block, _ := pem.Decode(text); block != nil {
		parsed, _ := x509.ParsePKIXPublicKey(block.Bytes)
		if key, ok := parsed.(ed25519.PublicKey); ok {
			return key, nil
		}
	}
	return nil, errors.New("is not an Ed25519 public key in PEM")
}

// PublicKey reads the key that the directory's checkpoints are signed with.
func PublicKey(fsys durable.FS) (ed25519.PublicKey, error) {
	text, err := durable.ReadFile(fsys, publicKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := ParsePublicKey(text)
	if err != nil {
		err = inFile(publicKeyFile, err.Error())
	}
	return key, err
}

// NewestCheckpoint reads the file checkpoint as it stands.
func NewestCheckpoint(fsys durable.FS) ([]byte, error) {
	return durable.ReadFile(fsys, checkpointFile)
}

// loadKey reads the directory's key, or makes it from random bytes.
func loadKey(fsys durable.FS, random io.Reader) (key ed25519.PrivateKey, err error) {
	text, err := durable.ReadFile(fsys, privateKeyFile)
	if block, _ := pem.Decode(text); block != nil {
		parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, _ = parsed.(ed25519.PrivateKey)
	}
	public, noPublic := durable.ReadFile(fsys, publicKeyFile)
	fresh := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !fresh:
		return nil, err
	case fresh && noPublic == nil:
		return nil, inFile(privateKeyFile, "is missing, but "+publicKeyFile+" shows that there was one")
	case !fresh && key == nil:
		return nil, inFile(privateKeyFile, "is not an Ed25519 private key in PEM")
	case fresh:
		seed := make([]byte, ed25519.SeedSize)
		if _, err := io.ReadFull(random, seed); err != nil {
			return nil, err
		}
		key = ed25519.NewKeyFromSeed(seed)
		private, _ := x509.MarshalPKCS8PrivateKey(key)
		err = durable.PublishText(fsys, ".", privateKeyFile, pem.EncodeToMemory(&pem.Block{
			Type:  "PRIVATE KEY",
			Bytes: private,
		}))
	}
	if err != nil {
		return nil, err
	}
	der, _ := x509.MarshalPKIXPublicKey(key.Public())
	want := pem.EncodeToMemory(&pem.Block{
		Type:  "PUBLIC KEY",
		Bytes: der,
	})
	switch {
	case noPublic != nil:
		err = durable.PublishText(fsys, ".", publicKeyFile, want)
	case !bytes.Equal(public, want):
		err = inFile(publicKeyFile, "is not the public half of the private key")
	}
	return key, err
}

// signer makes a store's checkpoints.
type signer struct {
	fsys   durable.FS
	random io.Reader  // what a new key is made from
	mu     sync.Mutex // one at a time
	origin string
	key    ed25519.PrivateKey
	size   int64  // of the log's whole notes
	thinAt int64  // the size from which on it is thinned
	newest uint64 // the seq that was signed last
}

const (
	checkpointQuiet = 200 * time.Millisecond // a checkpoint is made so long after the last batch
	// but no more than one in this time, and at least one while there are batches
	checkpointPause = time.Second
)

// runCheckpoints makes checkpoints until the store is closed. Its clock paces it, and decides nothing.
func (st *Store[S, E]) runCheckpoints() {
	due := time.NewTimer(checkpointQuiet) // the line that was journalled at the start
	first := time.Now()
	last := time.Time{}
	for {
		select {
		case _, open := <-st.grown:
			if !open {
				st.checkpoint()
				return
			}
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			wait := min(checkpointQuiet, first.Add(checkpointPause).Sub(now))
			due.Reset(max(wait, last.Add(checkpointPause).Sub(now)))
		case <-due.C:
			first, last = (time.Time{}), time.Now()
			if !st.checkpoint() {
				due.Reset(checkpointPause)
			}
		}
	}
}

// checkpoint signs the newest durable line, and reports whether that went well. One that cannot be written
// loses nothing.
func (st *Store[S, E]) checkpoint() bool {
	st.signer.mu.Lock()
	defer st.signer.mu.Unlock()
	st.mu.Lock()
	head := st.head
	st.mu.Unlock()
	if head.Seq == st.signer.newest {
		return true
	}
	err := st.signer.sign(head)
	if err != nil {
		st.cfg.Log.Warn("a checkpoint could not be written; it is tried again", "err", err)
	}
	return err == nil
}

// sign writes a checkpoint: into the log first, after the last whole one there.
func (s *signer) sign(head Head) error {
	c := Checkpoint{s.origin, head}
	signed := c.sign(s.key)
	f, err := s.fsys.Append(checkpointLog)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil && size > s.size { // what is left of one that failed
		err = f.Truncate(s.size)
	}
	if err == nil {
		_, err = f.Write(append(signed, '\n'))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	s.size += int64(len(signed)) + 1
	if err = durable.PublishText(s.fsys, ".", checkpointFile, signed); err != nil {
		return err
	}
	s.newest = head.Seq
	return s.thin()
}

// The log of checkpoints is thinned, so that neither it nor a check of its signatures grows with the time
// that a server runs: each note vouches for all lines before it, and an older one only helps to say how far a
// damaged journal is good.
const (
	thinFrom   = 2 << 20 // bytes, some 10,000 notes, or else twice what was left the last time
	keepNotes  = 1000    // the newest, all of them
	keepHourly = 31 * 24 * time.Hour
)

// thin rewrites the log, once it is large, without most of its older notes: it keeps the newest, the last of
// each hour of a month, and the last of each day. What cannot be read it leaves alone.
func (s *signer) thin() error {
	s.thinAt = max(s.thinAt, thinFrom)
	if s.size < s.thinAt {
		return nil
	}
	text, err := durable.ReadFile(s.fsys, checkpointLog)
	if err != nil {
		return err
	}
	var notes []loggedNote
	for rest := text; len(rest) > 0; {
		end, signed, _ := note.Split(rest, true)
		at, ok := noteTime(signed)
		if !ok {
			s.thinAt = 2 * s.size
			return nil
		}
		notes = append(notes, loggedNote{signed, at})
		rest = rest[end:]
	}
	kept := bytes.Join(thinned(notes), nil)
	if err := durable.PublishText(s.fsys, ".", checkpointLog, kept); err != nil {
		return err
	}
	s.size = int64(len(kept))
	s.thinAt = 2 * s.size
	return nil
}

// loggedNote is a note with the blank line after it, and the time of its line.
type loggedNote struct {
	text []byte
	at   time.Time
}

// thinned returns those to keep, in their order.
func thinned(notes []loggedNote) (kept [][]byte) {
	for i, n := range notes {
		newest := notes[len(notes)-1].at
		period := 24 * time.Hour
		if newest.Sub(n.at) < keepHourly {
			period = time.Hour
		}
		recent := i >= len(notes)-keepNotes
		if recent || !n.at.Truncate(period).Equal(notes[i+1].at.Truncate(period)) {
			kept = append(kept, n.text)
		}
	}
	return kept
}

// noteTime reads the time of a checkpoint with the blank line after it.
func noteTime(signed []byte) (at time.Time, ok bool) {
	lines := bytes.SplitN(signed, newline, 5)
	if len(lines) < 5 || !bytes.HasSuffix(signed, []byte("\n\n")) {
		return at, false
	}
	at, err := time.Parse(timeLayout, string(lines[3]))
	return at, err == nil
}

// open finds where in the log the next note goes. What is left of a note that failed is written over; a whole
// one that is newer than the newest checkpoint is written again, as it need not be on the disk.
func (s *signer) open() (err error) {
	if s.key, err = loadKey(s.fsys, s.random); err != nil {
		return err
	}
	if s.origin, _, err = readOrigin(s.fsys); err != nil {
		return err
	}
	signed, start, err := lastLogged(s.fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return durable.PublishText(s.fsys, ".", checkpointLog, nil)
	}
	s.size = start
	newest, err2 := NewestCheckpoint(s.fsys)
	if err != nil || err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
		return errors.Join(err, err2)
	}
	public := s.key.Public().(ed25519.PublicKey)
	logged, bad := ParseCheckpoint(signed, public)
	published, none := ParseCheckpoint(newest, public)
	switch {
	case bad != nil:
		return nil
	case none != nil || published.Seq < logged.Seq:
		return s.sign(logged.Head)
	}
	s.size += int64(len(signed)) + 1
	return nil
}

// lastLogged returns the last whole note of the log, without the blank line after it, or nothing, and where
// it starts, or what is left of one does.
func lastLogged(fsys durable.FS) (signed []byte, start int64, err error) {
	err = durable.Read(fsys, checkpointLog, func(f *io.SectionReader) error {
		end, err := durable.Tail(f, 2*note.MaxNote)
		at := 0
		i := bytes.LastIndex(end, []byte("\n\n"+originStart))
		if i >= 0 {
			at = i + 2
		}
		start = f.Size() - int64(len(end)-at)
		_, signed, _ = note.Split(end[at:], false)
		signed = bytes.TrimSuffix(signed, newline)
		return err
	})
	return signed, start, err
}
