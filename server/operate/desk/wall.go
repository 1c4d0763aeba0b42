package desk

import (
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"waybill/server/ledger"
	"waybill/server/proof/story"
	"waybill/store/journal"
)

// wallPage is the journal for a wall (decision desk.wall).
type wallPage struct {
	Lines  []*wallLine // the newest first
	Unread string      // why none are shown
	Still  bool        // it does not renew itself
}

// wallLines is how many lines are shown.
const wallLines = 8

// wallLine is a line on the wall. It has no name.
type wallLine struct {
	Seq          uint64
	Time         time.Time
	Type, Text   string
	Hash, Before string // in hex
}

// At returns the line's time, short enough to be read from afar; the zone stands with the clock.
func (l *wallLine) At() string { return l.Time.UTC().Format("Mon 2 Jan 15:04:05") }

// getWall answers GET /journal?wall=1. Whatever is wrong is shown there: a screen that hangs on a wall has
// nobody who goes back.
func (s *Desk) getWall(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	x, err := s.readWall()
	status := http.StatusOK
	if err != nil {
		said, broken := s.unread(err)
		if !broken {
			return err
		}
		x = &wallPage{Unread: said}
		status = http.StatusInternalServerError
	}
	x.Still = r.URL.Query().Has("still")
	return s.render(w, r, by, status, pages().Lookup("wall"), &page{
		Title: "The journal",
		Body:  x,
	})
}

// readWall reads the newest lines, and no others.
func (s *Desk) readWall() (*wallPage, error) {
	newest, err := s.Store.LastLine()
	if err != nil {
		return nil, err
	}
	x := new(wallPage)
	var read []*journal.Line
	before := map[uint64]string{}
	var seqs []uint64
	for seq := newest.Seq - min(newest.Seq-1, wallLines); seq <= newest.Seq; seq++ {
		seqs = append(seqs, seq)
	}
	err = s.lines.Read(seqs, func(l *journal.Line) error {
		before[l.Seq+1] = hex.EncodeToString(l.Hash[:])
		kept := *l
		read = append(read, &kept)
		return nil
	})
	if err != nil {
		return nil, err
	}
	read = read[max(0, len(read)-wallLines):]
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		for _, l := range slices.Backward(read) {
			x.Lines = append(x.Lines, &wallLine{
				Seq:    l.Seq,
				Time:   l.Time,
				Type:   l.Type,
				Text:   story.Public(st, l),
				Hash:   hex.EncodeToString(l.Hash[:]),
				Before: before[l.Seq],
			})
		}
	})
	return x, err
}
