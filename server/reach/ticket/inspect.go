package ticket

import (
	"bufio"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"

	"waybill/booking/ids"
	"waybill/schedule"
	"waybill/store/checkpoint"
)

// ErrRefused is returned if at least one code is not good.
var ErrRefused = errors.New("not every code is good")

// Inspector checks codes as somebody does on a bus: without a network.
type Inspector struct {
	public ed25519.PublicKey
	run    *ids.RunName // nil is any
	seen   map[shown]bool
}

// shown is a ride of a ticket that somebody has shown. After its departure was moved it has another code, and
// is the same ride.
type shown struct {
	ticket   ids.ID
	run      [6]byte
	from, to int16
}

// NewInspector returns an inspector with the carrier's public key, in the form of its file. With a trip and a
// service day every code must be of that run; "" is any run.
func NewInspector(key []byte, trip, date string) (*Inspector, error) {
	public, err := checkpoint.ParsePublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("the key %w", err)
	}
	x := &Inspector{public: public, seen: map[shown]bool{}}
	if trip == "" && date == "" {
		return x, nil
	}
	if trip == "" || date == "" {
		return nil, errors.New("a trip and a date, as in 2026-11-20, are given together")
	}
	day, err := schedule.ParseDay(date)
	if err != nil {
		return nil, fmt.Errorf("%q is not a date as in 2026-11-20", date)
	}
	x.run = &ids.RunName{Trip: trip, Day: day}
	return x, nil
}

// Inspect checks codes, a line each. It writes the ride that each is good for, or what is wrong with it. A
// code that came before is a ticket shown twice. The error is ErrRefused, or that of reading.
func (x *Inspector) Inspect(in io.Reader, out io.Writer) error {
	var refused error
	lines := bufio.NewReaderSize(in, maxCode)
	for n := 0; ; {
		text, err := readCode(lines)
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			if n == 0 && err == nil { // a scan that failed is empty
				err = errors.New("there is no code")
			}
			return errors.Join(refused, err)
		}
		if text == "" {
			continue
		}
		n++
		said, good := x.check(text)
		if !good {
			refused = ErrRefused
		}
		if _, err := fmt.Fprintln(out, said); err != nil {
			return err
		}
	}
}

// maxCode is how many bytes of a line are read: a code has less than 150.
const maxCode = 1 << 10

// readCode reads a line. A line that is longer than any code is cut, and is not a code.
func readCode(lines *bufio.Reader) (string, error) {
	line, long, err := lines.ReadLine()
	text := strings.Trim(string(line), " \t\r\ufeff") // some scanners begin with a mark of their own
	for long && err == nil {
		_, long, err = lines.ReadLine()
	}
	return text, err
}

// check checks one code.
func (x *Inspector) check(text string) (said string, good bool) {
	c, err := Check(x.public, text)
	switch {
	case err != nil:
		return "NOT GOOD: " + err.Error(), false
	case x.run != nil && !c.IsOf(*x.run):
		return fmt.Sprintf(
			"NOT GOOD for %s: genuine, but of another run: %s",
			x.run,
			c,
		), false
	}
	ride := shown{c.Ticket, c.Run, c.From, c.To}
	if x.seen[ride] {
		return "NOT GOOD: shown before: " + c.String(), false
	}
	x.seen[ride] = true
	return "genuine: " + c.String(), true
}
