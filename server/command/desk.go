package command

import (
	"fmt"
	"net"

	"waybill/server/frame/web"
	"waybill/server/front"
	"waybill/server/operate/door"
)

// desk lets the operator's browser in to the desk, until the process should end. The desk is the server's:
// this is the way to it.
func (c *call) desk() (int, error) {
	// A desk that others reach would have everybody act in the operator's name.
	addr := c.text("addr")
	host, _, err := net.SplitHostPort(addr)
	if err != nil || !web.IsLoopback(host) {
		return exitUsage, fmt.Errorf("-addr %q must be a loopback address, as in 127.0.0.1:8082", addr)
	}
	socket, err := front.Socket(c.dir)
	if err == nil {
		err = c.mustExist()
	}
	if err != nil {
		return exitFailed, err
	}
	// The pages are the server's: without one there is nothing to show.
	if err := front.Reach(c.dir); err != nil {
		return exitFailed, err
	}
	return exitFailed, elsewhere(door.Open(addr, socket, c.Stop, func(link string) {
		fmt.Fprintln(c.Stdout, link)
		fmt.Fprintln(c.Stderr, "Open this link in a browser; it works once. Interrupt ends the desk.")
	}))
}
