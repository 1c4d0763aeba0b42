package standby

import (
	"errors"
	"syscall"
	"time"
)

// roomEvery is how often it is tried whether a full disk has room again.
const roomEvery = 200 * time.Millisecond

// whenRoom does something, and again as long as the disk is full. Nothing that was received is lost
// meanwhile, and nothing is said to be there: a keeper whose disk is full is silent, and goes on by itself
// (decision keep.full). A stop ends the wait, with what the disk said. What a full disk has refused must have
// changed nothing.
func (o Options) whenRoom(do func() error) error {
	for said := false; ; said = true {
		err := do()
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
			return err
		}
		if !said && o.Say != nil {
			o.Say("the disk is full; further lines wait until there is room: " + err.Error())
		}
		select {
		case <-o.Stop:
			return err
		case <-time.After(roomEvery):
		}
	}
}
