package front

import (
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"waybill/server/web"
)

// MaxConnections is how many connections may be open at a time: each may need a file besides, and so does the
// rest.
func MaxConnections() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return web.MaxConnections
	}
	return int(min(web.MaxConnections, uint64(files.Cur)/2))
}

// BoundMemory has garbage collected at half again of what lives instead of at twice that, once much does.
// With little in memory that would cost more time than it saves room.
func BoundMemory(stopped <-chan struct{}) {
	const much = 256 << 20 // bytes
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-stopped:
			return
		case <-time.After(5 * time.Second):
		}
		if metrics.Read(live); live[0].Value.Uint64() > much {
			debug.SetGCPercent(50)
			return
		}
	}
}
