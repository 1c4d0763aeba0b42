package ops

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"
)

// started is for the metric of that name; it decides nothing.
var started = time.Now()

// runtimeMetrics are what the Go runtime says of itself in whole numbers, and what the Go client of
// Prometheus calls that: dashboards for Go programs find it.
var runtimeMetrics = []struct{ read, name, kind, help string }{
	{"/sched/goroutines:goroutines", "go_goroutines", "gauge", "Goroutines that exist."},
	{"/sched/gomaxprocs:threads", "go_sched_gomaxprocs_threads", "gauge", "Threads that may run Go code at a time."},
	{"/gc/cycles/total:gc-cycles", "go_gc_cycles_total_gc_cycles_total", "counter", "Garbage collections."},
	{"/gc/gogc:percent", "go_gc_gogc_percent", "gauge", "By how much the heap may grow until garbage is collected."},
	{"/gc/heap/allocs:bytes", "go_memstats_alloc_bytes_total", "counter", "Bytes allocated, also those freed since."},
	{"/gc/heap/goal:bytes", "go_memstats_next_gc_bytes", "gauge", "Bytes of heap at which garbage is collected next."},
	{"/gc/heap/live:bytes", "go_gc_heap_live_bytes", "gauge", "Bytes of what lived at the last garbage collection."},
	{"/memory/classes/heap/objects:bytes", "go_memstats_alloc_bytes", "gauge", "Bytes allocated and not freed."},
	{"/memory/classes/total:bytes", "go_memstats_sys_bytes", "gauge", "Bytes of memory that the runtime has mapped."},
}

// writeProcess writes what does not depend on what the server does; some of it only where there is a /proc
// (proc(5)).
func writeProcess(x exposition) {
	x.family("go_info", "gauge", "The Go version; always 1.")
	x.printf("go_info{version=%q} 1\n", runtime.Version())
	for _, m := range runtimeMetrics {
		sample := []metrics.Sample{{Name: m.read}}
		metrics.Read(sample)
		x.single(m.name, m.kind, m.help, sample[0].Value.Uint64())
	}
	x.single("go_threads", "gauge", "Threads of the operating system that were made.",
		pprof.Lookup("threadcreate").Count())
	writePauses(x)
	x.single("process_start_time_seconds", "gauge", "When the process was started.",
		float64(started.UnixMilli())/1e3)
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
		x.single("process_virtual_memory_bytes", "gauge", "Bytes of address space in use.", field(23))
		x.single("process_resident_memory_bytes", "gauge", "Bytes of memory in use.",
			field(24)*float64(os.Getpagesize()))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		x.family("waybill_build_info", "gauge", "Which build this is; always 1.")
		x.printf("waybill_build_info{version=%q,goversion=%q} 1\n", info.Main.Version, info.GoVersion)
	}
}

// writePauses writes how long the latest garbage collections have stopped the program.
func writePauses(x exposition) {
	const name = "go_gc_duration_seconds"
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	x.family(name, "summary", "How long garbage collections have stopped the program.")
	for i, pause := range stats.PauseQuantiles {
		quantile := float64(i) / float64(len(stats.PauseQuantiles)-1)
		x.printf("%s{quantile=\"%v\"} %v\n", name, quantile, pause.Seconds())
	}
	x.printf("%s_sum %v\n%[1]s_count %[3]d\n", name, stats.PauseTotal.Seconds(), stats.NumGC)
}
