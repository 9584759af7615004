package transform

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// FilterLocations drops the events at locations for which wanted returns false. It keeps both ends of a
// message or remote memory access if one end is at a wanted location. It also keeps all non-blocking receives,
// since the order in which a location posts them determines which messages they receive. Links stay if both of
// their ends are at wanted locations. The memory that it needs does not grow with the trace.
func FilterLocations(d format.Events, wanted func(loc uint32) bool) format.Events {
	return transformed{&locationFilter{sameDefinitions{d}, wanted}}
}

// locationFilter is a trace after [FilterLocations].
type locationFilter struct {
	sameDefinitions
	wanted func(loc uint32) bool
}

func (l *locationFilter) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	return l.stage(), sel, nil
}

func (l *locationFilter) beginLocal(sel trace.Selection) (func() stage, trace.Selection) {
	return l.stage, sel
}

// stage returns the stage of a scan.
func (l *locationFilter) stage() stage { return &locationScan{wanted: l.wanted, defs: l.Defs()} }

// locationScan is one scan of a locationFilter.
type locationScan struct {
	passThrough
	wanted func(loc uint32) bool
	defs   *trace.Definitions
	gather rowCollector
}

func (s *locationScan) processBatch(b *trace.Batch, out format.Sink) error {
	if b.Loc != trace.MixedLoc && s.wanted(b.Loc) {
		return out.Batch(b)
	}
	s.gather.sink = out
	x := b.Cursor()
	for x.Next() {
		if !s.wanted(x.Location()) && !s.concernsWanted(&x) {
			continue
		}
		if err := s.gather.addRow(&x, b); err != nil {
			return err
		}
	}
	return s.gather.flush()
}

// concernsWanted reports whether a row at an unwanted location belongs to a message or remote memory
// access whose other end is at a wanted location. It also returns true for completions of sends and
// accesses, whose other end is unknown, and for non-blocking receives.
func (s *locationScan) concernsWanted(x *trace.Cursor) bool {
	k := x.Kind()
	message := k >= trace.Send && k <= trace.RequestCancelled
	if access := k >= trace.RMAPut && k <= trace.RMACompleteRemote; !message && !access {
		return false
	}
	if k == trace.RecvComplete {
		return true
	}
	operands := s.defs.Spec(k).Operands
	for i, v := range x.Ops() {
		if i < len(operands) && operands[i].Type == trace.OpLocation && v != trace.Undefined {
			return v < uint64(s.defs.Locations.Len()) && s.wanted(uint32(v))
		}
	}
	return true
}

func (s *locationScan) links(l []trace.Link) []trace.Link {
	n := 0
	for i := range l {
		if s.wanted(l[i].Src.Location) && s.wanted(l[i].Dst.Location) {
			l[n] = l[i]
			n++
		}
	}
	return l[:n]
}
