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

// runtimeMetrics are what the Go runtime tells of itself, and what it is called in metrics.
var runtimeMetrics = []struct{ read, name, kind, help string }{
	{"/sched/goroutines:goroutines", "go_goroutines", "gauge", "Goroutines that exist."},
	{"/sched/gomaxprocs:threads", "go_sched_gomaxprocs_threads", "gauge", "Threads that run Go code at a time."},
	{"/sync/mutex/wait/total:seconds", "go_sync_mutex_wait_seconds_total", "counter", "Time that goroutines waited for locks."},
	{"/gc/cycles/total:gc-cycles", "go_gc_cycles_total", "counter", "Garbage collections."},
	{"/cpu/classes/gc/total:cpu-seconds", "go_gc_cpu_seconds_total", "counter", "Processor time of garbage collection, estimated."},
	{"/gc/heap/allocs:bytes", "go_gc_heap_allocs_bytes_total", "counter", "Bytes allocated."},
	{"/gc/heap/live:bytes", "go_gc_heap_live_bytes", "gauge", "Bytes of what lived at the last garbage collection."},
	{"/memory/classes/total:bytes", "go_memory_bytes", "gauge", "Bytes of memory that the runtime has mapped."},
}

// writeProcess writes what does not depend on what the server does.
func (s *Server) writeProcess(x exposition) {
	samples := make([]metrics.Sample, len(runtimeMetrics))
	for i, m := range runtimeMetrics {
		samples[i].Name = m.read
	}
	metrics.Read(samples)
	for i, m := range runtimeMetrics {
		switch v := samples[i].Value; v.Kind() {
		case metrics.KindUint64:
			x.single(m.name, m.kind, m.help, float64(v.Uint64()))
		case metrics.KindFloat64:
			x.single(m.name, m.kind, m.help, v.Float64())
		}
	}
	x.single("process_start_time_seconds", "gauge", "When the process was started.", float64(started.UnixMilli())/1e3)
	writeProc(x)
	if info, ok := debug.ReadBuildInfo(); ok {
		revision := ""
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = setting.Value
			}
		}
		x.family("waybill_build_info", "gauge", "Which build this is; always 1.")
		x.sample("waybill_build_info", 1, "version", info.Main.Version, "goversion", info.GoVersion, "revision", revision)
	}
}

// writeProc writes what the system knows of the process, where it has a /proc (proc(5)).
func writeProc(x exposition) {
	const hertz = 100 // of the clock that /proc counts in, on all that Go runs on
	stat, err := os.ReadFile("/proc/self/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before may hold blanks; the state is the first
	if err != nil || len(fields) < 22 {
		return
	}
	field := func(n int) float64 {
		v, _ := strconv.ParseFloat(string(fields[n-3]), 64)
		return v
	}
	x.single("process_cpu_seconds_total", "counter", "Processor time used.", (field(14)+field(15))/hertz)
	x.single("process_virtual_memory_bytes", "gauge", "Bytes of address space.", field(23))
	x.single("process_resident_memory_bytes", "gauge", "Bytes of memory in use.", field(24)*float64(os.Getpagesize()))
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		x.single("process_open_fds", "gauge", "File descriptors that are open.", float64(len(fds)-1)) // one reads this
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		x.single("process_max_fds", "gauge", "File descriptors that may be open.", float64(limit.Cur))
	}
}
