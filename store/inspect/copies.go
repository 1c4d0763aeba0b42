package inspect

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strings"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Backup copies a directory that may be in use into a new one, with all that was acknowledged before it
// began. The caller checks the copy; here only its last line is held against the directory's. dirs are
// directories that the store knows nothing of. The hashes of the tree are left out: they are a cache, which
// the first start makes again as it reads the whole journal.
func Backup(from durable.ReadFS, to durable.FS, inUse bool, dirs ...string) error {
	if inUse {
		checkpoint.Await(from, 1) // of a server that has just made its directory
	}
	lines := journal.NewLines(from)
	least, err := lines.Last()
	if err != nil {
		return err
	}
	c := Copy{from, to}
	if err := c.Begin(); err != nil {
		return err
	}
	if err := c.Notes(); err != nil {
		return err
	}
	copied, err := c.Lines(math.MaxUint64, nil)
	if err != nil {
		return err
	}
	if inUse {
		checkpoint.Await(from, copied)
	}
	if err := c.Finish(dirs); err != nil {
		return err
	}
	return lines.Read([]uint64{max(least, copied)}, func(l *journal.Line) error {
		return c.endsWith(l.Head)
	})
}

// A Copy is a new directory in the making: Begin, Notes, Lines, Finish, in this order. The notes come before
// the lines, so that none is of a line that is not copied. FORMAT comes last: a directory that has a public
// key and no FORMAT is not whole, and does not start.
type Copy struct {
	From durable.ReadFS
	To   durable.FS
}

// Begin makes the empty directory.
func (c Copy) Begin() error {
	if names, err := c.To.List("."); err != nil || len(names) > 0 {
		return cmp.Or(err, errors.New("store: the directory to be written is not empty"))
	}
	for _, dir := range []string{".", "journal", "snapshots"} {
		if err := c.To.Mkdir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Notes copies the checkpoints and what checks them, but not the key that signs.
func (c Copy) Notes() error {
	earlier, err := checkpoint.Aside(c.From)
	if err != nil {
		return err
	}
	files := []string{checkpoint.PublicKeyFile, checkpoint.File, checkpoint.LogFile,
		checkpoint.WitnessedFile, checkpoint.WitnessKeysFile}
	for _, e := range earlier {
		files = append(files, e.Key, e.Log)
	}
	return c.files(".", files...)
}

// Dir copies a directory of files.
func (c Copy) Dir(dir string) error {
	names, err := c.From.List(dir)
	if err != nil {
		return err
	}
	if err := c.To.Mkdir(dir); err != nil {
		return err
	}
	return c.files(dir, names...)
}

// Lines copies the whole lines of the journal up to one, with more after it, and returns the last. A full
// file may be published anew meanwhile, and the last one grow, or be followed by another.
func (c Copy) Lines(until uint64, more []byte) (seq uint64, err error) {
	for before := uint64(math.MaxUint64); err == nil && seq < until && seq != before; {
		before = seq
		name := "journal/" + journal.Name(seq+1)
		err = durable.Rewrite(c.From, c.To, name, func(w *bufio.Writer, f *io.SectionReader) error {
			lines := journal.Scan(f)
			at := journal.Place{File: name}
			for seq < until && lines.Scan() {
				at.Line++
				text, whole := bytes.CutSuffix(lines.Bytes(), journal.Newline)
				if !whole {
					return nil
				}
				l, err := journal.Parse(text)
				if err != nil {
					return journal.DamageAt(at, seq+1, err.Error())
				}
				seq = l.Seq
				at.Offset += int64(len(lines.Bytes()))
				w.Write(lines.Bytes())
			}
			if seq == until {
				w.Write(more)
			}
			return lines.Err()
		})
	}
	return seq, err
}

// Finish copies directories that lie beside the journal, and then FORMAT.
func (c Copy) Finish(dirs []string) error {
	for _, dir := range dirs {
		if err := c.Dir(dir); err != nil {
			return err
		}
	}
	format, err := durable.ReadFile(c.From, "FORMAT")
	if err != nil {
		return err
	}
	return durable.PublishText(c.To, ".", "FORMAT", format)
}

// endsWith returns an error for a copy that has another last line than it should have. What was written is
// read, whatever the writing said.
func (c Copy) endsWith(last journal.Head) error {
	lines := journal.NewLines(c.To)
	seq, err := lines.Last()
	same := false
	if err == nil && seq == last.Seq {
		err = lines.Read([]uint64{seq}, func(l *journal.Line) error {
			same = l.Hash == last.Hash
			return nil
		})
	}
	if err == nil && !same {
		err = fmt.Errorf("what was written is no copy: the last line should be line %d with the hash %x, and "+
			"it is another, line %d", last.Seq, last.Hash, seq)
	}
	return err
}

// files copies files of a directory.
func (c Copy) files(dir string, names ...string) error {
	for _, name := range names {
		if strings.HasSuffix(name, durable.TempSuffix) {
			continue
		}
		err := durable.Rewrite(c.From, c.To, path.Join(dir, name),
			func(w *bufio.Writer, f *io.SectionReader) error {
				_, err := io.Copy(w, f)
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}
