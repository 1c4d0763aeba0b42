package store

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"
)

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
		_, key, _ = ed25519.GenerateKey(rand.Reader)
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
	mu     sync.Mutex // one at a time
	origin string
	key    ed25519.PrivateKey
	size   int64  // of the log's whole notes
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
	err := st.signer.sign(st.cfg.FS, head)
	if err != nil {
		st.cfg.Log.Warn("a checkpoint could not be written; it is tried again", "err", err)
	}
	return err == nil
}

// sign writes a checkpoint, into the log first.
func (s *signer) sign(fsys FS, head Head) error {
	c := Checkpoint{s.origin, head}
	note := c.sign(s.key)
	if err := s.log(fsys, append(note, '\n')); err != nil {
		return err
	}
	err := PublishText(fsys, ".", checkpointFile, note)
	if err == nil {
		s.newest = head.Seq
	}
	return err
}

// log appends a note after the last whole one.
func (s *signer) log(fsys FS, note []byte) error {
	f, err := fsys.Append(checkpointLog)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil && size > s.size { // what is left of one that failed
		err = f.Truncate(s.size)
	}
	if err == nil {
		_, err = f.Write(note)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		s.size += int64(len(note))
	}
	return err
}

// open finds where in the log the next note goes. What is left of a note that failed is written over; a whole one that is
// newer than the newest checkpoint is written again, as it need not be on the disk.
func (s *signer) open(fsys FS) (err error) {
	if s.key, err = loadKey(fsys); err != nil {
		return err
	}
	if s.origin, _, err = readOrigin(fsys); err != nil {
		return err
	}
	note, start, err := lastLogged(fsys, s.origin)
	if errors.Is(err, fs.ErrNotExist) {
		return PublishText(fsys, ".", checkpointLog, nil)
	}
	s.size = start
	newest, err2 := NewestCheckpoint(fsys)
	if err != nil || err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
		return errors.Join(err, err2)
	}
	public := s.key.Public().(ed25519.PublicKey)
	logged, bad := ParseCheckpoint(note, public)
	published, none := ParseCheckpoint(newest, public)
	switch {
	case bad != nil:
		return nil
	case none == nil && published.Seq >= logged.Seq:
		s.size += int64(len(note)) + 1
		return nil
	}
	return s.sign(fsys, logged.Head)
}

// lastLogged gives the last whole note of the log, without the blank line after it, or nothing, and where it starts, or
// what is left of one does.
func lastLogged(fsys FS, origin string) (note []byte, start int64, err error) {
	err = reading(fsys, checkpointLog, func(f *io.SectionReader) error {
		end := make([]byte, min(f.Size(), 2*maxCheckpoint))
		if _, err := f.ReadAt(end, f.Size()-int64(len(end))); err != nil && err != io.EOF {
			return err
		}
		at := 0
		if i := bytes.LastIndex(end, []byte("\n\n"+origin+"\n")); i >= 0 {
			at = i + 2
		}
		start = f.Size() - int64(len(end)-at)
		_, note, _ = SplitCheckpoints(end[at:], false)
		note = bytes.TrimSuffix(note, newline)
		return nil
	})
	return note, start, err
}
