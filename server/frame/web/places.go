package web

import (
	"context"
	"sync"
	"time"
)

// Places bound how much of something is done at a time. No partner and no address has more than half of them,
// so that all others wait for few (decision places.half).
type Places struct {
	all chan struct{}

	mu     sync.Mutex
	halves map[string]*half // by partner and by address
}

// half is the part of the places that somebody may have.
type half struct {
	places chan struct{}
	users  int // requests that wait for a place or have one
}

// PlaceWait is how long a request waits for a place.
const PlaceWait = 5 * time.Second

// NewPlaces returns so many places.
func NewPlaces(n int) *Places {
	return &Places{
		all:    make(chan struct{}, n),
		halves: map[string]*half{},
	}
}

// Take waits until ctx is over for a place for a partner, an address or both. It is theirs until they leave.
// Of both, the partner comes first: where many call from one address, each takes a part of its half.
func (p *Places) Take(ctx context.Context, who ...string) (leave func(), err error) {
	rows := append(p.count(who, 1), p.all)
	taken := 0
	leave = func() {
		for _, row := range rows[:taken] {
			<-row
		}
		p.count(who, -1)
	}
	for _, row := range rows {
		select {
		case row <- struct{}{}:
			taken++
		case <-ctx.Done():
			leave()
			return nil, errBusy
		}
	}
	return leave, nil
}

// count counts a request that comes, by 1, or leaves, by -1, and returns the halves that it has a part of.
func (p *Places) count(who []string, n int) (rows []chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range who {
		h := p.halves[name]
		if h == nil {
			h = &half{places: make(chan struct{}, max(1, cap(p.all)/2))}
			p.halves[name] = h
		}
		h.users += n
		if h.users == 0 {
			delete(p.halves, name)
		}
		rows = append(rows, h.places)
	}
	return rows
}
