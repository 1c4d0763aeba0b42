//go:build !lean

package command

import (
	"errors"

	"waybill/server/frame/words"
	"waybill/server/lab/recorded"
)

// recorded holds a recording of another deployment against the interface and against this program. That it
// contradicts the interface is exit 1, as is a recording that cannot be read.
func (c *call) recorded() (int, error) {
	if c.text("base-url") != "" {
		return exitUsage, errors.New("-recorded sends no request: leave out -base-url")
	}
	recording, err := recorded.Read(c.text("recorded"))
	if err != nil {
		return exitFailed, err
	}
	n, err := recording.Write(c.Stdout)
	if err == nil && n > 0 {
		err = errors.New("the interface is contradicted in " + words.Counted(n, "place"))
	}
	return exitFailed, err
}
