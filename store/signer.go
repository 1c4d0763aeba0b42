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
		err = savePEM(fsys, privateKeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	}
	if err != nil {
		return nil, err
	}
	der, _ := x509.MarshalPKIXPublicKey(key.Public())
	switch want := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}); {
	case noPublic != nil:
		err = savePEM(fsys, publicKeyFile, want)
	case !bytes.Equal(public, want):
		err = inFile(publicKeyFile, "is not the public half of the private key")
	}
	return key, err
}

func savePEM(fsys FS, name string, text []byte) error {
	return Publish(fsys, ".", name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
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

// runCheckpoints makes checkpoints until the writer ends. Its clock paces it, and decides nothing.
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
	err := Publish(fsys, ".", checkpointFile, func(w io.Writer) error {
		_, err := w.Write(note)
		return err
	})
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

// open finds where in the log the next note goes: after the newest checkpoint. A note that did not become the newest need
// not be on the disk, nor whole.
func (s *signer) open(fsys FS) (err error) {
	if s.key, err = loadKey(fsys); err != nil {
		return err
	}
	if s.origin, _, err = readOrigin(fsys); err != nil {
		return err
	}
	newest, err := NewestCheckpoint(fsys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = reading(fsys, checkpointLog, func(f *io.SectionReader) error {
		end := make([]byte, min(f.Size(), 2*maxCheckpoint))
		if _, err := f.ReadAt(end, f.Size()-int64(len(end))); err != nil && err != io.EOF {
			return err
		}
		start := 0
		if i := bytes.LastIndex(end, []byte("\n\n"+s.origin+"\n")); i >= 0 {
			start = i + 2
		}
		if len(newest) > 0 && bytes.HasPrefix(end[start:], append(newest, '\n')) {
			start += len(newest) + 1
		}
		s.size = f.Size() - int64(len(end)-start)
		return nil
	})
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return Publish(fsys, ".", checkpointLog, func(io.Writer) error { return nil })
}
