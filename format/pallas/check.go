package pallas

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// NewChecker returns a checker for the parts of the trace that a reader of events does not use: the times and
// durations of sequences, sums, ids, and numbers that files state about each other. Scans between NewChecker and Finish
// check each thread while they deliver its events. Finish then reads only the threads that no scan has read completely,
// the threads with defects, and all threads of a trace with a lossy codec.
// For each core, the checker holds the grammar of one thread, one block (8 KB) of each event, three blocks of each
// sequence, and 1 MB of each file of the thread.
func (d *decoder) NewChecker() format.Checker {
	c := &checker{d: d, opt: d.opt, defectFree: &sync.Map{}}
	d.checker.Store(c)
	return c
}

type checker struct {
	format.SinkFuncs // implements format.Sink and ignores events and links

	d          *decoder
	opt        *format.ReadOptions
	r          *blockReader
	values     []uint64
	defectFree *sync.Map // the ids of threads in which a scan has found no defect
	lane       bool      // the threads serve other tools, so no scan has reported their defects
}

// Finish checks the files of all threads.
func (c *checker) Finish(ctx context.Context) error {
	c.d.checker.CompareAndSwap(c, nil)
	if p := &c.d.t.Parameters; p.LoopFinding > BasicTruncated || p.TimestampStorage > maxStorage {
		if err := c.warn("pallas.settings", c.d.t.src.Path, 17,
			fmt.Sprintf("loop finding %s and timestamp storage %s", p.LoopFinding, p.TimestampStorage),
			"settings that Pallas has; reading does not depend on them"); err != nil {
			return err
		}
	}
	if err := c.checkOrder(c.d.t.order); err != nil {
		return err
	}
	if e := c.d.t.stored; e > LeadingZeroes {
		if err := c.warn("pallas.settings", c.d.t.src.Path, encodingOffset, fmt.Sprintf("encoding %s", e),
			"one that Pallas has; the compression has no encoding"); err != nil {
			return err
		}
	}
	if c.d.t.Truncated == nil {
		listed := c.d.t.listedGroups()
		if err := c.checkMainReferences(listed); err != nil {
			return err
		}
		if err := c.checkFolders(c.d.t.src.Path, path.Clean(c.d.t.dir+"."), "archive_", func(id uint32) bool {
			return listed[id]
		}); err != nil {
			return err
		}
	}
	for _, a := range c.d.archives {
		if err := c.checkArchive(a); err != nil {
			return err
		}
	}
	quiet := *c.opt
	quiet.Report, quiet.Strict = format.NewReport(), false // the defects of reading have already been reported
	q := c.d.withOptions(&quiet)
	cores := c.opt.Cores()
	if c.opt.Strict {
		cores = 1 // with one goroutine, strict reading always stops at the same defect
	}
	workers := make([]*checker, cores)
	defer func() {
		for _, w := range workers {
			if w != nil {
				w.r.close()
			}
		}
	}()
	rest := slices.DeleteFunc(slices.Clone(c.d.threads), func(id threadID) bool {
		_, ok := c.defectFree.Load(id)
		return ok
	})
	err := pipeline.Run(ctx, cores, func() (id threadID, ok bool, err error) {
		if ok = len(rest) > 0; ok {
			id, rest = rest[0], rest[1:]
		}
		return id, ok, nil
	}, func(worker int, id threadID) (struct{}, error) {
		w := workers[worker]
		if w == nil {
			w = &checker{d: c.d, r: newBlockReader(c.d.t.Parameters)}
			workers[worker] = w
		}
		t, err := q.thread(id, wholeThread)
		if err != nil || t == nil {
			return struct{}{}, err
		}
		defer t.Close()
		w.opt = c.opt.At(c.d.location[id])
		return struct{}{}, w.checkThread(ctx, t)
	}, func(struct{}) error { return nil })
	if err != nil {
		return err
	}
	return c.checkLanes(ctx)
}

// noOffset is the offset of a defect whose place in the file is unknown.
const noOffset = math.MaxUint64

// warn reports a warning at an offset of a file.
func (c *checker) warn(rule, path string, offset uint64, found, expected string) error {
	at := trace.Position{File: path}
	if offset != noOffset {
		at.Offset, at.Binary = int64(min(offset, math.MaxInt64)), true
	}
	return c.opt.Defect(&trace.Defect{Rule: rule, Severity: trace.Warning, Position: at, Found: found,
		Expected: expected})
}

// checkOrder reports a definition or metadata that is out of order.
func (c *checker) checkOrder(e *FileError) error {
	if e == nil {
		return nil
	}
	return c.warn("pallas.definition-order", e.Path, uint64(e.Offset), e.Found, e.Expected)
}

// checkArchive checks the definitions of an archive, and compares the numbers that its file states with the
// contents of its folders.
func (c *checker) checkArchive(a *Archive) error {
	if err := c.checkOrder(a.order); err != nil {
		return err
	}
	name := c.d.t.displayDir + archiveFile(a.ID)
	if a.fileID != a.ID && a.missingErr == nil {
		if err := c.warn("pallas.ids", name, 0, fmt.Sprintf("archive %d", a.fileID),
			fmt.Sprintf("%d, as in the name of its folder", a.ID)); err != nil {
			return err
		}
	}
	if a.missingErr != nil {
		return nil
	}
	if a.Truncated != nil {
		return nil
	}
	if err := c.checkReferences(name, a.Definitions); err != nil {
		return err
	}
	for i, l := range a.Locations[:a.ownCount] {
		at := place(a.Definitions.at.locations, locationSize, i)
		if err := c.checkName(name, at, a.Definitions, "location", l.ID, l.Name); err != nil {
			return err
		}
		if l.Parent != a.ID {
			if err := c.warn("pallas.ids", name, at, fmt.Sprintf("location %d of the location group %d", l.ID, l.Parent),
				fmt.Sprintf("%d, the group of the archive", a.ID)); err != nil {
				return err
			}
		}
	}
	if n := a.present(); a.fileThreads < n {
		if err := c.warn("pallas.ids", name, 4, plural.Of(a.fileThreads, "thread"),
			fmt.Sprintf("%d, which have a file", n)); err != nil {
			return err
		}
	}
	return c.checkFolders(name, c.d.t.dir+path.Dir(archiveFile(a.ID)), "thread_", func(id uint32) bool {
		_, ok := a.location(id)
		return ok
	})
}

// checkFolders reports the folders in dir whose names are prefix and a number that a file does not list. weft does
// not read them.
func (c *checker) checkFolders(file, dir, prefix string, listed func(id uint32) bool) error {
	for _, id := range folderNumbers(c.d.t.src.FS, dir, prefix) {
		if !listed(id) {
			if err := c.warn("pallas.ids", file, noOffset, fmt.Sprintf("the folder %s%d beside the listed ones", prefix, id),
				"only folders that this file lists; weft does not read the others"); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkThread checks a thread, and reports its first defect of each kind.
func (c *checker) checkThread(ctx context.Context, t *Thread) error {
	g := newOutline(t)
	if err := c.checkFile(t, g); err != nil {
		return err
	}
	times, lengths := &fileWindow{d: t.times}, &fileWindow{d: t.durations}
	for i := range t.Events {
		if err := c.checkVector(t, times, &t.Events[i].Timestamps, "event", i); err != nil {
			return err
		}
	}
	for i := range t.Sequences {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &t.Sequences[i]
		for _, v := range []*Vector{&s.Durations, &s.Exclusive, &s.Timestamps} {
			if err := c.checkVector(t, lengths, v, "sequence", i); err != nil {
				return err
			}
		}
	}
	if c.d.t.Compression.Lossy() || times.missing || lengths.missing {
		return nil // a lossy codec has changed the times
	}
	w := c.newWalk(t, g, lengths)
	if w == nil {
		return nil
	}
	x := newReplay(t, g, c.r)
	x.begin()
	for {
		_, times, err := x.next()
		if err != nil || len(times) == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		if equal, err := w.add(times); !equal {
			return err
		}
	}
}

// checkFile checks what the file of a thread states about its ids, events and loops, and its first time.
func (c *checker) checkFile(t *Thread, g *outline) error {
	if t.fileID != t.ID || t.fileArchive != t.Archive.ID {
		if err := c.warn("pallas.ids", t.path, 0,
			fmt.Sprintf("thread %d of archive %d", t.fileID, t.fileArchive),
			fmt.Sprintf("thread %d of archive %d, as in the names of its folders", t.ID, t.Archive.ID)); err != nil {
			return err
		}
	}
	for k, m := range []struct {
		what string
		ids  []uint32
		n    int
	}{{"event", t.eventMap, len(t.Events)}, {"sequence", t.sequenceMap, len(t.Sequences)},
		{"loop", t.loopMap, len(t.Loops)}} {
		if err := c.checkIDs(t, m.what, uint64(t.mapsAt[k]), m.ids, m.n); err != nil {
			return err
		}
	}
	for i := range t.Events {
		e := &t.Events[i]
		v, ok := e.Record.Values(e.Payload)
		if ok && e.Record == Generic {
			if err := c.checkName(t.path, uint64(e.at), t.Archive.Definitions, "event", uint32(i), Ref(v[0])); err != nil {
				return err
			}
		}
		var err error
		switch {
		case !ok && e.Record < maxRecord && records[e.Record].defined:
			err = c.warn("pallas.payload", t.path, uint64(e.at),
				fmt.Sprintf("event %d, %s, with a payload of %s", i, e.Record, plural.Of(len(e.Payload), "byte")),
				"the number of bytes of its fields; weft keeps the bytes")
		case e.Record > maxRecord:
			err = c.warn("pallas.payload", t.path, uint64(e.at), fmt.Sprintf("event %d with the record %d", i, e.Record),
				fmt.Sprintf("a record below %d; weft keeps the bytes", maxRecord))
		}
		if err == nil {
			err = c.checkAttributeRefs(t, i)
		}
		if err != nil {
			return err
		}
	}
	if first := t.firstTime(); first != t.Start {
		if err := c.warn("pallas.sums", t.path, 36, fmt.Sprintf("a thread that begins at %d ns", t.Start),
			fmt.Sprintf("%d, the time of its first event", first)); err != nil {
			return err
		}
	}
	return c.checkLoops(t, g)
}

// checkLoops compares the numbers of occurrences that loops state with the grammar. An entry of a discarded loop is
// empty. It reports the first difference. Files before ABI 19 do not state these numbers.
func (c *checker) checkLoops(t *Thread, g *outline) error {
	if c.d.t.ABI < 19 || !g.countsMatch() {
		return nil
	}
	for i, n := range g.loops() {
		const size = 4 + 4 + 8
		at := uint64(t.loopsAt) + size*uint64(i)
		if l := &t.Loops[i]; l.Occurrences != n {
			return c.warn("pallas.occurrences", t.path, at,
				fmt.Sprintf("loop %d with %s", i, plural.Of(l.Occurrences, "occurrence")),
				fmt.Sprintf("%d, the number of its occurrences in the grammar", n))
		} else if n == 0 && *l != (Loop{Sequence: NoToken}) {
			return c.warn("pallas.occurrences", t.path, at,
				fmt.Sprintf("loop %d, which does not occur, of %s of %s", i, plural.Of(l.Iterations, "iteration"), l.Sequence),
				"no sequence and no iterations, as for a discarded loop")
		}
	}
	return nil
}

// firstTime returns the time of the first event, as the heads of the blocks state it. If the thread has no
// events, it returns 2⁶⁴−1.
func (t *Thread) firstTime() uint64 {
	first := ^uint64(0)
	for i := range t.Events {
		if b := t.Events[i].Timestamps.Blocks; len(b) > 0 {
			first = min(first, b[0].First)
		}
	}
	return first
}

// needsTimes reports whether reading the events needs their file of blocks. It does not if the heads of all blocks
// state all times.
func (t *Thread) needsTimes() bool {
	return slices.ContainsFunc(t.Events, func(e Event) bool {
		return slices.ContainsFunc(e.Timestamps.Blocks, func(b Block) bool {
			_, inHead := e.Timestamps.headValues(&b)
			return !inHead
		})
	})
}

// checkIDs checks the id map of a list of n entries. mapAt is the position of the map in the file. No two ids may
// have the same index, and each index must be less than n.
func (c *checker) checkIDs(t *Thread, what string, mapAt uint64, m []uint32, n int) error {
	seen := make([]bool, n)
	for id, at := range m {
		entryAt := mapAt + 8 + 4*uint64(id) // the number of ids precedes them
		switch {
		case at == NoRef:
			continue
		case at >= uint32(n):
			return c.warn("pallas.ids", t.path, entryAt, fmt.Sprintf("id %d for entry %d of the %ss", id, at, what),
				fmt.Sprintf("one of the %d entries", n))
		case seen[at]:
			return c.warn("pallas.ids", t.path, entryAt,
				fmt.Sprintf("id %d for %s %d, which has another id", id, what, at), "one id for each")
		}
		seen[at] = true
	}
	return nil
}

// checkVector compares the values of a vector with the sums that its blocks and the vector itself state. It
// stops at the first defect. Times of events that cannot be read have already been reported.
func (c *checker) checkVector(t *Thread, w *fileWindow, v *Vector, what string, i int) error {
	sums := newValueSums()
	for k := range v.Blocks {
		x := &v.Blocks[k]
		if x.Count == 0 || x.Count > maxBlock {
			continue
		}
		b, err := w.block(x)
		if err == nil {
			c.values, err = c.r.decode(c.values[:0], b, w.d.path, v, x)
		}
		if err != nil {
			scanned := v.event && !c.lane
			known := w.missing || scanned && x.Count > 2
			if archive.IsMissing(err) {
				known, w.missing = known || scanned && t.needsTimes(), true
			}
			if known {
				return nil
			}
			return asDefect(c.opt, "pallas.damaged", err)
		}
		if c.d.t.Compression.Lossy() {
			continue
		}
		if d := sums.add(v, x, c.values); d != nil {
			return c.warn(d.rule, w.d.path, x.Offset, fmt.Sprintf(d.found, what, i), d.expected)
		}
	}
	expected := ""
	switch {
	case !v.durations:
	case !c.d.t.Compression.Lossy():
		expected = sums.expected(v)
	case !v.sumsAgree():
		expected = "the least, greatest and mean one of its blocks"
	}
	if expected == "" {
		return nil
	}
	return c.warn("pallas.sums", t.path, uint64(t.Sequences[i].at),
		fmt.Sprintf("durations of %s %d of %d to %d ns, %d on the average", what, i, v.Min, v.Max, v.Mean), expected)
}

// sumsAgree reports whether the sums of a vector of durations agree with those of its blocks. It serves lossy codecs,
// which change the durations after the writer has computed the sums.
func (v *Vector) sumsAgree() bool {
	low, high, sum, values := ^uint64(0), uint64(0), uint64(0), uint64(0)
	means := saturatingMul(v.Max, v.Size) < math.MaxUint64 // the sum of larger durations may have wrapped around
	for _, x := range v.Blocks {
		if x.Count == 0 {
			continue
		}
		if means && (x.Mean < x.Min || x.Mean > x.Max) {
			return false
		}
		low, high, values = min(low, x.Min), max(high, x.Max), values+x.Count
		sum = saturatingAdd(sum, saturatingMul(x.Mean, x.Count))
	}
	if values == 0 || values != v.Size {
		return true // there are no sums, or another defect
	}
	mean := sum / values // means are rounded down, so that this one may be too small by 1
	return v.Min == low && v.Max == high &&
		(!means || v.Mean == mean || len(v.Blocks) > 1 && v.Mean == mean+1)
}
