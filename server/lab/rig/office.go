package rig

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/ledger"
	"waybill/store"
	"waybill/store/durable"
)

// Office is a server with a company user who is signed in, in a bubble.
type Office struct {
	*Player
	Logged bytes.Buffer
	Fail   atomic.Bool                 // new files of reports
	Wrap   func(durable.FS) durable.FS // what the next Reopen opens; nil: it as it is
}

type failingFS struct {
	durable.FS
	o *Office
}

func (f failingFS) Create(name string) (durable.File, error) {
	if f.o.Fail.Load() && strings.HasPrefix(name, ledger.ReportDir) {
		return nil, errors.New("no space left")
	}
	return f.FS.Create(name)
}

// NewOffice opens a directory whose new report files can be made to fail.
func NewOffice(t *testing.T, dir string) *Office {
	o := &Office{}
	p := NewPlayer(t, dir, "clock")
	if err := p.S.Close(); err != nil {
		t.Fatal(err)
	}
	o.Player = p
	o.Reopen()
	o.Steps(`
admin user-add email=olena@zorevia.example.com first-name=Olena last-name=Kovalenko password=correct-horse company=zorevia-lines role=ADMIN
admin idtoken email=olena@zorevia.example.com
    token = $out
browser office
POST /v2/auth/idp/login {"idToken":"$token"}
    200`)
	return o
}

// Reopen opens the directory once more.
func (o *Office) Reopen() {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var fsys durable.FS = failingFS{durable.Dir(o.dir), o}
	if o.Wrap != nil {
		fsys = o.Wrap(fsys)
	}
	s, err := server.Open(server.Config{
		Dir: o.dir, FS: fsys, MaxTransfers: 1, TestClock: true,
		Log: slog.New(slog.NewTextHandler(&o.Logged, nil)), Now: func() time.Time {
			return time.Now().Add(Start.Sub(began))
		},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.S = s
}

// Steps plays lines of a transcript.
func (o *Office) Steps(text string) {
	o.t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		o.Play(line)
	}
}

// Completions counts the journal's lines that complete a report.
func (o *Office) Completions() (n int) {
	_, err := store.Read(durable.Dir(o.dir), true, func(_ store.Place, l *store.Line) error {
		if l.Type == "report.completed" {
			n++
		}
		return nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return n
}
