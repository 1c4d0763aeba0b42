package web

import (
	"fmt"
	"testing"
	"time"
)

// However many call, no more than so many buckets are remembered: who comes beyond shares one, until others
// are full.
func TestBucketsOfCallersAreBounded(t *testing.T) {
	l := NewLimiter(Rate{PerSecond: 1, Burst: 2})
	now := time.Now()
	for i := range manyCallers + 2 {
		if wait := l.take(fmt.Sprint("caller ", i), now); wait > 0 {
			t.Fatalf("caller %d waits %s", i, wait)
		}
	}
	if wait := l.take("one more", now); wait != time.Second || len(l.full) != manyCallers+1 {
		t.Errorf("one more waits %s; %d are remembered", wait, len(l.full))
	}
	if wait := l.take("caller 1", now); wait != 0 {
		t.Errorf("who was there before waits %s", wait)
	}
	now = now.Add(time.Second)
	if wait := l.take("one more", now); wait != 0 || len(l.full) != 3 {
		// itself, caller 1, and what is shared
		t.Errorf("one more waits %s; %d are remembered after a second", wait, len(l.full))
	}
}
