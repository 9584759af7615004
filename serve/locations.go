package serve

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// matrixRow holds the sums of the messages from one track to another. Latencies are in ticks; they are
// "" if no message was received.
type matrixRow struct {
	Source      int   `json:"source"`
	Destination int   `json:"destination"`
	Count       int64 `json:"count"`
	Bytes       int64 `json:"bytes"`
	// number of received messages; Min, Max and Sum are the minimum, maximum and sum of their latencies
	Matched int64  `json:"matched"`
	Min     string `json:"min"`
	Mean    mean   `json:"mean"`
	Max     string `json:"max"`
	Sum     string `json:"sum"`
}

// matrixAnswer is the communication matrix of a window. Tracks lists the tracks that send or receive,
// in ascending order.
type matrixAnswer struct {
	Rows   []matrixRow `json:"rows"`
	Tracks []int       `json:"tracks"`
}

// matrix computes the communication matrix of a window.
func matrix(e *entry, p *params) func(context.Context) (any, error) {
	from, to, _ := p.window()
	return func(ctx context.Context) (any, error) {
		x, err := e.open()
		if err != nil {
			return nil, err
		}
		defer x.release()
		cells, err := x.Matrix(ctx, from, to)
		if err != nil {
			return nil, err
		}
		a := matrixAnswer{[]matrixRow{}, []int{}}
		for _, c := range cells {
			if c.Count == 0 {
				continue // the message was sent before the window
			}
			r := matrixRow{c.Source, c.Destination, c.Count, c.Bytes, c.Matched, "", mean{c.Sum, c.Matched}, "", "0"}
			if c.Matched > 0 {
				r.Min, r.Max = strconv.FormatInt(c.Min, 10), strconv.FormatInt(c.Max, 10)
				r.Sum = c.Sum.String()
			}
			a.Rows = append(a.Rows, r)
			a.Tracks = append(a.Tracks, c.Source, c.Destination)
		}
		slices.Sort(a.Tracks)
		a.Tracks = slices.DeleteFunc(slices.Compact(a.Tracks), func(t int) bool { return t < 0 })
		return a, nil
	}
}

// shareFact is the exclusive time of a region on a track.
type shareFact struct {
	Region int `json:"region"`
	Ticks  sum `json:"ticks"`
}

// locationRow holds the activity of a location or resource in a window. Busy is the time in which at
// least one span was open, and Exclusive lists the regions with the most exclusive time.
type locationRow struct {
	Track int `json:"track"`
	// number of events in the whole trace; 0 except for the first track of a location
	Events        int64       `json:"events"`
	Spans         int64       `json:"spans"`
	Busy          ticks       `json:"busy"`
	Exclusive     []shareFact `json:"exclusive"`
	Sent          int64       `json:"sent"`
	Received      int64       `json:"received"`
	SentBytes     int64       `json:"sentBytes"`
	ReceivedBytes int64       `json:"receivedBytes"`
}

// topRegions is the largest number of regions that are listed for a location.
const topRegions = 8

// locations answers with the activity of all locations and resources in a window.
func locations(ctx context.Context, x *traceIndex, p *params) (any, error) {
	from, to, _ := p.window()
	if p.err != nil {
		return nil, p.err
	}
	cells, err := x.Matrix(ctx, from, to)
	if err != nil {
		return nil, err
	}
	rows := []locationRow{}
	at := map[int]int{}
	for _, kind := range []index.TrackKind{index.LocationTrack, index.ResourceTrack} {
		wanted := x.tracksOfKind(kind, nil)
		all, err := trackProfiles(ctx, x, wanted, from, to)
		if err != nil {
			return nil, err
		}
		for i, t := range wanted {
			at[t] = len(rows)
			rows = append(rows, x.activityRow(t, all[i]))
			if k := &x.tracks[t]; k.Kind == index.ResourceTrack && k.Depth > 1 {
				// If claims overlap, the sums would count time twice.
				busy, err := x.Busy(ctx, t, from, to)
				if err != nil {
					return nil, err
				}
				rows[len(rows)-1].Busy = ticks(busy)
			}
		}
	}
	// For the sender, a message belongs to the window in which it was sent. For the receiver, it belongs to
	// the window in which it was received.
	for _, c := range cells {
		if i, ok := at[c.Source]; ok {
			rows[i].Sent += c.Count
			rows[i].SentBytes += c.Bytes
		}
		if i, ok := at[c.Destination]; ok {
			rows[i].Received += c.Received
			rows[i].ReceivedBytes += c.ReceivedBytes
		}
	}
	slices.SortFunc(rows, func(a, b locationRow) int { return cmp.Compare(a.Track, b.Track) })
	return map[string][]locationRow{"rows": rows}, nil
}

// activityRow returns the row of a location or resource, without its numbers of messages.
func (v *traceView) activityRow(track int, sums []index.Sum) locationRow {
	t := &v.tracks[track]
	r := locationRow{Track: track, Events: t.Events, Exclusive: []shareFact{}}
	for _, s := range sums {
		r.Spans += s.Count
		// the sum of exclusive times is the busy time only if claims do not overlap
		r.Busy += ticks(s.Exclusive.Int64())
		if s.Exclusive.Cmp(trace.Ticks{}) > 0 {
			r.Exclusive = append(r.Exclusive, shareFact{jsonRef(s.Region), sum(s.Exclusive)})
		}
	}
	slices.SortStableFunc(r.Exclusive, func(a, b shareFact) int { return trace.Ticks(b.Ticks).Cmp(trace.Ticks(a.Ticks)) })
	r.Exclusive = r.Exclusive[:min(len(r.Exclusive), topRegions)]
	return r
}
