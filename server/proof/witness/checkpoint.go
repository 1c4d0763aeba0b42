package witness

import (
	"errors"
	"io/fs"
	"net/http"
	"time"

	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/store/checkpoint"
)

var textType = []string{"text/plain; charset=utf-8"}

// GetCheckpoint answers GET /checkpoint: the newest checkpoint, or with ?witnessed the newest that every
// witness has signed (decision witnesses.asked). Where the clock stands still, the newest is made before it
// is given: no answer there depends on how long ago the last line was written.
func (s *Collector) GetCheckpoint(w http.ResponseWriter, r *http.Request) error {
	q := web.NewQuery(r)
	q.Text("witnessed")
	if err := q.Err(); err != nil {
		return err
	}
	read := checkpoint.Newest
	if q.Values.Has("witnessed") { // it needs no value
		read = checkpoint.NewestWitnessed
	}
	if s.Still.Load() {
		// Lines that nobody has waited for are not on the disk until a view has seen them.
		if err := s.Store.View(func(ledger.State, time.Time) {}); err != nil {
			return err
		}
		if _, err := s.Store.Sign(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	signed, err := read(s.Config.FS)
	if errors.Is(err, fs.ErrNotExist) {
		return web.ErrNotFound // there is none yet
	}
	if err != nil {
		return err
	}
	body := wire.NewWriter()
	body.B = append(body.B, signed...)
	web.SendBody(w, http.StatusOK, textType, body)
	return nil
}
