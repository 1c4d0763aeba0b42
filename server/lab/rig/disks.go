package rig

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/note"
)

// Crowded is a directory on a disk that somebody else can fill.
type Crowded struct {
	durable.FS
	Full atomic.Bool
}

type crowdedFile struct {
	durable.File
	disk *Crowded
}

func (d *Crowded) Create(name string) (durable.File, error) {
	f, err := d.FS.Create(name)
	return crowdedFile{f, d}, err
}

func (d *Crowded) Append(name string) (durable.File, error) {
	f, err := d.FS.Append(name)
	return crowdedFile{f, d}, err
}

func (f crowdedFile) Reserve(size int64) error {
	if f.disk.Full.Load() {
		return syscall.ENOSPC
	}
	return f.File.Reserve(size)
}

// Fill sells ever smaller groups until the disk is full.
func (d *Crowded) Fill(t *testing.T, s *server.Server, key string) {
	t.Helper()
	Import(t, s, FeedWith(t, map[string][][2]string{
		"waybill_buses.txt": {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,1000,"}}}))
	d.Full.Store(true)
	day := 1
	for _, size := range []int{100, 10, 1} {
		for full := false; !full; {
			query := fmt.Sprintf(
				"/v2/offers?passengers=%d&departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=%s",
				size,
				Start.AddDate(0, 0, 60-day).Format(time.DateOnly),
			) // the last days first: tests use the others
			offers := Call(t, s, key, "GET", query, "").Data.Offers
			if len(offers) == 0 {
				if day++; day > 60 {
					t.Fatal("the disk does not get full")
				}
				continue
			}
			w := KeyedCall(s, key, s.NewID().String(), "/v2/bookings", GroupOf(offers[0].ID, size))
			full = w.Code == 503
		}
	}
	// What is left may do for a line that is shorter than a booking's.
	for n := 0; ; n++ {
		if _, err := s.Admin.AddPartner(fmt.Sprint("p", n), nil); err != nil {
			return
		}
	}
}

// GroupOf asks for seats for passengers whose names take as much room as may be.
func GroupOf(offer string, passengers int) string {
	name := strings.Repeat(`\"`, 50) + strings.Repeat(`\\`, 50)
	phone := `{"phone":"+380 44 123 45 67"}`
	one := `{"firstName":"` + name + `x","lastName":"` + name + `","phones":[` + strings.Repeat(phone+",",
		9) + phone + `]}`
	one = strings.Replace(one, name+"x", name[2:]+"x", 1)
	return `{"offerId":"` + offer + `","currency":"UAH","passengers":[` + strings.Repeat(one+",",
		passengers-1) + one + `]}`
}

// SlowSync is a directory whose files, while it is slow, are synced when they are released.
type SlowSync struct {
	durable.FS
	Slow    atomic.Bool
	Release chan bool
	once    sync.Once
	told    sync.Once
	begun   chan bool
}

// Reached is closed once somebody waits for a sync.
func (d *SlowSync) Reached() chan bool {
	d.once.Do(func() { d.begun = make(chan bool) })
	return d.begun
}

func (d *SlowSync) Append(name string) (durable.File, error) {
	f, err := d.FS.Append(name)
	return &slowFile{File: f, disk: d}, err
}

func (d *SlowSync) Create(name string) (durable.File, error) {
	f, err := d.FS.Create(name)
	return &slowFile{File: f, disk: d}, err
}

type slowFile struct {
	durable.File
	disk *SlowSync
}

func (f *slowFile) Sync() error {
	if f.disk.Slow.Load() {
		f.disk.told.Do(func() { close(f.disk.Reached()) })
		<-f.disk.Release
	}
	return f.File.Sync()
}

// Evidence, witnesses and standbys where a disk fails, an answer is lost, or something was cut short.

// Troubled is a directory in which syncs and renames can fail.
type Troubled struct {
	durable.FS
	OnSync   func(name string) error // or nil
	OnRename func(to string) error   // or nil
}

type troubledFile struct {
	durable.File
	name string
	fsys *Troubled
}

func (d *Troubled) wrap(f durable.File, name string, err error) (durable.File, error) {
	if err != nil {
		return nil, err
	}
	return &troubledFile{f, name, d}, nil
}

func (d *Troubled) Create(name string) (durable.File, error) {
	f, err := d.FS.Create(name)
	return d.wrap(f, name, err)
}

func (d *Troubled) Append(name string) (durable.File, error) {
	f, err := d.FS.Append(name)
	return d.wrap(f, name, err)
}

func (d *Troubled) Rename(from, to string) error {
	if d.OnRename != nil {
		if err := d.OnRename(to); err != nil {
			return err
		}
	}
	return d.FS.Rename(from, to)
}

func (f *troubledFile) Sync() error {
	if f.fsys.OnSync != nil {
		if err := f.fsys.OnSync(f.name); err != nil {
			return err
		}
	}
	return f.File.Sync()
}

// Started opens a copy for the first time, and verifies it with the witness's key.
func (p *Proven) Started(t *testing.T, dir string, now func() time.Time) (verify.Report, error) {
	t.Helper()
	s, err := server.Open(server.Config{Dir: dir, FS: Unsynced(dir), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	witnesses := []note.Key{p.Witness.VKey()}
	return verify.Directory(durable.Dir(dir), false, inspect.Expected{Witnesses: witnesses})
}
