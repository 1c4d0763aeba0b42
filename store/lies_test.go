package store_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"waybill/store/durable"
)

// TestCampaignCanFail: the store is given one fault at a time, by what stands between it and the disk, or
// by a reader that does not wait for it. The campaign finds each, by its effect: what was acknowledged is
// lost, or its seq is there twice, or bytes are gone, or a start is refused, as later lines say that
// there is a hole.
func TestCampaignCanFail(t *testing.T) {
	t.Parallel()
	const states = 5_000
	for _, c := range []struct {
		fault     string
		lie       func(durable.FS) durable.FS
		untrusted bool
		want      string
		first     [2]string // the places that are gone to first: what their call, and how their name ends
	}{
		{fault: "acknowledge before sync", lie: func(d durable.FS) durable.FS { return lateSync{d} }, want: "are lost"},
		{fault: "no directory sync", lie: func(d durable.FS) durable.FS { return noDirSync{d} }, want: "are lost"},
		{fault: "retry a failed sync", lie: func(d durable.FS) durable.FS { return retrySync{d} }, want: "are lost", first: [2]string{"sync journal", "/EIO-end"}},
		{fault: "apply before journal", untrusted: true, want: "are lost"},
		{fault: "drop a tail silently", lie: func(d durable.FS) durable.FS { return dropTail{d, 0} }, want: "not kept", first: [2]string{"write journal", "/short"}},
		{fault: "drop an acknowledged tail", lie: func(d durable.FS) durable.FS { return dropTail{d, 1} }, want: "are lost"},
		{fault: "ignore a short write", lie: func(d durable.FS) durable.FS { return ignoreShort{d} }, want: "are lost", first: [2]string{"write journal", "/short-end"}},
		{fault: "reuse a seq", lie: func(d durable.FS) durable.FS { return noLock{d} }, want: "acknowledged twice"},
		{fault: "trust the page cache", lie: func(d durable.FS) durable.FS { return trustCache{d} }, want: "open is refused"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n, found := newCampaign(states, c.lie, c.untrusted).search(c.want, c.first)
				if found == "" {
					t.Fatalf("not caught in %d states", n)
				}
				t.Logf("caught by state %d: %s", n, found)
			})
		})
	}
}

// search goes through the states until one is complained of in these words, and returns how many it took. It
// takes one image of each 23rd place, then the next image of these; then it goes on with the places beside
// them. Neighbours fail alike, so the first few hundred states have nearly always one that shows the fault.
// Before all of them come the places where a fault shows that few others have.
func (c *campaign) search(want string, early [2]string) (states int, found string) {
	const apart = 23
	groups := make([][]place, 1+apart)
	for i, p := range c.places {
		if groups[1+i%apart] = append(groups[1+i%apart], p); strings.HasPrefix(p.op, early[0]) &&
			early[1] != "" && strings.HasSuffix(p.String(), early[1]) {
			groups[0] = append(groups[0], p)
		}
	}
	for _, group := range groups {
		lives := map[place]*life{}
		for image := range c.images {
			for _, p := range group {
				if lives[p] == nil {
					lives[p] = c.life(p, nil)
				}
				states++
				wrongs, _ := c.state(lives[p], p, image, nil)
				for _, wrong := range wrongs {
					if strings.Contains(wrong, want) {
						return states, p.op + ", " + p.String() + ": " + wrong
					}
				}
			}
		}
	}
	return states, ""
}

// lying is a file for writing of which some calls are not what they say.
type lying struct {
	durable.File
	write func(b []byte) (int, error)
	sync  func() error
}

func (f *lying) Write(b []byte) (int, error) { return f.write(b) }
func (f *lying) Sync() error                 { return f.sync() }

// lie makes lying files of a file that was created or opened for appending.
func lie(f durable.File, err error, change func(*lying)) (durable.File, error) {
	if err != nil {
		return nil, err
	}
	l := &lying{f, f.Write, f.Sync}
	change(l)
	return l, nil
}

// lateSync syncs a file when it is written the next time, and says at once that it has.
type lateSync struct{ durable.FS }

func (d lateSync) Append(name string) (durable.File, error) { return d.late(d.FS.Append(name)) }
func (d lateSync) Create(name string) (durable.File, error) { return d.late(d.FS.Create(name)) }

func (lateSync) late(f durable.File, err error) (durable.File, error) {
	return lie(f, err, func(l *lying) {
		due := false
		l.sync = func() error {
			due = true
			return nil
		}
		l.write = func(b []byte) (int, error) {
			if due {
				if err := f.Sync(); err != nil {
					return 0, err
				}
			}
			due = false
			return f.Write(b)
		}
	})
}

// noDirSync says that names are durable.
type noDirSync struct{ durable.FS }

func (noDirSync) SyncDir(string) error { return nil }

// retrySync tries a sync again, which the kernel then says has succeeded.
type retrySync struct{ durable.FS }

func (d retrySync) Append(name string) (durable.File, error) { return d.again(d.FS.Append(name)) }
func (d retrySync) Create(name string) (durable.File, error) { return d.again(d.FS.Create(name)) }

func (retrySync) again(f durable.File, err error) (durable.File, error) {
	return lie(f, err, func(l *lying) {
		l.sync = func() error {
			if f.Sync() == nil {
				return nil
			}
			return f.Sync()
		}
	})
}

// ignoreShort takes a write for whole that filled the disk.
type ignoreShort struct{ durable.FS }

func (d ignoreShort) Append(name string) (durable.File, error) { return d.whole(d.FS.Append(name)) }
func (d ignoreShort) Create(name string) (durable.File, error) { return d.whole(d.FS.Create(name)) }

func (ignoreShort) whole(f durable.File, err error) (durable.File, error) {
	return lie(f, err, func(l *lying) {
		l.write = func(b []byte) (int, error) {
			n, err := f.Write(b)
			if n > 0 && errors.Is(err, syscall.ENOSPC) {
				return len(b), nil
			}
			return n, err
		}
	})
}

// dropTail shows of the journal's last file only what a hasty recovery would go on from: whole lines, and not
// the last so many of them.
type dropTail struct {
	durable.FS
	lines int
}

// shown is a file with other bytes in it.
type shown struct {
	durable.Readable
	b *bytes.Reader
}

func (f shown) Read(b []byte) (int, error)              { return f.b.Read(b) }
func (f shown) ReadAt(b []byte, off int64) (int, error) { return f.b.ReadAt(b, off) }
func (f shown) Size() (int64, error)                    { return f.b.Size(), nil }

func (d dropTail) Open(name string) (durable.Readable, error) {
	f, err := d.FS.Open(name)
	if err != nil {
		return nil, err
	}
	names, err := d.List("journal")
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".jsonl") })
	if err != nil || len(names) == 0 || name != "journal/"+names[len(names)-1] {
		return f, err
	}
	text, err := io.ReadAll(f)
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	for range min(d.lines, bytes.Count(text, []byte("\n"))-1) {
		// not the one that tells when the directory was made
		text = text[:bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1]
	}
	return shown{f, bytes.NewReader(text)}, err
}

// noLock lets every process in: two of them give the same seqs.
type noLock struct{ durable.FS }

func (d noLock) Lock(name string) (io.Closer, error) {
	c, err := d.FS.Lock(name)
	if errors.Is(err, durable.ErrLocked) {
		return io.NopCloser(nil), nil
	}
	return c, err
}

// trustCache leaves the journal's last file as it is where a copy of it would read the same.
type trustCache struct{ durable.FS }

func (d trustCache) Rename(from, to string) error {
	if a, err := d.size(from); err == nil && strings.HasPrefix(to, "journal/") {
		if b, err := d.size(to); err == nil && a == b {
			return d.Remove(from)
		}
	}
	return d.FS.Rename(from, to)
}

func (d trustCache) size(name string) (int64, error) {
	f, err := d.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Size()
}
