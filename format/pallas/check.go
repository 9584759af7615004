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
// durations of sequences, sums, ids, and numbers that files state about each other. Scans between NewChecker
// and Finish check each thread that they read, while its blocks are in memory. Finish then reads only the
// threads that no scan has read completely, and the threads with defects. For each core, the checker holds the
// grammar of one thread, one block (8 KB) of each event, three blocks of each sequence, 1 MB of each file of
// the thread, and up to 32 MB of compressed blocks.
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

// checkScanned checks a thread that a scan has just read. It reports nothing. If the thread has a defect,
// Finish reads the thread again and reports the defect.
func (c *checker) checkScanned(ctx context.Context, id threadID, t *Thread, r *blockReader) error {
	opt := *c.opt
	opt.Report, opt.Strict = format.NewReport(), true
	w := &checker{d: c.d, opt: &opt, r: r}
	if err := w.checkThread(ctx, t, true); err == nil && len(opt.Report.Rules()) == 0 {
		c.defectFree.Store(id, true)
	}
	return ctx.Err()
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
		return struct{}{}, w.checkThread(ctx, t, false)
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

// checkThread checks a thread. scanned is set if the reader has kept blocks of its events.
func (c *checker) checkThread(ctx context.Context, t *Thread, scanned bool) error {
	c.r.keeping = true // walk reads the same blocks again
	defer c.r.dropKept()
	defer func() { c.r.keeping = false }()
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
	g := newOutline(t)
	if err := c.checkLoops(t, g); err != nil {
		return err
	}
	times, lengths := &fileWindow{d: t.times, r: c.r, single: scanned}, &fileWindow{d: t.durations, r: c.r}
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
	return c.walk(ctx, t, g)
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

// walk computes the times and durations of all occurrences of sequences from their events, and compares them
// with the times and durations that the thread stores. It stops at the first difference, or where data cannot
// be read.
func (c *checker) walk(ctx context.Context, t *Thread, g *outline) error {
	if g.err != nil || !g.countsMatch() {
		return nil
	}
	for i, n := range g.sequences {
		if s := &t.Sequences[i]; n != s.Durations.Size || n != s.Exclusive.Size || n != s.Timestamps.Size {
			return nil
		}
	}
	r := c.r
	x := newReplay(t, g, r)
	x.begin()
	stored := make([][3]sumCursor, len(t.Sequences))
	type frame struct {
		at          int // index of the sequence in the thread
		next        int // index of the next token in the sequence
		again       uint64
		first, last uint64
		blocks      uint64
		anything    bool
	}
	var times []uint64
	stack := []frame{{at: g.root}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if list := t.lists.at(f.at); f.next < len(list) {
			k := list[f.next]
			f.next++
			s, _ := t.step(k)
			if s.event < 0 {
				if s.times > 0 {
					stack = append(stack, frame{at: s.sequence, again: s.times - 1})
				}
				continue
			}
			if len(times) == 0 {
				var err error
				if _, times, err = x.next(); err != nil || len(times) == 0 || ctx.Err() != nil {
					return ctx.Err()
				}
			}
			if !f.anything {
				f.first, f.anything = times[0], true
			}
			f.last = times[0]
			times = times[1:]
			continue
		}
		// All events of this occurrence of the sequence f.at have been visited.
		if f.anything {
			want := [3]uint64{f.first, f.last - f.first, f.blocks}
			if equal, err := c.compare(r, t, f.at, f.at == g.root, want, &stored[f.at]); !equal {
				return err
			}
		}
		done := *f
		if f.again > 0 {
			*f = frame{at: f.at, again: f.again - 1}
		} else {
			stack = stack[:len(stack)-1]
		}
		parent := len(stack) - 1
		if done.again > 0 {
			parent--
		}
		if parent < 0 || !done.anything {
			continue
		}
		p := &stack[parent]
		if !p.anything {
			p.first, p.anything = done.first, true
		}
		p.last = done.last
		if t.Sequences[done.at].Type == BlockSequence {
			p.blocks += done.last - done.first
		} else {
			p.blocks += done.blocks
		}
	}
	return nil
}

// compare compares the figures of the next occurrence of a sequence with the stored figures. want contains the
// figures that follow from the events: the time at which the occurrence begins, its duration, and the total
// duration of the blocks in it. For a block, the stored exclusive time must be the duration minus the duration
// of the blocks inside; for the root it must be 0. For other sequences, it must be the duration of the blocks
// inside. compare reports the first difference. equal is false if a figure differs or cannot be read.
func (c *checker) compare(r *blockReader, t *Thread, at int, root bool, want [3]uint64,
	stored *[3]sumCursor) (equal bool, err error) {
	s := &t.Sequences[at]
	if len(s.Tokens) == 0 {
		return true, nil
	}
	switch {
	case root:
		want[2] = 0
	case s.Type == BlockSequence:
		want[2] = want[1] - want[2]
	}
	vectors := []*Vector{&s.Timestamps, &s.Durations, &s.Exclusive}
	if c.d.t.ABI == 16 {
		vectors = vectors[:2] // its writer stored wrong exclusive durations
	}
	for i, v := range vectors {
		got, err := stored[i].next(r, t, v)
		if err != nil {
			return false, nil // the error has already been reported
		}
		if got != want[i] {
			what := [3]string{"begins", "lasts", "has exclusive time"}[i]
			return false, c.warn("pallas.sums", t.path, uint64(t.Sequences[at].at),
				fmt.Sprintf("an occurrence of sequence %d that %s %d ns", at, what, got),
				fmt.Sprintf("%d, as its events give", want[i]))
		}
	}
	return true, nil
}

// sumCursor iterates over the values of one vector of a sequence.
type sumCursor struct {
	block, at int
	values    []uint64
	fromHead  uint64 // number of values that next has taken from the head of the current block
}

func (s *sumCursor) next(r *blockReader, t *Thread, v *Vector) (n uint64, err error) {
	for s.at == len(s.values) {
		if s.block == len(v.Blocks) {
			return 0, &RangeError{v.Size, v.Size}
		}
		x := &v.Blocks[s.block]
		if values, ok := v.headValues(x); ok { // most sequences of a thread that repeats little; this needs no memory
			if s.fromHead < x.Count {
				s.fromHead++
				return values[s.fromHead-1], nil
			}
			s.fromHead = 0
			s.block++
			continue
		}
		s.at = 0
		if s.values, err = r.read(s.values[:0], t.durations, v, x); err != nil {
			return 0, err
		}
		s.block++
	}
	s.at++
	return s.values[s.at-1], nil
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
	exact := !c.d.t.Compression.Lossy()
	low, high, sum := ^uint64(0), uint64(0), uint64(0)
	last := uint64(0)
	for k := range v.Blocks {
		x := &v.Blocks[k]
		if x.Count == 0 || x.Count > maxBlock {
			continue
		}
		b, err := w.block(x)
		if err == nil {
			if _, inHead := v.headValues(x); !inHead {
				c.r.keep(w.d, x, b)
			}
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
		wrong := func(found, expected string) error {
			return c.warn("pallas.sums", w.d.path, x.Offset,
				fmt.Sprintf("a block of %s %d with %s", what, i, found), expected+", as the file of the thread states")
		}
		if !exact {
			continue
		}
		l := c.values
		if !v.durations {
			if l[0] != x.First || l[len(l)-1] != x.Last {
				return wrong(fmt.Sprintf("times from %d to %d ns", l[0], l[len(l)-1]),
					fmt.Sprintf("from %d to %d", x.First, x.Last))
			}
			for _, n := range l {
				if n < last {
					return c.warn("pallas.time-order", w.d.path, x.Offset,
						fmt.Sprintf("a time of %s %d, %d ns, before the previous time, %d", what, i, n, last),
						"times that do not decrease; weft sorts the events")
				}
				last = n
			}
			continue
		}
		least, most, all := l[0], l[0], uint64(0)
		for _, n := range l {
			least, most, all = min(least, n), max(most, n), all+n
		}
		if mean := all / uint64(len(l)); least != x.Min || most != x.Max || mean != x.Mean {
			return wrong(fmt.Sprintf("durations of %d to %d ns, %d on the average", least, most, mean),
				fmt.Sprintf("%d to %d, %d on the average", x.Min, x.Max, x.Mean))
		}
		low, high, sum = min(low, least), max(high, most), sum+all
	}
	if !exact && v.durations && !v.sumsAgree() {
		return c.warn("pallas.sums", t.path, uint64(t.Sequences[i].at),
			fmt.Sprintf("durations of %s %d of %d to %d ns, %d on the average", what, i, v.Min, v.Max, v.Mean),
			"the least, greatest and mean one of its blocks")
	}
	if exact && v.durations && v.Size > 0 && (low != v.Min || high != v.Max || sum/v.Size != v.Mean) {
		return c.warn("pallas.sums", t.path, uint64(t.Sequences[i].at),
			fmt.Sprintf("durations of %s %d of %d to %d ns, %d on the average", what, i, v.Min, v.Max, v.Mean),
			fmt.Sprintf("%d to %d, %d on the average, as in its blocks", low, high, sum/v.Size))
	}
	return nil
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
