// Package check finds what is wrong with a trace, whatever its format: events
// that contradict each other. What only one format's records show, its own
// checker finds (format.Checker); what a text or file gets wrong, its reader.
package check

import (
	"context"
	"fmt"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Rules are the rules of this package.
var Rules = []format.Rule{
	{ID: "trace.leave-without-enter", Severity: trace.Warning, Doc: "A region is left that is not open at its location."},
	{ID: "trace.enter-without-leave", Severity: trace.Warning, Doc: "A region is entered and never left; the run may have died."},
	{ID: "trace.claim-end-without-begin", Severity: trace.Error, Doc: "A claim ends that has not begun."},
	{ID: "trace.claim-without-end", Severity: trace.Warning, Doc: "A claim begins and never ends."},
	{ID: "trace.time-order", Severity: trace.Error, Doc: "An event of a location lies before the event ahead of it."},
}

// Checker checks the events of one scan, location by location. It holds 64
// bytes for each region and claim that is open.
type Checker struct {
	opt  *format.ReadOptions
	defs *trace.Definitions
	path string
	locs []*state
}

type state struct {
	any    bool
	last   int64
	open   []entry           // open regions, innermost last
	claims map[int64]openRow // open claims
}

type openRow struct{ time, pos int64 }

type entry struct {
	ref uint32
	openRow
}

// New makes a checker that reports to opt. path names the trace in messages.
func New(d *trace.Definitions, path string, opt *format.ReadOptions) *Checker {
	return &Checker{opt: opt, defs: d, path: path}
}

func (c *Checker) report(rule string, loc uint32, pos int64, record, found, expected string) error {
	sev := trace.Warning
	for _, r := range Rules {
		if r.ID == rule {
			sev = r.Severity
		}
	}
	return c.opt.Defect(&trace.Defect{Rule: rule, Severity: sev, Position: trace.Position{File: c.path, Line: pos},
		Record: "location " + c.defs.Locations.At(int(loc)).ID + record, Found: found, Expected: expected})
}

func (c *Checker) region(ref uint32) string {
	if ref == trace.NoRef {
		return "(none)"
	}
	return c.defs.Regions.At(int(ref)).Name
}

func (c *Checker) seconds(t int64) string { return c.defs.Clock.FormatSeconds(t) + " s" }

// Batch checks the rows of a batch.
func (c *Checker) Batch(b *trace.Batch) error {
	for x := b.Cursor(); x.Next(); {
		loc := x.Location()
		for int(loc) >= len(c.locs) {
			c.locs = append(c.locs, nil)
		}
		s := c.locs[loc]
		if s == nil {
			s = &state{}
			c.locs[loc] = s
		}
		t := x.Time()
		var err error
		if s.any && t < s.last {
			err = c.report("trace.time-order", loc, x.Pos(), "", c.seconds(t), "a time not before "+c.seconds(s.last))
		}
		s.any, s.last = true, t
		if err != nil {
			return err
		}
		switch x.Kind() {
		case trace.Enter:
			s.open = append(s.open, entry{x.Ref(), openRow{t, x.Pos()}})
		case trace.Leave:
			i := len(s.open) - 1
			for i >= 0 && s.open[i].ref != x.Ref() {
				i--
			}
			if i < 0 {
				err = c.report("trace.leave-without-enter", loc, x.Pos(), "", "leave of "+c.region(x.Ref())+" at "+c.seconds(t), "an enter before it")
				break
			}
			s.open = append(s.open[:i], s.open[i+1:]...)
		case trace.ClaimBegin:
			if s.claims == nil {
				s.claims = map[int64]openRow{}
			}
			s.claims[int64(x.Op(0))] = openRow{t, x.Pos()}
		case trace.ClaimEnd:
			id := int64(x.Op(0))
			if _, ok := s.claims[id]; !ok {
				err = c.report("trace.claim-end-without-begin", loc, x.Pos(), "", fmt.Sprintf("end of claim %d", id), "its begin before it")
				break
			}
			delete(s.claims, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Links has nothing to check: readers report ends that do not exist.
func (c *Checker) Links([]trace.Link) error { return nil }

// Finish reports what is still open.
func (c *Checker) Finish(context.Context) error {
	for loc, s := range c.locs {
		if s == nil {
			continue
		}
		for _, e := range s.open {
			if err := c.report("trace.enter-without-leave", uint32(loc), e.pos, "", "enter of "+c.region(e.ref)+" at "+c.seconds(e.time), "a leave after it"); err != nil {
				return err
			}
		}
		for id, e := range s.claims {
			if err := c.report("trace.claim-without-end", uint32(loc), e.pos, "", fmt.Sprintf("claim %d from %s", id, c.seconds(e.time)), "its end"); err != nil {
				return err
			}
		}
	}
	return nil
}
