// Package keep has another place keep each line before it counts (decision keep.begins). A keeper is any
// command: it is given, on its standard input, what `waybill tail -format copy` gives, and prints, a line
// each:
//
//	SEQ HASH     once, at its start: the last line that it had; "0 -" where it had none. After it may stand
//	             the name of the journal, as FORMAT makes it
//	SEQ          the last line that it has for good by now
//
//	k := &keep.Keeper{Command: "ssh standby waybill receive -keeper DIR", FS: fsys, Log: log}
//	err := k.Catch(head)       // before a line is written: it has what is here, and no more
//	cfg.Keep = k.Keep          // from then on it is given what is written
//	k.Close()                  // once all is kept
//
// It is never started again while a server runs: its end is as final as a failed sync.
package keep

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"waybill/server/machines/tail"
	"waybill/store/durable"
	"waybill/store/journal"
)

var (
	// ErrForm is the error of a keeper that does not begin as one.
	ErrForm = errors.New("the keeper's first line is not in the form SEQ HASH")
	// ErrEnded is the error of a keeper that has ended before it was told to.
	ErrEnded = errors.New("the keeper has ended")
	// ErrWrong is the error of a keeper that says it has what it was not sent, after its first line.
	ErrWrong = errors.New("it is not the seq of a line that was sent to it")
)

// Ahead is the error of a start whose keeper has lines that the directory has not.
type Ahead struct {
	Last         uint64
	Theirs, Ours string // names of two journals, where the keeper has said the name of another one
}

// Error names the keeper's last line. Whether this machine or another has sent it is not known here.
func (e *Ahead) Error() string {
	if e.Theirs != "" {
		return fmt.Sprintf("it keeps another journal, %.100q, up to line %d, and this one is %q. Nothing was "+
			"written. Give this journal a keeper with a directory of its own", e.Theirs, e.Last, e.Ours)
	}
	return fmt.Sprintf("another machine has gone on from line %d, or this machine had that line, and an "+
		"older backup stands here now. Nothing was written. If its FORMAT is this one, it has the newest lines: "+
		"serve its directory there, or fill a new one here with them (waybill tail -format copy there, waybill receive "+
		"here)", e.Last)
}

const (
	firstLine = 200             // bytes that a keeper's lines have at most
	idle      = time.Second     // how often it is looked for keys that came without a line
	endWithin = 5 * time.Second // how long a keeper may take to end once it has all
	quiet     = 5 * time.Second // for which a keeper may say nothing that it is waited for
	heirs     = time.Second     // for which others may hold the outputs of a keeper that has ended
)

// Keeper is a command that keeps lines. Its methods are called in the order Catch, Keep, Close.
type Keeper struct {
	Command string
	FS      durable.ReadFS // of the directory, for the files that a copy needs
	Log     *slog.Logger
	Took    func(time.Duration) // unless it is nil, is called with how long each write took to be kept
	Stop    <-chan struct{}     // closed when the process should end: a start then gives the keeper up

	cmd   *exec.Cmd
	in    io.WriteCloser
	heard *os.File // what the command says
	out   *bufio.Reader
	gone  chan struct{} // closed when the command has ended
	ended chan struct{} // closed when nothing more is heard of it

	opening   chan struct{} // closed once there is a server, or none will be
	endsStart sync.Once

	mu     sync.Mutex
	queue  []journal.Line // to be sent
	silent *time.Timer    // warns; it runs while the keeper is waited for
	sent   uint64         // the last line that was sent
	times  []handed       // what was handed over and is not kept, in order
	ending bool           // its end is no failure from here on
	wake   chan struct{}

	kept   func(uint64)
	failed func(error)
}

// handed is when lines were handed over.
type handed struct {
	last uint64
	at   time.Time
}

// start starts the command in a process group of its own: what ends a server by its group does not end the
// keeper before it has all.
func (k *Keeper) start() (err error) {
	k.cmd = exec.Command("sh", "-c", k.Command)
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	k.cmd.Stderr = &sayings{log: k.Log}
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		return err
	}
	k.cmd.WaitDelay = heirs
	heard, its, err := os.Pipe()
	if err != nil {
		return err
	}
	k.cmd.Stdout = its
	k.heard = heard
	k.out = bufio.NewReaderSize(heard, firstLine)
	k.wake = make(chan struct{}, 1)
	k.gone = make(chan struct{})
	k.ended = make(chan struct{})
	k.opening = make(chan struct{})
	err = k.cmd.Start()
	its.Close()
	if err != nil {
		return errors.Join(err, heard.Close())
	}
	go k.await()
	k.silent = time.AfterFunc(quiet, k.warn)
	go k.mayGiveUp()
	return nil
}

// await waits for the command's end. What it started may live on, as a connection that ssh shares does, and
// hold its outputs: they are read for a moment more, and no longer.
func (k *Keeper) await() {
	k.cmd.Wait()
	k.heard.SetReadDeadline(time.Now().Add(heirs))
	close(k.gone)
}

// warn says that the keeper says nothing. What follows the first word of its command may be secret, and so
// may be a variable that the shell is to set for it.
func (k *Keeper) warn() {
	command, _, _ := strings.Cut(k.Command, " ")
	if strings.Contains(command, "=") {
		command = "sh"
	}
	k.Log.Warn("the keeper says nothing", "command", command, "for", quiet)
}

// mayGiveUp ends the keeper where the process should end before it serves: nobody was told anything yet.
func (k *Keeper) mayGiveUp() {
	select {
	case <-k.opening:
	case <-k.Stop:
		syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// Opened says that there is a server: from now on it waits for the keeper, also when it should end.
func (k *Keeper) Opened() {
	k.endsStart.Do(func() { close(k.opening) })
}

// Catch starts the keeper, and returns once it has all lines up to head, which is the last of the directory.
// It writes nothing there. Errors: *Ahead, ErrForm, ErrEnded.
func (k *Keeper) Catch(head journal.Head) error {
	if err := k.start(); err != nil {
		return err
	}
	err := k.catch(head)
	k.silent.Stop()
	if err != nil {
		k.Opened()
		k.stop()
	}
	return err
}

func (k *Keeper) catch(head journal.Head) error {
	line, err := k.read()
	if err != nil {
		return fmt.Errorf("%w before it said which lines it has", ErrEnded)
	}
	seq, rest, found := strings.Cut(line, " ")
	hash, theirs, _ := strings.Cut(rest, " ")
	last, wrong := strconv.ParseUint(seq, 10, 64)
	if !found || wrong != nil || (last == 0) != (hash == "-") || last > 0 && !isHash(hash) {
		return fmt.Errorf("%w: %.100q", ErrForm, line)
	}
	if ours, _, _ := journal.ReadOrigin(k.FS); theirs != "" && ours != "" && theirs != ours {
		return &Ahead{last, theirs, ours}
	}
	if err := k.compare(last, hash, head); err != nil {
		return err
	}
	if last == head.Seq {
		k.sent = last
		return nil
	}
	sending := make(chan error, 1)
	go func() {
		sending <- tail.WriteUntil(k.FS, last+1, head.Seq, k.in)
	}()
	for last < head.Seq {
		seq, err := k.readSeq(head.Seq)
		if err != nil {
			return err
		}
		last = seq
	}
	k.sent = head.Seq
	return <-sending
}

// isHash reports whether a text is a SHA-256 as lines have it.
func isHash(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size && text == strings.ToLower(text)
}

// compare holds the keeper's last line against the same one here.
func (k *Keeper) compare(last uint64, hash string, head journal.Head) error {
	if last > head.Seq {
		return &Ahead{Last: last}
	}
	if last == 0 {
		return nil
	}
	same := false
	err := journal.NewLines(k.FS).Read([]uint64{last}, func(l *journal.Line) error {
		same = fmt.Sprintf("%x", l.Hash) == hash
		return nil
	})
	if err == nil && !same {
		err = &Ahead{Last: last}
	}
	return err
}

// Keep is the store's way to the keeper (live.Keep).
func (k *Keeper) Keep(kept func(uint64), failed func(error)) (give func([]journal.Line)) {
	k.kept, k.failed = kept, failed
	go k.send()
	go k.hear()
	return func(lines []journal.Line) {
		k.mu.Lock()
		if len(k.times) == 0 {
			k.silent.Reset(quiet)
		}
		k.queue = append(k.queue, lines...)
		k.times = append(k.times, handed{lines[len(lines)-1].Seq, time.Now()})
		k.mu.Unlock()
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

// send sends lines as they come, and keys that came without one.
func (k *Keeper) send() {
	out := bufio.NewWriterSize(k.in, 1<<16)
	to := tail.NewCopy(k.FS, out)
	for {
		lines := k.take()
		err := error(nil)
		for i := range lines {
			if err == nil {
				err = to.Line(&lines[i])
			}
		}
		if len(lines) == 0 {
			err = to.Pause()
		}
		if err = errors.Join(err, out.Flush()); err != nil {
			if !errors.Is(err, os.ErrClosed) { // else it has ended, and is heard to
				k.fail(err)
			}
			return
		}
		if len(lines) > 0 {
			continue
		}
		select {
		case <-k.wake:
		case <-time.After(idle):
		case <-k.ended:
			return
		}
	}
}

// take takes the lines that are to be sent.
func (k *Keeper) take() []journal.Line {
	k.mu.Lock()
	defer k.mu.Unlock()
	lines := k.queue
	k.queue = nil
	if len(lines) > 0 {
		k.sent = lines[len(lines)-1].Seq
	}
	return lines
}

// hear hears what is kept, until the command ends.
func (k *Keeper) hear() {
	defer close(k.ended)
	for {
		seq, err := k.readSeq(0)
		if err != nil {
			k.fail(err)
			k.stop()
			return
		}
		k.measure(seq)
		k.kept(seq)
	}
}

// measure says how long lines took that are kept by now.
func (k *Keeper) measure(seq uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.times) > 0 && k.times[0].last <= seq {
		if k.Took != nil {
			k.Took(time.Since(k.times[0].at))
		}
		k.times = k.times[1:]
	}
	k.silent.Stop()
	if len(k.times) > 0 {
		k.silent.Reset(quiet)
	}
}

// fail ends the store, unless the keeper was told to end.
func (k *Keeper) fail(err error) {
	k.mu.Lock()
	ending := k.ending
	k.mu.Unlock()
	if !ending {
		k.failed(err)
	}
}

// readSeq reads how far lines are kept.
func (k *Keeper) readSeq(most uint64) (uint64, error) {
	line, err := k.read()
	if err != nil {
		return 0, ErrEnded
	}
	seq, err := strconv.ParseUint(line, 10, 64)
	k.mu.Lock()
	most = max(most, k.sent) // it may have answered what was sent while this waited
	k.mu.Unlock()
	if err != nil || seq > most {
		return 0, fmt.Errorf("the keeper answered %.100q: %w", line, ErrWrong)
	}
	return seq, nil
}

// read reads a line of the keeper's.
func (k *Keeper) read() (string, error) {
	line, err := k.out.ReadSlice('\n')
	if err == bufio.ErrBufferFull { // what follows is not read: it is no seq
		return string(line), nil
	}
	return strings.TrimSuffix(string(line), "\n"), err
}

// Close tells the keeper that nothing follows, and waits for its end. All lines are kept by then.
func (k *Keeper) Close() {
	if k.cmd == nil || k.cmd.Process == nil {
		return
	}
	k.Opened()
	k.mu.Lock()
	k.ending = true
	k.mu.Unlock()
	k.in.Close()
	if k.kept == nil { // no line was ever given: nobody hears it
		k.stop()
		return
	}
	select {
	case <-k.ended:
	case <-time.After(endWithin):
		k.Log.Warn("the keeper's input has ended, but it does not end; it is killed")
		syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL)
		<-k.ended
	}
}

// stop ends a keeper that nobody listens to.
func (k *Keeper) stop() {
	k.in.Close()
	syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL)
	<-k.gone
	k.heard.Close()
}

// sayings writes what a keeper says on its standard error into the log, a line each.
type sayings struct {
	log  *slog.Logger
	rest []byte
}

// Write logs whole lines. A line that is too long is cut into several.
func (s *sayings) Write(text []byte) (int, error) {
	s.rest = append(s.rest, text...)
	for {
		line, rest, whole := strings.Cut(string(s.rest), "\n")
		if !whole && len(s.rest) < 4096 {
			return len(text), nil
		}
		s.log.Warn("the keeper says", "text", line[:min(len(line), 4096)])
		s.rest = []byte(rest)
	}
}
