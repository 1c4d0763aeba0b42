package front

import (
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"waybill/server/frame/web"
)

// maxConnections is how many connections may be open at a time: each may need a file besides, and so does the
// rest.
func maxConnections() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return web.MaxConnections
	}
	return int(min(web.MaxConnections, uint64(files.Cur)/2))
}

// maxOfWorld is how many connections a world of a test bench may have: there may be many worlds, and all
// share the files that the process may open.
const maxOfWorld = 256

// MaxWorlds is how many worlds there may be: so many that main can still have all its connections.
func MaxWorlds() int {
	const (
		filesOfWorld = 8 // 4 while it is idle, and some connections
		filesOfMain  = 64
	)
	return max(1, min(web.MaxWorlds, (maxConnections()-filesOfMain)/filesOfWorld))
}

// BoundMemory has garbage collected at half again of what lives instead of at twice that, once much does.
// With little in memory that would cost more time than it saves room.
func BoundMemory(stopped <-chan struct{}) {
	const much = 128 << 20 // bytes
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-stopped:
			return
		case <-time.After(5 * time.Second):
		}
		if metrics.Read(live); live[0].Value.Uint64() > much {
			debug.SetGCPercent(50)
			debug.FreeOSMemory() // what the start has used is not used again
			return
		}
	}
}
