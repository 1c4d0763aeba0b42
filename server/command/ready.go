package command

import (
	"fmt"

	"waybill/server/front"
)

// ready says whether a server is ready. It asks as a client does, has no directory, and takes no lock. An
// image that has no shell and no curl has this for its health check, so that it prints nothing where all is
// well.
func (c *call) ready() (int, error) {
	addr, err := front.ParseURL(c.text("addr"))
	if err != nil {
		return exitUsage, fmt.Errorf("-addr: %w", err)
	}
	return exitFailed, front.Ready(addr)
}
