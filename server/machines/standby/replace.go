package standby

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/journal"
)

// A keeper does not hear of its sender's end where the sender's machine has lost its power: the connection
// just says nothing more. So a keeper gives its directory up, at a socket, to another one whose sender has
// the line after the last that is here (decision keep.replaced).

// ErrHeld is the error of a keeper to which another one does not give the directory up.
var ErrHeld = errors.New("another keeper has the directory: the first line that came is not the one after " +
	"its last")

var errReplaced = errors.New("another keeper goes on here")

// replace takes the directory over from the keeper that has it, once there is a line. It writes on out what
// that one has, and returns what has come, from the beginning.
func replace(fsys durable.FS, o Options, in io.Reader, out io.Writer) (*journalCopy, io.Reader, error) {
	other, err := web.DialSocket(context.Background(), o.Socket)
	if err != nil {
		return nil, nil, durable.ErrLocked // by nobody who would give it up
	}
	defer other.Close()
	has, err := bufio.NewReader(other).ReadBytes('\n')
	if err != nil {
		return nil, nil, durable.ErrLocked
	}
	out.Write(has)
	to := otherCopy(fsys, o, has)
	if err := to.fits(); err != nil {
		return nil, nil, err
	}
	var came bytes.Buffer
	lines := bufio.NewReader(io.TeeReader(in, &came))
	text, err := lines.ReadBytes('\n')
	for err == nil && isFile(text) {
		if err := to.allows(text); err != nil {
			return nil, nil, err
		}
		text, err = lines.ReadBytes('\n')
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the input ends before a line: %w", err)
	}
	if err := to.continuedBy(text); err != nil {
		return nil, nil, err
	}
	other.Write(text)
	io.Copy(io.Discard, other) // until it hangs up
	to, err = openCopy(fsys, o)
	if errors.Is(err, durable.ErrLocked) {
		err = ErrHeld
	}
	return to, io.MultiReader(&came, in), err
}

// otherCopy is a copy that another keeper has, by what that one says it has. It is only asked what it would
// take: what this program would refuse, it refuses before the other one gives way.
func otherCopy(fsys durable.FS, o Options, has []byte) *journalCopy {
	c := &journalCopy{fsys: fsys, o: o, codec: ledger.NewCodec()}
	var hash []byte
	fmt.Sscanf(string(has), "%d %64x\n", &c.head.Seq, &hash)
	if copy(c.head.Hash[:], hash); c.head.Seq == 0 {
		_, c.head.Hash, _ = journal.ReadOrigin(fsys) // zero where there is none: then no line continues it
	}
	return c
}

// allows returns why a file would be refused.
func (c *journalCopy) allows(file []byte) error {
	name, data, err := checkFile(file)
	if err == nil && name == "FORMAT" {
		_, err = c.checkFormat(data)
	}
	return err
}

// continuedBy returns why a line would be refused: it does not continue the copy, or this program cannot read
// it.
func (c *journalCopy) continuedBy(text []byte) error {
	l, err := c.parse(text)
	if err == nil {
		_, _, err = c.check(&l)
	}
	if errors.As(err, new(*Foreign)) {
		return fmt.Errorf("%w: %v", ErrHeld, err)
	}
	return err
}

// listen has other keepers ask for the directory.
func (r *receiver) listen(socket string) (err error) {
	r.to.socket, err = web.ListenSocket(socket)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := r.to.socket.Accept()
			if err != nil {
				return // it is closed
			}
			go r.asked(c)
		}
	}()
	return nil
}

// asked says to another keeper what is here, and gives the directory up if that one has the next line.
func (r *receiver) asked(other net.Conn) {
	defer other.Close()
	r.mu.Lock()
	_, err := r.to.sync()
	has := r.to.has()
	r.mu.Unlock()
	if err != nil {
		return
	}
	fmt.Fprintln(other, has)
	text, _ := bufio.NewReader(other).ReadBytes('\n')
	l, err := journal.Parse(bytes.TrimSuffix(text, journal.Newline))
	r.mu.Lock()
	if err != nil || l.Follows(r.to.head) != nil { // it does not where a line has come meanwhile
		r.mu.Unlock()
		return
	}
	r.to.close()
	r.ended <- errReplaced // run waits for the lock for ever
}
