// Package standby keeps a copy of a directory by what waybill tail -format copy writes, over whatever pipe
// (decision standby.lines):
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
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"waybill/server/ledger"
	"waybill/server/machines/tail"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/live"
)

const (
	// maxLine is how long a line may be, in bytes: one that holds a file is the longest.
	maxLine = 1 << 30
	// maxBatch is how many bytes of lines are synced together at most.
	maxBatch = 4 << 20
	// stopWithin is how long a stop waits for what is being written.
	stopWithin = 5 * time.Second
)

// Options say how a copy is kept.
type Options struct {
	// NoClock refuses a directory whose clock was ever set: this program cannot move a clock, and only reads
	// what a test bench has written.
	NoClock bool
	// Say, unless it is nil, is told in words what a copy waits for.
	Say func(text string)
	// Socket, unless it is "", is the path of the socket by which one keeper takes over from another.
	Socket string
	// Stop, unless it is nil, is closed when the process should end.
	Stop <-chan struct{}
}

// ErrMovedClock is the error of a directory, or of a line for it, that NoClock refuses.
var ErrMovedClock = errors.New("the journal has a clock.set line, so it belongs to a test bench; this " +
	"lean binary can only read it")

// Receive takes a copy's lines and files from a stream. It writes on out the number and the hash of the last
// line that the copy has ("0 -" is none), and then the number of the last line of each batch, once that is on
// the disk. What does not continue the copy is a *Foreign, and what a newer version
// has written journal.ErrNewer; what came before it stays. A stop is no error.
func Receive(fsys durable.FS, o Options, in io.Reader, out io.Writer) error {
	r := &receiver{
		fsys:  fsys,
		o:     o,
		out:   out,
		ended: make(chan error),
		keys:  map[string][]byte{},
	}
	go func() { r.ended <- r.receive(in) }()
	select {
	case err := <-r.ended:
		return err
	case <-o.Stop:
		return r.stop()
	}
}

// receive opens the copy, and takes what comes.
func (r *receiver) receive(in io.Reader) error {
	to, err := openCopy(r.fsys, r.o)
	replaces := errors.Is(err, durable.ErrLocked) && r.o.Socket != ""
	if replaces {
		to, in, err = replace(r.fsys, r.o, in, r.out)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.to = to
	r.in = bufio.NewReaderSize(in, 1<<16)
	r.said = to.next() - 1
	if !replaces {
		err = r.say(to.has())
	}
	if err == nil && r.o.Socket != "" {
		err = r.listen(r.o.Socket)
	}
	if err != nil {
		return errors.Join(err, to.close())
	}
	r.mu.Unlock()
	err = r.run()
	refused := errors.As(err, new(*Foreign)) || errors.Is(err, journal.ErrNewer) ||
		errors.Is(err, journal.ErrOlder) || errors.Is(err, ErrMovedClock)
	if synced := r.sync(); err == nil || refused {
		err = errors.Join(err, synced)
	}
	return errors.Join(err, to.close())
}

// stop ends what a receiver does, whatever that waits for: what was taken is on the disk, and whoever is next
// has the directory. What has not been opened yet is left as by a crash.
func (r *receiver) stop() error {
	go func() {
		r.mu.Lock() // it stays locked
		if r.to == nil {
			r.ended <- nil
			return
		}
		_, err := r.to.sync()
		r.ended <- errors.Join(err, r.to.close())
	}()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(stopWithin):
		return fmt.Errorf("%w: it did not end in %v", live.ErrFailed, stopWithin)
	}
}

// Next returns the number of the line to ask for.
func Next(fsys durable.ReadFS) (uint64, error) {
	_, err := durable.ReadFile(fsys, "FORMAT")
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	found, err := inspect.Follow(fsys, journal.Head{}, func(*journal.Line) error { return nil })
	return found.Head.Seq + 1, err
}

// receiver is a copy that grows.
type receiver struct {
	fsys  durable.FS
	o     Options
	in    *bufio.Reader
	out   io.Writer
	ended chan error // of receive or stop, or errReplaced

	mu    sync.Mutex   // guards the copy; it stays locked after the end
	to    *journalCopy // nil: it is not open yet
	batch int          // bytes that were taken and not synced
	said  uint64       // the last line that was said to be there

	known bool // a line of the stream has continued the copy, or is in it
	// keys came before that, by their names: another directory's must not take the place of ours.
	keys map[string][]byte
}

// run takes lines until the stream ends.
func (r *receiver) run() error {
	for {
		text, err := r.read()
		r.mu.Lock()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case isFile(text):
			err = r.file(text)
		default:
			err = r.line(text)
		}
		r.batch += len(text)
		if err == nil && (r.batch >= maxBatch || !r.more()) {
			err = r.sync()
		}
		if err != nil {
			return err
		}
		r.mu.Unlock()
	}
}

// isFile reports whether a line of the stream holds a file.
func isFile(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"file":`)) }

// line takes a line of the journal, and with the first the keys that came before it.
func (r *receiver) line(text []byte) error {
	if err := r.to.append(text); err != nil {
		return err
	}
	r.known = true
	for name, text := range r.keys {
		if err := r.publish(ledger.KeyDir, name, text); err != nil {
			return err
		}
	}
	clear(r.keys)
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
			return nil, fmt.Errorf("the input ends in the middle of a line: ask for lines from %d on "+
				"again", r.to.next())
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
	return r.say(seq)
}

// say writes a line. The copy is not locked meanwhile: who does not read the line keeps nobody else from it.
func (r *receiver) say(line any) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	_, err := fmt.Fprintln(r.out, line)
	return err
}

// The files that a copy is sent: what the first lines are chained from, keys, and timetables by their
// content.
var timetableFile = regexp.MustCompile(`^` + ledger.TimetableDir + `/([0-9a-f]{64})\.jsonl$`)

// file takes a file.
func (r *receiver) file(text []byte) error {
	name, data, err := checkFile(text)
	dir, base := path.Split(name)
	switch {
	case err != nil:
		return err
	case name == "FORMAT":
		return r.to.format(data)
	case dir == ledger.KeyDir+"/" && !r.known:
		r.keys[base] = data
		return nil
	}
	return r.publish(path.Clean(dir), base, data)
}

// checkFile returns a file of a copy, if a line holds one.
func checkFile(text []byte) (name string, data []byte, err error) {
	name, data, err = parseFile(text)
	if err != nil {
		return "", nil, foreign("a line that should hold a file is wrong: %v", err)
	}
	if name == "FORMAT" {
		return name, data, nil
	}
	if timetable := timetableFile.FindStringSubmatch(name); timetable != nil {
		if fmt.Sprintf("%x", sha256.Sum256(data)) != timetable[1] {
			return "", nil, foreign("%s: its content does not fit its name", name)
		}
		return name, data, nil
	}
	key, inKeys := strings.CutPrefix(name, ledger.KeyDir+"/")
	if !inKeys || !tail.IsKey(key) {
		return "", nil, foreign("%q is not a file of a copy", name)
	}
	if err := tail.CheckKey(key, data); err != nil {
		return "", nil, foreign("%s: %v", name, err)
	}
	return name, data, nil
}

// parseFile reads a line that holds a file. It must be as tail writes it, byte for byte.
func parseFile(text []byte) (name string, data []byte, err error) {
	var x struct {
		File string `json:"file"`
		Data []byte `json:"data"`
	}
	if err := json.Unmarshal(text, &x); err != nil {
		return "", nil, err
	}
	if again, _ := json.Marshal(x); !bytes.Equal(again, bytes.TrimSuffix(text, journal.Newline)) {
		return "", nil, errors.New("is not in the form")
	}
	return x.File, x.Data, nil
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
	return r.to.o.whenRoom(func() error { return durable.PublishText(r.fsys, dir, name, text) })
}
