package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// gcTuning adapts the garbage collector to the work of a command.
type gcTuning struct{ first runtime.Cleanup }

// tuneGC adapts the garbage collector to scans. Most memory of a scan is free again after a short time.
// Early collections are therefore fast, and keep the memory small when large traces are scanned. Short
// runs should end before the first collection.
func tuneGC() *gcTuning {
	debug.SetGCPercent(300) // the first collection comes at 12 MB
	return &gcTuning{runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, 50)}
}

// tuneForIndex adapts the garbage collector to building an index. The memory of an index grows and stays in
// use. The less memory is in use, the rarer are collections.
func (g *gcTuning) tuneForIndex() {
	const room = 32 << 20
	g.first.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var next func(int)
	next = func(least int) {
		metrics.Read(live)
		debug.SetGCPercent(max(least, int(100*room/max(1<<20, live[0].Value.Uint64()))))
		// calls next after the next collection
		runtime.AddCleanup(new([16]byte), next, least)
	}
	next(50)
}

// tuneForExplain makes collections rarer after the first one. The memory in use stays small, because weft
// explain keeps at most a few million calls and waits in memory, and more of them in files.
func (g *gcTuning) tuneForExplain() {
	g.first.Stop()
	g.first = runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, 75)
}

// tuneForTiles makes collections rarer while tiles are drawn. Each tile allocates some MiB. With the usual
// setting, every second tile would cause a collection. Above 1 GiB the memory limit takes precedence.
func (g *gcTuning) tuneForTiles() {
	g.first.Stop()
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30)
}
