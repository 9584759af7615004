package etf

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
)

// Follow reads a file that another program is still writing. The file must not have the dialect V0.1,
// and must not carry another format's trace.
func (Format) Follow(pieces iter.Seq2[[]byte, error], opt *format.FollowOptions) error {
	if err := about.CheckOptions(opt.Values); err != nil {
		return err
	}
	d := newDecoder(opt.ReadOptions, &lines.File{Name: opt.Name, Skipped: new(int64)}, func() error { return nil })
	if err := d.define(nil, false); err != nil {
		return err
	}
	d.Model.Native = nil
	return linetrace.Follow(&d.Text, &growingReader{decoder: d}, pieces, opt, func(s format.Sink) format.Sink { return s })
}

// growingReader reads a file that another program is still writing.
type growingReader struct {
	*decoder
	offset    int64 // offset of the O line, in milliseconds
	unitKnown bool  // a TU line has been read
	timed     bool  // a line with a time has been read
}

// Grow adds the definitions of a block's lines. It ignores comments.
func (g *growingReader) Grow(b *lines.Block) (*linetrace.Times, error) {
	d := g.decoder
	r := d.scan(b)
	var defs []defLine
	for _, x := range r.defs {
		switch unit, isUnit := x.unit(); {
		case isLegacy(x.text):
			return nil, g.lineError(&x, "the dialect V0.1", "a trace that can be read line by line")
		case x.other:
			continue
		case bytes.Contains(x.text, []byte(carryPrefix)):
			return nil, g.lineError(&x, "definitions of another format", "a trace that was not converted")
		case isUnit && g.timed && !g.unitKnown && unit != d.unit:
			return nil, g.lineError(&x, "the time unit "+unit, "the time unit before all events")
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

// lineError returns an error about a line that cannot be used in a file that is still being written.
func (g *growingReader) lineError(x *defLine, found, expected string) error {
	return &format.FollowError{Text: fmt.Sprintf("%s:%d: found %s, expected %s", g.File.Name, x.line, found, expected)}
}

// SetClock updates the clock of the definitions to the tick found so far.
func (g *growingReader) SetClock() {
	g.Clock = g.modelClock(g.offset)
	g.Model.Clock = g.Clock
}

// ScaleTimes multiplies the times of pending events by a factor, when later lines have shorter ticks.
func (a *assembler) ScaleTimes(factor int64) {
	for _, h := range a.open {
		for i := range h {
			h[i].time *= factor
		}
	}
}
