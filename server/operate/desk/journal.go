package desk

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/history"
	"waybill/server/proof/story"
	"waybill/server/proof/verify"
	"waybill/store/checkpoint"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// journalPage is a page of the journal.
type journalPage struct {
	Lines   []journalLine // the newest first
	Newest  uint64
	Older   uint64 // where the page before this one ends; 0 is none
	Newer   uint64 // where the one after it ends; 0 is none
	Signed  uint64 // the last line that the directory's signature vouches for
	At      time.Time
	Verdict *verify.Verdict
	// Untold is how many lines would be read to say in words what these did; 0 where it is said.
	Untold uint64
	Until  uint64
	Damage string // why it cannot be said

	Unread string // why no lines are shown; "" where they are
}

// journalLine is a line of the journal.
type journalLine struct {
	Seq          uint64
	Time         time.Time
	Type, Text   string
	Public       string // what everybody may read of it
	Hash, Before string // in hex
	By           *ledger.By
	Written      string // as it stands in the file, but for personal data
	Folded       string // the same, with what is long folded; "" where nothing is
	Bytes        int    // of the line in the file
	Personal     string // "", kept or erased
	Booking      string // the path of the page of the booking that it is about; "" is none
}

// journalShown is how many lines a page has.
const journalShown = 25

// getJournal answers GET /journal?until=…: the lines up to one, the newest without it. Each is held against
// its neighbours before it is shown. With wall=1 it is the wall.
func (s *Desk) getJournal(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	if r.URL.Query().Get("wall") == "1" {
		return s.getWall(w, r, by)
	}
	x, err := s.readJournal(r)
	if err != nil {
		said, broken := s.unread(err)
		if !broken {
			return err
		}
		return s.showJournal(w, r, by, http.StatusInternalServerError, &journalPage{Unread: said})
	}
	return s.showJournal(w, r, by, http.StatusOK, x)
}

// unread says what is wrong with the files of the journal, which an operator may see: which file, which line.
// false is an error of another kind.
func (s *Desk) unread(err error) (said string, broken bool) {
	if web.Explain(err) != web.ErrInternal {
		return "", false
	}
	s.Log.Error("the journal cannot be read", "err", err)
	if damage := new(journal.Damage); errors.As(err, &damage) {
		return "The journal is damaged: " + damage.Error(), true
	}
	return "The journal cannot be read: " + err.Error(), true
}

// postVerify answers POST /verify: it checks the whole directory, as the verb does.
func (s *Desk) postVerify(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	x, err := s.readJournal(r)
	if err != nil {
		if _, broken := s.unread(err); !broken {
			return err
		}
		x = new(journalPage) // the verdict says what is wrong, and where; no line is shown beside it
	}
	beside := verify.Beside{Live: true, Sign: s.sign}
	verdict, err := verify.Judge(s.Config.FS, "the directory", beside, inspect.Expected{}, "")
	if err != nil {
		s.Log.Error("the directory is not sound", "err", err)
	}
	x.Verdict = &verdict
	return s.showJournal(w, r, by, http.StatusOK, x)
}

// sign has the newest lines signed, before they are verified.
func (s *Desk) sign() {
	if err := s.witness.SignNow(admin.SignWithin); err != nil {
		s.Log.Warn("the newest lines could not be signed before they were verified", "err", err)
	}
}

// showJournal shows a page of the journal.
func (s *Desk) showJournal(w http.ResponseWriter, r *http.Request, by ledger.By, status int,
	x *journalPage) error {
	return s.render(w, r, by, status, pages().Lookup("journal"), &page{
		Title: "Journal",
		Here:  "/journal",
		Body:  x,
	})
}

// readJournal reads the lines that a page has.
func (s *Desk) readJournal(r *http.Request) (*journalPage, error) {
	newest, err := s.Store.LastLine()
	if err != nil {
		return nil, err
	}
	x := &journalPage{Newest: newest.Seq}
	until := newest.Seq
	if text := r.URL.Query().Get("until"); text != "" {
		until, err = strconv.ParseUint(text, 10, 64)
		if err != nil || until < 1 {
			return nil, web.Invalid(web.Problem("until", "must be the number of a line"))
		}
		until = min(until, newest.Seq)
	}
	first := max(1, until-min(until, journalShown)+1)
	if first > 1 {
		x.Older = first - 1
	}
	if until < newest.Seq {
		x.Newer = min(until+journalShown, newest.Seq)
	}
	if x.Lines, err = s.readLines(first, until); err != nil {
		return nil, err
	}
	x.Until = until
	if until > storyLines && !r.URL.Query().Has("story") {
		x.Untold = until
	} else if err := s.tellLines(x, first, until); err != nil {
		return nil, err
	}
	slices.Reverse(x.Lines)
	x.vouched(s)
	return x, nil
}

// readLines reads lines of the journal, each of which is held against its neighbours. Their texts are their
// own data.
func (s *Desk) readLines(first, until uint64) (list []journalLine, err error) {
	var seqs []uint64
	for seq := max(first, 2) - 1; seq <= until; seq++ {
		seqs = append(seqs, seq)
	}
	var lines []*journal.Line
	err = s.lines.Read(seqs, func(l *journal.Line) error {
		kept := *l
		lines = append(lines, &kept)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		before := ""
		for _, l := range lines {
			hash := hex.EncodeToString(l.Hash[:])
			if l.Seq >= first {
				x := newJournalLine(l, before)
				x.Booking = bookingOf(st, l)
				x.Public = story.Public(st, l)
				list = append(list, x)
			}
			before = hash
		}
	})
	return list, err
}

// tellLines says in words what the lines of a page did, each as it was then: all lines before them are read
// for it. Where the journal is damaged before them, they keep their own data as their text.
func (s *Desk) tellLines(x *journalPage, first, until uint64) error {
	said, err := history.Words(s.Config.FS, true, first, until)
	if damage := new(journal.Damage); errors.As(err, &damage) {
		x.Damage = damage.Error()
		err = nil
	}
	for i := range x.Lines {
		l := &x.Lines[i]
		l.Text = cmp.Or(said[l.Seq], l.Text)
	}
	return err
}

// newJournalLine returns a line as the page has it, whose text is its own data.
func newJournalLine(l *journal.Line, before string) journalLine {
	x := journalLine{
		Seq:    l.Seq,
		Time:   l.Time,
		Type:   l.Type,
		Text:   story.Plain(l),
		Hash:   hex.EncodeToString(l.Hash[:]),
		Before: before,
		By:     ledger.WrittenBy(l.Data),
	}
	// The frame is that of package journal: the hash of the line before, in hex, and what follows this one's
	// hash are what is hashed.
	x.Written = `{"hash":"` + x.Hash + `",` + string(l.Chained)
	switch {
	case l.Personal == nil:
		x.fold(l)
		return x
	case journal.Erased(l.Personal):
		x.Personal = "erased"
	default:
		x.Personal = "kept"
	}
	x.Written += `,"personal":{…}}`
	x.fold(l)
	return x
}

// fold folds what is long in the line as it is written.
func (x *journalLine) fold(l *journal.Line) {
	x.Bytes = len(bytes.TrimSpace(l.Text()))
	if folded := ledger.Fold([]byte(x.Written)); folded != x.Written {
		x.Folded = folded
	}
}

// bookingOf returns the path of the page of the booking that a line is about; "" where it is about none, or
// about several.
func bookingOf(st ledger.State, l *journal.Line) string {
	var about struct{ Booking ids.ID }
	if json.Unmarshal(l.Data, &about) != nil {
		return "" // what is called so there is no id
	}
	if st.Bookings.Any(about.Booking) == nil {
		return ""
	}
	return bookingPath(about.Booking)
}

// vouched records the last line that the directory's signature vouches for.
func (x *journalPage) vouched(s *Desk) {
	signed, err := checkpoint.Newest(s.Config.FS)
	if err != nil {
		return // there is none yet
	}
	if c, err := checkpoint.Parse(signed, s.Store.Key().Public()); err == nil {
		x.Signed = c.Seq
		x.At = c.Time
	}
}
