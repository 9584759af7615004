package etf

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/idset"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/trace"
)

// NewChecker returns a checker for the defects that appear only when lines are compared with each other
// (docs/formats/etf.md, "Rules"): duplicate ids, unknown references, gaps in signals, and resources
// held beyond their capacity. Its memory is bounded by the number of open claims, plus the buffers that
// sort the ids of each kind.
func (d *decoder) NewChecker() format.Checker {
	return &checker{d: d, opt: d.Opt, ids: [...]*idsOfKind{E: newIDs("event"), C: newIDs("claim"),
		D: newIDs("dependency")}, curves: map[uint32]curveEnd{}}
}

// Finish reports the defects that can be known only after the last event.
func (c *checker) Finish(ctx context.Context) error {
	for _, k := range kindsWithIDs {
		defer c.ids[k].set.Close()
	}
	if c.d.Restore != nil {
		return nil
	}
	for _, k := range kindsWithIDs {
		if err := c.ids[k].set.Finish(ctx, func(id, pos int64) error { return c.recordDuplicate(k, id, pos) }); err != nil {
			return err
		}
	}
	if err := c.reportDuplicates(ctx); err != nil {
		return err
	}
	for i := range c.d.Model.Metrics.Len() {
		m := c.d.Model.Metrics.At(uint32(i))
		if m.Kind == trace.SignalMetric && !c.curves[uint32(i)].any {
			if err := c.reportAt(trace.Place{Location: m.Location, HasLocation: true}, "etf.empty-signal", trace.Error,
				c.d.lineOf(uint32(i)), "signal "+m.ID+" without F lines", "at least one F line"); err != nil {
				return err
			}
		}
	}
	return nil
}

type checker struct {
	d      *decoder
	opt    *format.ReadOptions
	ids    [D + 1]*idsOfKind // of kindsWithIDs
	open   []*resourceUse    // indexed by resource; nil before its first claim
	curves map[uint32]curveEnd
}

// kindsWithIDs lists the kinds of lines that have an id of their own.
var kindsWithIDs = [...]Keyword{E, C, D}

// idsOfKind collects the ids of all claims, of all events or of all dependencies.
type idsOfKind struct {
	what string
	set  *idset.Set
	// ids that occur in several lines, with the number of the first of these lines; 0 while that number is
	// unknown
	twice map[int64]int64
}

func newIDs(what string) *idsOfKind { return &idsOfKind{what, idset.New(4 << 20), map[int64]int64{}} }

// maxRepeatedIDs limits the number of repeated ids of each kind for which the checker searches the lines.
const maxRepeatedIDs = 1 << 16

// openClaim is a claim that has begun and not ended.
type openClaim struct {
	id, pos        int64
	number         uint64 // position among the claims of the resource, counted from 0
	amount, offset float64
	ended          bool       // the claim begins and ends at the same time
	next           *openClaim // the previous open claim with the same id
}

// resourceUse tracks the open claims of a resource.
type resourceUse struct {
	time   int64
	begun  []*openClaim         // claims that began at the current time and that settle has not added to sum yet
	open   map[int64]*openClaim // open claims by id, including the claims in begun
	number uint64               // number of the next claim
	free   *openClaim           // a list of ended claims, linked by next, whose memory is used again
	places places
	// sum is the total amount of the claims that settle has added. excess counts the open claims that exceed
	// the capacity on their own. Each of these is reported as a defect of its own, and sum leaves them out.
	sum    preciseSum
	excess int
}

// begin adds a claim that begins to the open claims of the resource.
func (u *resourceUse) begin(x openClaim) {
	h := u.free
	if h == nil {
		h = new(openClaim)
	} else {
		u.free = h.next
	}
	*h = x
	h.number, h.next = u.number, u.open[h.id]
	u.number++
	u.open[h.id] = h
	u.begun = append(u.begun, h)
}

// end removes the open claim with an id.
func (u *resourceUse) end(id int64, r *trace.Resource) {
	h := u.open[id]
	switch {
	case h == nil:
		return
	case h.next == nil:
		delete(u.open, id)
	default:
		u.open[id] = h.next
	}
	if len(u.begun) > 0 && h.number >= u.begun[0].number {
		h.ended = true
		return
	}
	u.count(h, r, -1)
	if r.UsesOffset {
		u.places.remove(h)
	}
	if len(u.open) == 0 {
		u.sum = preciseSum{}
	}
	*h = openClaim{next: u.free}
	u.free = h
}

// count adds the amount of a claim to the sum if sign is 1, and subtracts it if sign is -1.
func (u *resourceUse) count(h *openClaim, r *trace.Resource, sign float64) {
	if !(math.Abs(h.amount) <= r.Capacity) {
		u.excess += int(sign)
		return
	}
	u.sum.add(sign * h.amount)
}

// preciseSum is a sum of floating-point numbers with twice the digits of a float64. A plain sum would
// gather rounding errors as claims come and go.
type preciseSum struct{ sum, rest float64 }

func (t *preciseSum) add(x float64) {
	s := t.sum + x
	y := s - t.sum
	t.rest += (t.sum - (s - y)) + (x - y)
	t.sum = s + t.rest
	t.rest -= t.sum - s
}

type curveEnd struct {
	any bool
	end int64
	pos int64
}

func (c *checker) report(rule string, sev trace.Severity, line int64, found, expected string) error {
	return c.reportAt(trace.Place{}, rule, sev, line, found, expected)
}

// reportAt reports a defect of an event.
func (c *checker) reportAt(at trace.Place, rule string, sev trace.Severity, line int64, found, expected string) error {
	return c.opt.Defect(&trace.Defect{Rule: rule, Severity: sev, Position: trace.Position{File: c.d.File.Name, Line: line},
		Found: found, Expected: expected, Event: at})
}

// add checks the id of a line against the earlier ones of its kind.
func (c *checker) add(k Keyword, id, line int64) error {
	twice, err := c.ids[k].set.Add(id, line)
	if err == nil && twice {
		err = c.recordDuplicate(k, id, line)
	}
	return err
}

// recordDuplicate records a repeated id. Beyond maxRepeatedIDs ids, it reports the defect at once, without the
// earlier line.
func (c *checker) recordDuplicate(k Keyword, id, line int64) error {
	x := c.ids[k]
	if _, known := x.twice[id]; known || len(x.twice) < maxRepeatedIDs {
		x.twice[id] = 0
		return nil
	}
	return c.report("etf.duplicate-id", trace.Error, line, fmt.Sprintf("%s id %d twice", x.what, id),
		"each id once among the items of a kind")
}

// reportDuplicates reads the file again and reports every line that has the id of an earlier line. It needs
// this pass because events arrive in the order of time, and the sets of ids do not store lines.
func (c *checker) reportDuplicates(ctx context.Context) error {
	for _, k := range kindsWithIDs {
		if len(c.ids[k].twice) > 0 {
			return c.rereadLines(ctx)
		}
	}
	return nil
}

func (c *checker) rereadLines(ctx context.Context) error {
	src := c.d.File.Chunks(c.d.Chunks)
	for {
		b, err := lines.Next(src)
		if err = cmp.Or(err, ctx.Err()); err != nil || b == nil {
			return err
		}
		w := c.d.File.Walk(b)
		for l, number, ok := w.Next(); ok && err == nil; l, number, ok = w.Next() {
			err = c.reportRepeated(l, number)
		}
		b.Release()
		if err != nil {
			return err
		}
	}
}

// reportRepeated reports a line if an earlier line has the same id.
func (c *checker) reportRepeated(l []byte, number int64) error {
	k, i, _ := parseKeyword(l)
	if !slices.Contains(kindsWithIDs[:], k) || len(c.ids[k].twice) == 0 {
		return nil
	}
	x := c.ids[k]
	var r Record
	if _, p := r.parse(k, l, i); p.severity == trace.Error {
		return nil
	}
	first, twice := x.twice[r.ID]
	switch {
	case !twice:
		return nil
	case first == 0:
		x.twice[r.ID] = number
		return nil
	}
	bad := problem{"etf.duplicate-id", fmt.Sprintf("%s id %d twice", x.what, r.ID),
		fmt.Sprintf("each id once; line %d has the same id", first), trace.Error}
	return c.opt.Defect(bad.defect(c.d.File.Name, number, l))
}

// Batch checks the events of one location.
func (c *checker) Batch(b *trace.Batch) error {
	if c.d.Restore != nil {
		return nil
	}
	x := b.Cursor()
	for x.Next() {
		var err error
		k := x.Kind()
		if k == trace.ClaimBegin || k == trace.ClaimEnd {
			if u := c.useOf(uint32(x.Op(1))); u.time < x.Time() {
				err = c.settle(uint32(x.Op(1)), u)
			}
			if err != nil {
				return err
			}
		}
		switch k {
		case trace.ClaimBegin:
			err = c.checkClaimBegin(&x)
		case trace.ClaimEnd:
			c.useOf(uint32(x.Op(1))).end(int64(x.Op(0)), c.d.Model.Resources.At(uint32(x.Op(1))))
		case trace.Mark:
			err = c.add(E, int64(x.Op(0)), x.Pos())
		case trace.Fragment:
			err = c.checkFragment(&x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkClaimBegin checks the id of a claim that begins, and adds the claim to the use of its resource.
func (c *checker) checkClaimBegin(x *trace.Cursor) error {
	id, res := int64(x.Op(0)), uint32(x.Op(1))
	if err := c.add(C, id, x.Pos()); err != nil {
		return err
	}
	u := c.useOf(res)
	h := openClaim{id: id, amount: math.Float64frombits(x.Op(2)), pos: x.Pos()}
	if c.d.Model.Resources.At(res).UsesOffset && len(x.Ops()) > 3 {
		h.offset = math.Float64frombits(x.Op(3))
	}
	u.time = x.Time()
	u.begin(h)
	return nil
}

// useOf returns the state of a resource, which it creates if needed.
func (c *checker) useOf(res uint32) *resourceUse {
	if int64(res) >= int64(len(c.open)) {
		c.open = append(c.open, make([]*resourceUse, int(res)+1-len(c.open))...)
	}
	u := c.open[res]
	if u == nil {
		u = &resourceUse{open: map[int64]*openClaim{}}
		c.open[res] = u
	}
	return u
}

// settle checks the claims that began at the current time of a resource. It runs once all events of
// that time are known, because claims that end at that time do not overlap with these.
func (c *checker) settle(res uint32, u *resourceUse) error {
	if len(u.begun) == 0 {
		return nil
	}
	r := c.d.Model.Resources.At(res)
	at := trace.Place{Location: r.Location, HasLocation: true, Time: u.time, HasTime: true}
	pos := int64(0)
	for _, h := range u.begun {
		if h.ended {
			continue
		}
		pos = max(pos, h.pos)
		if r.UsesOffset {
			if o, n := u.places.overlaps(h); n > 0 {
				others := ""
				if n == 2 {
					others = ", nor another one"
				} else if n > 2 {
					others = fmt.Sprintf(", nor %d others", n-1)
				}
				if err := c.reportAt(at, "etf.offset-overlap", trace.Warning, h.pos,
					fmt.Sprintf("claim %d at offset %v with amount %v", h.id, h.offset, h.amount),
					fmt.Sprintf("a place that claim %d (offset %v, amount %v) does not hold%s", o.id, o.offset, o.amount,
						others)); err != nil {
					return err
				}
			}
			u.places.add(h)
		}
		u.count(h, r, 1)
	}
	clear(u.begun)
	u.begun = u.begun[:0]
	if pos == 0 {
		return nil // none of the claims has a duration
	}
	if sum := u.sum.sum; r.Capacity > 0 && u.excess == 0 && sum > r.Capacity*(1+1e-12) {
		return c.reportAt(at, "etf.overload", trace.Warning, pos,
			fmt.Sprintf("%v of resource %s held at %s s", sum, r.Label(), c.d.Model.Clock.FormatSeconds(u.time)),
			fmt.Sprintf("at most its capacity %v", r.Capacity))
	}
	return nil
}

// checkFragment checks that each fragment of a signal begins at the time at which the one before it ends. A
// difference below a relative error of 1e-9 is only a warning, because writers print decimals.
func (c *checker) checkFragment(x *trace.Cursor) error {
	end := int64(x.Op(0))
	last := c.curves[x.Ref()]
	c.curves[x.Ref()] = curveEnd{true, end, x.Pos()}
	if !last.any || last.end == x.Time() && last.pos < x.Pos() {
		return nil
	}
	clock := c.d.Model.Clock
	sec := func(t int64) string { return clock.FormatSeconds(t) + " s" }
	at := trace.Place{Location: x.Location(), HasLocation: true, Time: x.Time(), HasTime: true}
	if last.pos > x.Pos() {
		err := c.reportAt(at, "etf.fragment-order", trace.Error, last.pos,
			"a fragment that begins before the fragment of an earlier line", "fragments in time order")
		if err != nil || last.end == x.Time() {
			return err
		}
	}
	what := "gap"
	if x.Time() < last.end {
		what = "overlap"
	}
	sev, rule := trace.Error, "etf.fragment-"+what
	if d := math.Abs(float64(x.Time() - last.end)); d <= 1e-9*math.Max(math.Abs(float64(x.Time())),
		math.Abs(float64(last.end))) {
		sev, rule = trace.Warning, "etf.fragment-rounding"
	}
	return c.reportAt(at, rule, sev, x.Pos(), "start "+sec(x.Time()),
		"the end "+sec(last.end)+" of the fragment before it")
}

// Links checks that both ends of every dependency exist.
func (c *checker) Links(links []trace.Link) error {
	if c.d.Restore != nil {
		return nil
	}
	for i := range links {
		l := &links[i]
		if err := c.add(D, l.ID, l.Pos); err != nil {
			return err
		}
		for _, e := range [2]trace.End{l.Src, l.Dst} {
			if e.Location == trace.NoRef {
				what := "claim"
				if e.Kind == trace.AtEvent {
					what = "event"
				}
				if err := c.report("etf.unknown-reference", trace.Error, l.Pos, fmt.Sprintf("%s id %d", what, e.ID),
					"an id that the trace has"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
