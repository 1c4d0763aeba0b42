package terminal

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The lines of a moment leave together, within 20 ms; none is lost, none is torn.
func TestLogLinesLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(counted)
		q := &Queue{To: out}
		seen := func() (int, string) { // write takes the lock after it has written
			q.mu.Lock()
			defer q.mu.Unlock()
			return out.writes, out.String()
		}
		for i := range 3 {
			fmt.Fprintln(q, "line", i)
		}
		time.Sleep(gatherDelay - 1)
		synctest.Wait()
		if n, _ := seen(); n != 0 {
			t.Error("they have left at once")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if n, text := seen(); n != 1 || text != "line 0\nline 1\nline 2\n" {
			t.Errorf("%d writes of %q", n, text)
		}
		q.Write([]byte("last"))
		q.Flush()
		if _, text := seen(); !strings.HasSuffix(text, "last") {
			t.Error("flush leaves something")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n, _ := seen(); n != 2 {
			t.Errorf("%d writes", n)
		}
	})
}

// While nobody reads, lines wait up to a limit in bytes, their writer never does, and an end waits a second.
// Once somebody reads, the lines come in order, with one that says how many are missing where they are.
func TestLinesThatNobodyReadsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		q := &Queue{
			To: out,
			Log: func(to io.Writer, level slog.Level) *slog.Logger {
				return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{
					Level:       level,
					ReplaceAttr: onlyLines,
				}))
			},
		}
		first := "first\n"
		q.Write([]byte(first))
		time.Sleep(gatherDelay)
		synctest.Wait() // it is being written from here on
		line := strings.Repeat("x", 1<<10-1) + "\n"
		const fit = queueBytes / (1 << 10)
		for range fit + 7 {
			if n, err := q.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		start := time.Now()
		if q.Flush(); time.Since(start) != unreadWait {
			t.Errorf("an end waits %v", time.Since(start))
		}
		var read bytes.Buffer
		go io.Copy(&read, in)
		time.Sleep(gatherDelay)
		synctest.Wait()
		q.Write([]byte("next\n"))
		time.Sleep(gatherDelay)
		synctest.Wait()
		out.Close()
		synctest.Wait()
		if want := first + strings.Repeat(line, fit) + "lines=7\nnext\n"; read.String() != want {
			t.Errorf("it ends in %q, of %d bytes", read.Bytes()[max(0, read.Len()-30):], read.Len())
		}
	})
}

// onlyLines leaves of a line of log how many lines are left out.
func onlyLines(_ []string, a slog.Attr) slog.Attr {
	if a.Key == "lines" {
		return a
	}
	return slog.Attr{}
}

// counted counts how often something is written.
type counted struct {
	bytes.Buffer
	writes int
}

func (c *counted) Write(b []byte) (int, error) {
	c.writes++
	return c.Buffer.Write(b)
}
