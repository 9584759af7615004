package etf

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
)

// Follow reads a text that grows. The text must not be of the dialect V0.1, and must not carry another format's
// trace.
func (Format) Follow(pieces iter.Seq2[[]byte, error], opt *format.FollowOptions) error {
	if err := about.CheckOptions(opt.Values); err != nil {
		return err
	}
	d := newDecoder(opt.ReadOptions, &lines.File{Name: opt.Name, Skipped: new(int64)}, func() error { return nil })
	if err := d.define(nil, false); err != nil {
		return err
	}
	d.Model.Native = nil
	return linetrace.Follow(&d.Text, &growing{decoder: d}, pieces, opt, func(s format.Sink) format.Sink { return s })
}

// growing reads a text that grows.
type growing struct {
	*decoder
	offset    int64 // of the O line, in milliseconds
	unitKnown bool  // there was a TU line
	timed     bool  // there was a line with a time
}

// Grow adds the definitions in the lines of a block. It ignores comments.
func (g *growing) Grow(b *lines.Block) (*linetrace.Times, error) {
	d := g.decoder
	r := d.scan(b)
	var defs []defLine
	for _, x := range r.defs {
		switch unit, isUnit := x.unit(); {
		case isLegacy(x.text):
			return nil, g.refuse(&x, "the dialect V0.1", "a trace that can be read line by line")
		case x.other:
			continue
		case bytes.Contains(x.text, []byte(carryPrefix)):
			return nil, g.refuse(&x, "the definitions of another format's trace", "a trace of TRACE itself")
		case isUnit && g.timed && !g.unitKnown && unit != d.unit:
			return nil, g.refuse(&x, "the time unit "+unit, "it ahead of all events, as the trace is not read as a whole")
		case isUnit && !g.unitKnown:
			d.unit, g.unitKnown = unit, true
		}
		defs = append(defs, x)
	}
	g.timed = g.timed || r.Any
	l, err := d.readDefinitions(defs)
	if err != nil {
		return nil, err
	}
	if l.offset != 0 {
		g.offset = l.offset
	}
	g.SetClock()
	return &r.Times, d.addDefinitions(l, r.events)
}

// refuse returns an error about a line that cannot be read while the text grows.
func (g *growing) refuse(x *defLine, found, expected string) error {
	return &format.FollowError{Text: fmt.Sprintf("%s:%d: found %s, expected %s", g.File.Name, x.line, found, expected)}
}

// SetClock sets the clock of the definitions to that of the lines.
func (g *growing) SetClock() {
	g.Clock = g.modelClock(g.offset)
	g.Model.Clock = g.Clock
}

// Finer multiplies the times of pending events by a factor.
func (a *assembler) Finer(factor int64) {
	for _, h := range a.open {
		for i := range h {
			h[i].time *= factor
		}
	}
}
