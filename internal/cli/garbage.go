package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// garbage tunes the garbage collection to what a command does.
type garbage struct{ first runtime.Cleanup }

// collect tunes it for scans. Little of what a scan allocates lives on, so collecting soon
// costs next to nothing and keeps the memory of large traces' scans small; but short runs
// should end before the first collection.
func collect() *garbage {
	debug.SetGCPercent(300) // the first comes at 12 MB
	return &garbage{runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, 50)}
}

// forIndex tunes it for what builds up: while that is small, it is not to be looked through
// again and again.
func (g *garbage) forIndex() {
	const room = 32 << 20
	g.first.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var next func(int)
	next = func(least int) {
		metrics.Read(live)
		debug.SetGCPercent(max(least, int(100*room/max(1<<20, live[0].Value.Uint64()))))
		runtime.AddCleanup(new([16]byte), next, least) // behind the next collection
	}
	next(50)
}

// forTiles lets the garbage wait: each tile leaves some MiB behind, which would be cleaned up
// for every second one. Above a GiB memory counts more than time.
func (g *garbage) forTiles() {
	g.first.Stop()
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30)
}
