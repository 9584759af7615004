package picl

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// Follow reads a file that another program is still writing. The file must not have the old format, and must
// not carry another format's trace. Information that only later records contain is unknown: the source of a
// receive whose record lacks it, and the process of a partner that has had no record yet.
func (Format) Follow(pieces iter.Seq2[[]byte, error], opt *format.FollowOptions) error {
	if err := about.CheckOptions(opt.Values); err != nil {
		return err
	}
	d := newDecoder(opt.ReadOptions, &lines.File{Name: opt.Name, Continued: true, Skipped: new(int64)},
		func() error { return nil })
	if err := d.define(nil, nil, nil, nil); err != nil {
		return err
	}
	d.Model.Native, d.renamed = nil, map[uint32]int64{}
	g := &growingReader{decoder: d, events: map[int64]bool{}, sets: map[setKey]bool{}, processes: map[int64][]procKey{}}
	return linetrace.Follow(&d.Text, g, pieces, opt, func(sink format.Sink) format.Sink {
		g.filter = newReceiveFilter(d, newOperationEnds(d, sink))
		return &pairing{Sink: g.filter, d: d, open: map[locationEvent][]uint32{}}
	})
}

// growingReader reads a file that another program is still writing.
type growingReader struct {
	*decoder
	filter    *receiveFilter
	begun     bool
	events    map[int64]bool      // event types that have occurred
	sets      map[setKey]bool     // subsets in the definitions
	processes map[int64][]procKey // processes with records and locations of their own, by processor
}

// Grow adds the definitions of a block's lines, and the locations and event types that are new in it.
func (g *growingReader) Grow(b *lines.Block) (*linetrace.Times, error) {
	d := g.decoder
	r := d.scanChunk(b)
	switch {
	case !g.begun && probeOld(b.Data) > 0:
		return nil, &format.FollowError{Text: d.File.Name +
			": found the old format, expected a trace that can be read line by line"}
	case len(r.carrierDef) > 0:
		return nil, &format.FollowError{Text: d.File.Name + ": found definitions of another format, expected a " +
			"trace that was not converted"}
	}
	g.begun = true
	for i := range r.defs {
		r.decodeAgain(i, d.defs, d.File.Name)
		if p := d.defs.add(&r.defs[i]); p.rule != "" && !(r.defs[i].Type == TypeDescriptor && r.defs[i].saysMore) {
			if err := d.Opt.Defect(p.defect(d.File.Name, r.defs[i].Line, nil)); err != nil {
				return nil, err
			}
		}
	}
	if err := r.reportProblems(d.Opt); err != nil {
		return nil, err
	}
	if d.nrec == 0 {
		d.firstRecord = r.firstRecord
	}
	d.nrec += r.records
	d.operations.addBarriers(r.barriers, d.defs)
	d.plainInts = len(d.defs.descriptors) == 0
	for _, x := range r.locations {
		g.addLocation(x.id)
	}
	for _, typ := range r.userTypes {
		d.declareKind(typ)
	}
	known := len(g.events)
	for _, x := range r.events {
		g.events[x.id] = true
	}
	if len(g.events) > known || len(r.defs) > 0 {
		g.nameRegions()
	}
	for i := range r.defs {
		if k := &r.defs[i]; k.Type <= TypeProcessorSet && len(k.Values) > 0 {
			g.addSet(setKey{k.Type, k.Values[0].Int()})
		}
	}
	d.defineOperations()
	return &r.Times, nil
}

// addSet adds a subset to the definitions, unless they have one of its id already.
func (g *growingReader) addSet(k setKey) {
	members, ok := g.defs.sets[k]
	if !ok || g.sets[k] {
		return
	}
	g.sets[k] = true
	g.Model.Sets.Add(trace.Set{ID: strconv.FormatInt(k.id, 10), Kind: setName(k.typ), Members: members})
}

// addLocation adds the location of a process with records. If the process is -1 and its processor has
// exactly one other process, -1 stands for that process.
func (g *growingReader) addLocation(k procKey) {
	d := g.decoder
	if _, ok := d.locations[k]; ok {
		return
	}
	clear(d.scopes.locations)
	d.scopes.byProcessor = nil
	same := g.processes[k.processor]
	if k.process == -1 && k.processor >= 0 && len(same) == 1 && same[0].process >= 0 {
		d.locations[k] = d.locations[same[0]]
		return
	}
	d.locations[k] = d.location(k, "")
	g.processes[k.processor] = append(same, k)
	if delete(d.onlyLocation, k.processor); len(same) == 0 {
		d.onlyLocation[k.processor] = d.locations[k]
	}
	d.addSlot(k)
}

// nameRegions computes the regions of all event types again, because new labels may have changed their
// names.
func (g *growingReader) nameRegions() {
	d := g.decoder
	events := slices.SortedFunc(maps.Keys(g.events), compareEvents)
	d.defineFields(events)
	clear(d.direct)
	for i := range d.directSmall {
		d.directSmall[i] = -1
	}
	d.defineRegions(events)
	// A later label may name the exits of calls that are still open.
	for k, r := range d.regions {
		d.renamed[r] = k.event
	}
	if g.filter != nil {
		g.filter.learnRegions(d)
	}
}

// SetClock sets the clock of the definitions to the resolution of the times that have been read.
func (g *growingReader) SetClock() {
	g.Clock = trace.Clock{Num: int64(math.Pow10(int(g.Digits))), Den: 1}
	g.Model.Clock = g.Clock
}

// MostDigits returns the greatest number of decimals that a time may have.
func (g *growingReader) MostDigits() int32 { return maxDecimals }
