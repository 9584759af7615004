package etf

import (
	"context"
	"fmt"
	"math"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/idset"
	"github.com/weft-trace/weft/trace"
)

// newChecker finds the defects that show only when lines are held against each
// other (docs/formats/etf.md, "Rules"): duplicate ids, unknown references,
// signals with gaps, resources held beyond their capacity. Memory: the open
// claims, and what sorting takes for each kind of id.
func newChecker(dec format.Decoder, _ format.Source, opt *format.ReadOptions) format.Checker {
	d := dec.(*decoder)
	return &checker{d: d, opt: opt, claims: idset.New(4 << 20), events: idset.New(4 << 20), deps: idset.New(4 << 20),
		open: map[uint32][]held{}, curves: map[uint32]curveEnd{}}
}

// Finish reports what shows only at the end.
func (c *checker) Finish(ctx context.Context) error {
	defer c.claims.Close()
	defer c.events.Close()
	defer c.deps.Close()
	if c.d.restore != nil {
		return nil
	}
	for _, s := range []struct {
		what string
		set  *idset.Set
	}{{"claim", c.claims}, {"event", c.events}, {"dependency", c.deps}} {
		if err := s.set.Finish(ctx, func(id, pos int64) error { return c.duplicate(s.what, id, pos) }); err != nil {
			return err
		}
	}
	for i := range c.d.model.Metrics.Len() {
		m := c.d.model.Metrics.At(i)
		if m.Kind == trace.SignalMetric && !c.curves[uint32(i)].any {
			if err := c.report("etf.empty-signal", trace.Error, 0, "signal "+m.ID+" without F lines", "at least one F line"); err != nil {
				return err
			}
		}
	}
	return nil
}

type checker struct {
	d                    *decoder
	opt                  *format.ReadOptions
	claims, events, deps *idset.Set
	open                 map[uint32][]held
	curves               map[uint32]curveEnd
}

type held struct {
	id             int64
	amount, offset float64
}

type curveEnd struct {
	any bool
	end int64
	pos int64
}

func (c *checker) report(rule string, sev trace.Severity, line int64, found, expected string) error {
	return c.opt.Defect(&trace.Defect{Rule: rule, Severity: sev, Position: trace.Position{File: c.d.file.Name, Line: line}, Found: found, Expected: expected})
}

func (c *checker) duplicate(what string, id, line int64) error {
	return c.report("etf.duplicate-id", trace.Error, line, fmt.Sprintf("%s id %d twice", what, id), "an id that is used once among the "+what+"s")
}

// Batch looks at the events of one location.
func (c *checker) Batch(b *trace.Batch) error {
	if c.d.restore != nil {
		return nil
	}
	for x := b.Cursor(); x.Next(); {
		var err error
		switch x.Kind() {
		case trace.ClaimBegin:
			err = c.claimBegin(&x)
		case trace.ClaimEnd:
			res, id := uint32(x.Op(1)), int64(x.Op(0))
			list := c.open[res]
			for i := range list {
				if list[i].id == id {
					list[i] = list[len(list)-1]
					c.open[res] = list[:len(list)-1]
					break
				}
			}
		case trace.Mark:
			var dup bool
			if dup, err = c.events.Add(int64(x.Op(0)), x.Pos()); dup {
				err = c.duplicate("event", int64(x.Op(0)), x.Pos())
			}
		case trace.Fragment:
			err = c.fragment(&x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) claimBegin(x *trace.Cursor) error {
	id, res := int64(x.Op(0)), uint32(x.Op(1))
	if dup, err := c.claims.Add(id, x.Pos()); err != nil {
		return err
	} else if dup {
		if err := c.duplicate("claim", id, x.Pos()); err != nil {
			return err
		}
	}
	r := c.d.model.Resources.At(int(res))
	h := held{id: id, amount: math.Float64frombits(x.Op(2))}
	sum := h.amount
	if r.UsesOffset && len(x.Ops()) > 3 {
		h.offset = math.Float64frombits(x.Op(3))
	}
	for _, o := range c.open[res] {
		sum += o.amount
		if r.UsesOffset && h.offset < o.offset+o.amount && o.offset < h.offset+h.amount {
			if err := c.report("etf.offset-overlap", trace.Warning, x.Pos(),
				fmt.Sprintf("claim %d at offset %v with amount %v", id, h.offset, h.amount),
				fmt.Sprintf("a place that claim %d (offset %v, amount %v) does not hold", o.id, o.offset, o.amount)); err != nil {
				return err
			}
		}
	}
	c.open[res] = append(c.open[res], h)
	if r.Capacity > 0 && sum > r.Capacity*(1+1e-12) && h.amount <= r.Capacity {
		return c.report("etf.overload", trace.Warning, x.Pos(), fmt.Sprintf("%v of resource %s held at once", sum, r.ID), fmt.Sprintf("at most its capacity %v", r.Capacity))
	}
	return nil
}

// fragment checks that fragments of a signal follow each other: exactly, or
// with a warning within a relative 1e-9, since writers print decimals.
func (c *checker) fragment(x *trace.Cursor) error {
	end := int64(x.Op(0))
	last := c.curves[x.Ref()]
	c.curves[x.Ref()] = curveEnd{true, end, x.Pos()}
	if !last.any || last.end == x.Time() && last.pos < x.Pos() {
		return nil
	}
	clock := c.d.model.Clock
	sec := func(t int64) string { return clock.FormatSeconds(t) + " s" }
	if last.pos > x.Pos() {
		return c.report("etf.fragment-order", trace.Error, x.Pos(), "a fragment that begins before the one ahead of it in the file", "fragments in time order")
	}
	what := "gap"
	if x.Time() < last.end {
		what = "overlap"
	}
	sev, rule := trace.Error, "etf.fragment-"+what
	if d := math.Abs(float64(x.Time() - last.end)); d <= 1e-9*math.Max(math.Abs(float64(x.Time())), math.Abs(float64(last.end))) {
		sev, rule = trace.Warning, "etf.fragment-rounding"
	}
	return c.report(rule, sev, x.Pos(), "start "+sec(x.Time()), "the end "+sec(last.end)+" of the fragment before it")
}

// Links checks that both ends of every dependency exist.
func (c *checker) Links(links []trace.Link) error {
	if c.d.restore != nil {
		return nil
	}
	for i := range links {
		l := &links[i]
		if dup, err := c.deps.Add(l.ID, l.Pos); err != nil {
			return err
		} else if dup {
			if err := c.duplicate("dependency", l.ID, l.Pos); err != nil {
				return err
			}
		}
		for _, e := range [2]trace.End{l.Src, l.Dst} {
			if e.Location == trace.NoRef {
				what := "claim"
				if e.Kind == trace.AtEvent {
					what = "event"
				}
				if err := c.report("etf.unknown-reference", trace.Error, l.Pos, fmt.Sprintf("%s id %d", what, e.ID), "the id of a "+what+" in the trace"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
