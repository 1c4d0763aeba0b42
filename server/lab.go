package server

import (
	"errors"
	"net/http"

	"waybill/server/frame/web"
	"waybill/server/operate/stand"
)

// ErrMovedClock is returned by Open, where there is no test bench, for a directory whose clock was ever set.
// What it says of time is a test's.
var ErrMovedClock = errors.New("server: the journal has a clock.set line, so it belongs to a test " +
	"bench; this lean binary can only read it")

// noLab is what stands in the place of a test bench where there is none.
var noLab = &stand.Lab{
	GetClock:  notHere,
	PostClock: notHere,
}

// notHere answers as where there is no route.
func notHere(http.ResponseWriter, *http.Request) error { return web.ErrNotFound }

// lab returns the test bench, or what stands in its place.
func (s *Server) lab() *stand.Lab {
	if s.options.Lab == nil {
		return noLab
	}
	return s.options.Lab
}

// prepare makes a server with its test bench, if there is one. Nothing is open yet.
func prepare(cfg Config) (*Server, error) {
	shared := cfg.web()
	if cfg.Lab == nil {
		return newServer(cfg, shared), nil
	}
	if err := cfg.Lab.Begin(&shared); err != nil {
		return nil, err
	}
	s := newServer(cfg, shared)
	cfg.Lab.Furnish(s.Core, s.outbox)
	return s, nil
}
