package desk

import (
	"net/http"
	"slices"

	"waybill/server/ledger"
)

// wallPage is the journal for a wall (decision desk.wall).
type wallPage struct {
	Lines  []journalLine // the newest first
	Unread string        // why none are shown
	Still  bool          // it does not renew itself
}

// How many lines are shown, and among how many of the newest they are looked for: readings are passed over.
const (
	wallLines = 8
	wallRead  = 40
)

// At returns the line's time, short enough to be read from afar; the zone stands with the clock.
func (l *journalLine) At() string { return l.Time.UTC().Format("Mon 2 Jan 15:04:05") }

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

// readWall reads the newest lines.
func (s *Desk) readWall() (*wallPage, error) {
	newest, err := s.Store.LastLine()
	if err != nil {
		return nil, err
	}
	lines, err := s.readLines(newest.Seq-min(newest.Seq-1, wallRead-1), newest.Seq)
	lines = slices.DeleteFunc(lines, func(l journalLine) bool {
		return l.Type == "personal.read" || l.Type == "manifest.read"
	})
	slices.Reverse(lines)
	return &wallPage{Lines: lines[:min(len(lines), wallLines)]}, err
}
