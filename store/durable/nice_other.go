//go:build !linux

package durable

import "runtime"

// StepBack leaves the machine to other processes from now on: it takes one core at most.
func StepBack() {
	runtime.GOMAXPROCS(1)
}
