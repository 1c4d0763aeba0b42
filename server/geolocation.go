package server

import (
	"net/http"
	"slices"
	"time"

	"waybill/auth"
	"waybill/schedule"
	"waybill/server/wire"
)

// GeolocationSet says that a user turned the geolocation of a bus's FMS object on or off.
// It outweighs what timetables say of it, those imported later too.
type GeolocationSet struct {
	Object string  `json:"fmsObject"`
	On     bool    `json:"isGeolocation"`
	User   auth.ID `json:"user"`
}

// patchFMSObject answers PATCH /v2/geolocation/fms-objects/{fmsObjectId}.
func (s *Server) patchFMSObject(w http.ResponseWriter, r *http.Request, p *auth.Principal) error {
	tt, id := s.timetable.Load(), r.PathValue("fmsObjectId")
	bus := slices.IndexFunc(tt.Buses, func(b schedule.Bus) bool { return id != "" && b.FMSObject == id })
	if bus < 0 || tt.Companies[tt.Buses[bus].Company].ID != p.Access.Company.ID {
		return errNotFound
	}
	e := &GeolocationSet{Object: id, User: p.User.ID}
	if err := readBody(w, r, false, func(in *wire.Reader) {
		in.Fields(wire.Must("isGeolocation", func() { e.On = in.Bool() }))
	}); err != nil {
		return err
	}
	seq, err := s.do(func(*State, time.Time) (Event, error) { return e, nil })
	return showWritten(w, seq, err, func(w *wire.Writer) {
		w.Object("fmsObject")
		w.Texts("id", id, "busId", tt.Buses[bus].ID)
		w.Bool("isGeolocation", e.On)
		w.EndObject()
	})
}
