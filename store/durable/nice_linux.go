package durable

import (
	"os"
	"strconv"
	"syscall"
)

// niceness is what the threads of a process that steps back have: a tenth of a core where others want all.
const niceness = 10

// StepBack leaves the machine to other processes from now on. The kernel knows a priority of threads only;
// those that are begun later take it over. Where it cannot be set nothing changes.
func StepBack() {
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
