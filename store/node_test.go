package store_test

import (
	"bytes"
	"slices"
	"syscall"
)

// node is a file or a directory, under whatever names.
type node struct {
	dir    bool
	data   []byte // what a reader sees
	size   int    // of the file on the disk, at least
	loose  []span // what of data need not be on the disk, rising
	sealed bool
}

// span is a part of a file that no sync has written. Where one has failed, it is lost: the kernel takes the
// pages for clean, and the next sync has nothing to write and succeeds.
type span struct {
	from, to int
	lost     bool
}

// handle is an open file of a disk.
type handle struct {
	d    *disk
	f    *node
	name string
	read *bytes.Reader
}

func (h *handle) Read(b []byte) (int, error) { return h.read.Read(b) }

func (h *handle) ReadAt(b []byte, off int64) (int, error) { return h.read.ReadAt(b, off) }

func (h *handle) Write(b []byte) (n int, err error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	err = h.d.step("write "+h.name, func(part float64) {
		n = int(part * float64(len(b)))
		from := len(h.f.data)
		h.f.data = append(h.f.data, b[:n]...)
		h.f.loose = append(h.f.loose, span{from, len(h.f.data), false})
	})
	return n, err
}

func (h *handle) Sync() error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	err := h.d.step("sync "+h.name, h.f.sync)
	if err != nil && !h.d.dead {
		for i := range h.f.loose {
			h.f.loose[i].lost = true
		}
	}
	return err
}

// sync writes a part of what is loose, from the front.
func (f *node) sync(part float64) {
	n := 0
	for _, s := range f.loose {
		if !s.lost {
			n += s.to - s.from
		}
	}
	n = int(part * float64(n))
	var left []span
	for _, s := range f.loose {
		if !s.lost {
			written := min(n, s.to-s.from)
			n = n - written
			s.from = s.from + written
			if written > 0 {
				f.size = max(f.size, s.from)
			}
		}
		if s.from < s.to {
			left = append(left, s)
		}
	}
	f.loose = left
}

func (h *handle) Size() (int64, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return int64(len(h.f.data)), nil
}

// Truncate cuts the file; that the cut itself need not be on the disk is not modelled.
func (h *handle) Truncate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	f := h.f
	n := int(size)
	if n >= len(f.data) {
		return nil
	}
	return h.d.step("truncate "+h.name, func(part float64) {
		if part < 0.5 {
			return
		}
		f.data, f.size = slices.Clip(f.data[:n]), min(f.size, n)
		f.loose = slices.DeleteFunc(f.loose, func(s span) bool { return s.from >= n })
		for i := range f.loose {
			f.loose[i].to = min(f.loose[i].to, n)
		}
	})
}

// Reserve has as much room as the disk is said to have; what is reserved is not taken from it.
func (h *handle) Reserve(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.d.dead {
		return errKilled
	}
	if more := size - int64(len(h.f.data)); h.d.limited && more > h.d.free {
		if h.d.quota {
			return syscall.EDQUOT
		}
		return errFull
	}
	return nil
}

func (h *handle) Close() error { return nil }
