package durable

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// All threads of a process that has stepped back are nice, also those that are begun later. A process of its
// own does it: it cannot be taken back.
func TestAProcessStepsBack(t *testing.T) {
	if os.Getenv("WAYBILL_STEP_BACK") != "" {
		StepBack()
		var begun sync.WaitGroup
		begun.Add(8)
		for range 8 {
			go func() {
				runtime.LockOSThread() // it is not given back: each has a thread of its own
				begun.Done()
				select {}
			}()
		}
		begun.Wait()
		stats, _ := filepath.Glob("/proc/self/task/*/stat")
		for _, name := range stats {
			text, _ := os.ReadFile(name)
			fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
			fmt.Println("nice", fields[16])
		}
		return
	}
	c := exec.Command(os.Args[0], "-test.run", "^TestAProcessStepsBack$")
	c.Env = append(os.Environ(), "WAYBILL_STEP_BACK=1")
	out, err := c.CombinedOutput()
	said := string(out)
	if err != nil || strings.Count(said, "nice ") < 2 ||
		strings.Count(said, "nice ") != strings.Count(said, fmt.Sprintf("nice %d\n", niceness)) {
		t.Fatalf("%v\n%s", err, out)
	}
}
