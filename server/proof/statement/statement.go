// Package statement says from the journal alone which money has moved between passengers and carriers: a
// statement of some days ([Write]), and the movements of any line ([Movements]). The sum of all movements is
// what the books of verify have (decision statement.rows).
//
// A statement reads the journal once and decodes only the lines that move money. It only reads, and a server
// may have the directory open.
package statement

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"waybill/report"
	"waybill/server/frame/words"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Columns are a statement's, in their order.
var Columns = []string{"kind", "seq", "time", "currency", "amount", "ticket", "booking", "partner", "company",
	"rule"}

// Formats are the formats of Write.
var Formats = []string{"csv", "text"}

// Filter says of what a statement is. Partner and company may be "": all.
type Filter struct {
	Period
	Partner string // its name
	Company string // its slug
}

// fits reports whether a movement is of the partner and the company.
func (f *Filter) fits(m *Movement) bool {
	return (f.Partner == "" || m.Partner == f.Partner) && (f.Company == "" || m.Company == f.Company)
}

// Write writes the statement of a directory in a format: what had moved before the period, each movement in
// it, what had moved at its end, each by currency, and the line up to which the journal was read.
func Write(fsys durable.ReadFS, inUse bool, f Filter, format string, out io.Writer) (End, error) {
	s := sums{opening: map[string]int64{}, closing: map[string]int64{}}
	begin := f.Start()
	over := f.End()
	r, err := read(fsys, inUse, func(m Movement) {
		if !f.fits(&m) || !m.At.Time.Before(over) {
			return
		}
		s.closing[m.Currency] += m.Amount
		if m.At.Time.Before(begin) {
			s.opening[m.Currency] += m.Amount
			return
		}
		s.moved = append(s.moved, m)
	})
	if err != nil {
		return End{}, err
	}
	if err := f.check(fsys, r); err != nil {
		return End{}, err
	}
	to := newSheet(format, out)
	s.write(to.row, f.Period, &r.end)
	return r.end, to.end()
}

// check returns an error for a partner or a company that there is not.
func (f *Filter) check(fsys durable.ReadFS, r *reader) error {
	if f.Partner != "" && !r.hasPartner(f.Partner) {
		return fmt.Errorf("there is no partner %q", f.Partner)
	}
	if f.Company == "" {
		return nil
	}
	known, err := r.hasCompany(fsys, f.Company)
	if err == nil && !known {
		err = fmt.Errorf("no company has the slug %q", f.Company)
	}
	return err
}

// sums is what a statement is made of. The sums are by currency, and have each that has moved by the end.
type sums struct {
	opening, closing map[string]int64
	moved            []Movement // in the period, in the order of their lines
}

// write writes the rows.
func (s *sums) write(row func(cells ...string), p Period, end *End) {
	row(Columns...)
	currencies := slices.Sorted(maps.Keys(s.closing))
	balance := func(kind string, at time.Time, of map[string]int64) {
		for _, c := range currencies {
			row(kind, "", instant(at), c, words.Hundredths(of[c]).String(), "", "", "", "", "")
		}
	}
	balance("opening", p.Start(), s.opening)
	for i := range s.moved {
		m := &s.moved[i]
		row(m.Kind, number(m.At.Seq), instant(m.At.Time), m.Currency, words.Hundredths(m.Amount).String(),
			m.Ticket.String(), m.Booking.String(), report.Text(m.Partner), report.Text(m.Company), m.Rule)
	}
	balance("closing", p.End(), s.closing)
	row("journal", number(end.Seq), instant(end.Time), "", "", "", "", "", "",
		fmt.Sprintf("hash %x checkpoint %d", end.Hash, end.Signed))
}

// number returns the number of a line.
func number(seq uint64) string { return strconv.FormatUint(seq, 10) }

// instant returns an instant as lines of the journal have it.
func instant(at time.Time) string { return at.UTC().Format(journal.TimeLayout) }

// sheet is where rows go, and how they end.
type sheet struct {
	row func(cells ...string)
	end func() error
}

// newSheet returns one for programs, or one for people, in which columns stand below each other.
func newSheet(format string, out io.Writer) sheet {
	buffered := bufio.NewWriterSize(out, 1<<16)
	if format == "csv" {
		w := csv.NewWriter(buffered)
		return sheet{
			row: func(cells ...string) { w.Write(cells) }, // its error stays
			end: func() error {
				w.Flush()
				return w.Error()
			},
		}
	}
	const between = 2 // blanks between columns
	w := tabwriter.NewWriter(buffered, 0, 0, between, ' ', 0)
	var failed error
	return sheet{
		row: func(cells ...string) {
			var shown []string
			for _, c := range cells {
				shown = append(shown, words.Visible(c))
			}
			if _, err := fmt.Fprintln(w, strings.Join(shown, "\t")); failed == nil {
				failed = err
			}
		},
		end: func() error {
			if failed != nil {
				return failed
			}
			if err := w.Flush(); err != nil {
				return err
			}
			return buffered.Flush()
		},
	}
}
