package ticket

import (
	"bufio"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/store/checkpoint"
)

// ErrRefused is returned if at least one code is not good.
var ErrRefused = errors.New("not every code is valid")

// Inspector checks codes as somebody does on a bus: without a network.
type Inspector struct {
	public ed25519.PublicKey
	run    *ids.RunName // nil is any
	runs   *Runs        // nil: only what the codes have is said of their rides
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
		return nil, errors.New("give -trip and -date together, the date as in 2026-11-20")
	}
	day, err := schedule.ParseDay(date)
	if err != nil {
		return nil, err
	}
	x.run = &ids.RunName{Trip: trip, Day: day}
	return x, nil
}

// Knows has the inspector say cities and local times of rides on runs that are known. Codes that were checked
// before do not change.
func (x *Inspector) Knows(runs *Runs) { x.runs = runs }

// Verdict is what an inspector says of a code.
type Verdict struct {
	Good bool   `json:"good"`
	Said string `json:"said"` // in words, a line
	Ride *Ride  `json:"ride"` // nil where the code is not genuine
}

// Ride is what a genuine code is for.
type Ride struct {
	Ticket    string    `json:"ticketId"`
	Seat      int16     `json:"seat"`
	Departure time.Time `json:"departure"` // from the stop where the passenger boards, to the minute
	From      int16     `json:"fromStop"`  // positions among the stops of the run, from 1
	To        int16     `json:"toStop"`
	Run       string    `json:"run"` // in hex, the first 6 bytes of SHA-256 of its trip and its date
	*Travel             // nil, and no member, where the run is not known
}

// Ride returns what a code is for, as programs read it.
func (c Code) Ride() *Ride {
	return &Ride{
		Ticket:    c.Ticket.String(),
		Seat:      c.Seat,
		Departure: c.Departure.UTC(),
		From:      c.From + 1,
		To:        c.To + 1,
		Run:       hex.EncodeToString(c.Run[:]),
	}
}

// Inspect checks codes, a line each, and reports on each what it is good for, or what is wrong with it. A
// code that came before is a ticket shown twice. The error is ErrRefused, or that of reading or of the
// report.
func (x *Inspector) Inspect(in io.Reader, report func(Verdict) error) error {
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
		verdict := x.check(text)
		if !verdict.Good {
			refused = ErrRefused
		}
		if err := report(verdict); err != nil {
			return err
		}
	}
}

// maxCode is how many bytes of a line are read: a code has less than 150.
const maxCode = 1 << 10

// readCode reads a line. A line that is longer than any code is cut, and is not a code.
func readCode(lines *bufio.Reader) (string, error) {
	line, long, err := lines.ReadLine()
	text := Unmarked(string(line))
	for long && err == nil {
		_, long, err = lines.ReadLine()
	}
	return text, err
}

// mark is what some readers of QR codes put before a text, in letters of either case.
const mark = "QR-Code:"

// Unmarked returns a text as a scanner has read it, without what it puts around it: a mark before it, and
// blanks.
func Unmarked(text string) string {
	const blanks = " \t\r\n\ufeff" // the last one begins the files of some
	text = strings.Trim(text, blanks)
	if n := len(mark); len(text) >= n && strings.EqualFold(text[:n], mark) {
		text = strings.Trim(text[n:], blanks)
	}
	return text
}

// check checks one code.
func (x *Inspector) check(text string) Verdict {
	c, err := Check(x.public, text)
	if err != nil {
		return Verdict{Said: "NOT GOOD: " + err.Error()}
	}
	v := Verdict{Ride: c.Ride()}
	of := c.String()
	if x.runs != nil {
		of = x.runs.describe(c, v.Ride)
	}
	ride := shown{c.Ticket, c.Run, c.From, c.To}
	switch {
	case x.run != nil && !c.IsOf(*x.run):
		v.Said = fmt.Sprintf("NOT GOOD for %s: genuine, but for another run: %s", x.run, of)
		return v
	case x.seen[ride]:
		v.Said = "NOT GOOD: shown before: " + of
	default:
		v.Good = true
		v.Said = "genuine: " + of
	}
	x.seen[ride] = true
	return v
}
