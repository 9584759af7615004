package otf

import (
	"bytes"
	"context"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// bulkReader delivers the events of a file that is in the order of time, location by location. It parses
// frequent lines itself, many at a time, and leaves all other lines to [stream.next].
type bulkReader struct {
	d      *decoder
	f      *fileStream
	sink   format.Sink
	states stateFiles
	// withStates is set if streams have snapshots or statistics that are selected.
	withStates bool
	// time of the snapshots at which the scan begins; nil means that it begins at the start of the file
	resume *uint64
	begun  bool // deliverLocationBegins is called for each stream that begins at snapshots
	// earlier holds the known processes with events before the snapshots at which the scan begins. A process
	// may occur twice.
	earlier          []uint64
	lanes            []*lane // all lanes in use
	oldest           int     // index of the lane that is reused next if all maxLanes are in use
	free             []*lane
	text             []byte  // buffer of the stream, kept between files
	nearLanes        []*lane // lanes of processes with small numbers, by process
	farLanes         map[uint64]*lane
	form             timeForm
	base, to         uint64 // time of the file at time 0 of the model, and end of the selected times
	tooManyProcesses bool   // the file had more processes than maxLanes
	waiting          int    // number of lanes that wait for a record after the selected times
	processes        [1 << processBits]processText
	visits           [1 << visitBits]visitText
	peers            [1 << peerBits]peerText
	tails            [1 << peerBits]tailText
	counter          uint64 // counter is the counter of the last value, and metric is its metric
	metric           uint32
	pairs            []KeyValue // pairs of the next record
	texts            shortTexts // texts of pairs
	// foreignLane stands for the process of a resource, whose records carry rows of other locations. It is
	// nil until such a process occurs. foreign holds processes of this sort that belong to the stream.
	foreignLane *lane
	foreign     [1 << foreignBits]uint64
	hasRows     bool
	first       uint64 // time of the first row
	last        uint64 // time of the last row
	unordered   bool   // a row was earlier than the row before it, or belonged to a process of another stream
}

func newBulk(d *decoder, sink format.Sink) *bulkReader {
	return &bulkReader{d: d, sink: sink, form: newTimeForm()}
}

// begin prepares the reader for a file. It reuses lanes and buffers.
func (br *bulkReader) begin(f *fileStream) {
	if br.f != nil {
		br.setWaiting(false)
		br.free = append(br.free, br.lanes...)
		br.lanes, br.oldest, br.farLanes = br.lanes[:0], 0, nil
		clear(br.nearLanes)
	}
	br.clearTables()
	br.f, br.hasRows, br.last, br.tooManyProcesses, br.metric = f, false, 0, false, trace.NoRef
	clear(br.foreign[:])
	if f.s.byLine = true; len(f.s.t.buf) == 0 { // otherwise a search has already read some text
		f.s.t.buf = br.text
	}
}

// clearTables empties the caches. A zero entry would match the text 0, which belongs in the first entry.
// Therefore the first entry gets a text that never belongs there.
func (br *bulkReader) clearTables() {
	clear(br.processes[:])
	clear(br.visits[:])
	clear(br.peers[:])
	clear(br.tails[:])
	br.visits[0].text, br.peers[0].text, br.tails[0].text = neverText, neverText, neverText
}

// end keeps the buffer of the file for the next file.
func (br *bulkReader) end() { br.text = br.f.s.t.buf[:0] }

// needsSurvey reports whether the trace must be surveyed before it can be read.
func (br *bulkReader) needsSurvey() bool {
	return br.d.trying && (br.unordered || br.d.needsDefinition)
}

// lane collects the rows of a process.
type lane struct {
	process uint64
	at      uint16       // index in lanes
	open    *openRegions // open regions of the location; used if leaves name no region
	n       uint         // number of rows
	waits   bool         // the lane waits for a record after the selected times
	rows    laneRows
	b       trace.Batch // the columns that laneRows does not contain
}

type laneRows struct {
	time [laneLimit]int64
	ref  [laneLimit]uint32
	kind [laneLimit]trace.Kind
}

// laneLimit is the number of rows with which a lane is full, a power of two. maxLanes is the number of lanes. Together
// they limit the memory: a lane takes 4 KB, and up to 13 KB if all rows have operands.
const (
	laneLimit = 256
	maxLanes  = 1 << 13
)

// batch returns the batch of the lane, with room for one more row.
func (l *lane) batch() *trace.Batch {
	l.b.Time, l.b.Kind, l.b.Ref = l.rows.time[:l.n], l.rows.kind[:l.n], l.rows.ref[:l.n]
	return &l.b
}

// add adds a row with operands, which the caller appends to the returned batch.
func (l *lane) add(time int64, kind trace.Kind, ref uint32) *trace.Batch {
	i := l.n & (laneLimit - 1)
	l.rows.time[i], l.rows.ref[i], l.rows.kind[i] = time, ref, kind
	l.b.OpRow = append(l.b.OpRow, uint32(i))
	l.n++
	return &l.b
}

// run delivers the events of a file.
func (br *bulkReader) run(ctx context.Context, f *fileStream) error {
	br.begin(f)
	defer br.end()
	slices.Sort(br.earlier)
	// the next event of these processes may come after the selected times
	for _, p := range slices.Compact(br.earlier) {
		if _, err := br.lane(&Record{Process: p, Stream: f.s.id}); err != nil {
			return err
		}
	}
	to := f.to
	if f.enough > 0 {
		f.to = min(to, f.enough)
	}
	f.to = min(f.to, br.states.time())
	for patience := 1 << 12; ; {
		if br.waiting > 0 && patience > 0 {
			patience--
		} else if f.held {
			// The held record comes before the lines that readFrequent would read.
		} else if err := br.readFrequent(ctx); err != nil || br.needsSurvey() {
			return err
		}
		r, err := br.f.next(ctx)
		if err != nil {
			return err
		}
		if r == nil && br.states.time() < to {
			// Snapshots and statistics come before the events of their time.
			if err := br.addStates(ctx); err != nil || br.needsSurvey() {
				return err
			}
			f.to = min(to, br.states.time())
			continue
		}
		if r == nil && f.held && f.to < to {
			// A process with a further record continues after the selected times. A process that has ended has
			// no further record. Therefore run stops waiting after a number of records, and reads the rest of
			// the file.
			f.to = to
			br.setWaiting(!br.tooManyProcesses)
			continue
		}
		if r == nil {
			break
		}
		if r.Time < br.last {
			br.unordered = true
		}
		if br.last = r.Time; !br.hasRows {
			// readFrequent does not read the first record, so the first time is set here
			br.hasRows, br.first = true, r.Time
		}
		l, err := br.lane(r)
		if err != nil {
			return err
		}
		if br.d.addRow(l.batch(), r); br.d.err != nil {
			return br.d.err
		}
		goesOn := l.waits && l.rows.kind[l.n].IsActivity()
		l.n++
		if l.n == laneLimit {
			err = br.emit(l)
		}
		if err != nil || br.needsSurvey() {
			return err
		}
		if goesOn {
			l.waits = false
			if br.waiting--; br.waiting == 0 && patience > 0 {
				break
			}
		}
	}
	for _, l := range br.lanes {
		if err := br.emit(l); err != nil {
			return err
		}
	}
	return nil
}

// setWaiting makes all lanes wait for a record after the selected times, or makes no lane wait.
func (br *bulkReader) setWaiting(on bool) {
	for _, l := range br.lanes {
		l.waits = on
	}
	if br.waiting = 0; on {
		br.waiting = len(br.lanes)
	}
}

// lane returns the lane of a record's process.
func (br *bulkReader) lane(r *Record) (*lane, error) {
	if l := br.laneOf(r.Process); l != nil {
		return l, nil
	}
	br.unordered = br.unordered || br.d.trying && !br.d.isListed(r.Process, r.Stream)
	var l *lane
	if len(br.lanes) < maxLanes {
		if n := len(br.free) - 1; n >= 0 {
			l, br.free = br.free[n], br.free[:n]
		} else {
			l = &lane{}
		}
		l.at = uint16(len(br.lanes))
		br.lanes = append(br.lanes, l)
	} else {
		l = br.lanes[br.oldest]
		br.oldest = (br.oldest + 1) % maxLanes
		if err := br.emit(l); err != nil {
			return nil, err
		}
		br.setLane(l.process, nil)
		if clear(br.processes[:]); !br.tooManyProcesses {
			br.tooManyProcesses = true
			br.clearTables()
		}
	}
	l.process = r.Process
	l.b.Reset(br.d.locate(r))
	if br.d.unnamedLeaves {
		l.open = br.d.open(l.b.Loc)
	}
	br.setLane(r.Process, l)
	return l, nil
}

// isListed reports whether the master file lists a process for a stream.
func (d *decoder) isListed(process uint64, stream uint32) bool {
	home, ok := d.r.master.Stream(uint32(process))
	return ok && home == stream
}

func (br *bulkReader) setLane(process uint64, l *lane) {
	if process >= maxSmallTokens {
		if br.farLanes == nil {
			br.farLanes = map[uint64]*lane{}
		}
		br.farLanes[process] = l
		return
	}
	for uint64(len(br.nearLanes)) <= process {
		br.nearLanes = append(br.nearLanes, nil)
	}
	br.nearLanes[process] = l
}

func (br *bulkReader) laneOf(process uint64) *lane {
	if process < uint64(len(br.nearLanes)) {
		return br.nearLanes[process]
	}
	return br.farLanes[process]
}

// emit delivers the rows of a lane.
func (br *bulkReader) emit(l *lane) error {
	if l.n == 0 {
		return nil
	}
	err := br.sink.Batch(l.batch())
	l.b.Reset(l.b.Loc)
	l.n = 0
	return err
}

// messageKind maps the first byte of a line to the kind of message.
var messageKind = [256]trace.Kind{'S': trace.Send, 'R': trace.Recv}

// The types of entries in the caches for lines of processes and functions. A trace has few different lines of
// this sort. The key of an entry is the text of a line of at most 8 bytes, including its end. The entry holds
// the meaning of the line.
type (
	processText struct {
		text uint64
		l    *lane
	}
	// visitText caches the meaning of the line of an enter or leave. The text may also consist of two lines:
	// the line that selects the process, and the following line of the enter or leave.
	visitText struct {
		text uint64
		ref  uint32
		kind trace.Kind
		lane uint16 // index of the lane that the process line selects, if the text includes a process line
	}
	// peerText caches the part of a message line before the L. tailText caches the part from the T on.
	peerText struct{ text, location uint64 }
	tailText struct{ text, tag, communicator uint64 }
)

const (
	processBits = 10
	visitBits   = 14
	peerBits    = 8
	hashFactor  = 0x9e3779b97f4a7c15 // spreads all bytes to the high bits
	neverText   = 1                  // a text that never hashes to the first place of a table
)

// readFrequent reads the frequent lines in the buffer: time, process, enter, leave, send, receive and counter,
// in libotf's spelling. It stops before the first other line. The result is the same as if next had read them.
func (br *bulkReader) readFrequent(ctx context.Context) error {
	s, t := br.f.s, br.f.s.t
	l := br.laneOf(s.process)
	if l == nil && br.setForeignLane(s.process) {
		l = br.foreignLane
	}
	if !s.begun || s.skip || br.d.clock.scale > 1 || s.silent && len(s.rec.KeyValues) > 0 || s.time < br.last || l == nil {
		return nil
	}
	n := bytes.LastIndexByte(t.buf[t.from:], '\n') + 1
	if n == 0 {
		return nil
	}
	clear(t.buf[len(t.buf) : len(t.buf)+slack]) // no line end can be found after the text
	br.base, br.to = br.d.clock.base, br.f.to
	end := t.from + n
	text := unsafe.Pointer(unsafe.SliceData(t.buf))
	for more := true; more; {
		if l != br.foreignLane {
			t.from, l, s.time = br.readLines(text, t.from, end, l, s.time)
			if l.n == laneLimit {
				if err := br.emit(l); err != nil {
					return err
				}
				continue
			}
		}
		if more = br.d.restorer != nil && t.from < end; more {
			from, before := t.from, l
			var err error
			if t.from, l, s.time, err = br.readForeignLane(text, from, end, l, s.time); err != nil {
				return err
			}
			more = l != br.foreignLane && (t.from != from || l != before)
		}
	}
	br.last, s.process, s.delivered = s.time, l.process, true
	if br.d.err != nil {
		return br.d.err
	}
	if t.from == end {
		return ctx.Err()
	}
	return nil
}

// readLines reads the lines from pos to end, beginning with the given lane and time. It returns the
// position, lane and time where it stopped: when a lane is full, or before a line that it cannot
// parse.
//
//go:noinline
func (br *bulkReader) readLines(text unsafe.Pointer, pos, end int, l *lane, time uint64) (int, *lane, uint64) {
	for pos < end {
		w := word(text, pos)
		if w&0x20 != 0 && byte(w) != '*' { // the byte is not a capital letter, so it is mostly a digit
			v, n := br.form.read(text, pos, w)
			if n == 0 || v < time || v >= br.to {
				break
			}
			time = v
			pos += n + 1
			w = word(text, pos)
		}
		marks := lineEnds(w)
		if byte(w) == '*' {
			second := marks & (marks - 1)
			if second != 0 { // the 8 bytes also contain the line of the record, which is mostly a visit
				both := clearAfterLineEnd(w, second)
				known := &br.visits[both*hashFactor>>(64-visitBits)]
				if known.text == both {
					l = br.lanes[known.lane]
					if l.visit(int64(time-br.base), known); br.d.unnamedLeaves {
						l.nest()
					}
					if pos += (bits.TrailingZeros64(second) + 1) >> 3; l.n == laneLimit {
						break
					}
					continue
				}
			}
			star := clearAfterLineEnd(w, marks)
			known := &br.processes[star*hashFactor>>(64-processBits)]
			if known.text != star && !br.cacheProcess(known, w, marks) {
				break
			}
			if second != 0 {
				br.cacheVisitWithProcess(w, marks, known.l)
			}
			l = known.l
			pos += lineLength(marks) + 1
			w = word(text, pos)
			marks = lineEnds(w)
		}
		next := 0 // position after the record's line
		if w&(visitBit|0x20) == visitBit {
			line := clearAfterLineEnd(w, marks)
			known := &br.visits[line*hashFactor>>(64-visitBits)]
			if known.text == line || br.cacheVisit(known, w, marks) {
				if l.visit(int64(time-br.base), known); br.d.unnamedLeaves {
					l.nest()
				}
				next = pos + lineLength(marks) + 1
			}
		} else {
			next = br.addOther(l, text, pos, time)
		}
		if next == 0 {
			break
		}
		if pos = next; l.n == laneLimit {
			break
		}
	}
	return pos, l, time
}

// visit adds the row of an enter or leave.
func (l *lane) visit(time int64, v *visitText) {
	i := l.n & (laneLimit - 1)
	l.rows.time[i], l.rows.ref[i], l.rows.kind[i] = time, v.ref, v.kind
	l.n++
}

// nest applies the last row that was added to the stack of open regions. If the row is a leave that names no
// region, nest sets its region to the innermost open region.
func (l *lane) nest() {
	i := (l.n - 1) & (laneLimit - 1)
	if ref := l.rows.ref[i]; l.rows.kind[i] == trace.Enter {
		l.open.enter(ref)
	} else {
		l.rows.ref[i] = l.open.leave(ref)
	}
}

// visitBit is set in the first byte of enter and leave, and in no other record that readFrequent
// reads.
const visitBit = 'E' & 'L' &^ ('S' | 'R' | 'C')

// parseVisit parses the enter or leave in the first n bytes of w.
func parseVisit(w uint64, n int) (kind trace.Kind, function uint64, ok bool) {
	switch byte(w) {
	case 'E':
		kind = trace.Enter
	case 'L':
		kind = trace.Leave
	default:
		return 0, 0, false
	}
	if n < 2 || n > 7 {
		return 0, 0, false
	}
	v, bad := hexWord(padDigits(w>>8, n-1))
	return kind, v, bad == 0
}

// cacheVisit caches the meaning of the line in w.
//
//go:noinline
func (br *bulkReader) cacheVisit(to *visitText, w, marks uint64) bool {
	kind, v, ok := parseVisit(w, lineLength(marks))
	if !ok {
		return false
	}
	ref, ok := br.visitedRegion(kind, v)
	if ok {
		*to = visitText{text: clearAfterLineEnd(w, marks), ref: ref, kind: kind}
	}
	return ok
}

// visitedRegion returns the region of an enter or leave. A leave without a function gets NoRef; ok is then
// false unless such leaves are expected.
func (br *bulkReader) visitedRegion(kind trace.Kind, function uint64) (ref uint32, ok bool) {
	if kind == trace.Leave && function == 0 {
		return trace.NoRef, br.d.unnamedLeaves
	}
	return br.d.region(br.f.s.reported, function), true
}

// cacheVisitWithProcess caches the meaning of the two lines in w, if the second line is an enter or leave.
//
//go:noinline
func (br *bulkReader) cacheVisitWithProcess(w, marks uint64, l *lane) {
	second, n := marks&(marks-1), lineLength(marks)
	if kind, v, ok := parseVisit(w>>(8*n+8), lineLength(second)-n-1); ok && !br.tooManyProcesses {
		if ref, ok := br.visitedRegion(kind, v); ok {
			text := clearAfterLineEnd(w, second)
			br.visits[text*hashFactor>>(64-visitBits)] = visitText{text, ref, kind, l.at}
		}
	}
}

// cacheProcess caches the process of the line in w.
//
//go:noinline
func (br *bulkReader) cacheProcess(to *processText, w, marks uint64) bool {
	n := lineLength(marks)
	if n < 2 || n == 8 {
		return false
	}
	v, bad := hexWord(padDigits(w>>8, n-1))
	l := br.laneOf(v)
	if bad != 0 || l == nil {
		return false
	}
	*to = processText{clearAfterLineEnd(w, marks), l}
	return true
}

// addOther reads the record at pos if it is a frequent record other than a visit. It returns the position of
// the next line, or 0 if it cannot read the record.
func (br *bulkReader) addOther(l *lane, text unsafe.Pointer, pos int, time uint64) (next int) {
	switch t := int64(time - br.base); byteAt(text, pos) {
	case 'S', 'R':
		return br.addMessage(l, text, pos, t)
	case 'C':
		return br.addCounterValue(l, text, pos, t)
	case 'K':
		if br.d.restorer != nil {
			next = br.addAmended(l, text, pos, t)
		}
		if next == 0 {
			next, _ = br.addWithPairs(l, text, pos, t)
		}
		return next
	}
	if hexValue[byteAt(text, pos)] < 16 {
		return pos // a record need not follow a time line
	}
	return 0
}

// addMessage adds the row of the message at pos and returns the position of the next line, or 0 if the
// message is spelled in another way.
func (br *bulkReader) addMessage(l *lane, text unsafe.Pointer, pos int, time int64) (next int) {
	kind := messageKind[byteAt(text, pos)]
	// Most lines end at this position. The processor knows the position early, and can continue there without
	// waiting for the end of parsing.
	guess := pos + 8 + lineLength(lineEnds(word(text, pos+8)))
	w := word(text, pos+1)
	marks := noDigits(w)
	key := clearAfterLineEnd(w, marks)
	peer := &br.peers[key*hashFactor>>(64-peerBits)]
	location, i := peer.location, pos+1+lineLength(marks)
	if peer.text != key {
		v, end := parseNumber(text, pos+1)
		if byteAt(text, end) != 'L' || end == pos+1 {
			return 0
		}
		location, i = uint64(br.d.location(v&noProcess)), end
		if marks != 0 {
			*peer = peerText{key, location}
		}
	}
	length, k := parseNumber(text, i+1)
	w = word(text, k)
	marks = lineEnds(w)
	key = clearAfterLineEnd(w, marks)
	tail := &br.tails[key*hashFactor>>(64-peerBits)]
	tag, communicator, n := tail.tag, tail.communicator, k+lineLength(marks)
	if tail.text != key {
		if byteAt(text, k) != 'T' {
			return 0
		}
		var m int
		tag, m = parseNumber(text, k+1)
		if byteAt(text, m) != 'C' {
			return 0
		}
		communicator, n = parseNumber(text, m+1)
		if byteAt(text, n) != '\n' || m == k+1 || n == m+1 {
			return 0
		}
		tag &= noProcess
		if communicator &= noProcess; communicator == 0 {
			communicator = trace.Undefined
		} else {
			communicator = uint64(br.d.communicator(br.f.s.reported, communicator))
		}
		if marks != 0 {
			*tail = tailText{key, tag, communicator}
		}
	}
	if k == i+1 {
		return 0
	}
	b := l.add(time, kind, trace.NoRef)
	b.Op = append(b.Op, location, communicator, tag, length&noProcess)
	b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
	if n == guess {
		return guess + 1
	}
	return n + 1
}

// addCounterValue adds the row of the counter value at pos and returns the position of the next line, or 0 if
// the line is spelled in another way.
func (br *bulkReader) addCounterValue(l *lane, text unsafe.Pointer, pos int, time int64) (next int) {
	counter, i := parseNumber(text, pos+3)
	if byteAt(text, pos+1) != 'N' || byteAt(text, pos+2) != 'T' || byteAt(text, i) != 'V' {
		return 0
	}
	value, n := parseNumber(text, i+1)
	if byteAt(text, n) != '\n' || i == pos+3 || n == i+1 {
		return 0
	}
	if counter &= noProcess; counter != br.counter || br.metric == trace.NoRef {
		br.counter, br.metric = counter, br.d.metric(br.f.s.reported, counter)
	}
	b := l.add(time, trace.Metric, br.metric)
	if b.Op = append(b.Op, value); br.d.defs.Conventions.MetricMembers {
		b.Op = append(b.Op, 0)
	}
	b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
	return n + 1
}
