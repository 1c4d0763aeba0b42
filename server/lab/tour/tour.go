// Package tour plays one booking from its search to its proof, on a server and a directory that it makes for
// that and takes away again. What is done is a text, tour.txt. Of each step it shows the request and the
// answer, the lines that were written with what their hashes are made of, and what has changed. The page
// docs/tour.md goes with it.
//
//	t := tour.Tour{Demo: feed, Out: os.Stdout, In: os.Stdin}
//	err := t.Play()
package tour

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"
)

// Tour is how a tour is played.
type Tour struct {
	Demo fs.FS           // the demo network's feed
	Out  io.Writer       // where it is shown
	In   io.Reader       // a line of it is waited for between two steps, unless there is a pace
	Stop <-chan struct{} // ends the tour once it is closed

	pace  time.Duration
	lines chan bool // that came in; false is the end
}

// SetPace has the tour go on by itself, after so many seconds a step; 0 waits for lines.
func (t *Tour) SetPace(seconds float64) error {
	const most = 3600
	if !(0 <= seconds && seconds <= most) {
		return fmt.Errorf("-pace is a number of seconds from 0 to %d", most)
	}
	t.pace = time.Duration(math.Ceil(seconds * float64(time.Second)))
	return nil
}

// errEnough ends a tour without an error.
var errEnough = errors.New("tour: enough")

// Play plays all steps. It takes away again what it has made, however it ends.
func (t *Tour) Play() error {
	w, err := newWorld(t.Demo, t.Out)
	if err != nil {
		return err
	}
	if t.pace == 0 {
		t.listen()
	}
	err = w.play(t.wait)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return errors.Join(err, w.close())
}

// listen reads lines, for as long as the process lives: a read cannot be given up.
func (t *Tour) listen() {
	t.lines = make(chan bool)
	go func() {
		input := bufio.NewReader(t.In)
		for {
			_, err := input.ReadString('\n')
			select {
			case t.lines <- err == nil:
			case <-t.Stop:
				return
			}
			if err != nil {
				return
			}
		}
	}()
}

// wait waits until the next step is wanted.
func (t *Tour) wait() error {
	var passed <-chan time.Time
	if t.pace > 0 {
		passed = time.After(t.pace)
	} else {
		fmt.Fprint(t.Out, "\n— Enter: the next step ")
	}
	select {
	case <-passed:
		return nil
	case more := <-t.lines:
		if more {
			return nil
		}
		fmt.Fprintln(t.Out, "\nThe input has ended, and so has the tour. With -pace the tour continues by itself.")
	case <-t.Stop:
		fmt.Fprintln(t.Out)
	}
	return errEnough
}
