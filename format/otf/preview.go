package otf

import (
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
)

// mostStatistics is how large statistics are, at most, that are read from their begin: of
// those whose times are defined the last ones are all that is read.
const mostStatistics = 64 << 20

// Preview adds up the last statistics of each process. It reads them alone.
func (d *decoder) Preview(ctx context.Context) (*format.Preview, error) {
	size, err := d.r.size(Statistics)
	if err != nil || size == 0 {
		return nil, err
	}
	points, err := d.summaryPoints(ctx)
	if err != nil {
		return nil, err
	}
	// otfaux may have no statistics at the last point.
	for back := 1; back <= len(points); back *= 2 {
		p, err := d.lastSums(ctx, points[len(points)-back])
		if p != nil || err != nil {
			return p, err
		}
	}
	if size > mostStatistics {
		return nil, nil
	}
	return d.lastSums(ctx, 0)
}

// summaryPoints are the times that the definitions have of statistics.
func (d *decoder) summaryPoints(ctx context.Context) (points []uint64, err error) {
	err = d.r.definitions(ctx, func(r *Record) {
		if r.Stream == 0 && r.Type == DefAuxSamplePoint && r.Kind == summaryPoint {
			points = append(points, r.SampleTime)
		}
	})
	slices.Sort(points)
	return points, err
}

// lastSums adds up what the statistics from a time on have last of each process; nil if they
// tell of no function.
func (d *decoder) lastSums(ctx context.Context, from uint64) (*format.Preview, error) {
	type place struct {
		stream  uint32
		process uint64
	}
	type sums struct {
		time       uint64
		functions  map[uint64]callSum
		all, peers transferSum // over all peers, and of each
	}
	last := map[place]*sums{}
	r := d.r.quiet()
	r.opt.From = from
	c, err := r.Cursor(ctx, Statistics)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for c.Next() {
		r := c.Record()
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
			s.functions[r.Function] = callSum{count: r.Count, exclusive: r.Exclusive, inclusive: r.Inclusive}
			continue
		}
		m := &s.peers
		if r.Peer|r.Communicator|r.Tag == 0 {
			m = &s.all
		}
		m.sentCount += r.SentCount
		m.receivedCount += r.ReceivedCount
	}
	if c.Err() != nil {
		return nil, c.Err()
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
		p.To = min(p.To, d.clock.model(s.time))
		l.Sent = plus(l.Sent, max(s.all.sentCount, s.peers.sentCount))
		l.Received = plus(l.Received, max(s.all.receivedCount, s.peers.receivedCount))
		for token, f := range s.functions {
			l.Count = plus(l.Count, f.count)
			i, ok := d.find(functions, k.stream, token)
			if !ok {
				continue
			}
			x := regions[i]
			if x == nil {
				x = &format.RegionSums{Region: i}
				regions[i] = x
			}
			x.Count = plus(x.Count, f.count)
			x.Inclusive = plus(x.Inclusive, f.inclusive/scale)
			x.Exclusive = plus(x.Exclusive, f.exclusive/scale)
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

// plus adds a number of the file, and stays within what fits.
func plus(sum int64, n uint64) int64 {
	if n > uint64(math.MaxInt64-sum) {
		return math.MaxInt64
	}
	return sum + int64(n)
}
