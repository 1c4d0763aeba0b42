package server

import (
	"bytes"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"syscall"
	"time"
)

// started is for the metric of that name; it decides nothing.
var started = time.Now()

// runtimeMetrics are what the Go runtime tells of itself in whole numbers, and what that is called in metrics.
var runtimeMetrics = []struct{ read, name, kind, help string }{
	{"/sched/goroutines:goroutines", "go_goroutines", "gauge", "Goroutines that exist."},
	{"/gc/cycles/total:gc-cycles", "go_gc_cycles_total", "counter", "Garbage collections."},
	{"/gc/heap/allocs:bytes", "go_gc_heap_allocs_bytes_total", "counter", "Bytes allocated."},
	{"/gc/heap/live:bytes", "go_gc_heap_live_bytes", "gauge", "Bytes of what lived at the last garbage collection."},
	{"/memory/classes/total:bytes", "go_memory_bytes", "gauge", "Bytes of memory that the runtime has mapped."},
}

// writeProcess writes what does not depend on what the server does; some of it only where there is a /proc (proc(5)).
func writeProcess(x exposition) {
	for _, m := range runtimeMetrics {
		sample := []metrics.Sample{{Name: m.read}}
		metrics.Read(sample)
		x.single(m.name, m.kind, m.help, sample[0].Value.Uint64())
	}
	x.single("process_start_time_seconds", "gauge", "When the process was started.", float64(started.UnixMilli())/1e3)
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		x.single("process_max_fds", "gauge", "File descriptors that may be open.", limit.Cur)
	}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		x.single("process_open_fds", "gauge", "File descriptors that are open.", len(fds)-1) // one reads this
	}
	stat, _ := os.ReadFile("/proc/self/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before may hold blanks
	if len(fields) > 21 {
		field := func(n int) float64 { // by its number in the manual; the state, 3, is the first here
			v, _ := strconv.ParseFloat(string(fields[n-3]), 64)
			return v
		}
		const hertz = 100 // of the clock that /proc counts in, on all that Go runs on
		x.single("process_cpu_seconds_total", "counter", "Processor time used.", (field(14)+field(15))/hertz)
		x.single("process_resident_memory_bytes", "gauge", "Bytes of memory in use.", field(24)*float64(os.Getpagesize()))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		x.family("waybill_build_info", "gauge", "Which build this is; always 1.")
		x.printf("waybill_build_info{version=%q,goversion=%q} 1\n", info.Main.Version, info.GoVersion)
	}
}
