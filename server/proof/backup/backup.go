// Package backup copies directories: whole ([Backup]), or up to where they are damaged ([Repair]). Each copy
// is verified before it is called one.
package backup

import (
	"errors"
	"time"

	"waybill/server/ledger"
	"waybill/server/proof/events"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// Backup copies a directory that may be in use into a new one, and checks the copy (decision copies.checked).
// An erasure that goes on meanwhile is carried out in the copy, and one that begins when its lines are copied
// already has the copy made again.
func Backup(fsys durable.ReadFS, inUse bool, out durable.Dir) (rep verify.Report, err error) {
	const tries = 3
	for range tries {
		err = inspect.PublishNew(string(out), func(at string) (err error) {
			rep, err = backUp(fsys, inUse, paced(inUse, durable.Dir(at)))
			return err
		})
		if !errors.Is(err, events.ErrErasedMeanwhile) {
			return rep, err
		}
	}
	return rep, errors.New("personal data was erased each time the copy was tried; make the backup later")
}

// paced returns what to write many files through: beside a server, the disk is left to its clients most of
// the time.
func paced(inUse bool, to durable.FS) durable.FS {
	if inUse {
		return durable.PacedWrites().Files(to)
	}
	return to
}

// backUp makes a copy. Its error is events.ErrErasedMeanwhile where something was erased since its lines were
// copied.
func backUp(fsys durable.ReadFS, inUse bool, to durable.FS) (rep verify.Report, err error) {
	if err := inspect.Backup(fsys, to, inUse, ledger.CopiedDirs...); err != nil {
		return rep, err
	}
	if rep, err = finishCopy(to); err != nil || !inUse {
		return rep, err
	}
	erased, err := events.ErasedAfter(fsys, rep.Head)
	if erased {
		err = events.ErrErasedMeanwhile
	}
	return rep, err
}

// finishCopy carries out in a copy what its journal says of erasures, takes away what lies beside the
// journal and is not as the journal says, and checks it.
func finishCopy(to durable.FS) (verify.Report, error) {
	found, err := inspect.Follow(to, journal.Head{}, func(*journal.Line) error {
		return nil
	})
	if err == nil {
		err = journal.Erase(to, found.Unerased, found.Head.Seq)
	}
	if err != nil {
		return verify.Report{}, err
	}
	rep, state, err := verify.Copy(to)
	if err != nil {
		return rep, err
	}
	return rep, removeStaleReports(to, state)
}

// removeStaleReports removes the files of reports that are not what the journal says of them: they were
// copied before or after. A start writes those that are queued.
func removeStaleReports(to durable.FS, state ledger.State) error {
	names, err := to.List(ledger.ReportDir)
	for _, name := range names {
		id, _ := ledger.ReportOf(name)
		x, unknown := state.Reports.Find(id, "", time.Time{})
		sum, unread := verify.SumOf(to, ledger.ReportDir+"/"+name)
		if err = errors.Join(err, unread); err != nil {
			return err
		}
		if unknown != nil || x.SHA256 != sum {
			err = to.Remove(ledger.ReportDir + "/" + name)
		}
	}
	return err
}

// Repair copies the lines before a cut of a directory that nobody has open into a new one, and checks that
// (decision copies.checked).
func Repair(fsys durable.ReadFS, out durable.Dir, cut inspect.Cut) (rep verify.Report, loss inspect.Loss,
	err error) {
	model := ledger.NewCodec().Model()
	now := func(s ledger.State) time.Time {
		return s.Clock().At(time.Now())
	}
	err = inspect.PublishNew(string(out), func(at string) (err error) {
		to := durable.Dir(at)
		loss, err = inspect.Repair(fsys, to, &model, now, cut, ledger.CopiedDirs...)
		if err == nil {
			rep, _, err = verify.Copy(to)
		}
		return err
	})
	return rep, loss, err
}
