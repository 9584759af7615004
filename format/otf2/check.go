package otf2

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// checker checks the files of an archive: it compares what one file states about the contents of
// another file with these contents.
type checker struct {
	format.SinkFuncs // no functions are set: locationReader checks the events while it has their bytes

	*model
	opt *format.ReadOptions
	// *eventChecker by location id, for the locations without defects whose events have all been read
	read *sync.Map
}

// NewChecker returns a checker for the files of the archive. Scans that follow check the events that they
// read. Finish then reads the locations again that have defects, and the locations that were not read
// completely.
func (d *decoder) NewChecker() format.Checker {
	c := &checker{model: d.model, opt: d.opt, read: &sync.Map{}}
	d.checker.Store(c)
	return c
}

// checkerOfLocation returns a checker that reports defects at a location.
func (c *checker) checkerOfLocation(id uint64) *checker {
	l := *c
	l.opt = c.opt.At(c.lookup(Locations, id))
	return &l
}

// report reports a defect at an offset of a file.
func (c *checker) report(rule string, severity trace.Severity, path string, at int64, found, expected string) error {
	return c.opt.Defect(&trace.Defect{Rule: rule, Severity: severity,
		Position: trace.Position{File: path, Offset: at, Binary: true}, Found: found, Expected: expected})
}

// locationDefinition holds the fields of a location's definition that are checked.
type locationDefinition struct {
	id, events uint64
	at         int64
}

// Finish checks the numbers that the files state, and the definitions of each location.
func (c *checker) Finish(ctx context.Context) error {
	c.checker.CompareAndSwap(c, nil)
	a := c.a
	var locations []locationDefinition
	definitions, named := uint64(0), uint64(0)
	seen := map[uint64]bool{}
	var stop error
	var known knownDefinitions
	// The decoder has already reported damaged records.
	a.eachRecord(".def", a.definitionChunk(), definitionTypes[:], func(at int64, r *Record, s recordState) error {
		definitions++
		stop = cmp.Or(c.checkRecord(a.path+".def", at, definitionTypes[:], r, s), c.checkReferences(at, r),
			known.add(c, at, r))
		if stop != nil {
			return stop
		}
		if r.ID != defLocation {
			return nil
		}
		named++
		if id := r.Values[0]; !seen[id] {
			seen[id] = true
			locations = append(locations, locationDefinition{id, r.Values[3], at})
		}
		return ctx.Err()
	})
	if stop != nil {
		return stop
	}
	if definitions != a.Anchor.Definitions {
		if err := c.report("otf2.counts", trace.Error, a.src.Path, definitionsAt,
			fmt.Sprintf("%d global definitions announced", a.Anchor.Definitions),
			fmt.Sprintf("%d, the actual number", definitions)); err != nil {
			return err
		}
	}
	if named != a.Anchor.Locations {
		if err := c.report("otf2.counts", trace.Warning, a.src.Path, locationsAt, fmt.Sprintf("%s announced",
			plural.Of(a.Anchor.Locations, "location")), fmt.Sprintf("%d, the number of definitions", named)); err != nil {
			return err
		}
	}
	if err := c.checkListed(seen); err != nil {
		return err
	}
	cores := c.opt.Cores()
	if c.opt.Strict {
		cores = 1 // with one core, strict reading always stops at the same defect
	}
	rest := locations
	err := pipeline.Run(ctx, cores, func() (l locationDefinition, ok bool, err error) {
		if ok = len(rest) > 0; ok {
			l, rest = rest[0], rest[1:]
		}
		return l, ok, nil
	}, func(_ int, l locationDefinition) (struct{}, error) {
		c := c.checkerOfLocation(l.id)
		if x, ok := c.read.Load(l.id); !ok || x.(*eventChecker).unusualDefinitions {
			if err := c.checkLocalDefinitions(ctx, l.id); err != nil {
				return struct{}{}, err
			}
		}
		if err := c.checkEvents(ctx, l); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, c.checkSnapshots(ctx, l.id)
	}, func(struct{}) error { return nil })
	if err != nil {
		return err
	}
	if err := c.checkMarkers(ctx); err != nil {
		return err
	}
	return c.checkThumbnails(ctx)
}

// checkListed reports files of events whose locations are not defined, in the order of their ids.
func (c *checker) checkListed(defined map[uint64]bool) error {
	files, err := c.a.locationsWith(".evt")
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		if defined[id] {
			continue
		}
		if err := c.report("otf2.unlisted-location", trace.Warning, fmt.Sprintf("%s/%d.evt", c.a.path, id), 0,
			fmt.Sprintf("events of location %d", id), "a definition of the location; weft does not read the file"); err != nil {
			return err
		}
	}
	return nil
}

// checkReferences checks the references of a global definition.
func (c *checker) checkReferences(at int64, r *Record) error {
	t := typeByID(definitionTypes[:], r.ID)
	if t == nil {
		return nil
	}
	for i, v := range r.Values {
		f := t.field(i, len(r.Values))
		table := f.table
		switch {
		case f.enc == encTyped && f.other >= 0:
			table = tableOf(r.Values[f.other])
		case f.enc == encTyped:
			table = tableOf(r.Values[i-1])
		}
		if table == noTable || f.enc == encByte && v == undefined8 || c.defined(table, v) {
			continue
		}
		if err := c.report("otf2.undefined", trace.Warning, c.a.path+".def", at,
			fmt.Sprintf("%s with %s %d, which the trace does not define", t.name, f.name, v), "a defined one"); err != nil {
			return err
		}
	}
	return nil
}

// recordCounter counts the events of a file or the records of a snapshot file.
type recordCounter struct {
	n       uint64
	begin   int64 // index of the current chunk
	damaged bool  // the number of events cannot be compared from here on
}

// checkNumber compares the number of an event with the header of its chunk.
func (c *checker) checkNumber(k *chunkReader, x *recordCounter, e *Event) error {
	if at := k.chunkNumber(); at != x.begin {
		x.begin = at
		if k.first != x.n && !x.damaged {
			if err := c.report("otf2.chunk-numbers", trace.Error, k.path, at*k.chunk+2,
				fmt.Sprintf("a chunk that begins with event %d", k.first),
				fmt.Sprintf("event %d, according to the events before", x.n)); err != nil {
				return err
			}
			x.damaged = true // report this defect only once
		}
	}
	if e.Number > k.last && !x.damaged {
		x.damaged = true
		return c.report("otf2.chunk-numbers", trace.Error, k.path, e.Offset, fmt.Sprintf("event %d", e.Number),
			fmt.Sprintf("none after %d, the last event according to the header of the chunk", k.last))
	}
	return nil
}

// checkLastNumber compares the number of records with the header of the last chunk.
func (c *checker) checkLastNumber(k *chunkReader, x *recordCounter) error {
	if x.damaged || x.n >= k.last {
		return nil
	}
	return c.report("otf2.chunk-numbers", trace.Error, k.path, k.size, plural.Of(x.n, "event"),
		fmt.Sprintf("%d, according to the header of the last chunk", k.last))
}

// checkSnapshots reads and checks the snapshots of a location. No earlier step reads them.
func (c *checker) checkSnapshots(ctx context.Context, location uint64) error {
	if c.a.Anchor.Snapshots == 0 {
		return nil
	}
	s, err := c.a.Snapshots(location)
	if err != nil {
		return reportDefect(c.opt, err)
	}
	defer s.Close()
	x := recordCounter{begin: -1}
	var n snapshotCounter
	for {
		e, err := s.Next()
		if err == io.EOF {
			if err := n.end(c, &s.r, 0, s.r.c.size); err != nil {
				return err
			}
			return c.checkLastNumber(s.r.c, &x)
		}
		if err != nil {
			x.damaged, n = true, snapshotCounter{unknown: true}
			if err := reportDefect(c.opt, err); err != nil {
				return err
			}
			continue
		}
		if x.n++; x.n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if typeByID(snapshotTypes[:], e.ID) == nil {
			if err := c.report("otf2.unknown-record", trace.Warning, s.r.c.path, e.Offset, fmt.Sprintf("record %d", e.ID),
				"a record of snapshots of OTF2 3.0"); err != nil {
				return err
			}
		}
		if err := c.checkEvent(&s.r, location, e); err != nil {
			return err
		}
		if err := c.checkNumber(s.r.c, &x, e); err != nil {
			return err
		}
		if err := n.add(c, &s.r, e); err != nil {
			return err
		}
	}
}

// snapshotCounter counts the records of a snapshot.
type snapshotCounter struct {
	open         bool
	unknown      bool // damage may have hidden the begin of the snapshot
	n, announced uint64
	at           int64 // offset of the record with which the snapshot begins
}

// add checks the number of records where a snapshot ends.
func (n *snapshotCounter) add(c *checker, r *EventReader, e *Event) error {
	switch e.ID {
	case snapshotStart:
		err := n.end(c, r, snapshotStart, e.Offset)
		*n = snapshotCounter{open: true, announced: e.Values[0], at: e.Offset}
		return err
	case snapshotEnd:
		if !n.open && !n.unknown {
			return n.outside(c, r, e)
		}
		return n.end(c, r, snapshotEnd, e.Offset)
	}
	n.n++
	if !n.open && !n.unknown && n.n == 1 { // the first one of several is enough
		return n.outside(c, r, e)
	}
	return nil
}

// outside reports a record outside of a snapshot.
func (n *snapshotCounter) outside(c *checker, r *EventReader, e *Event) error {
	t := typeByID(snapshotTypes[:], e.ID)
	if t == nil {
		return nil // already reported
	}
	return c.report("otf2.counts", trace.Warning, r.c.path, e.Offset, t.name+" outside of a snapshot",
		"a SnapshotStart before it")
}

// end ends a snapshot at an offset. id is the id of the record there, or 0 if the snapshot ends with
// the file.
func (n *snapshotCounter) end(c *checker, r *EventReader, id uint8, at int64) error {
	was := *n
	*n = snapshotCounter{}
	switch {
	case !was.open:
		return nil
	case id != snapshotEnd:
		return c.report("otf2.counts", trace.Warning, r.c.path, at, "no SnapshotEnd before",
			fmt.Sprintf("one of the snapshot that begins at 0x%x", was.at))
	case was.n != was.announced:
		return c.report("otf2.counts", trace.Warning, r.c.path, was.at,
			fmt.Sprintf("a snapshot of %s announced", plural.Of(was.announced, "record")),
			fmt.Sprintf("%d, the actual number", was.n))
	}
	return nil
}
