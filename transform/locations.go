package transform

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// FilterLocations drops the events at unwanted locations, except for messages and remote memory accesses
// whose other end is wanted: of these both ends stay. Links stay if both of their ends are at
// wanted locations. Memory does not grow with the trace.
func FilterLocations(d format.Events, wanted func(loc uint32) bool) format.Events {
	return transformed{&among{sameDefinitions{d}, wanted}}
}

type among struct {
	sameDefinitions
	wanted func(loc uint32) bool
}

func (a *among) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	return &amongScan{wanted: a.wanted, defs: a.Defs()}, sel, nil
}

// amongScan is one scan of Among.
type amongScan struct {
	passThrough
	wanted func(loc uint32) bool
	defs   *trace.Definitions
	gather rowCollector
}

func (s *amongScan) batch(b *trace.Batch, out format.Sink) error {
	if b.Loc != trace.MixedLoc && s.wanted(b.Loc) {
		return out.Batch(b)
	}
	s.gather.sink = out
	x := b.Cursor()
	for x.Next() {
		if !s.wanted(x.Location()) && !s.concerns(&x) {
			continue
		}
		if err := s.gather.row(&x, b); err != nil {
			return err
		}
	}
	return s.gather.flush()
}

// concerns reports whether a row at an unwanted location is part of a message or remote memory
// access of a wanted one, or may be: completions name no other end.
func (s *amongScan) concerns(x *trace.Cursor) bool {
	k := x.Kind()
	message := k >= trace.Send && k <= trace.RequestCancelled
	if access := k >= trace.RMAPut && k <= trace.RMACompleteRemote; !message && !access {
		return false
	}
	operands := s.defs.Spec(k).Operands
	for i, v := range x.Ops() {
		if i < len(operands) && operands[i].Type == trace.OpLocation && v != trace.Undefined {
			return v < uint64(s.defs.Locations.Len()) && s.wanted(uint32(v))
		}
	}
	return true
}

func (s *amongScan) links(l []trace.Link) []trace.Link {
	n := 0
	for i := range l {
		if s.wanted(l[i].Src.Location) && s.wanted(l[i].Dst.Location) {
			l[n] = l[i]
			n++
		}
	}
	return l[:n]
}
