package otf

import (
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
)

// maxStatisticsBytes is the maximum size of statistics that are read from their beginning. If the definitions
// list the times of the statistics, only the last statistics are read.
const maxStatisticsBytes = 64 << 20

// Preview adds up the last statistics of each process. It reads only statistics.
func (d *decoder) Preview(ctx context.Context) (*format.Preview, error) {
	size, err := d.r.size(Statistics)
	if err != nil || size == 0 {
		return nil, err
	}
	points, err := d.summaryPoints(ctx)
	if err != nil {
		return nil, err
	}
	// otfaux may not have written statistics at the last sample point.
	for back := 1; back <= len(points); back *= 2 {
		p, err := d.lastSums(ctx, points[len(points)-back])
		if p != nil || err != nil {
			return p, err
		}
	}
	if size > maxStatisticsBytes {
		return nil, nil
	}
	return d.lastSums(ctx, 0)
}

// summaryPoints returns the times of statistics that the definitions list, ascending.
func (d *decoder) summaryPoints(ctx context.Context) (points []uint64, err error) {
	err = d.r.eachDefinition(ctx, func(r *Record) {
		if r.Stream == 0 && r.Type == DefAuxSamplePoint && r.Kind == summaryPoint {
			points = append(points, r.SampleTime)
		}
	})
	slices.Sort(points)
	return points, err
}

// lastSums adds up the last statistics of each process at or after time from. It returns nil if these
// statistics contain no function.
func (d *decoder) lastSums(ctx context.Context, from uint64) (*format.Preview, error) {
	type place struct {
		stream  uint32
		process uint64
	}
	type sums struct {
		time      uint64
		functions map[uint64]callSum
		// all holds the sums of the records that cover all peers. peers holds the sums over the records for
		// single peers.
		all, peers transferSum
	}
	last := map[place]*sums{}
	r := d.r.withoutReport()
	r.opt.From = from
	for r, err := range r.records(ctx, Statistics) {
		if err != nil {
			return nil, err
		}
		if r.Type != FunctionSummary && r.Type != MessageSummary {
			continue
		}
		k := place{r.Stream, r.Process}
		s := last[k]
		if s == nil || s.time != r.Time {
			s = &sums{time: r.Time, functions: map[uint64]callSum{}}
			last[k] = s
		}
		if r.Type == FunctionSummary {
			s.functions[r.Function] = callSum{r.Count, r.Exclusive, wideSum{lo: r.Inclusive}}
			continue
		}
		m := &s.peers
		if r.Peer|r.Communicator|r.Tag == 0 {
			m = &s.all
		}
		m.sentCount += r.SentCount
		m.receivedCount += r.ReceivedCount
	}
	p := &format.Preview{To: math.MaxInt64}
	scale := max(1, d.clock.scale)
	regions, locations := map[uint32]*format.RegionSums{}, map[uint32]*format.LocationSums{}
	for k, s := range last {
		loc, ok := d.locations[k.process]
		if !ok {
			continue
		}
		l := locations[loc]
		if l == nil {
			l = &format.LocationSums{Location: loc}
			locations[loc] = l
		}
		p.To = min(p.To, d.clock.toModel(s.time))
		l.Sent = addSaturated(l.Sent, max(s.all.sentCount, s.peers.sentCount))
		l.Received = addSaturated(l.Received, max(s.all.receivedCount, s.peers.receivedCount))
		for token, f := range s.functions {
			l.Count = addSaturated(l.Count, f.count)
			i, ok := d.find(functions, k.stream, token)
			if !ok {
				continue
			}
			x := regions[i]
			if x == nil {
				x = &format.RegionSums{Region: i}
				regions[i] = x
			}
			x.Count = addSaturated(x.Count, f.count)
			x.Inclusive = addSaturated(x.Inclusive, f.inclusive.lo/scale)
			x.Exclusive = addSaturated(x.Exclusive, f.exclusive/scale)
		}
	}
	if len(regions) == 0 {
		return nil, nil
	}
	for i := range d.defs.Regions.Len() {
		if x := regions[uint32(i)]; x != nil {
			p.Regions = append(p.Regions, *x)
		}
	}
	for i := range d.defs.Locations.Len() {
		if x := locations[uint32(i)]; x != nil {
			p.Locations = append(p.Locations, *x)
		}
	}
	return p, nil
}

// addSaturated adds n to sum. The result is limited to the greatest int64.
func addSaturated(sum int64, n uint64) int64 {
	if n > uint64(math.MaxInt64-sum) {
		return math.MaxInt64
	}
	return sum + int64(n)
}
