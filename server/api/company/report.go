package company

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/store/durable"
	"waybill/store/live"
)

// What the users of a company do, once they have signed in: reports of orders, and the geolocation of buses.

const (
	linkLife    = 10 * time.Minute // of a download's URL (decision reports.links)
	linkPath    = "/v2/reports/files/"
	linkPurpose = "report"         // distinguishes its token from an offer's
	fetchTime   = 10 * time.Minute // for a download
)

// PostReport answers POST /v2/reports/company/orders.
func (s *Portal) PostReport(w http.ResponseWriter, r *http.Request, p *auth.Principal) error {
	e := &report.Ordered{
		ID:      s.NewID(),
		Company: p.Access.Company.ID,
		User:    p.User.ID,
		OrderBy: report.DepartureDate,
	}
	is := func(v string) bool {
		return v == string(report.CreatedAt) || v == string(report.DepartureDate)
	}
	if err := web.ReadBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.Must("startDate", func() {
				at, day := web.ReadInstant(in)
				e.Start, e.FirstDay = at, report.Day(day)
			}),
			wire.Must("endDate", func() {
				at, day := web.ReadInstant(in)
				e.End, e.LastDay = at, report.Day(day)
			}),
			wire.May("orderBy", func() {
				e.OrderBy = report.OrderBy(in.Text(is, "be CreatedAt or DepartureDate"))
			}),
		)
		// The order of the dates is only looked at where both are dates.
		switch {
		case len(in.Problems) > 0:
		case e.End.Before(e.Start):
			in.RejectAt("endDate", "must not be before startDate")
		case e.End.Sub(e.Start) > report.MaxRange:
			in.RejectAt("endDate", "must not be more than 366 days after startDate")
		}
	}); err != nil {
		return err
	}
	bytes, err := s.reportBytes(e.Company)
	if err != nil {
		return err
	}
	var made *report.Report
	seq, err := s.Update(w, func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		// Counted under the lock, so that many orders at a time are not more than one after another.
		if st.Reports.Waiting(e.Company) >= web.MaxQueuedReports {
			return nil, errManyReports
		}
		kept, expires := st.Reports.Kept(e.Company, now)
		if !expires.IsZero() && (kept >= web.MaxKeptReports || bytes >= s.Config.ReportBytes) {
			return nil, errKeptReports(expires.Sub(now))
		}
		return ledger.Entries(e), nil
	},
		func(st ledger.State, now time.Time) {
			made, _ = st.Reports.Find(e.ID, e.Company, now)
		})
	s.queue.Wake() // the file is written in the background: it may take minutes
	if err != nil {
		return err
	}
	web.Wrote(w, seq)
	return web.Reply(w, http.StatusAccepted, func(w *wire.Writer) {
		writeReport(w, "report", made)
	})
}

var errManyReports = web.FailLater(http.StatusTooManyRequests, "TOO_MANY_REQUESTS",
	"20 reports of the company are still to be written; order again when one is completed", 10*time.Second)

// errKeptReports is the answer where a company has all the reports that it may, until the oldest expires.
func errKeptReports(wait time.Duration) error {
	return web.FailLater(http.StatusTooManyRequests, "TOO_MANY_REQUESTS",
		fmt.Sprintf("%d reports of the company, or %d MB of report files, are the limit; order again "+
			"when the oldest has expired", web.MaxKeptReports, web.MaxReportBytes/1_000_000), wait)
}

// ListReports answers GET /v2/reports/company/orders.
func (s *Portal) ListReports(w http.ResponseWriter, r *http.Request, p *auth.Principal) error {
	return web.ShowPage(s.Core, w, web.NewQuery(r), "reports", web.MaxReports,
		func(st ledger.State, skip, take int) (func() ([]*report.Report, int), uint64) {
			return web.Page(st.Reports.List(p.Access.Company.ID, skip, take)), live.All
		}, func(w *wire.Writer, r *report.Report, _ time.Time) {
			writeReport(w, "", r)
		})
}

// writeReport writes a Report.
func writeReport(w *wire.Writer, name string, r *report.Report) {
	expires, done := r.Expires()
	status := "Completed"
	if !done {
		status = "Queued"
		expires = time.Time{}
	}
	w.Object(name)
	w.String("id", r.ID.String())
	w.String("status", status)
	w.String("orderBy", string(r.OrderBy))
	w.Time("createdAt", r.Created)
	w.Time("startDate", r.Start)
	w.Time("endDate", r.End)
	w.OptionalTime("expiresAt", expires)
	w.OptionalTime("downloadedAt", r.Downloaded)
	w.EndObject()
}

// findReport finds a report that has not expired; company "" is any.
func (s *Portal) findReport(id ids.ID, company string) (x *report.Report, now time.Time, err error) {
	unread := s.Store.View(func(st ledger.State, at time.Time) {
		x, err = st.Reports.Find(id, company, at)
		now = at
	})
	return x, now, errors.Join(unread, err)
}

var errNotReady = web.Conflict(web.NotReady, "the report is not completed yet; try again later", nil)

// GetDownload answers GET /v2/reports/company/orders/{id}/download with a URL that needs no session.
func (s *Portal) GetDownload(w http.ResponseWriter, r *http.Request, p *auth.Principal) error {
	x, now, err := s.findReport(ids.Of(r.PathValue("id")), p.Access.Company.ID)
	if err != nil {
		return err
	}
	// The report is there, and its file is not yet.
	if x.Completed.IsZero() {
		return errNotReady
	}
	// The link ends with the report at the latest.
	expires := slices.MinFunc([]time.Time{now.Add(linkLife), x.Completed.Add(report.Life)}, time.Time.Compare)
	// The link is its own permission: it is opened by programs that have no session, and says all that is
	// needed.
	payload := append(append([]byte{0}, linkPurpose...), x.ID[:]...)
	token := s.Ring.Load().Sign(nil, binary.BigEndian.AppendUint64(payload, uint64(expires.UnixMilli())))
	scheme := "http://"
	if s.Secure(r) {
		scheme = "https://"
	}
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		w.String("url", scheme+r.Host+linkPath+string(token))
		w.Time("expiresAt", expires)
	})
}

// GetReportFile answers the URL of a download.
func (s *Portal) GetReportFile(w http.ResponseWriter, r *http.Request) error {
	// Whatever is wrong with a link, it is a page that is not there: nothing is revealed of what is.
	const head = 1 + len(linkPurpose)
	payload, err := s.Ring.Load().Open(r.PathValue("token"))
	if err != nil || len(payload) != head+16+8 || string(payload[1:head]) != linkPurpose {
		return web.ErrNotFound
	}
	x, now, err := s.findReport(ids.ID(payload[head:head+16]), "")
	if err != nil || now.UnixMilli() >= int64(binary.BigEndian.Uint64(payload[head+16:])) {
		return errors.Join(err, web.ErrNotFound)
	}
	f, err := s.Config.FS.Open(ledger.ReportFile(x.ID))
	if err != nil {
		return err
	}
	defer f.Close()
	// The file is read twice. What is sent must be what was written, and that is only known at its end.
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != x.SHA256 {
		err = fmt.Errorf("report %s: its file is not what was written", x.ID)
	}
	if err != nil {
		return err
	}
	// The first download is journalled before a byte of it leaves.
	if r.Method == http.MethodGet && x.Downloaded.IsZero() {
		seq, err := s.Store.Update(func(st ledger.State, at time.Time) ([]ledger.Entry, error) {
			if x, err := st.Reports.Find(x.ID, "", at); err != nil || !x.Downloaded.IsZero() {
				return nil, err // another was first
			}
			return ledger.Entries(&report.Downloaded{ID: x.ID}), nil
		}, nil)
		if err != nil {
			return err
		}
		web.Wrote(w, seq)
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Content-Disposition", `attachment; filename="orders-`+string(x.FirstDay+"-"+x.LastDay)+
		ledger.ReportSuffix+`"`)
	h.Set("Cache-Control", "no-store")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(fetchTime)) // a test's recorder has none
	w.WriteHeader(http.StatusOK)
	// HEAD is answered like GET, and is no download.
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(w, io.NewSectionReader(f, 0, size)); err != nil {
		panic(http.ErrAbortHandler) // the client must see that it is not whole
	}
	return nil
}

// tendReports is the queue: it removes the reports that have expired, and writes those that are queued. It
// returns the time until the next expires.
func (s *Portal) tendReports() (next time.Duration, err error) {
	if err := s.FinishReports(); err != nil {
		return 0, err
	}
	next = web.Rarely
	err = s.Store.Await(s.Base, func(st ledger.State, now time.Time) uint64 {
		if at := st.Reports.NextExpiry(now); !at.IsZero() {
			next = min(next, at.Sub(now))
		}
		return live.All
	})
	return next, err
}

// FinishReports removes the files of reports that are over, that are not known, or that a crash has left
// half-written, and writes the files of all that are queued, one at a time.
func (s *Portal) FinishReports() error {
	// An erasure waits meanwhile, so that no report is written with what is being erased.
	s.Reporting.Lock()
	defer s.Reporting.Unlock()
	err := s.removeReports()
	var queued []*report.Report
	err = errors.Join(err, s.Store.Await(s.Base, func(st ledger.State, _ time.Time) uint64 {
		queued = st.Reports.Queued()
		return live.All
	}))
	for i := 0; err == nil && i < len(queued); i++ {
		err = s.writeReport(queued[i])
	}
	return err
}

// writeReport writes a report's file, whole or not at all, and then says so. Where the company's files have
// no room for it, it stays queued until others have expired.
func (s *Portal) writeReport(x *report.Report) error {
	if _, err := s.reportBytes(x.Company); err != nil { // so that they are counted
		return err
	}
	room := s.files.room(x, s.Config.ReportBytes)
	if !s.files.fits(x.ID, room) {
		return nil
	}
	// All bookings as they are at one instant: the lock is not held while they are looked through.
	var frozen booking.Frozen
	pace := s.Store.Pace() // partners do not wait for it
	var now time.Time
	names := map[ids.ID]string{}
	err := s.Store.View(func(st ledger.State, at time.Time) {
		frozen = st.Bookings.Freeze()
		frozen.Step = pace.Step
		now = at
		for _, p := range st.Partners.All() {
			names[p.ID] = p.Name
		}
	})
	if err != nil {
		return err
	}
	sum := sha256.New()
	out := &roomWriter{room: room}
	done := &report.Completed{ID: x.ID, Salt: s.NewID()}
	partner := func(id ids.ID) string { return names[id] }
	write := func(to io.Writer) (err error) {
		out.to = io.MultiWriter(to, sum)
		done.Rows, err = report.Write(s.Base, out, x, frozen, now, partner)
		return err
	}
	name := path.Base(ledger.ReportFile(x.ID))
	err = durable.Publish(pace.Files(s.Config.FS), ledger.ReportDir, name, write)
	if errors.Is(err, errNoRoom) {
		s.Log.Info("a report waits until other reports of its company have expired", "report", x.ID.String(),
			"err", err)
		s.files.lacks(x.ID, room)
		return nil
	}
	if err != nil {
		return err
	}
	s.files.written(x, out.bytes)
	// The line comes after the file: a crash in between has the report written again.
	done.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return s.Record(done)
}

// removeReports removes the files of what is no report now. No file is being written meanwhile.
func (s *Portal) removeReports() error {
	names, err := s.Config.FS.List(ledger.ReportDir)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(names, atATime) {
		var gone []string
		err = errors.Join(err, s.Store.View(func(st ledger.State, now time.Time) {
			for _, name := range some {
				id, _ := ledger.ReportOf(name)
				_, unknown := st.Reports.Find(id, "", now)
				if strings.HasSuffix(name, durable.TempSuffix) ||
					strings.HasSuffix(name, ledger.ReportSuffix) && unknown != nil {
					gone = append(gone, name)
				}
			}
		}))
		// Without the lock: a disk may be slow.
		for _, name := range gone {
			failed := s.Config.FS.Remove(ledger.ReportDir + "/" + name)
			if errors.Is(failed, fs.ErrNotExist) {
				failed = nil // another was first
			}
			if failed == nil {
				id, _ := ledger.ReportOf(name)
				s.files.removed(id)
			}
			err = errors.Join(err, failed)
		}
	}
	return err
}

// PatchFMSObject answers PATCH /v2/geolocation/fms-objects/{fmsObjectId}.
func (s *Portal) PatchFMSObject(w http.ResponseWriter, r *http.Request, p *auth.Principal) error {
	tt := s.Timetable.Load()
	id := r.PathValue("fmsObjectId")
	// An object of another company is one that there is not.
	bus := slices.IndexFunc(tt.Buses, func(b schedule.Bus) bool {
		return id != "" && b.FMSObject == id
	})
	if bus < 0 || tt.Companies[tt.Buses[bus].Company].ID != p.Access.Company.ID {
		return web.ErrNotFound
	}
	e := &ledger.GeolocationSet{
		Object: id,
		User:   p.User.ID,
	}
	if err := web.ReadBody(w, r, false, func(in *wire.Reader) {
		in.Fields(wire.Must("isGeolocation", func() {
			e.On = in.Bool()
		}))
	}); err != nil {
		return err
	}
	seq, err := s.Update(w, func(ledger.State, time.Time) ([]ledger.Entry, error) {
		return ledger.Entries(e), nil
	}, nil)
	return web.ShowWritten(w, seq, err, func(w *wire.Writer) {
		w.Object("fmsObject")
		w.String("id", id)
		w.String("busId", tt.Buses[bus].ID)
		w.Bool("isGeolocation", e.On)
		w.EndObject()
	})
}
