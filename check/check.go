// Package check finds events of a trace that contradict each other, in any format. Other code finds
// the other defects: a format's reader reports damaged files and records, and a format's own checker
// (format.Checker) reports contradictions that only the records of that format show.
package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/internal/postorder"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// Checker checks the events of one scan. Its reports do not depend on the order in which the scan
// delivers locations. It needs 64 bytes for each open region, claim, request, lock and collective
// operation, and 56 bytes for each collective operation of a communicator; members with the same
// sequence of operations share these. It packs the ends of messages into 3 to 20 bytes each, until all
// are known. It holds 16 MiB of these in memory, up to 8 KiB more of each pair of locations with
// messages, and the rest in a temporary file.
type Checker struct {
	opt     *format.ReadOptions
	defs    *trace.Definitions
	members *trace.Memberships
	path    string
	nests   bool // regions nest in this format
	locs    bylocation.List[locationState]

	// recorder is the name of the recorder of the trace if this recorder writes no completion of
	// non-blocking operations, and "" for other recorders. It is nil before the definitions have
	// been searched.
	recorder *string

	lanes   map[channel]*lane
	store   *chunks.Store // holds the packed messages of lanes
	skews   map[groupPair]*skew
	collect map[uint32]*operations // collective operations, by communicator

	// pieceEnds holds, for each attribute, whether it marks what goes on after the end of a piece.
	pieceEnds []bool

	refs     [trace.RefString + 1]uint32            // length of the table that each type of Ref indexes
	operands [trace.OpInterruptGenerator + 1]uint64 // the same for operand types; 0 for a type that indexes no table
}

// locationState is the state of a location after its events so far.
type locationState struct {
	any         bool // the location has had an event; last is its time
	last        int64
	open        []entry                      // open regions, innermost last
	claims      map[int64]openClaims         // indexed by id
	requests    openset.Map[uint64, request] // by id
	receives    postorder.Receives[heldReceive]
	collectives openset.Stack[uint64, collective] // open operations by matching number, innermost last
	locks       []lock                            // held locks, the last acquired last
	steps       steps
	posted      bool // the location has posted a non-blocking receive
	goesOn      bool // the trace is a piece, and the location has events after it
	recent      recentLanes
	openIndex   openset.Index[uint32] // finds regions in open
}

// openRow is the time in ticks, and the position in the file, of the event that opens a region,
// claim or other object.
type openRow struct{ time, pos int64 }

// request is an open request. For a receive, receive is its number among those of the location. For a send, sent is
// its index in sends, unless that is nil.
type request struct {
	openRow
	receive uint64
	sends   *packedEnds
	sent    int64
}

// openClaims holds the open claims with the same id. There should be only one. openRow
// describes the last one, and more counts the others.
type openClaims struct {
	openRow
	more int64
}

// lock is a lock that a location holds.
type lock struct {
	openRow
	id, order, model uint64
}

// entry is an open visit of a region.
type entry struct {
	ref uint32
	openRow
}

// messageBytes is the number of bytes of packed ends of messages that are held in memory.
const messageBytes = 16 << 20

// New returns a checker that reports to opt. Messages name the trace by path.
func New(d *trace.Definitions, path string, opt *format.ReadOptions) *Checker {
	return &Checker{opt: opt, defs: d, members: d.Memberships(), path: path, nests: d.Conventions.Nested,
		lanes: map[channel]*lane{}, store: chunks.New(messageBytes), skews: map[groupPair]*skew{},
		collect: map[uint32]*operations{}}
}

// place is the place of a defect: the location, or NoRef for the trace as a whole, and the position
// of the record in the file. If event is set, time is the time of an event in ticks.
type place struct {
	loc   uint32
	pos   int64
	time  int64
	event bool
}

// placeOf returns the place of an event.
func placeOf(loc uint32, row openRow) place { return place{loc, row.pos, row.time, true} }

// report reports a single defect.
func (c *Checker) report(rule string, at place, found, expected string) error {
	return c.reportCount(rule, at, 1, found, expected)
}

// reportCount reports a defect that occurs count times.
func (c *Checker) reportCount(rule string, at place, count int64, found, expected string) error {
	d := &trace.Defect{Rule: rule, Severity: severity(rule), Position: trace.Position{File: c.path, Line: at.pos},
		Found: found, Expected: expected, Count: count}
	if at.loc != trace.NoRef {
		d.Record = "location " + c.locationID(at.loc)
		d.Event = trace.Place{Location: at.loc, HasLocation: true, Time: at.time, HasTime: at.event}
	}
	return c.opt.Defect(d)
}

// severity returns the severity of a rule.
func severity(rule string) trace.Severity {
	for _, r := range rules {
		if r.ID == rule {
			return r.Severity
		}
	}
	return trace.Warning
}

// locationID returns the name that messages use for a location: its id in the file.
func (c *Checker) locationID(loc uint32) string {
	if c.defs.Locations.Has(loc) {
		return c.defs.Locations.At(loc).ID
	}
	return fmt.Sprintf("(number %d)", loc)
}

// regionName returns the name of a region, or "(none)" if it is undefined.
func (c *Checker) regionName(ref uint32) string {
	if int64(ref) < int64(c.defs.Regions.Len()) {
		return c.defs.Regions.At(ref).Name
	}
	return "(none)"
}

// seconds formats a time in seconds.
func (c *Checker) seconds(t int64) string { return c.defs.Clock.FormatSeconds(t) + " s" }

// Unreadable returns the defect of a trace that could not be opened. If the text of err has a
// place, what was found and what was expected, the defect has them too.
func Unreadable(path string, err error) *trace.Defect {
	d := &trace.Defect{Rule: "trace.unreadable", Severity: severity("trace.unreadable"),
		Position: trace.Position{File: path}, Expected: "the beginning of a trace"}
	text := strings.TrimPrefix(err.Error(), path)
	if at, found, ok := strings.Cut(text, ": found "); ok {
		if at, ok = strings.CutPrefix(at, ":"); !ok || !setPlace(&d.Position, at) {
			d.Record = strings.Trim(at, ": ")
		}
		text = found
	}
	d.Found = strings.TrimPrefix(text, ": ")
	if i := strings.LastIndex(d.Found, ", expected "); i >= 0 {
		d.Found, d.Expected = d.Found[:i], d.Found[i+len(", expected "):]
	}
	return d
}

// DamagedCompression returns the defect of a compressed trace whose data are damaged or end early. compression is the
// name of the compression, size the number of bytes that could be uncompressed, and err the error after them.
func DamagedCompression(path, compression string, size int64, err error) *trace.Defect {
	return &trace.Defect{Rule: "trace.compression", Severity: severity("trace.compression"),
		Position: trace.Position{File: path}, Found: fmt.Sprintf("damaged data of %s (%v)", compression, err),
		Expected: fmt.Sprintf("complete data; weft reads the %s before the damage", plural.Of(size, "byte"))}
}

// setPlace sets the offset or the line of a position from its text. It returns false for another text.
func setPlace(p *trace.Position, at string) bool {
	digits, binary := strings.CutPrefix(at, "0x")
	base := 10
	if binary {
		base = 16
	}
	n, err := strconv.ParseInt(digits, base, 64)
	if err != nil || n < 0 || !binary && n == 0 {
		return false
	}
	if p.Binary = binary; binary {
		p.Offset = n
	} else {
		p.Line = n
	}
	return true
}

// hasEvents reports whether the scan has delivered any events of a location.
func (c *Checker) hasEvents(loc uint32) bool {
	return int64(loc) < int64(len(c.locs)) && c.locs[loc] != nil
}

// Batch checks the rows of a batch.
func (c *Checker) Batch(b *trace.Batch) error {
	c.updateTableSizes()
	c.noteGoingOn(b)
	var s *locationState
	loc := b.Loc
	x := b.Cursor()
	for i := range b.Time {
		if s == nil || b.Loc == trace.MixedLoc {
			loc = b.Location(i)
			s = c.locs.At(loc)
		}
		k, row := b.Kind[i], openRow{time: b.Time[i]}
		if i < len(b.Pos) {
			row.pos = b.Pos[i]
		}
		if s.any && row.time < s.last {
			if err := c.report("trace.time-order", placeOf(loc, row), c.seconds(row.time),
				"a time not before "+c.seconds(s.last)); err != nil {
				return err
			}
		}
		if k.IsEvent() {
			s.steps.add(row.time, row.pos)
		}
		s.any, s.last = true, row.time
		var err error
		switch ref := b.Ref[i]; k {
		case trace.Enter:
			s.openIndex.Open(ref, len(s.open))
			s.open = append(s.open, entry{ref, row})
			if ref >= c.refs[trace.RefRegion] {
				x.Skip(i)
				err = c.references(&x, placeOf(loc, row))
			}
		case trace.Leave:
			err = c.closeRegion(s, placeOf(loc, row), ref)
		default:
			x.Skip(i)
			err = c.checkOther(s, &x, placeOf(loc, row))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkOther checks a row that neither enters nor leaves a region.
func (c *Checker) checkOther(s *locationState, x *trace.Cursor, at place) error {
	switch x.Kind() {
	case trace.ClaimBegin:
		if s.claims == nil {
			s.claims = map[int64]openClaims{}
		}
		id, more := int64(x.Op(0)), int64(0)
		if before, ok := s.claims[id]; ok {
			more = before.more + 1
		}
		s.claims[id] = openClaims{openRow{at.time, at.pos}, more}
		return c.references(x, at)
	case trace.ClaimEnd:
		id := int64(x.Op(0))
		same, ok := s.claims[id]
		if !ok {
			return c.report("trace.claim-end-without-begin", at, fmt.Sprintf("end of claim %d", id), "its begin before it")
		}
		if same.more--; same.more < 0 {
			delete(s.claims, id)
		} else {
			s.claims[id] = same
		}
		return nil
	}
	if err := c.references(x, at); err != nil {
		return err
	}
	return c.communication(s, x, at)
}

// closeRegion closes a region. It reports a region that is not open, and one that was not entered last in a
// format whose regions nest.
func (c *Checker) closeRegion(s *locationState, at place, ref uint32) error {
	i := len(s.open) - 1
	if i >= 0 && s.open[i].ref == ref {
		if s.openIndex.Mapped() {
			s.open = openset.Close(&s.openIndex, s.open, i, ref)
		} else {
			s.open = s.open[:i]
		}
		return nil
	}
	if i = s.openIndex.Find(ref, len(s.open), func(i int) uint32 { return s.open[i].ref }); i < 0 {
		return c.report("trace.leave-without-enter", at, "leave of "+c.regionName(ref)+" at "+c.seconds(at.time),
			"an enter before it")
	}
	inner := s.open[len(s.open)-1].ref
	s.open = openset.Close(&s.openIndex, s.open, i, ref)
	if !c.nests {
		return nil
	}
	return c.report("trace.leave-not-innermost", at, "leave of "+c.regionName(ref)+" at "+c.seconds(at.time),
		"a leave of "+c.regionName(inner)+", which was entered last")
}

// communication checks a row that belongs to a message, request, collective operation or lock.
func (c *Checker) communication(s *locationState, x *trace.Cursor, at place) error {
	switch k := x.Kind(); k {
	case trace.Send, trace.SendBegin, trace.Recv, trace.RecvComplete:
		if err := c.message(s, x, at); err != nil {
			return err
		}
		if k == trace.SendBegin && !c.startedBefore(x) {
			r := request{openRow: openRow{at.time, at.pos}}
			if l := c.laneOf(s, x, sends); l != nil {
				r.sends, r.sent = l[sends], l[sends].count-1
			}
			return c.post(s, x.Op(4), r, at)
		}
		if k == trace.RecvComplete {
			return c.completeRequest(s, x.Op(4), x, at)
		}
	case trace.RecvBegin, trace.CollectiveRequest:
		r := request{openRow: openRow{at.time, at.pos}}
		if k == trace.RecvBegin {
			s.posted = true
			r.receive = s.receives.Post(x.Op(0) != trace.Undefined)
		}
		return c.post(s, x.Op(0), r, at)
	case trace.SendComplete, trace.RequestCancelled, trace.RequestTest:
		return c.completeRequest(s, x.Op(0), x, at)
	case trace.CollectiveBegin, trace.CollectiveEnd, trace.Collective:
		return c.countCollective(s, x, at)
	case trace.CollectiveComplete:
		c.countOperation(x)
		return c.completeRequest(s, x.Op(5), x, at)
	case trace.LockAcquire:
		s.locks = append(s.locks, lock{openRow{x.Time(), at.pos}, x.Op(0), x.Op(1), x.Op(2)})
	case trace.LockRelease:
		return c.releaseLock(s, lock{openRow{x.Time(), at.pos}, x.Op(0), x.Op(1), x.Op(2)}, at)
	}
	return nil
}

// startedBefore reports whether a row has an attribute by which [transform.Cut] marks that its
// operation, or the request that it completes, began before the piece that was cut out.
func (c *Checker) startedBefore(x *trace.Cursor) bool {
	keys, _ := x.Attrs()
	for _, k := range keys {
		if !c.defs.Attributes.Has(k) {
			continue
		}
		if n := c.defs.Attributes.At(k).Name; n == transform.BeganAttribute || n == transform.PostedAttribute {
			return true
		}
	}
	return false
}

// noteGoingOn notes the locations with events that [transform.Cut] has marked because they go on after the piece.
func (c *Checker) noteGoingOn(b *trace.Batch) {
	for i := len(c.pieceEnds); i < c.defs.Attributes.Len(); i++ {
		c.pieceEnds = append(c.pieceEnds, c.defs.Attributes.At(uint32(i)).Name == transform.EndsAttribute)
	}
	if !slices.Contains(c.pieceEnds, true) {
		return
	}
	for i, k := range b.AttrKey {
		if int64(k) < int64(len(c.pieceEnds)) && c.pieceEnds[k] {
			c.locs.At(b.Location(int(b.AttrRow[i]))).goesOn = true
		}
	}
}

// releaseLock removes the last acquisition of a lock, which may have been acquired several times. It reports
// a lock that is not held.
func (c *Checker) releaseLock(s *locationState, l lock, at place) error {
	for i := len(s.locks) - 1; i >= 0; i-- {
		if held := &s.locks[i]; held.id == l.id && held.order == l.order && held.model == l.model {
			s.locks = slices.Delete(s.locks, i, i+1)
			return nil
		}
	}
	return c.report("trace.lock-release-without-acquire", at,
		fmt.Sprintf("release of lock %d with order %d at %s", l.id, l.order, c.seconds(l.time)),
		"its acquisition, with the same order, before it")
}

// post opens a request. It reports an open request with the same number.
func (c *Checker) post(s *locationState, id uint64, r request, at place) error {
	if id == trace.Undefined {
		return nil
	}
	if was, ok := s.requests.Get(id); ok {
		if err := c.reportOpenRequest(at.loc, id, was.openRow); err != nil {
			return err
		}
		if was.receive > 0 {
			if err := c.addReceives(s.receives.Close(was.receive)); err != nil {
				return err
			}
		}
	}
	s.requests.Put(id, r)
	return nil
}

// reportOpenRequest reports a request that is neither completed nor cancelled.
func (c *Checker) reportOpenRequest(loc uint32, request uint64, posted openRow) error {
	return c.report("trace.request-without-end", placeOf(loc, posted),
		fmt.Sprintf("request %d posted at %s", request, c.seconds(posted.time)),
		"its completion before the request is posted again or the trace ends"+c.recorderNote("operations"))
}

// eztraceRegion is a region in each trace of EZTrace. These traces do not name their recorder.
const eztraceRegion = "EZTrace finalize"

// recorderNote returns an addition to messages about an operation without completion. If the
// recorder of the trace never writes such completions, it names the recorder and what, the
// operations concerned. Otherwise it is "".
func (c *Checker) recorderNote(what string) string {
	if c.recorder == nil {
		name := ""
		for _, r := range c.defs.Regions.All() {
			if r.Name == eztraceRegion {
				name = "EZTrace"
			}
		}
		c.recorder = &name
	}
	if *c.recorder == "" {
		return ""
	}
	return "; " + *c.recorder + " writes no completion of non-blocking " + what
}

// completeRequest closes a request; a test leaves it open. It reports a request that is not open.
func (c *Checker) completeRequest(s *locationState, id uint64, x *trace.Cursor, at place) error {
	if id == trace.Undefined {
		return nil
	}
	r, ok := s.requests.Get(id)
	if !ok {
		if c.startedBefore(x) {
			return nil // posted before the piece that was cut out
		}
		return c.report("trace.request-without-begin", at,
			fmt.Sprintf("%s of request %d at %s", c.defs.Spec(x.Kind()).Name, id, c.seconds(x.Time())),
			"the post of that request before it")
	}
	if x.Kind() != trace.RequestTest {
		s.requests.Take(id)
	}
	if x.Kind() != trace.RequestCancelled {
		return nil
	}
	if r.sends != nil {
		r.sends.rest().cancelled = append(r.sends.rest().cancelled, r.sent)
	}
	if r.receive > 0 {
		return c.addReceives(s.receives.Close(r.receive))
	}
	return nil
}

// Merge adds the state of another checker of the same trace, which must have processed other
// locations. The other checker must not be used afterwards.
func (c *Checker) Merge(o *Checker) error {
	locs, err := analysis.Join("check", c.locs, o.locs)
	if err != nil {
		return err
	}
	c.locs = locs
	for _, s := range o.locs {
		if s != nil {
			s.recent = recentLanes{} // they refer to lanes of the other checker
			if err := o.addReceives(s.receives.Flush()); err != nil {
				return err
			}
		}
	}
	for g, s := range o.skews {
		c.skewOf(g).merge(s)
	}
	for comm, x := range o.collect {
		c.operationsOf(comm).merge(x)
	}
	for ch, l := range o.lanes {
		c.mergeLane(ch, l)
	}
	return nil
}

// Links does nothing. Readers report links to events that do not exist.
func (c *Checker) Links([]trace.Link) error { return nil }

// Finish reports regions, claims and other objects that are still open, messages without partner,
// and defects that only the whole trace shows, such as clocks that differ.
func (c *Checker) Finish(ctx context.Context) error {
	defer c.store.Close()
	for loc, s := range c.locs {
		if s == nil {
			continue
		}
		if err := c.reportUnfinished(uint32(loc), s); err != nil {
			return err
		}
		if err := c.addReceives(s.receives.Flush()); err != nil {
			return err
		}
	}
	if err := c.pairMessages(ctx); err != nil {
		return err
	}
	for _, rest := range []func() error{c.reportClockSkews, c.compareCollectives, c.reportDistantEvents} {
		if err := rest(); err != nil {
			return err
		}
	}
	return nil
}

// reportUnfinished reports the objects that are open at the end of a location.
func (c *Checker) reportUnfinished(loc uint32, s *locationState) (err error) {
	report := func(rule string, at openRow, found, expected string) {
		if err == nil {
			err = c.report(rule, placeOf(loc, at), found, expected)
		}
	}
	for i, e := range s.open {
		if s.openIndex.Gap(i) {
			continue
		}
		report("trace.enter-without-leave", e.openRow, "enter of "+c.regionName(e.ref)+" at "+c.seconds(e.time),
			"a leave after it")
	}
	for _, id := range slices.Sorted(maps.Keys(s.claims)) {
		e := s.claims[id]
		report("trace.claim-without-end", e.openRow, fmt.Sprintf("claim %d from %s", id, c.seconds(e.time)), "its end")
	}
	if s.goesOn { // requests, locks and collective operations end after the piece
		return err
	}
	requests := maps.Collect(s.requests.All)
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		if err == nil {
			err = c.reportOpenRequest(loc, id, requests[id].openRow)
		}
	}
	for _, e := range s.locks {
		report("trace.lock-without-release", e.openRow,
			fmt.Sprintf("acquisition of lock %d with order %d at %s", e.id, e.order, c.seconds(e.time)), "its release")
	}
	for e := range s.collectives.All {
		report("trace.collective-open", e.openRow, "a collective operation from "+c.seconds(e.time), "its end")
	}
	return err
}
