package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// gcTuning adapts the garbage collector to the work of a command. The zero gcTuning leaves it as it is.
type gcTuning struct {
	mu      sync.Mutex
	percent int // least memory to allocate before the next collection, in percent of the memory in use
	room    int // least memory to allocate, in bytes; 0 ends the tuning
}

// scanRoom is the room of a scan: with less, print and check would collect the little that they use very often.
const scanRoom = 8 << 20

// tuneGC adapts the garbage collector to scans. Most memory of a scan is free again after a short time.
// Early collections are therefore fast, and keep the memory small when large traces are scanned. Short
// runs should end before the first collection. The caller must end the tuning.
func tuneGC() *gcTuning {
	debug.SetGCPercent(300) // the first collection comes at 12 MB
	g := &gcTuning{}
	g.set(50, scanRoom)
	runtime.AddCleanup(new([16]byte), (*gcTuning).collected, g)
	return g
}

func (g *gcTuning) set(percent, room int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.percent, g.room = percent, room
}

// end ends the tuning. Without it, each command of a process that runs several would act after each collection.
func (g *gcTuning) end() { g.set(0, 0) }

// collected sets after each collection when the next one comes.
func (g *gcTuning) collected() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.room == 0 {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(max(g.percent, int(100*uint64(g.room)/max(1<<20, live[0].Value.Uint64()))))
	runtime.AddCleanup(new([16]byte), (*gcTuning).collected, g)
}

// tuneForIndex adapts the garbage collector to building an index. The memory of an index grows and stays in
// use. The less memory is in use, the rarer are collections.
func (g *gcTuning) tuneForIndex() { g.set(50, 32<<20) }

// tuneForExplain makes collections rarer after the first one. The memory in use stays small, because weft
// explain keeps at most a few million calls and waits in memory, and more of them in files.
func (g *gcTuning) tuneForExplain() { g.set(75, scanRoom) }

// tuneForTiles makes collections rarer while tiles are drawn. Each tile allocates some MiB. With the usual
// setting, every second tile would cause a collection. Above 1 GiB the memory limit takes precedence.
func (g *gcTuning) tuneForTiles() {
	g.end()
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30)
}
