package durable

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// niceness is that of a process that has stepped back: the lowest priority, for what others leave.
const niceness = 19

// StepBack leaves the machine to other processes from now on: it takes one core at most, and that only while
// they do not want it. The kernel knows a priority of threads only; those that are begun later take it over.
// Where it cannot be set nothing changes.
func StepBack() {
	runtime.GOMAXPROCS(1)
	for range 2 { // the second finds those that were begun during the first
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err == nil {
				syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness)
			}
		}
	}
}
