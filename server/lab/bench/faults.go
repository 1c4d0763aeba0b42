package bench

import (
	"net/http"
	"sync"

	"waybill/auth"
	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
)

// faults are the rules in force, and how often each was met.
type faults struct {
	mu       sync.Mutex
	rules    []*counted
	promises []*promise // of messages that are to fail, see promise
}

// counted is a rule with its counts.
type counted struct {
	Rule
	place   int // in the list, from 1
	met     int // requests that fit, whether it was applied or not
	applied int
}

// choose counts the rules that a request fits, and returns the first that has times left; nil is none. It
// counts as applied until [faults.giveBack] says that it was not.
func (f *faults) choose(route string, caller *auth.Partner) (chosen *counted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		if !r.fits(route, caller) {
			continue
		}
		r.met++
		left := r.Times == 0 || r.applied < r.Times
		if chosen == nil && left && r.met > r.Skip {
			chosen = r
			r.applied++
		}
	}
	return chosen
}

// giveBack takes back that a rule was applied: there was nothing that it could have gone wrong with.
func (f *faults) giveBack(r *counted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.applied--
}

// set puts rules in force, in the place of those before.
func (f *faults) set(list []*Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
	for i, r := range list {
		f.rules = append(f.rules, &counted{
			Rule:  *r,
			place: i + 1,
		})
	}
}

// all returns the rules as they are now.
func (f *faults) all() (list []counted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		list = append(list, *r)
	}
	return list
}

// WriteFaults writes the member faults: the rules in force, with their counts.
func (s *Bench) WriteFaults(w *wire.Writer) {
	wire.Each(w, "faults", s.faults.all(), func(r counted) {
		w.Object("")
		r.write(w)
		w.Int("met", int64(r.met))
		w.Int("applied", int64(r.applied))
		w.EndObject()
	})
}

// GetFaults answers with the rules in force.
func (s *Bench) GetFaults(w http.ResponseWriter, _ *http.Request) error {
	return web.Reply(w, http.StatusOK, s.WriteFaults)
}

// PutFaults puts rules in force. Bad ones leave the old ones as they are.
func (s *Bench) PutFaults(w http.ResponseWriter, r *http.Request) error {
	body, err := web.Body(w, r)
	if err != nil {
		return err
	}
	if err := s.SetFaults(body); err != nil {
		return err
	}
	return s.GetFaults(w, r)
}

// SetFaults puts rules in force, which are written as a list in JSON. Bad ones leave the old ones as they
// are.
func (s *Bench) SetFaults(text []byte) error {
	in := wire.NewReader(text)
	list := s.readRules(in)
	if err := web.EndOfBody(in); err != nil {
		return err
	}
	s.faults.set(list)
	return nil
}

// DeleteFaults has nothing more go wrong. Messages of requests that were answered before still fail.
func (s *Bench) DeleteFaults(w http.ResponseWriter, _ *http.Request) error {
	s.faults.set(nil)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
