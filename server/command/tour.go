//go:build !lean

package command

import (
	"waybill/server/front"
	"waybill/server/lab/tour"
)

// tour plays one booking, step by step, in a directory of its own.
func (c *call) tour() (int, error) {
	t := tour.Tour{
		Demo: front.DemoFeed(),
		Out:  c.Stdout,
		In:   c.Stdin,
		Stop: c.Stop,
	}
	if err := t.SetPace(c.get("pace").(float64)); err != nil {
		return exitUsage, err
	}
	return exitFailed, t.Play()
}
