package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The lines of a moment leave together, within 20 ms, and at once where they are many; none is lost, none is
// torn.
func TestLogLinesLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(counted)
		g := &Gathered{To: out}
		seen := func() (int, string) { // what flush writes, it writes with the lock held
			g.mu.Lock()
			defer g.mu.Unlock()
			return out.writes, out.String()
		}
		for i := range 3 {
			fmt.Fprintln(g, "line", i)
		}
		time.Sleep(gatherDelay - 1)
		if n, _ := seen(); n != 0 {
			t.Error("they have left at once")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if n, text := seen(); n != 1 || text != "line 0\nline 1\nline 2\n" {
			t.Errorf("%d writes of %q", n, text)
		}
		g.Write(make([]byte, gatherBytes))
		g.Write([]byte("x"))
		if n, text := seen(); n != 2 || len(text) != 21+gatherBytes+1 {
			t.Errorf("%d writes, %d bytes", n, len(text))
		}
		g.Write([]byte("last"))
		g.Flush()
		if _, text := seen(); !strings.HasSuffix(text, "last") {
			t.Error("flush leaves something")
		}
		time.Sleep(time.Second)
		if n, _ := seen(); n != 3 {
			t.Errorf("%d writes", n)
		}
	})
}

type counted struct {
	bytes.Buffer
	writes int
}

func (c *counted) Write(b []byte) (int, error) {
	c.writes++
	return c.Buffer.Write(b)
}
