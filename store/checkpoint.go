package store

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"
)

// A Checkpoint says that a journal had a line, with everything before it: what an auditor keeps elsewhere, to prove
// later that today's journal extends the one of then. It is a signed note (C2SP, signed-note) with an Ed25519 key that
// the directory's creation makes:
//
//	waybill/<the id in FORMAT>
//	48213
//	<the line's hash, 64 hex>
//	2026-11-20T16:39:00.123Z
//
//	— waybill/<the id in FORMAT> <base64: 4 bytes that tell the key, and 64 of signature over the lines above the blank one>
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

	signatureStart = "\n— "
	maxCheckpoint  = 1 << 10 // bytes
)

func (c *Checkpoint) text() []byte {
	return fmt.Appendf(nil, "%s\n%d\n%x\n%s\n", c.Origin, c.Seq, c.Hash, c.Time.UTC().Format(timeLayout))
}

// keyID tells a signer's keys apart, as signed-note defines it.
func keyID(name string, key ed25519.PublicKey) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n\x01%s", name, key)) // 1 is Ed25519
	return sum[:4]
}

// sign gives the checkpoint as a signed note.
func (c *Checkpoint) sign(key ed25519.PrivateKey) []byte {
	text := c.text()
	signature := append(keyID(c.Origin, key.Public().(ed25519.PublicKey)), ed25519.Sign(key, text)...)
	return fmt.Appendf(text, signatureStart+"%s %s\n", c.Origin, base64.StdEncoding.EncodeToString(signature))
}

// ParseCheckpoint reads a checkpoint whose one signature is by the key.
func ParseCheckpoint(note []byte, key ed25519.PublicKey) (c Checkpoint, err error) {
	var hash []byte
	var at, name, encoded string
	// Sscanf is lenient; what it reads must come out the same when it is written.
	fmt.Sscanf(string(note), "%s\n%d\n%64x\n%s\n"+signatureStart+"%s %s\n", &c.Origin, &c.Seq, &hash, &at, &name, &encoded)
	c.Time, _ = time.Parse(timeLayout, at)
	copy(c.Hash[:], hash)
	text := c.text()
	if string(note) != fmt.Sprintf("%s"+signatureStart+"%s %s\n", text, c.Origin, encoded) {
		return c, errors.New("is not a checkpoint")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
	switch id := keyID(c.Origin, key); {
	case err != nil || len(signature) != len(id)+ed25519.SignatureSize:
		return c, errors.New("has a signature in no known form")
	case !bytes.Equal(signature[:len(id)], id):
		return c, errors.New("is signed with another key")
	case !ed25519.Verify(key, text, signature[len(id):]):
		return c, errors.New("has a signature that is not of these lines")
	}
	return c, nil
}

// SplitCheckpoints is a bufio.SplitFunc for checkpoints that follow each other, with blank lines between. It leaves the
// newline of the blank line, so that its lack is seen.
func SplitCheckpoints(data []byte, atEOF bool) (advance int, note []byte, err error) {
	start := len(data) - len(bytes.TrimLeft(data, "\n"))
	_, signature, _ := bytes.Cut(data[start:], []byte(signatureStart))
	_, rest, whole := bytes.Cut(signature, newline)
	switch {
	case whole && len(rest) == 0 && !atEOF:
		return start, nil, nil // the blank line is still to come
	case whole:
		end := len(data) - len(bytes.TrimPrefix(rest, newline))
		return end, data[start:end], nil
	case atEOF && start < len(data), len(data)-start > maxCheckpoint:
		return len(data), data[start:], nil
	}
	return start, nil, nil
}

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
func PublicKey(fsys FS) (ed25519.PublicKey, error) {
	text, err := readFile(fsys, publicKeyFile)
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
func NewestCheckpoint(fsys FS) ([]byte, error) { return readFile(fsys, checkpointFile) }

// loadKey reads the directory's key, or makes it.
func loadKey(fsys FS) (key ed25519.PrivateKey, err error) {
	text, err := readFile(fsys, privateKeyFile)
	if block, _ := pem.Decode(text); block != nil {
		parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, _ = parsed.(ed25519.PrivateKey)
	}
	public, noPublic := readFile(fsys, publicKeyFile)
	switch fresh := errors.Is(err, fs.ErrNotExist); {
	case err != nil && !fresh:
		return nil, err
	case fresh && noPublic == nil:
		return nil, inFile(privateKeyFile, "is missing, but "+publicKeyFile+" shows that there was one")
	case !fresh && key == nil:
		return nil, inFile(privateKeyFile, "is not an Ed25519 private key in PEM")
	case fresh:
		_, key, _ = ed25519.GenerateKey(nil)
		private, _ := x509.MarshalPKCS8PrivateKey(key)
		err = PublishText(fsys, ".", privateKeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	}
	if err != nil {
		return nil, err
	}
	der, _ := x509.MarshalPKIXPublicKey(key.Public())
	switch want := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}); {
	case noPublic != nil:
		err = PublishText(fsys, ".", publicKeyFile, want)
	case !bytes.Equal(public, want):
		err = inFile(publicKeyFile, "is not the public half of the private key")
	}
	return key, err
}

// signer makes a store's checkpoints.
type signer struct {
	fsys   FS
	mu     sync.Mutex // one at a time
	origin string
	key    ed25519.PrivateKey
	size   int64  // of the log's whole notes
	thinAt int64  // the size from which on it is thinned
	newest uint64 // the seq that was signed last
}

const (
	checkpointQuiet = 200 * time.Millisecond // a checkpoint is made so long after the last batch
	checkpointPause = time.Second            // but no more than one in this time, and at least one while there are batches
)

// runCheckpoints makes checkpoints until the store is closed. Its clock paces it, and decides nothing.
func (st *Store[S, E]) runCheckpoints() {
	due := time.NewTimer(checkpointQuiet) // the line that was journalled at the start
	first, last := time.Now(), time.Time{}
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
			if first, last = (time.Time{}), time.Now(); !st.checkpoint() {
				due.Reset(checkpointPause)
			}
		}
	}
}

// checkpoint signs the newest durable line, and tells whether that went well. One that cannot be written loses nothing.
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
	note := c.sign(s.key)
	f, err := s.fsys.Append(checkpointLog)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil && size > s.size { // what is left of one that failed
		err = f.Truncate(s.size)
	}
	if err == nil {
		_, err = f.Write(append(note, '\n'))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	s.size += int64(len(note)) + 1
	if err = PublishText(s.fsys, ".", checkpointFile, note); err != nil {
		return err
	}
	s.newest = head.Seq
	return s.thin()
}

// The log of checkpoints is thinned, so that neither it nor a check of its signatures grows with the time that a server
// runs: each note vouches for all lines before it, and an older one only helps to say how far a damaged journal is good.
const (
	thinFrom   = 2 << 20 // bytes, some 10,000 notes, or else twice what was left the last time
	keepNotes  = 1000    // the newest, all of them
	keepHourly = 31 * 24 * time.Hour
)

// thin rewrites the log, once it is large, without most of its older notes: it keeps the newest, the last of each hour
// of a month, and the last of each day. What cannot be read it leaves alone.
func (s *signer) thin() error {
	s.thinAt = max(s.thinAt, thinFrom)
	if s.size < s.thinAt {
		return nil
	}
	text, err := readFile(s.fsys, checkpointLog)
	if err != nil {
		return err
	}
	var notes []loggedNote
	for rest := text; len(rest) > 0; {
		end, note, _ := SplitCheckpoints(rest, true)
		at, ok := noteTime(note)
		if !ok {
			s.thinAt = 2 * s.size
			return nil
		}
		notes = append(notes, loggedNote{note, at})
		rest = rest[end:]
	}
	kept := bytes.Join(thinned(notes), nil)
	if err := PublishText(s.fsys, ".", checkpointLog, kept); err != nil {
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
func noteTime(note []byte) (at time.Time, ok bool) {
	lines := bytes.SplitN(note, newline, 5)
	if len(lines) < 5 || !bytes.HasSuffix(note, []byte("\n\n")) {
		return at, false
	}
	at, err := time.Parse(timeLayout, string(lines[3]))
	return at, err == nil
}

// open finds where in the log the next note goes. What is left of a note that failed is written over; a whole one that is
// newer than the newest checkpoint is written again, as it need not be on the disk.
func (s *signer) open() (err error) {
	if s.key, err = loadKey(s.fsys); err != nil {
		return err
	}
	if s.origin, _, err = readOrigin(s.fsys); err != nil {
		return err
	}
	note, start, err := lastLogged(s.fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return PublishText(s.fsys, ".", checkpointLog, nil)
	}
	s.size = start
	newest, err2 := NewestCheckpoint(s.fsys)
	if err != nil || err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
		return errors.Join(err, err2)
	}
	public := s.key.Public().(ed25519.PublicKey)
	logged, bad := ParseCheckpoint(note, public)
	published, none := ParseCheckpoint(newest, public)
	switch {
	case bad != nil:
		return nil
	case none != nil || published.Seq < logged.Seq:
		return s.sign(logged.Head)
	}
	s.size += int64(len(note)) + 1
	return nil
}

// lastLogged gives the last whole note of the log, without the blank line after it, or nothing, and where it starts, or
// what is left of one does.
func lastLogged(fsys FS) (note []byte, start int64, err error) {
	err = reading(fsys, checkpointLog, func(f *io.SectionReader) error {
		end, err := tail(f, 2*maxCheckpoint)
		at := 0
		if i := bytes.LastIndex(end, []byte("\n\n"+originStart)); i >= 0 {
			at = i + 2
		}
		start = f.Size() - int64(len(end)-at)
		_, note, _ = SplitCheckpoints(end[at:], false)
		note = bytes.TrimSuffix(note, newline)
		return err
	})
	return note, start, err
}
