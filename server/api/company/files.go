package company

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"waybill/report"
	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// reportFiles knows how many bytes the files of reports have, of each company: the journal does not say it.
// They are counted when the number is first asked for, and from then on as they come and go.
type reportFiles struct {
	mu      sync.Mutex
	counted bool
	files   map[ids.ID]reportFile
	bytes   map[string]int64 // by company
	lacking map[ids.ID]int64 // the room that was too little for reports that wait, in bytes
}

// reportFile is a file that is there.
type reportFile struct {
	company string
	bytes   int64
}

func newReportFiles() *reportFiles {
	return &reportFiles{
		files:   map[ids.ID]reportFile{},
		bytes:   map[string]int64{},
		lacking: map[ids.ID]int64{},
	}
}

// reportBytes returns how many bytes the files of a company's reports have. The store's lock must not be
// held.
func (s *Portal) reportBytes(company string) (int64, error) {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	if !s.files.counted {
		if err := s.countFiles(); err != nil {
			return 0, err
		}
		s.files.counted = true
	}
	return s.files.bytes[company], nil
}

// countFiles counts the files that are there. The lock of the files is held, so that none comes or goes.
func (s *Portal) countFiles() error {
	names, err := s.Config.FS.List(ledger.ReportDir)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(names, atATime) {
		var known []*report.Report
		err := s.Store.View(func(st ledger.State, _ time.Time) {
			for _, name := range some {
				id, _ := ledger.ReportOf(name)
				if x, unknown := st.Reports.Find(id, "", time.Time{}); unknown == nil {
					known = append(known, x)
				}
			}
		})
		if err != nil {
			return err
		}
		for _, x := range known {
			bytes, err := sizeOf(s.Config.FS, ledger.ReportFile(x.ID))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			s.files.put(x, bytes)
		}
	}
	return nil
}

// atATime is how many reports are looked up under the store's lock.
const atATime = 200

func sizeOf(fsys durable.ReadFS, name string) (int64, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, err
	}
	bytes, err := f.Size()
	return bytes, errors.Join(err, f.Close())
}

// written records that a report's file is there, with so many bytes.
func (f *reportFiles) written(x *report.Report, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(x, bytes)
}

// put puts a file in place of the report's former one. The lock is held.
func (f *reportFiles) put(x *report.Report, bytes int64) {
	f.drop(x.ID)
	f.files[x.ID] = reportFile{x.Company, bytes}
	f.bytes[x.Company] += bytes
}

// removed records that a report's file is gone.
func (f *reportFiles) removed(id ids.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(id)
}

// drop forgets a file. The lock is held.
func (f *reportFiles) drop(id ids.ID) {
	file := f.files[id]
	f.bytes[file.company] -= file.bytes
	if f.bytes[file.company] == 0 {
		delete(f.bytes, file.company)
	}
	delete(f.files, id)
	delete(f.lacking, id)
}

// noLimit is the room of a file that is written whatever its size.
const noLimit = -1

// room returns how many bytes a report's file may have beside its company's others. noLimit: there is no
// other, so that it would never have more room, or the report has a file already, which an erasure has
// written anew.
func (f *reportFiles) room(x *report.Report, most int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, again := f.files[x.ID]
	others := f.bytes[x.Company]
	if again || others == 0 {
		return noLimit
	}
	return max(0, most-others)
}

// fits reports whether it makes sense to write a report's file where there is so much room: it does not where
// it was tried in vain with as much.
func (f *reportFiles) fits(id ids.ID, room int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	lacking, tried := f.lacking[id]
	return room == noLimit || room > 0 && (!tried || room > lacking)
}

// lacks records that so much room was too little for a report's file.
func (f *reportFiles) lacks(id ids.ID, room int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lacking[id] = room
}

// errNoRoom is of a report whose file would be larger than its company has room for.
var errNoRoom = errors.New("company: the report files of the company have reached their limit")

// roomWriter counts what is written, and fails beyond its room.
type roomWriter struct {
	to    io.Writer
	room  int64 // bytes; noLimit is as many as there are
	bytes int64
}

func (w *roomWriter) Write(b []byte) (int, error) {
	if w.room != noLimit && w.bytes+int64(len(b)) > w.room {
		return 0, fmt.Errorf("%w: it has more than %d bytes", errNoRoom, w.room)
	}
	n, err := w.to.Write(b)
	w.bytes += int64(n)
	return n, err
}
