package pallas

// prefetcher loads blocks in a goroutine before they are needed, at most one block of each event at a
// time.
type prefetcher struct {
	jobs chan prefetchJob
	done chan struct{}
}

// prefetchJob is the request to load a block into the memory of room.
type prefetchJob struct {
	v    *Vector
	x    *Block
	room []uint64
	to   chan loadedBlock
}

type loadedBlock struct {
	values []uint64
	err    error
}

// newPrefetcher starts a goroutine that loads blocks of a thread until stop is called.
func newPrefetcher(t *Thread) *prefetcher {
	most := 0 // each event has at most one job at a time
	for i := range t.Events {
		if len(t.Events[i].Timestamps.Blocks) > 1 {
			most++
		}
	}
	a := &prefetcher{make(chan prefetchJob, most), make(chan struct{})}
	go func() {
		defer close(a.done)
		r := newBlockReader(t.Archive.Trace.Parameters)
		defer r.close()
		for j := range a.jobs {
			values, err := r.read(j.room, t.times, j.v, j.x)
			j.to <- loadedBlock{values, err} // never blocks, because the channel has a buffer
		}
	}()
	return a
}

// stop ends the goroutine. It returns when no file is being read any more.
func (a *prefetcher) stop() {
	if a != nil {
		close(a.jobs)
		<-a.done
	}
}
