package rig

import (
	"archive/zip"
	"io"
	"path/filepath"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/proof/evidence"
	"waybill/server/proof/history"
	"waybill/server/proof/witness"
	"waybill/store/durable"
)

// Proven is a directory with what evidence is made of: two bookings on a run, of which the second is told of,
// two erased persons, and a witness that has signed.
type Proven struct {
	Dir     string
	Booking string
	Ticket  string
	Witness *Cosigner
}

// NewProven makes one, whose server is closed.
func NewProven(t *testing.T) *Proven {
	t.Helper()
	p := &Proven{Dir: t.TempDir(), Witness: NewCosigner(t, "w.example")}
	s, key := Demo(t, server.Config{Dir: p.Dir, Witnesses: []witness.Peer{p.Witness.Peer()}})
	(&Witnessed{Server: s}).Knows(p.Witness)
	offer := Offer(t, s, key, Bukovel)
	other := `{"offerId":"` + offer + `","currency":"UAH","passengers":[{"firstName":"Somebody","lastName":"Else",
		"email":"somebody@example.com"}]}`
	if a := Call(t, s, key, "POST", "/v2/bookings", other); a.Status != 201 {
		t.Fatal(a)
	}
	ours := `{"offerId":"` + offer + `","currency":"UAH","passengers":[
		{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com"},
		{"firstName":"Олена","lastName":"Пчілка","email":"olena@example.com"}]}`
	a := Call(t, s, key, "POST", "/v2/bookings", ours)
	if a.Status != 201 {
		t.Fatal(a)
	}
	p.Booking = a.Data.Booking.ID
	p.Ticket = a.Data.Booking.Tickets[0].ID
	if a := Call(t, s, key, "POST", "/v2/bookings/"+p.Booking+"/pay", ""); a.Status != 200 {
		t.Fatal(a)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Forget has somebody forgotten, by a server of its own.
func (p *Proven) Forget(t *testing.T, field, value string) {
	t.Helper()
	s, err := server.Open(server.Config{
		Dir:       p.Dir,
		FS:        Unsynced(p.Dir),
		Now:       func() time.Time { return Start },
		Witnesses: []witness.Peer{p.Witness.Peer()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Forget(s, field, value); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Write returns the files of evidence.
func (p *Proven) Write(t *testing.T, of history.Filter) map[string][]byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out.zip")
	if _, err := evidence.File(durable.Dir(p.Dir), false, of, name); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
