package journal

import "sync"

// Checks go on beside what has begun them, one at a time: each may need as much memory as the state.
type Checks struct {
	under sync.WaitGroup
	one   sync.Mutex
	wrong []*error // by check
}

// Begin begins a check.
func (c *Checks) Begin(check func() error) {
	wrong := new(error)
	c.wrong = append(c.wrong, wrong)
	c.under.Go(func() {
		c.one.Lock()
		defer c.one.Unlock()
		*wrong = check()
	})
}

// Len returns how many were begun.
func (c *Checks) Len() int {
	return len(c.wrong)
}

// Wait waits for all, and returns the error of the first begun that has one.
func (c *Checks) Wait() error {
	c.under.Wait()
	for _, wrong := range c.wrong {
		if *wrong != nil {
			return *wrong
		}
	}
	return nil
}
