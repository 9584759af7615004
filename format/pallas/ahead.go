package pallas

// ahead loads blocks on another core before they are needed: of each event one.
type ahead struct {
	jobs chan aheadJob
	done chan struct{}
}

// aheadJob is a block that is to be loaded into some room.
type aheadJob struct {
	v    *Vector
	x    *Block
	room []uint64
	to   chan loadedBlock
}

type loadedBlock struct {
	values []uint64
	err    error
}

// newAhead begins to load blocks of a thread, until stop.
func newAhead(t *Thread) *ahead {
	most := 0 // each event has one job at a time
	for i := range t.Events {
		if len(t.Events[i].Timestamps.Blocks) > 1 {
			most++
		}
	}
	a := &ahead{make(chan aheadJob, most), make(chan struct{})}
	go func() {
		defer close(a.done)
		r := newBlockReader(t.Archive.Trace.Parameters)
		defer r.close()
		for j := range a.jobs {
			values, err := r.read(j.room, t.times, j.v, j.x)
			j.to <- loadedBlock{values, err} // which has room
		}
	}()
	return a
}

// stop ends it, and waits until no file is being read.
func (a *ahead) stop() {
	if a != nil {
		close(a.jobs)
		<-a.done
	}
}
