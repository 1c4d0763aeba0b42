package inspect

import "sync"

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
// which they were begun.
func (c *checks) wait() error {
	c.under.Wait()
	for _, wrong := range c.wrong {
		if *wrong != nil {
			return *wrong
		}
	}
	return nil
}
