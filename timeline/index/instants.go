package index

import (
	"encoding/binary"
	"math"

	"github.com/weft-trace/weft/trace"
)

// instant is an event without duration. name is an index into the regions or, if named is set, into
// the names of its track.
type instant struct {
	time  int64
	kind  trace.Kind
	name  uint32 // NoRef if the instant has no name
	named bool   // name is an index into the names of the track
}

// region returns the region that determines the colour of an instant, or NoRef.
func (i *instant) region() uint32 {
	if i.named {
		return trace.NoRef
	}
	return i.name
}

// instantWriter writes the blocks of the instants of a track.
type instantWriter struct {
	n               int
	first, last     int64
	lowest, highest int64 // times of the earliest and the latest instant
	time            []byte
	kind, name      []byte
	numbers         map[uint32]uint32 // index of each name in the track, by name
}

// localName returns the index of a name in the names of a track. It adds the name on first use.
func (w *instantWriter) localName(name uint32, e *trackEntry) uint32 {
	n, ok := w.numbers[name]
	if !ok {
		if w.numbers == nil {
			w.numbers = map[uint32]uint32{}
		}
		n = uint32(len(e.names))
		e.names = append(e.names, name)
		w.numbers[name] = n
	}
	return n
}

func (w *instantWriter) add(p *packer, e *trackEntry, i instant) error {
	if w.n == 0 {
		w.first, w.last = i.time, 0
	}
	if e.Instants == 0 {
		w.lowest, w.highest = i.time, i.time
	}
	w.lowest, w.highest = min(w.lowest, i.time), max(w.highest, i.time)
	w.time = binary.AppendVarint(w.time, i.time-w.last)
	w.last = i.time
	w.kind = binary.AppendUvarint(w.kind, uint64(i.kind))
	name := uint64(i.name+1) << 1
	if i.named {
		name |= 1
	}
	w.name = binary.AppendUvarint(w.name, name)
	e.Instants++
	if w.n++; w.n == blockSpans {
		return w.writeBlock(p, e)
	}
	return nil
}

func (w *instantWriter) writeBlock(p *packer, e *trackEntry) error {
	p.raw = appendColumns(p.raw[:0], w.n, w.time, w.kind, w.name)
	b, err := p.pack(p.raw, w.n, w.first, w.last)
	e.instants = append(e.instants, b)
	w.n, w.time, w.kind, w.name = 0, w.time[:0], w.kind[:0], w.name[:0]
	return err
}

func decodeInstants(b []byte, l []instant) ([]instant, error) {
	c := columns{b: b}
	n := c.count()
	time, kind, name := c.section(), c.section(), c.section()
	last := int64(0)
	for range n {
		last += time.int()
		k, r := trace.Kind(kind.uint()), name.uint()
		l = append(l, instant{last, k, uint32(r>>1) - 1, r&1 == 1})
	}
	return l, c.end(time, kind, name)
}

// end writes the remaining instants, and the levels.
func (w *instantWriter) end(p *packer, e *trackEntry) error {
	if w.n > 0 {
		if err := w.writeBlock(p, e); err != nil {
			return err
		}
	}
	extent := e.Last - e.First
	if extent < 0 || e.Instants < minBuckets {
		return nil
	}
	b := countRuns{width: bucketLength(extent, e.Instants/perBucket), first: e.First}
	r := reader{f: p.file}
	var list []instant
	for i := range e.instants {
		if err := read(&r, &e.instants[i], &list, decodeInstants); err != nil {
			return err
		}
		for k := range list {
			b.add(floorDiv(list[k].time-b.first, b.width), 1, list[k].region())
		}
	}
	var err error
	e.instantLvl, err = b.write(p)
	return err
}

// countRuns builds the runs of a level of instants.
type countRuns struct {
	width, first int64
	runs         []run
}

func (c *countRuns) add(k int64, n uint8, region uint32) {
	if l := len(c.runs); l > 0 && c.runs[l-1].bucket == k {
		r := &c.runs[l-1]
		r.share = uint8(min(int(r.share)+int(n), math.MaxUint8))
		return
	}
	c.runs = append(c.runs, run{k, 1, region, n, math.MaxUint8, wholeBand})
}

// write writes a level and the levels above it.
func (c *countRuns) write(p *packer) (out []levelEntry, err error) {
	for {
		l, err := (&buckets{width: c.width, first: c.first, runs: c.runs}).writeLevel(p)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
		if len(c.runs) <= minBuckets || c.width > maxWidth {
			return out, nil
		}
		upper := countRuns{width: c.width * levelStep, first: c.first}
		for _, r := range c.runs {
			upper.add(r.bucket/levelStep, r.share, r.region)
		}
		*c = upper
	}
}
