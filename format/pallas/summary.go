package pallas

import (
	"context"
	"io/fs"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/trace"
)

// Summary returns sums over the events, computed from the numbers that are stored with the grammars. It reads no
// times, but reports missing files of them. The cost is proportional to the length of the grammars. Summary returns
// nil in these cases: the same calls are inside a visit of their region or row in one place and not in another; calls
// do not nest; events have attributes, except the attributes that weft writes for messages and collective operations;
// a sum needs more than 63 bits; or the trace has a defect.
func (d *decoder) Summary(ctx context.Context) (*format.Summary, error) {
	d.mu.Lock()
	s, known, missing := d.summary, d.summarized, d.missing
	d.mu.Unlock()
	if !known && !d.hasLinks() {
		x := d.newSummaryBuilder()
		ok, err := x.addThreads(ctx)
		if !ok || err != nil {
			return nil, err
		}
		s, missing = x.summary(), x.missing
	}
	if len(missing) > 0 {
		d.opt.Pass() // as a scan, which would find the same
	}
	for _, x := range missing {
		if err := asDefect(d.opt.At(x.location), "pallas.missing-file", x.err); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// missingBlocks is a missing file of a thread, with times or durations. Sums do not need it.
type missingBlocks struct {
	location uint32
	err      *missingFile
}

// noteMissing notes the files of a thread with times and durations that do not exist.
func (sb *summaryBuilder) noteMissing(t *Thread, loc uint32) {
	for _, f := range []*dataFile{t.times, t.durations} {
		if _, err := fs.Stat(f.src.FS, f.name); archive.IsMissing(err) {
			sb.missing = append(sb.missing, missingBlocks{loc, &missingFile{Path: f.path, Err: err}})
		}
	}
}

// hasLinks reports whether the trace carries links.
func (d *decoder) hasLinks() bool {
	return slices.ContainsFunc(d.t.Metadata, func(m Metadata) bool { return strings.HasPrefix(m.Key, linkKey) })
}

// Preview returns fewer sums than Summary, but for more traces. It accepts regions that are visited inside
// themselves, events with attributes, and messages whose peer is unknown. The sums of times omit calls that do
// not end, or do not end in the reverse order of their beginnings.
//
// Like Summary, Preview reads the grammars and not the times of the events. The grammars of a trace without
// repetitions are as long as the trace, so Preview returns nil if they have more than maxPreviewBytes.
func (d *decoder) Preview(ctx context.Context) (*format.Preview, error) {
	left := int64(maxPreviewBytes)
	for _, id := range d.threads {
		st, err := fs.Stat(d.t.src.FS, d.t.dir+threadFolder(id.archive, id.id)+"thread.pallas")
		if err == nil {
			left -= st.Size()
		}
		if left < 0 {
			return nil, nil
		}
	}
	x := d.newSummaryBuilder()
	x.forPreview = true
	if ok, err := x.addThreads(ctx); !ok || err != nil {
		return nil, err
	}
	if len(x.locations) == 0 {
		return nil, nil
	}
	return x.preview(), nil
}

// maxPreviewBytes is the size in bytes of grammars that can be read in about a second. Reading all events
// takes about ten times as long.
const maxPreviewBytes = 512 << 20

// newSummaryBuilder returns an empty summary builder. It does not report defects.
func (d *decoder) newSummaryBuilder() *summaryBuilder {
	quiet := *d.opt
	quiet.Report, quiet.Strict, quiet.Progress = format.NewReport(), false, nil
	return &summaryBuilder{d: d.withOptions(&quiet), regions: map[uint32]*regionSums{}, byName: trace.NewRows(d.defs)}
}

// addThreads adds all threads. It returns false as soon as a thread has a defect or has no sums. In that case,
// the caller must read the events.
func (sb *summaryBuilder) addThreads(ctx context.Context) (bool, error) {
	for _, id := range sb.d.threads {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		t, err := sb.d.thread(id, threadSums)
		if err != nil {
			return false, err
		}
		if t == nil {
			continue
		}
		t.Close()
		ok, err := sb.addThread(t, sb.d.location[id])
		if err != nil {
			return false, err
		}
		if !ok {
			sb.d.keepGrammar(id, t.withoutSequences()) // the caller will read the events
			return false, nil
		}
	}
	return sb.hasNoDefects(), nil
}

// hasNoDefects reports whether the threads that have been read have no defect.
func (sb *summaryBuilder) hasNoDefects() bool { return len(sb.d.opt.Report.Rules()) == 0 }

// summaryBuilder computes a summary or a preview.
type summaryBuilder struct {
	d            *decoder
	kinds        []int64
	locations    []format.LocationSummary
	regions      map[uint32]*regionSums
	byName       *trace.Rows // regions with the same name and place
	info         []eventInfo
	forPreview   bool // build a preview
	rowsOf       *Archive
	rows         map[rowKey]trace.Kind // kinds of the events in packed rows
	locationSums []format.LocationSums
	missing      []missingBlocks
}

// regionSums holds the sums over the visits of a region, in nanoseconds.
type regionSums struct {
	count                uint64
	inclusive, exclusive sum64
	recursive            sum64 // sum over visits inside of visits of the same region
	nested               sum64 // part of inclusive inside of visits of other regions of the same row
	min, max             uint64
}

// sum64 is a sum that is known to lie between n and n + short.
type sum64 struct{ n, short uint64 }

// add adds the values of a vector. The sum is not exact, because means are rounded down. add returns
// false if the values sum up to more than most, which is impossible for values that follow each other,
// or if the sum exceeds the limit for a region.
func (s *sum64) add(v *Vector, most uint64) bool {
	total, short := uint64(0), uint64(0)
	add := func(mean, count uint64) bool {
		high, low := bits.Mul64(mean, count)
		total += low
		return high == 0 && low <= most && total <= most
	}
	switch {
	case v.Min == v.Max:
		if !add(v.Min, v.Size) {
			return false
		}
	case len(v.Blocks) == 0: // the only block has the same sums as the vector
		if !add(v.Mean, v.Size) {
			return false
		}
		short = v.Size - 1
	default:
		if !add(v.Mean, v.Size) {
			return false
		}
		whole := total
		total = 0
		for i := range v.Blocks {
			if !add(v.Blocks[i].Mean, v.Blocks[i].Count) {
				return false
			}
		}
		blocks := total
		total = max(blocks, whole)
		short = min(blocks+v.Size-uint64(len(v.Blocks)), whole+v.Size-1) - total
	}
	s.n, s.short = s.n+total, s.short+short
	return s.n <= math.MaxInt64 && s.short <= math.MaxInt64-s.n
}

// addThread adds the events of a thread at the location loc. ok is false if no sums can be computed for them.
func (sb *summaryBuilder) addThread(t *Thread, loc uint32) (ok bool, err error) {
	g := newOutline(t)
	if t.Archive.Trace.ABI < 18 || g.err != nil || !g.countsMatch() || !t.ascending() {
		return false, nil
	}
	for i, n := range g.sequences {
		if s := &t.Sequences[i]; len(s.Tokens) > 0 && (n != s.Durations.Size || n != s.Exclusive.Size) {
			return false, nil
		}
	}
	s := sb.d.scopes[t.Archive.ID]
	first, last, events := uint64(math.MaxUint64), uint64(0), uint64(0)
	begun := format.LocationSums{Location: loc}
	sb.info = sb.info[:0]
	for i := range t.Events {
		e := &t.Events[i]
		in, err := sb.d.event(s, t, i)
		if err != nil || !sb.forPreview && (in.payload != nil || in.rank != uint64(NoRef) || in.comm != uint64(NoRef)) {
			return false, err
		}
		sb.info = append(sb.info, in)
		v := &e.Timestamps
		if v.Size == 0 {
			continue
		}
		first, last = min(first, v.Blocks[0].First), max(last, v.Blocks[len(v.Blocks)-1].Last)
		events += v.Size
		sb.count(in.kind, int64(v.Size))
		if !sb.forPreview && e.HasAttributes() && !sb.recountCarried(t, e, in.kind) {
			return false, nil
		}
		switch in.kind {
		case trace.Enter:
			begun.Count += int64(v.Size)
		case trace.Send, trace.SendBegin:
			begun.Sent += int64(v.Size)
		case trace.Recv, trace.RecvComplete:
			begun.Received += int64(v.Size)
		}
	}
	if events == 0 {
		return true, nil
	}
	if last > math.MaxInt64 {
		return false, nil
	}
	k := sb.d.ticks
	sb.locations = append(sb.locations, format.LocationSummary{Location: loc, Events: int64(events), First: k.model(first),
		Last: k.model(last)})
	sb.locationSums = append(sb.locationSums, begun)
	sb.noteMissing(t, loc)
	return sb.addSequences(t, g, last-first), nil
}

// count adds n to the number of events of a kind; n may be negative.
func (sb *summaryBuilder) count(k trace.Kind, n int64) {
	if n := int(k) + 1; n > len(sb.kinds) {
		sb.kinds = append(sb.kinds, make([]int64, n-len(sb.kinds))...)
	}
	sb.kinds[k] += n
}

// recountCarried corrects the counts for an event whose occurrences carry rows of other kinds, in a trace that
// weft wrote. These occurrences have been counted for a single kind, and belong to the kinds that their
// attributes state. It returns false if the event has other attributes, or if counting an occurrence is not
// enough.
func (sb *summaryBuilder) recountCarried(t *Thread, e *Event, kind trace.Kind) bool {
	if sb.d.restorer == nil {
		return false
	}
	if sb.rowsOf != t.Archive {
		sb.rowsOf, sb.rows = t.Archive, map[rowKey]trace.Kind{}
	}
	before := int64(-1)
	for rest := e.attributes; len(rest) > 0; {
		var l attributeList
		var ok bool
		if l, rest, ok = nextList(rest); !ok || l.occurrence <= before || uint64(l.occurrence) >= e.Timestamps.Size {
			return false
		}
		before = l.occurrence
		values, err := l.values(nil)
		if err != nil || len(values) != 1 {
			return false
		}
		row := rowKey{attribute: values[0].Attribute}
		switch row.attribute {
		case shortRow, longRow:
			row.value = values[0].Uint()
		case packedRow:
			row.packed = string(values[0].Bytes)
		default:
			return false
		}
		k, known := sb.rows[row]
		if !known {
			k = sb.rowKind(t, row)
			sb.rows[row] = k
		}
		if k == trace.NoKind {
			return false
		}
		sb.count(kind, -1)
		sb.count(k, 1)
	}
	return true
}

// rowKey identifies a packed row by its attribute, which is shortRow, longRow or packedRow, and by the value of the
// attribute. The value of packedRow is in packed.
type rowKey struct {
	attribute Ref
	value     uint64
	packed    string
}

// rowKind returns the kind of the event in a packed row. It returns NoKind if the row is damaged, or if counting
// the event is not enough: because the event begins or ends an operation, or has values or attributes.
func (sb *summaryBuilder) rowKind(t *Thread, row rowKey) trace.Kind {
	packed := le64(nil, row.value)
	switch row.attribute {
	case packedRow:
		packed = []byte(row.packed)
	case longRow:
		text, _ := t.Archive.Definitions.Text(Ref(row.value))
		var err error
		if packed, err = carrier.FromText(nil, text); err != nil {
			return trace.NoKind
		}
	}
	var b trace.Batch
	b.Add(0, 0, trace.NoOp, trace.NoRef)
	if sb.d.restorer.Amend(&b, packed) != nil || b.Len() == 0 || len(b.AttrRow) > 0 || len(b.Derived) > 0 {
		return trace.NoKind
	}
	switch k := b.Kind[0]; k {
	case trace.SendComplete, trace.RecvBegin, trace.RequestTest, trace.RequestCancelled, trace.CollectiveBegin,
		trace.CollectiveEnd:
		return k
	default:
		if k.IsSend() || k.IsRecv() {
			return k
		}
	}
	return trace.NoKind
}

// addSequences adds the visits in a thread. It returns false if some sequences are not nested calls, or if a
// sum is too large. A preview leaves out calls that do not nest.
func (sb *summaryBuilder) addSequences(t *Thread, g *outline, whole uint64) bool {
	// the regions that are visited directly inside each sequence that is not a call
	within := make([][]uint32, len(t.Sequences))
	region := make([]uint32, len(t.Sequences))
	direct := map[uint32][]uint32{} // the regions that are visited directly inside each region
	var blocks []int                // indexes of the sequences that are calls
	for _, at := range g.order {    // inner sequences come first
		s := &t.Sequences[at]
		region[at] = trace.NoRef
		var inner []uint32
		for i, k := range s.Tokens {
			st, _ := t.step(k)
			if st.event < 0 {
				if r := region[st.sequence]; r != trace.NoRef {
					inner = insertSorted(inner, r)
					continue
				}
				for _, r := range within[st.sequence] {
					inner = insertSorted(inner, r)
				}
				continue
			}
			in := &sb.info[st.event]
			switch {
			case in.kind == trace.Enter && (i > 0 || s.Type != BlockSequence || at == g.root):
				if !sb.forPreview {
					return false
				}
			case in.kind == trace.Enter:
				region[at] = in.ref
			case in.kind == trace.Leave && (i < len(s.Tokens)-1 || region[at] != in.ref):
				if !sb.forPreview {
					return false
				}
				region[at] = trace.NoRef
			}
		}
		r := region[at]
		if r == trace.NoRef {
			within[at] = inner
			continue
		}
		if end, _ := t.step(s.Tokens[len(s.Tokens)-1]); end.event < 0 || sb.info[end.event].kind != trace.Leave ||
			s.Durations.Max > whole || s.Exclusive.Max > whole {
			if !sb.forPreview {
				return false
			}
			continue
		}
		if s.Durations.Size == 0 {
			continue
		}
		for _, i := range inner {
			direct[r] = insertSorted(direct[r], i)
		}
		blocks = append(blocks, at)
	}
	var inside, nested []bool
	if !sb.forPreview {
		var ok bool
		if inside, nested, ok = sb.recursion(t, g, region, direct); !ok {
			return false
		}
	}
	for _, at := range blocks {
		s, r := &t.Sequences[at], region[at]
		y := sb.regions[r]
		if y == nil {
			y = &regionSums{min: math.MaxUint64}
			sb.regions[r] = y
		}
		y.count += s.Durations.Size
		inclusive := &y.inclusive
		if inside != nil && inside[at] {
			inclusive = &y.recursive
		} else if nested != nil && nested[at] && !y.nested.add(&s.Durations, whole) {
			return false
		}
		if !inclusive.add(&s.Durations, whole) || !y.exclusive.add(&s.Exclusive, whole) ||
			y.inclusive.n+y.inclusive.short > math.MaxInt64-y.recursive.n-y.recursive.short {
			return false
		}
		y.min, y.max = min(y.min, s.Durations.Min), max(y.max, s.Durations.Max)
	}
	return true
}

// recursion reports for each sequence that is a visit of a region whether it lies inside another visit of that
// region, and whether it lies inside a visit of the region's row. A nil list stands for no such visits. The result is
// false if recursiveVisits does not know it. The map direct has the regions directly inside of each region.
func (sb *summaryBuilder) recursion(t *Thread, g *outline, region []uint32, direct map[uint32][]uint32) (
	inRegion, inRow []bool, ok bool) {
	if hasCycle(direct) {
		if inRegion = recursiveVisits(t, g, region); inRegion == nil {
			return nil, nil, false
		}
	}
	within := map[uint32][]uint32{}
	for r, inner := range direct {
		row := sb.byName.Of(r)
		for _, i := range inner {
			within[row] = insertSorted(within[row], sb.byName.Of(i))
		}
	}
	if !hasCycle(within) {
		return inRegion, inRegion, true
	}
	inRow = recursiveVisits(t, g, sb.byName.Map(new([]uint32), region))
	return inRegion, inRow, inRow != nil
}

// maxRecursiveWords limits the memory of recursiveVisits for the regions around sequences, in words of
// 8 bytes.
const maxRecursiveWords = 4 << 20

// recursiveVisits reports for each sequence that is a visit of a region whether it lies inside another visit
// of that region. It returns nil if occurrences of the same sequence differ in this respect, or if there are
// too many sequences and regions.
func recursiveVisits(t *Thread, g *outline, region []uint32) []bool {
	bit := map[uint32]int{}
	for _, r := range region {
		if _, ok := bit[r]; !ok && r != trace.NoRef {
			bit[r] = len(bit)
		}
	}
	words := (len(bit) + 63) / 64
	if 2*words*len(region) > maxRecursiveWords {
		return nil
	}
	// For each sequence, all contains the regions that are open around all of its occurrences, and some
	// contains the regions that are open around at least one occurrence.
	all, some := make([]uint64, words*len(region)), make([]uint64, words*len(region))
	met, inside := make([]bool, len(region)), make([]bool, len(region))
	for i := len(g.order) - 1; i >= 0; i-- { // outer sequences come first
		at := g.order[i]
		if g.sequences[at] == 0 {
			continue
		}
		always, ever := all[at*words:(at+1)*words], some[at*words:(at+1)*words]
		if r := region[at]; r != trace.NoRef {
			word, mask := bit[r]/64, uint64(1)<<(bit[r]%64)
			inside[at] = always[word]&mask != 0
			if !inside[at] && ever[word]&mask != 0 {
				return nil
			}
			always[word] |= mask // the region is open around everything inside the visit
			ever[word] |= mask
		}
		for _, k := range t.Sequences[at].Tokens {
			st, _ := t.step(k)
			if st.event >= 0 || st.times == 0 {
				continue
			}
			to := st.sequence * words
			for w := range words {
				if !met[st.sequence] {
					all[to+w] = always[w]
				} else {
					all[to+w] &= always[w]
				}
				some[to+w] |= ever[w]
			}
			met[st.sequence] = true
		}
	}
	return inside
}

// insertSorted inserts a number into a sorted list unless the list already contains it.
func insertSorted(l []uint32, n uint32) []uint32 {
	i, found := slices.BinarySearch(l, n)
	if found {
		return l
	}
	return slices.Insert(l, i, n)
}

// hasCycle reports whether a number leads back to itself.
func hasCycle(next map[uint32][]uint32) bool {
	const (
		open = 1 + iota
		done
	)
	state := map[uint32]int{}
	type frame struct {
		n  uint32
		at int
	}
	for n := range next {
		if state[n] != 0 {
			continue
		}
		state[n] = open
		for stack := []frame{{n, 0}}; len(stack) > 0; {
			f := &stack[len(stack)-1]
			if f.at == len(next[f.n]) {
				state[f.n] = done
				stack = stack[:len(stack)-1]
				continue
			}
			m := next[f.n][f.at]
			f.at++
			switch state[m] {
			case open:
				return true
			case 0:
				state[m] = open
				stack = append(stack, frame{m, 0})
			}
		}
	}
	return false
}

func (sb *summaryBuilder) summary() *format.Summary {
	s := &format.Summary{Locations: sb.locations, Changed: sb.d.t.Compression.Lossy()}
	slices.SortFunc(s.Locations, func(a, b format.LocationSummary) int { return int(a.Location) - int(b.Location) })
	for k, n := range sb.kinds {
		if n > 0 {
			s.Kinds = append(s.Kinds, format.KindSummary{Kind: trace.Kind(k), Events: n})
		}
	}
	scale := sb.d.ticks.Scale
	for r, y := range sb.regions {
		// Convert a sum of nanoseconds to ticks. All durations are whole ticks.
		ticks := func(z sum64) (n, missing int64) {
			low, high := (z.n+scale-1)/scale, (z.n+z.short)/scale
			return int64(low), int64(high - min(low, high))
		}
		z := format.RegionSummary{Region: r, Count: int64(y.count), Min: int64(y.min / scale), Max: int64(y.max / scale)}
		var a, b, c, d, outside int64
		z.Inclusive, a = ticks(y.inclusive)
		z.Exclusive, b = ticks(y.exclusive)
		z.Sum, c = ticks(sum64{y.inclusive.n + y.recursive.n, y.inclusive.short + y.recursive.short})
		outside, d = ticks(sum64{y.inclusive.n - y.nested.n, y.inclusive.short - y.nested.short})
		z.Nested = z.Inclusive - outside
		z.Missing = max(a, b, c, d)
		s.Regions = append(s.Regions, z)
	}
	slices.SortFunc(s.Regions, func(a, b format.RegionSummary) int { return int(a.Region) - int(b.Region) })
	return s
}

func (sb *summaryBuilder) preview() *format.Preview {
	p := &format.Preview{To: math.MinInt64, Locations: sb.locationSums}
	for _, l := range sb.locations {
		p.To = max(p.To, l.Last)
	}
	slices.SortFunc(p.Locations, func(a, b format.LocationSums) int { return int(a.Location) - int(b.Location) })
	for r, y := range sb.regions {
		// Rounding may have reduced the sum by up to short. Adding half of short gives the best estimate.
		ticks := func(z sum64) int64 { return int64((z.n + z.short/2) / sb.d.ticks.Scale) }
		p.Regions = append(p.Regions, format.RegionSums{Region: r, Count: int64(y.count), Inclusive: ticks(y.inclusive),
			Exclusive: ticks(y.exclusive)})
	}
	slices.SortFunc(p.Regions, func(a, b format.RegionSums) int { return int(a.Region) - int(b.Region) })
	return p
}

// Extent returns the times of the first and the last event, as the heads of the blocks state them. It reads
// the events only of threads in which times decrease somewhere. It does not report defects.
func (d *decoder) Extent(ctx context.Context) (first, last int64, ok bool, err error) {
	quiet := *d.opt
	quiet.Report, quiet.Strict = format.NewReport(), false
	q := d.withOptions(&quiet)
	low, high := uint64(math.MaxUint64), uint64(0)
	for _, id := range d.threads {
		t, err := q.thread(id, threadEvents)
		if t == nil || err != nil {
			continue
		}
		if !t.ascending() {
			t.Close()
			if t, err = q.thread(id, leanThread); t == nil || err != nil {
				continue
			}
			// an error is ignored, because only the events that can be read count
			t.Replay(ctx, func(_ []uint32, times []uint64) error {
				for _, x := range times {
					low, high = min(low, x), max(high, x)
				}
				return nil
			})
		} else if t.Count() > 0 {
			for i := range t.Events {
				if b := t.Events[i].Timestamps.Blocks; len(b) > 0 {
					low, high = min(low, b[0].First), max(high, b[len(b)-1].Last)
				}
			}
		}
		t.Close()
	}
	if low > math.MaxInt64 {
		return 0, 0, false, nil
	}
	return d.ticks.model(low), d.ticks.model(min(high, math.MaxInt64)), true, ctx.Err()
}
