package worlds

import (
	"waybill/server/frame/web"
	"waybill/server/lab/bench"
)

// What an operator does with worlds at the desk is what a tester does by calls.

// forDesk returns what the desk shows and does of worlds.
func (c *Control) forDesk() *bench.Worlds {
	return &bench.Worlds{
		List:   c.listForDesk,
		Make:   c.makeAtDesk,
		Reset:  c.resetAtDesk,
		Remove: c.removeAtDesk,
	}
}

// listForDesk returns the worlds, main first.
func (c *Control) listForDesk() (list []bench.World) {
	c.changing.RLock()
	defer c.changing.RUnlock()
	for _, w := range c.all() {
		now, _ := w.Front.Server.Now() // of one that has stopped the desk shows no time
		dir := c.path(w.Name)
		if w.Name == Main {
			dir = ""
		}
		list = append(list, bench.World{
			Name: w.Name,
			From: w.From,
			URL:  w.Front.URL,
			Dir:  dir,
			Now:  now,
		})
	}
	return list
}

// makeAtDesk makes a world that is a copy of another.
func (c *Control) makeAtDesk(name, from string) error {
	if !worldName.MatchString(name) {
		return web.Invalid(web.Problem("name", "must "+mustBeName))
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	_, err := c.makeNamed(name, from, anyPort)
	return err
}

// resetAtDesk makes a world a copy of another, at the address that it has.
func (c *Control) resetAtDesk(name, from string) error {
	return c.change(name, func(w *World) error { return c.reset(w, from) })
}

// removeAtDesk removes a world.
func (c *Control) removeAtDesk(name string) error {
	return c.change(name, c.drop)
}

// change does something with a world, beside which nothing else is changed.
func (c *Control) change(name string, do func(*World) error) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	w := c.find(name)
	if w == nil {
		return web.NotFoundFor("name")
	}
	return do(w)
}
