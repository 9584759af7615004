package otf2

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// checker holds what the files of an archive say of each other against what is there.
type checker struct {
	format.SinkFuncs // it needs neither events nor links

	names *names
	a     *Archive
	opt   *format.ReadOptions
	types map[uint64]uint64 // of attributes, by their ids
}

// NewChecker makes the checker of the archive's files.
func (d *decoder) NewChecker() format.Checker {
	return &checker{names: d.ranks, a: d.a, opt: d.opt, types: map[uint64]uint64{}}
}

// report says what is wrong at an offset of a file.
func (c *checker) report(rule string, severity trace.Severity, path string, at int64, found, expected string) error {
	return c.opt.Defect(&trace.Defect{Rule: rule, Severity: severity, Position: trace.Position{File: path, Offset: at, Binary: true}, Found: found, Expected: expected})
}

// location is what a definition says of a location.
type location struct {
	id, events uint64
	at         int64
}

// Finish checks numbers and local definitions.
func (c *checker) Finish(ctx context.Context) error {
	a := c.a
	var locations []location
	definitions, named := uint64(0), uint64(0)
	seen := map[uint64]bool{}
	var stated extent
	var stop error
	a.Definitions(func(at int64, r *Record) error { // what is wrong has been reported
		definitions++
		switch r.ID {
		case defClock:
			stated = extent{r.Values[1], r.Values[2]}
		case defAttribute:
			c.types[r.Values[0]] = r.Values[2]
		case defMetricClass:
			for _, member := range r.Values[2 : 2+r.Values[1]] {
				if c.names.metrics[member] != nil {
					continue
				}
				if stop = c.report("otf2.undefined", trace.Warning, a.path+".def", at, fmt.Sprintf("metric %d with member %d, which nothing defines", r.Values[0], member), "a defined one"); stop != nil {
					return stop
				}
			}
		}
		if r.ID != defLocation {
			return nil
		}
		named++
		if id := r.Values[0]; !seen[id] {
			seen[id] = true
			locations = append(locations, location{id, r.Values[3], at})
		}
		return ctx.Err()
	})
	if stop != nil {
		return stop
	}
	if definitions != a.Anchor.Definitions {
		if err := c.report("otf2.counts", trace.Warning, a.src.Path, 0, fmt.Sprintf("%d global definitions announced", a.Anchor.Definitions), fmt.Sprintf("%d, which is how many there are", definitions)); err != nil {
			return err
		}
	}
	if named != a.Anchor.Locations {
		if err := c.report("otf2.counts", trace.Warning, a.src.Path, 0, fmt.Sprintf("%d locations announced", a.Anchor.Locations), fmt.Sprintf("%d, which is how many are defined", named)); err != nil {
			return err
		}
	}
	var with, without []uint64 // definitions of their own
	cores := c.opt.Cores()
	if c.opt.Strict {
		cores = 1 // so that the defect that it stops at is always the same
	}
	rest := locations
	err := pipeline.Run(ctx, cores, func() (l location, ok bool, err error) {
		if ok = len(rest) > 0; ok {
			l, rest = rest[0], rest[1:]
		}
		return l, ok, nil
	}, func(_ int, l location) (definitions bool, err error) {
		if err := c.events(ctx, l, stated); err != nil {
			return false, err
		}
		if err := c.snapshots(ctx, l.id); err != nil {
			return false, err
		}
		f, _, err := a.src.OpenName(fmt.Sprintf("%s/%d.def", a.name, l.id))
		if archive.IsMissing(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, f.Close()
	}, func(definitions bool) error {
		id := locations[len(with)+len(without)].id
		if definitions {
			with = append(with, id)
		} else {
			without = append(without, id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.thumbnails(ctx); err != nil {
		return err
	}
	if len(with) == 0 {
		return nil // it does without
	}
	for _, id := range without {
		if err := c.report("otf2.missing-definitions", trace.Error, fmt.Sprintf("%s/%d.def", a.path, id), 0, "no such file", "one, as other locations have; references and times may be wrong without"); err != nil {
			return err
		}
	}
	return nil
}

// extent is when a trace begins and how long it is, as the clock properties say.
type extent struct{ begin, length uint64 }

// outside counts events by whether they are in the time that the clock properties state.
type outside struct {
	extent
	n, out uint64
	far    uint64 // that are more than the stated length away from it
	at     int64  // of the first of these
	time   uint64
}

func (x *outside) add(e *Event) {
	x.n++
	after := e.Time - x.begin
	if e.Time >= x.begin && after <= x.length {
		return
	}
	x.out++
	if before := x.begin - e.Time; e.Time >= x.begin && after-x.length > x.length || e.Time < x.begin && before > x.length {
		if x.far == 0 {
			x.at, x.time = e.Offset, e.Time
		}
		x.far++
	}
}

// odd reports whether few events are far outside. EZTrace states lengths that are too
// short, so that many are outside, and not far.
func (x *outside) odd() bool { return x.length > 0 && x.far > 0 && x.out*10 <= x.n }

// events counts those of a location, holds the numbers in its chunks against them, and
// looks at the bytes and values of each.
func (c *checker) events(ctx context.Context, l location, stated extent) error {
	r, _ := c.a.Events(l.id, EventOptions{})
	if r == nil {
		return nil // which has been reported, as what is wrong with its definitions
	}
	defer r.Close()
	x := numbers{begin: -1}
	times := outside{extent: stated}
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		var bad *FileError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if err != nil {
			x.damaged = true // and has been reported
			continue
		}
		if x.n++; x.n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		times.add(e)
		if err := c.event(r, l.id, e); err != nil {
			return err
		}
		if err := c.number(r.c, &x, e); err != nil {
			return err
		}
	}
	if times.odd() {
		if err := c.report("otf2.trace-length", trace.Warning, r.c.path, times.at, fmt.Sprintf("an event at %d", times.time), fmt.Sprintf("times of %d to %d, as the clock properties say and nearly all events of the location are", stated.begin, stated.begin+stated.length)); err != nil {
			return err
		}
	}
	if err := c.last(r.c, &x); err != nil {
		return err
	}
	if x.n != l.events && !x.damaged {
		return c.report("otf2.counts", trace.Note, c.a.path+".def", l.at, fmt.Sprintf("location %d with %d events", l.id, l.events), fmt.Sprintf("%d, which is how many it has", x.n))
	}
	return nil
}

// numbers counts the events of a file, or the records of snapshots.
type numbers struct {
	n       uint64
	begin   int64 // the chunk in hand
	damaged bool  // numbers say nothing from here on
}

// number holds the number of an event against the header of its chunk.
func (c *checker) number(k *chunkReader, x *numbers, e *Event) error {
	if at := k.number(); at != x.begin {
		x.begin = at
		if k.first != x.n && !x.damaged {
			if err := c.report("otf2.chunk-numbers", trace.Error, k.path, at*k.chunk+2, fmt.Sprintf("a chunk that begins with event %d", k.first), fmt.Sprintf("event %d, by those before", x.n)); err != nil {
				return err
			}
			x.damaged = true // once is enough
		}
	}
	if e.Number > k.last && !x.damaged {
		x.damaged = true
		return c.report("otf2.chunk-numbers", trace.Error, k.path, e.Offset, fmt.Sprintf("event %d", e.Number), fmt.Sprintf("none behind %d, which is the last one by the chunk's header", k.last))
	}
	return nil
}

// last holds how many there were against the header of the last chunk.
func (c *checker) last(k *chunkReader, x *numbers) error {
	if x.damaged || x.n >= k.last {
		return nil
	}
	return c.report("otf2.chunk-numbers", trace.Error, k.path, k.size, fmt.Sprintf("%d events", x.n), fmt.Sprintf("%d, by the last chunk's header", k.last))
}

// snapshots reads those of a location, which nothing has read so far.
func (c *checker) snapshots(ctx context.Context, location uint64) error {
	if c.a.Anchor.Snapshots == 0 {
		return nil
	}
	s, err := c.a.Snapshots(location)
	if err != nil {
		return fail(c.opt, err)
	}
	defer s.Close()
	x := numbers{begin: -1}
	for {
		e, err := s.Next()
		if err == io.EOF {
			return c.last(s.r.c, &x)
		}
		if err != nil {
			x.damaged = true
			if err := fail(c.opt, err); err != nil {
				return err
			}
			continue
		}
		if x.n++; x.n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if int(e.ID) >= len(snapshotTypes) {
			if err := c.report("otf2.unknown-record", trace.Warning, s.r.c.path, e.Offset, fmt.Sprintf("record %d", e.ID), "one that snapshots of OTF2 3.0 have"); err != nil {
				return err
			}
		}
		if err := c.number(s.r.c, &x, e); err != nil {
			return err
		}
	}
}

// thumbnails reads those that the anchor file announces, up to the first that is missing.
func (c *checker) thumbnails(ctx context.Context) error {
	for k := range int(c.a.Anchor.Thumbnails) {
		samples, announced := uint64(0), uint64(0)
		err := c.a.Thumbnail(k, func(at int64, r *Record) error {
			switch r.ID {
			case thumbnailHeader:
				announced = r.Values[3]
			case thumbnailSample:
				samples++
			}
			return ctx.Err()
		})
		if reported := fail(c.opt, err); reported != nil || archive.IsMissing(err) {
			return reported
		}
		if err == nil && samples != announced {
			if err := c.report("otf2.counts", trace.Warning, fmt.Sprintf("%s.%d.thumb", c.a.path, k), 0, fmt.Sprintf("%d samples announced", announced), fmt.Sprintf("%d, which is how many there are", samples)); err != nil {
				return err
			}
		}
	}
	return nil
}

// event looks at what an event is made of.
func (c *checker) event(r *EventReader, location uint64, e *Event) error {
	wrong := func(rule, found, expected string) error {
		what := fmt.Sprintf("event %d", e.ID)
		if int(e.ID) < len(eventTypes) && eventTypes[e.ID].name != "" {
			what = eventTypes[e.ID].name
		}
		return c.report(rule, trace.Warning, r.c.path, e.Offset, what+" with "+found, expected)
	}
	if r.spare > 0 {
		if err := wrong("otf2.record-bytes", fmt.Sprintf("%d bytes behind its fields", r.spare), "none"); err != nil {
			return err
		}
	}
	if r.loose {
		if err := wrong("otf2.record-bytes", "a number whose first byte is 0", "a number of as many bytes as it needs"); err != nil {
			return err
		}
	}
	if r.short {
		if err := wrong("otf2.record-bytes", "no bytes for its last fields", "all of them"); err != nil {
			return err
		}
	}
	for _, a := range e.Attributes {
		typ, ok := c.types[uint64(a.ID)]
		var err error
		switch t := tableOf(uint64(a.Type)); {
		case !ok:
			err = wrong("otf2.undefined", fmt.Sprintf("attribute %d, which nothing defines", a.ID), "a defined one")
		case typ != uint64(a.Type) && typ != 0 && (tableOf(typ) == noTable || a.Type > typeUint64):
			// weft writes numbers for what a reference in another format's trace does not name.
			err = wrong("otf2.value", fmt.Sprintf("a value of type %d for attribute %d", a.Type, a.ID), fmt.Sprintf("type %d, as it is defined", typ))
		case t != noTable && !c.defined(t, a.Value):
			err = wrong("otf2.undefined", fmt.Sprintf("%s %d as attribute, which nothing defines", tableNames[t], a.Value), "a defined one")
		}
		if err != nil {
			return err
		}
	}
	if int(e.ID) >= len(eventTypes) || eventTypes[e.ID].bare {
		return nil
	}
	t := &eventTypes[e.ID]
	for i, v := range e.Values {
		f := &field{table: noTable}
		if i < len(t.fields) {
			f = &t.fields[i]
		} else if e.ID != metricEvent {
			f = &t.each[(i-len(t.fields))%len(t.each)]
		}
		var err error
		switch {
		case f.show == showEnum && (v >= uint64(len(f.words)) || f.words[v] == ""):
			err = wrong("otf2.value", fmt.Sprintf("%s %d", f.name, v), "one that OTF2 3.0 has")
		case f.show == showFlags && v>>len(f.words) != 0:
			err = wrong("otf2.value", fmt.Sprintf("%s 0x%x", f.name, v), "flags that OTF2 3.0 has")
		case f.table != noTable && i != eventKinds[e.ID].ref && !c.defined(f.table, v):
			err = wrong("otf2.undefined", fmt.Sprintf("%s %d, which nothing defines", f.name, v), "a defined one")
		case (f.show == showRank || f.show == showRoot) && v < noRank && c.names.comms[e.Values[f.other]] != nil:
			if _, ok := c.names.location(location, e.Values[f.other], v); !ok {
				err = wrong("otf2.undefined", fmt.Sprintf("%s %d", f.name, v), "a rank of its communicator")
			}
		}
		if err != nil {
			return err
		}
	}
	if e.ID != metricEvent {
		return nil
	}
	return c.metric(e, wrong)
}

// metric looks at the number and the types of values.
func (c *checker) metric(e *Event, wrong func(rule, found, expected string) error) error {
	members := c.names.members[e.Values[0]]
	if n := int(e.Values[1]); n < len(members) {
		return wrong("otf2.value", fmt.Sprintf("%d values of metric %d", n, e.Values[0]), fmt.Sprintf("%d, as it is defined", len(members)))
	}
	for i := range min(int(e.Values[1]), len(members)) {
		if m := c.names.metrics[members[i]]; m != nil && m[5] != e.Values[2+2*i] {
			return wrong("otf2.value", fmt.Sprintf("a value of type %d for metric %d", e.Values[2+2*i], e.Values[0]), fmt.Sprintf("type %d, as it is defined", m[5]))
		}
	}
	return nil
}

// noRank is the first of the numbers that are no ranks: MPI has negative ones for nobody
// and for anybody, OTF2 for roots of both sides.
const noRank = 1<<32 - 16

// defined reports whether something defines what a reference names, or it names nothing.
func (c *checker) defined(t Table, v uint64) bool {
	return v == undefined32 && t != Locations || v == undefined64 || c.names.get(t, v) != nil
}
