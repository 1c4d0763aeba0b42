// Package standby keeps a copy of a directory by what waybill tail -format copy writes, over whatever pipe
// (contract §14):
//
//	waybill tail -follow -format copy | ssh host waybill receive DIR
//
// The copy is checked line by line as it grows, and is a directory that a server opens when it is told to. It
// then has a name of its own, and takes nothing more from where it came from.
package standby

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"waybill/server/ledger"
	"waybill/store"
	"waybill/store/durable"
)

const (
	// maxLine is how long a line may be, in bytes: one that holds a file is the longest.
	maxLine = 1 << 30
	// maxBatch is how many bytes of lines are synced together at most.
	maxBatch = 4 << 20
	// maxKeys is how many keys may come before the first line.
	maxKeys = 64
)

// Receive takes a copy's lines and files from a stream, and writes on out the number of the last line of each
// batch, once that is on the disk. What does not continue the copy is a *Foreign; what came before it
// stays.
func Receive(fsys durable.FS, in io.Reader, out io.Writer) error {
	to, err := openCopy(fsys)
	if err != nil {
		return err
	}
	r := &receiver{
		fsys: fsys,
		to:   to,
		in:   bufio.NewReaderSize(in, 1<<16),
		out:  out,
		said: to.next() - 1,
	}
	err = r.run()
	if synced := r.sync(); err == nil || errors.As(err, new(*Foreign)) {
		err = errors.Join(err, synced)
	}
	return errors.Join(err, to.close())
}

// Next returns the number of the line to ask for.
func Next(fsys durable.FS) (uint64, error) {
	_, err := durable.ReadFile(fsys, "FORMAT")
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	found, err := store.Follow(fsys, store.Head{}, func(*store.Line) error { return nil })
	return found.Head.Seq + 1, err
}

// receiver is a copy that grows.
type receiver struct {
	fsys  durable.FS
	to    *journalCopy
	in    *bufio.Reader
	out   io.Writer
	batch int    // bytes that were taken and not synced
	said  uint64 // the last line that was said to be there

	known bool      // a line of the stream has continued the copy, or is in it
	keys  []keyText // that came before that: another directory's must not take the place of ours
}

// keyText is a key that is sent.
type keyText struct {
	name string
	text []byte
}

// run takes lines until the stream ends.
func (r *receiver) run() error {
	for {
		text, err := r.read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if bytes.HasPrefix(text, []byte(`{"file":`)) {
			err = r.file(text)
		} else {
			err = r.line(text)
		}
		if err != nil {
			return err
		}
		r.batch += len(text)
		if r.batch >= maxBatch || !r.more() {
			if err := r.sync(); err != nil {
				return err
			}
		}
	}
}

// line takes a line of the journal, and with the first the keys that came before it.
func (r *receiver) line(text []byte) error {
	if err := r.to.append(text); err != nil {
		return err
	}
	r.known = true
	for _, key := range r.keys {
		if err := r.publish(ledger.KeyDir, key.name, key.text); err != nil {
			return err
		}
	}
	r.keys = nil
	return nil
}

// read reads a line with its newline. A stream that is cut in the middle of one is an error, and not a
// foreign line: what wrote it was stopped.
func (r *receiver) read() (line []byte, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, &Foreign{Reason: fmt.Sprintf("a line is longer than %d bytes", maxLine)}
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) > 0:
			return nil, fmt.Errorf("the input ends in the middle of a line: ask again from line %d", r.to.next())
		}
		return line, err
	}
}

// more reports whether another whole line has come already.
func (r *receiver) more() bool {
	waiting, _ := r.in.Peek(r.in.Buffered())
	return bytes.IndexByte(waiting, '\n') >= 0
}

// sync has what was taken on the disk, and says so.
func (r *receiver) sync() error {
	seq, err := r.to.sync()
	if err != nil {
		return err
	}
	r.batch = 0
	if seq == r.said {
		return nil
	}
	r.said = seq
	_, err = fmt.Fprintln(r.out, seq)
	return err
}

// The files that a copy is sent: what the first lines are chained from, keys, and timetables by their
// content.
var timetableFile = regexp.MustCompile(`^` + ledger.TimetableDir + `/(([0-9a-f]{64})\.jsonl)$`)

// file takes a file.
func (r *receiver) file(text []byte) error {
	var x struct {
		File string
		Data []byte
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&x); err != nil {
		return &Foreign{Reason: "a line that should hold a file does not: " + err.Error()}
	}
	key, isKey := strings.CutPrefix(x.File, ledger.KeyDir+"/")
	timetable := timetableFile.FindStringSubmatch(x.File)
	switch {
	case x.File == "FORMAT":
		return r.to.format(x.Data)
	case isKey && ledger.IsKey(key) && r.known:
		return r.publish(ledger.KeyDir, key, x.Data)
	case isKey && ledger.IsKey(key) && len(r.keys) == maxKeys:
		return &Foreign{Reason: fmt.Sprintf("more than %d keys come before the first line", maxKeys)}
	case isKey && ledger.IsKey(key):
		r.keys = append(r.keys, keyText{key, x.Data})
		return nil
	case timetable != nil && fmt.Sprintf("%x", sha256.Sum256(x.Data)) == timetable[2]:
		return r.publish(ledger.TimetableDir, timetable[1], x.Data)
	case timetable != nil:
		return &Foreign{Reason: x.File + ": is not what its name says"}
	}
	return &Foreign{Reason: fmt.Sprintf("%q: is not a file that a copy is sent", x.File)}
}

// publish writes a file, unless it is there as it is.
func (r *receiver) publish(dir, name string, text []byte) error {
	have, err := durable.ReadFile(r.fsys, dir+"/"+name)
	if err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := r.fsys.Mkdir(dir); err != nil {
		return err
	}
	return durable.PublishText(r.fsys, dir, name, text)
}
