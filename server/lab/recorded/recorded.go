// Package recorded holds a recording of another deployment of the service against this program: what real
// requests were answered with. It asks nobody (decision conform.recorded).
//
// A recording is a HAR, or a directory of pairs NAME.request and NAME.response. Read makes a [Recording] of
// it, which is a list of exchanges, and [Recording.Write] says three things about it, a line each:
//
//   - contradicts: what the interface itself excludes. interface.json has what the interface states, as
//     schemas; what it leaves open, as whether a member may be missing, they leave open too. What several
//     answers say of one ticket, booking, offer or seat is held against each other, too (see flows).
//   - told: what differs from /openapi.json, which is what this program answers and takes.
//   - agrees, differs, not seen: for each row of decisions.md that a recording can show, whether the
//     deployment does the same. All other rows stand in one line.
//
// Recordings have names, addresses and keys of people. So no value is printed: only names of members and of
// parameters, types, codes, and paths whose variable parts are replaced by their names.
package recorded

import (
	"bufio"
	"fmt"
	"io"
)

// Recording is what a deployment was asked and has answered.
type Recording struct {
	exchanges []*exchange
}

// finding is a line about an exchange.
type finding struct {
	place string // method and path, and which exchange of the recording
	what  string
	more  int // further exchanges of the same call of which the same is to be said
}

// findings are lines of one kind, in the order of the recording, each of what and call once.
type findings struct {
	list []*finding
	of   map[string]*finding // by call and what
	last map[string]*exchange
}

// add notes what is to be said of an exchange.
func (f *findings) add(x *exchange, what string) {
	if f.of == nil {
		f.of = map[string]*finding{}
		f.last = map[string]*exchange{}
	}
	key := x.call() + "\n" + what
	known := f.of[key]
	switch {
	case known == nil:
		known = &finding{place: x.place(), what: what}
		f.of[key] = known
		f.list = append(f.list, known)
	case f.last[key] != x:
		known.more++
	}
	f.last[key] = x
}

// write writes the lines.
func (f *findings) write(w io.Writer, word string) {
	for _, line := range f.list {
		fmt.Fprintf(w, "%s  %s: %s%s\n", word, line.place, line.what, others(line.more))
	}
}

// others says in how many other exchanges the same was found.
func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and in %d more)", n)
}

// Write writes what the recording says: contradictions of the interface, what else is other than here, and a
// line for each row of decisions.md. It returns how many lines are contradictions.
func (r *Recording) Write(to io.Writer) (contradictions int, err error) {
	var contradicts, told findings
	for _, x := range r.exchanges {
		x.hold(&contradicts, &told)
	}
	f := r.judge(&contradicts)
	w := bufio.NewWriter(to)
	contradicts.write(w, "contradicts")
	told.write(w, "told")
	f.writeRows(w)
	return len(contradicts.list), w.Flush()
}
