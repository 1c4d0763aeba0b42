package inspect

import (
	"cmp"
	"errors"
	"sync"

	"waybill/store/chain"
)

// checks run beside the caller, one at a time, as each may need as much memory as the state.
type checks struct {
	under sync.WaitGroup
	one   sync.Mutex
	wrong []*error // by check
}

// begin begins a check.
func (c *checks) begin(check func() error) {
	wrong := new(error)
	c.wrong = append(c.wrong, wrong)
	c.under.Go(func() {
		c.one.Lock()
		defer c.one.Unlock()
		*wrong = check()
	})
}

// wait waits for all checks, and returns the error of the first one that has an error, in the order in
// which they were begun; and the first that a start mends.
func (c *checks) wait() (wrong, spoilt error) {
	c.under.Wait()
	for _, err := range c.wrong {
		if errors.Is(*err, chain.ErrSpoilt) {
			spoilt = cmp.Or(spoilt, *err)
		} else {
			wrong = cmp.Or(wrong, *err)
		}
	}
	return wrong, spoilt
}
