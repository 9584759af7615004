// Package testtrace builds small traces for the tests of the analyses.
package testtrace

import (
	"math"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// Row is an event of a test trace with the operands of its kind.
type Row struct {
	Loc  uint32
	Time int64
	Kind trace.Kind
	Ref  uint32
	Ops  []uint64
	// Key and Value are the name and text of an attribute, if Key is not empty.
	Key, Value string
}

// Defs returns definitions with the given numbers of locations, regions and resources. A second has
// 1000 ticks. Regions have the names A, B and so on. All other definitions have their index as
// name.
func Defs(locations, regions, resources int) *trace.Definitions {
	d := &trace.Definitions{Clock: trace.TicksPerSecond(1000)}
	for i := range locations {
		d.Locations.Add(trace.Location{ID: strconv.Itoa(i), Kind: trace.ProcessLocation, Group: trace.NoRef})
	}
	for i := range regions {
		d.Regions.Add(trace.Region{ID: strconv.Itoa(i), Name: string(rune('A' + i%26))})
	}
	for i := range resources {
		d.Resources.Add(trace.Resource{ID: strconv.Itoa(i), Capacity: 1})
	}
	return d
}

// Mixed returns one batch with all rows, in the given order.
func Mixed(d *trace.Definitions, rows []Row) *trace.Batch {
	b := &trace.Batch{}
	b.Reset(trace.MixedLoc)
	for _, r := range rows {
		add(d, b, r)
	}
	return b
}

// PerLocation returns one batch per location, each with its rows in the given order.
func PerLocation(d *trace.Definitions, rows []Row) []*trace.Batch {
	out := make([]*trace.Batch, d.Locations.Len())
	for i := range out {
		out[i] = &trace.Batch{}
		out[i].Reset(uint32(i))
	}
	for _, r := range rows {
		add(d, out[r.Loc], r)
	}
	return out
}

// add appends a row to a batch.
func add(d *trace.Definitions, b *trace.Batch, r Row) {
	b.Add(r.Loc, r.Time, r.Kind, r.Ref)
	if len(r.Ops) > 0 {
		b.AddOps(r.Ops...)
	}
	if r.Key == "" {
		return
	}
	key := -1
	for i, a := range d.Attributes.All() {
		if a.Name == r.Key {
			key = i
		}
	}
	if key < 0 {
		key = int(d.Attributes.Add(trace.AttributeDef{Name: r.Key, Type: trace.String}))
	}
	b.AddAttr(uint32(key), trace.StringValue(r.Value))
}

// Begin returns the begin of a claim.
func Begin(loc uint32, t, id int64, region, resource uint32, amount float64) Row {
	return Row{Loc: loc, Time: t, Kind: trace.ClaimBegin, Ref: region,
		Ops: []uint64{uint64(id), uint64(resource), math.Float64bits(amount)}}
}

// End returns the end of the claim with the given id.
func End(loc uint32, t, id int64) Row {
	return Row{Loc: loc, Time: t, Kind: trace.ClaimEnd, Ops: []uint64{uint64(id)}}
}

// Enter returns an enter of a region.
func Enter(loc uint32, t int64, region uint32) Row {
	return Row{Loc: loc, Time: t, Kind: trace.Enter, Ref: region}
}

// Leave returns a leave of a region.
func Leave(loc uint32, t int64, region uint32) Row {
	return Row{Loc: loc, Time: t, Kind: trace.Leave, Ref: region}
}

// Send returns the event of sending a message of size bytes to the location with index to.
func Send(loc uint32, t int64, to uint64, tag, size int64) Row {
	return Row{Loc: loc, Time: t, Kind: trace.Send, Ref: trace.NoRef,
		Ops: []uint64{to, trace.Undefined, uint64(tag), uint64(size)}}
}

// Recv returns a receive of a message.
func Recv(loc uint32, t int64, from uint64, tag, size int64) Row {
	return Row{Loc: loc, Time: t, Kind: trace.Recv, Ref: trace.NoRef,
		Ops: []uint64{from, trace.Undefined, uint64(tag), uint64(size)}}
}

// Orders returns all orders of three ranks.
func Orders() [][3]uint32 {
	return [][3]uint32{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
}

// Chain returns a trace of three ranks a, b and c. a computes for 100 and sends a message to b, which waits for it from
// 60 to 100. Then b sends one to c, which waits from 50 to 100. Each send takes 10, and all ranks end at 200.
func Chain(ranks [3]uint32) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	for range ranks {
		r.Thread("0", r.Process("p", r.Machine("m")))
	}
	a, b, c := ranks[0], ranks[1], ranks[2]
	main, send, receive := r.Region("main"), r.Region("MPI_Send"), r.Region("MPI_Recv")
	for _, loc := range ranks {
		r.Enter(loc, 0, main)
	}
	for _, x := range []struct {
		from, to uint32
		begin    int64
	}{{a, b, 60}, {b, c, 50}} {
		r.Enter(x.to, x.begin, receive)
		r.Recv(x.to, 100, x.from, 0, 8)
		r.Leave(x.to, 100, receive)
		r.Enter(x.from, 100, send)
		r.Send(x.from, 100, x.to, 0, 8)
		r.Leave(x.from, 110, send)
	}
	for _, loc := range ranks {
		r.Leave(loc, 200, main)
	}
	return r
}
