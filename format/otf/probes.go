package otf

import "sync"

// probes caches the results of bisections in the files of a trace. Several searches look at the same positions, because
// a command reads a window several times. A nil *probes is empty.
type probes struct {
	mu    sync.Mutex
	found map[probe]probed
	times map[string]fileTimes // by file
}

// fileTimes holds the times of the first and the last record of a file.
type fileTimes struct{ first, last uint64 }

// place returns the position in a file of the given size at which a time is if the times ascend evenly.
func (x fileTimes) place(time uint64, size int64) int64 {
	if time <= x.first || x.first >= x.last {
		return 0
	}
	return int64(float64(min(time, x.last)-x.first) / float64(x.last-x.first) * float64(size))
}

// setEnds sets the times of the first and the last record of a file.
func (p *probes) setEnds(file string, x fileTimes) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == nil {
		p.times = map[string]fileTimes{}
	}
	p.times[file] = x
}

// ends returns the times of the first and the last record of a file, or two equal ones if they are not known.
func (p *probes) ends(file string) fileTimes {
	if p == nil {
		return fileTimes{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.times[file]
}

// probe is a part of a file in which a search looks for the first line with a time.
type probe struct {
	file     string
	off, end int64
}

// probed is the result of a probe: the position of the line with the time or, in a compressed file, of the restart
// point before it, and the time. The position is −1 if the part has no such line.
type probed struct {
	at   int64
	time uint64
}

// mostProbes is the number of probes after which all are forgotten.
const mostProbes = 1 << 16

// findOnce returns the result of find for a part of a file. It calls find only if the cache does not have the result.
func (p *probes) findOnce(file string, off, end int64, find func() (int64, uint64, error)) (at int64, time uint64,
	err error) {
	if p == nil {
		return find()
	}
	p.mu.Lock()
	x, ok := p.found[probe{file, off, end}]
	p.mu.Unlock()
	if ok {
		return x.at, x.time, nil
	}
	if at, time, err = find(); err != nil {
		return at, time, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil || len(p.found) >= mostProbes {
		p.found = map[probe]probed{}
	}
	p.found[probe{file, off, end}] = probed{at, time}
	return at, time, nil
}
