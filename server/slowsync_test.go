package server

import (
	"sync"
	"sync/atomic"

	"waybill/store/durable"
)

func storeDir(dir string) durable.Dir { return durable.Dir(dir) }

// slowSync is a directory whose files, while it is slow, are synced when they are released.
type slowSync struct {
	durable.FS
	slow    atomic.Bool
	release chan bool
	once    sync.Once
	begun   chan bool
}

// reached is closed once somebody waits for a sync.
func (d *slowSync) reached() chan bool {
	d.once.Do(func() { d.begun = make(chan bool) })
	return d.begun
}

func (d *slowSync) Append(name string) (durable.File, error) {
	f, err := d.FS.Append(name)
	return &slowFile{File: f, disk: d}, err
}

func (d *slowSync) Create(name string) (durable.File, error) {
	f, err := d.FS.Create(name)
	return &slowFile{File: f, disk: d}, err
}

type slowFile struct {
	durable.File
	disk *slowSync
	told sync.Once
}

func (f *slowFile) Sync() error {
	if f.disk.slow.Load() {
		f.told.Do(func() { close(f.disk.reached()) })
		<-f.disk.release
	}
	return f.File.Sync()
}
