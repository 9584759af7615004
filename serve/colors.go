package serve

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// colorMark stands in the id of a trace in other colours between that of the trace and the
// name of the attribute, which is escaped as in a path.
const colorMark = "~"

// Limits of colours.
const (
	maxColors    = 8    // of a trace at a time; another one takes the place of one not used for longest
	maxColorName = 1000 // bytes
)

// in is the trace in the colours of an attribute, of regions if that is "". It has an index
// of its own, and so is a trace of its own that no list shows.
func (e *entry) in(color string) (*entry, error) {
	if e.base != nil {
		return e.base.in(color)
	}
	if color == e.color {
		return e, nil
	}
	if len(color) > maxColorName {
		return nil, badRequest(fmt.Sprintf("color: found %d bytes, expected the name of an attribute", len(color)))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.colors[color]
	if x == nil {
		if e.state == stateReady && e.found.Attributes != nil && color != "" && !slices.Contains(e.found.Attributes, color) {
			return nil, notFound("visits and claims of " + e.path + " have no attribute " + quote(color))
		}
		if len(e.colors) >= maxColors && !e.dropColor() {
			return nil, unavailable("too many colours of " + e.path + " are being indexed")
		}
		x = &entry{s: e.s, id: e.id + colorMark + url.PathEscape(color), name: e.name, path: e.path, given: e.given, color: color, base: e, decoders: e.decoders, state: stateNew, format: e.format, bytes: e.bytes}
		x.given.Index = "" // that is of other colours
		if e.colors == nil {
			e.colors = map[string]*entry{}
		}
		e.colors[color] = x
	}
	x.used = time.Now()
	return x, nil
}

// dropColor forgets the colours that were not asked for for longest; e.mu is held. It
// reports whether there were any that are not being indexed.
func (e *entry) dropColor() bool {
	var oldest *entry
	for _, x := range e.colors {
		x.mu.Lock()
		busy := x.state == stateIndexing
		x.mu.Unlock()
		if !busy && (oldest == nil || x.used.Before(oldest.used)) {
			oldest = x
		}
	}
	if oldest == nil {
		return false
	}
	delete(e.colors, oldest.color)
	e.s.shelf.drop(oldest)
	return true
}

// reading says how the trace is read.
func (e *entry) reading() *Reading {
	r := e.s.opt.Reading
	r.Color = e.color
	return &r
}

// noting is a decoder that notes which attributes visits and claims begin with.
type noting struct {
	format.Decoder
	mu    sync.Mutex
	sinks []*notingSink
}

// decoder is the decoder to read from: it can try if the one inside can.
func (n *noting) decoder() format.Decoder {
	if t, ok := n.Decoder.(format.Trier); ok {
		return &notingTrier{n, t}
	}
	return n
}

// Prepare prepares the decoder inside.
func (n *noting) Prepare(ctx context.Context) error { return format.Prepare(ctx, n.Decoder) }

// Scan is that of the decoder inside.
func (n *noting) Scan(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) error {
	return n.Decoder.Scan(ctx, sel, n.around(sink))
}

func (n *noting) around(sink func(int) format.Sink) func(int) format.Sink {
	n.mu.Lock()
	n.sinks = nil // what others got is void
	n.mu.Unlock()
	return func(worker int) format.Sink {
		s := &notingSink{Sink: sink(worker)}
		n.mu.Lock()
		n.sinks = append(n.sinks, s)
		n.mu.Unlock()
		return s
	}
}

// names are those of the attributes, sorted.
func (n *noting) names() []string {
	defs, out := n.Defs(), []string{}
	for _, s := range n.sinks {
		for k, seen := range s.seen {
			if seen && k < defs.Attributes.Len() && defs.Attributes.At(k).Name != "" {
				out = append(out, defs.Attributes.At(k).Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type notingTrier struct {
	*noting
	trier format.Trier
}

// Try is that of the decoder inside.
func (n *notingTrier) Try(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) (bool, error) {
	return n.trier.Try(ctx, sel, n.around(sink))
}

type notingSink struct {
	format.Sink
	seen []bool // of each attribute
}

// Batch notes the attributes and hands the batch on.
func (s *notingSink) Batch(b *trace.Batch) error {
	for i, key := range b.AttrKey {
		if k := b.Kind[b.AttrRow[i]]; k != trace.Enter && k != trace.ClaimBegin {
			continue
		}
		for int(key) >= len(s.seen) {
			s.seen = append(s.seen, false)
		}
		s.seen[key] = true
	}
	return s.Sink.Batch(b)
}
