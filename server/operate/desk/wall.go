package desk

import (
	"encoding/hex"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/proof/drawing"
	"waybill/server/proof/story"
	"waybill/store/journal"
)

// wallPage is the journal for a wall (decision desk.wall).
type wallPage struct {
	Lines   []*wallLine // the newest first
	Unread  string      // why none are shown
	Drawing *drawingShown
	Still   bool   // it does not renew itself
	Line    uint64 // the line whose proof was asked for; 0 is none
}

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
	x, err := s.readWall(r)
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
func (s *Desk) readWall(r *http.Request) (*wallPage, error) {
	line, err := askedLine(r)
	if err != nil {
		return nil, err
	}
	newest, err := s.newest()
	if err != nil {
		return nil, err
	}
	x := &wallPage{Line: line}
	var read []*journal.Line
	before := map[uint64]string{}
	var seqs []uint64
	for seq := newest.Seq - min(newest.Seq-1, drawing.Shown); seq <= newest.Seq; seq++ {
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
	read = read[max(0, len(read)-drawing.Shown):]
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		for _, l := range slices.Backward(read) {
			x.Lines = append(x.Lines, &wallLine{
				Seq:    l.Seq,
				Time:   l.Time,
				Type:   l.Type,
				Text:   words.Visible(story.Brief(st, l)),
				Hash:   hex.EncodeToString(l.Hash[:]),
				Before: before[l.Seq],
			})
		}
	})
	if err != nil {
		return nil, err
	}
	x.Drawing, err = s.drawLast(r, newest.Seq)
	if x.Drawing != nil {
		x.Drawing.Page = "/journal?wall=1&"
	}
	return x, err
}

// drawingShown is the drawing of the last lines, as pages have it.
type drawingShown struct {
	*drawing.Drawing
	Undrawn string // why there is none
	SVG     template.HTML
	Page    string // the page that it stands on, to which the line is added whose proof is to be marked
}

// askedLine returns the line whose proof is to be marked; 0 is any.
func askedLine(r *http.Request) (uint64, error) {
	text := r.URL.Query().Get("line")
	if text == "" {
		return 0, nil
	}
	line, err := strconv.ParseUint(text, 10, 64)
	if err != nil || line < 1 {
		return 0, web.Invalid(web.Problem("line", "must be the number of a line"))
	}
	return line, nil
}

// drawLast draws the last lines of the journal. Where that cannot be done since files do not fit together, it
// says why.
func (s *Desk) drawLast(r *http.Request, newest uint64) (*drawingShown, error) {
	line, err := askedLine(r)
	if err != nil {
		return nil, err
	}
	x := &drawingShown{Page: "/journal?"}
	x.Drawing, err = drawing.Read(s.Config.FS, s.lines, s.Store.Key().Public(), newest, line)
	if err != nil {
		s.Log.Error("the last lines cannot be drawn", "err", err)
		x.Undrawn = err.Error()
		return x, nil
	}
	var out strings.Builder
	if err := x.WriteSVG(&out, drawing.OnAPage); err != nil {
		return nil, err
	}
	x.SVG = template.HTML(out.String()) // our own, and escaped there
	return x, nil
}
