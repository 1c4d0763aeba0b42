// Package verify checks a directory ([Directory]) and makes a verdict ([Judge]): what is wrong, where, and
// what to do next. The verdict is for people, for programs and for the desk. The package only reads, as its
// types ensure, and a server may have the directory open meanwhile.
//
//	v, err := verify.Judge(fsys, "waybill-data", verify.Beside{}, inspect.Expected{}, "")
//	fmt.Println(v.Verdict, v.Problems, err)
//
// All that its verdict rests on is in the packages that it imports.
package verify

import (
	"cmp"
	"errors"
	"io/fs"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/ledger"
	"waybill/store/chain"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Report is what Directory found sound.
type Report struct {
	inspect.Report
	Books      *booking.Books // at the last line's time
	zone       chain.Event    // of sales whose service days start at other times than here
	Beside     []chain.Event  // remarks on what lies beside the journal
	timetables []string       // the hashes of those that lines name
	// Wrong is what breaks a rule in a copy that has each byte of what was copied; nil where nothing does.
	Wrong *journal.Damage
}

// ErrNoJournal is of a directory that has no line: nothing in it could be sound.
var ErrNoJournal = errors.New("no journal is here")

// Directory checks one that may be in use: every byte of the journal and its snapshots, its checkpoints and
// what is expected from elsewhere, then the books (decision verify.verdict), and what lies beside the
// journal. That is looked at first, so that none of it is of a line that a server writes meanwhile. It only
// reads.
func Directory(fsys durable.ReadFS, live bool, expected inspect.Expected) (rep Report, err error) {
	before, err := filesBeside(fsys)
	if err != nil {
		return rep, err
	}
	rep, state, err := verify(fsys, live, expected, true)
	if !isRead(err) || state.Reports == nil {
		return rep, err
	}
	rep.beyond(before, state)
	if rep.zone.Seq > 0 {
		rep.Beside = append(rep.Beside, rep.zone)
	}
	return rep, cmp.Or(err, rep.reports(fsys, state, before))
}

// Copy checks a copy that was just made, and returns the state that its journal leads to. What breaks a
// rule in it does so in what was copied, too, and is no reason to have no copy.
func Copy(fsys durable.ReadFS) (rep Report, state ledger.State, err error) {
	rep, state, err = verify(fsys, false, inspect.Expected{}, true)
	wrong, ok := errors.AsType[*journal.Damage](err)
	if !ok || !wrong.Books {
		return rep, state, err
	}
	rep, state, err = verify(fsys, false, inspect.Expected{}, false)
	rep.Wrong = wrong
	return rep, state, err
}

// verify checks a directory, and returns the state that the journal leads to. Where it does not decide again,
// it checks the bytes, the chain and the replay, and not the books.
func verify(
	fsys durable.ReadFS,
	live bool,
	expected inspect.Expected,
	decide bool,
) (rep Report, state ledger.State, err error) {
	// FORMAT comes first. A directory of another format is not looked at any further.
	_, _, err = journal.ReadOrigin(fsys)
	if errors.Is(err, journal.ErrNewer) || errors.Is(err, journal.ErrOlder) {
		return rep, state, err
	}
	if err := ledger.LostJournal(fsys); err != nil {
		return rep, state, err
	}
	if err := secrets(fsys); err != nil {
		return rep, state, err
	}
	model := ledger.NewCodec().Model()
	again := sales{fsys: fsys}
	var rules inspect.Rules[ledger.State, ledger.Entry]
	if decide {
		rules.Check = again.check
	}
	var wrong error // with the books as a whole
	rules.End = func(s ledger.State, end journal.Stamp, applied bool) error {
		if applied {
			state = s
		}
		if err := again.missing(); err != nil {
			return err
		}
		tt, err := again.timetable(s.TimetableHash())
		if err == nil && decide && applied {
			rep.Books, wrong = s.Bookings.Audit(tt, end.Time)
		}
		return err
	}
	rep.Report, err = inspect.Verify(fsys, live, &model, expected, rules)
	rep.zone, rep.timetables = again.zone, again.named
	files, _ := fsys.List("journal")
	nameless := errors.Is(err, journal.ErrNoFormat) && len(files) == 0
	if nameless || err == nil && rep.Head.Seq == 0 && rep.Torn == nil {
		return rep, state, ErrNoJournal
	}
	// What breaks a rule is in Misfits, whoever has found it: that alone is of kind books in a verdict.
	if wrong != nil && len(rep.Misfits.List) == 0 {
		rep.Misfits.List = []*journal.Damage{{
			Place:  rep.Last,
			Seq:    rep.Head.Seq,
			Reason: "with this line " + wrong.Error(),
			Books:  true,
		}}
	}
	if err == nil && len(rep.Misfits.List) > 0 {
		err = rep.Misfits.List[0]
	}
	return rep, state, err
}

// secrets returns an error for a file of keys that is there and is not in its form, or of a public key that
// is no file.
func secrets(fsys durable.ReadFS) (wrong error) {
	check := func(_ any, err error) {
		if !errors.Is(err, fs.ErrNotExist) {
			wrong = cmp.Or(wrong, err)
		}
	}
	check(ledger.ReadSecret(fsys, ledger.RingFile, auth.ParseSigningKeys))
	for _, name := range []string{ledger.IDPFile, ledger.PeerFile, ledger.TicketFile} {
		check(ledger.ReadSecret(fsys, name, ledger.ParseSecret))
	}
	check(ledger.ReadSecret(fsys, ledger.SeedFile, ledger.ParseSeed))
	check(durable.ReadFile(fsys, ledger.TicketsPub))
	return wrong
}
