package waits_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// deviceTrace is a trace of processes with streams of devices.
type deviceTrace struct{ *trace.Recorder }

// newDeviceTrace returns a trace in which each process has a thread and then a stream. If apart is set, the streams are
// those of a group for devices.
func newDeviceTrace(processes int, apart bool) *deviceTrace {
	x := &deviceTrace{trace.NewRecorder(trace.Seconds(1e6))}
	machine := x.Machine("machine")
	for i := range processes {
		group := x.Process(fmt.Sprint("process ", i), machine)
		x.Thread("thread", group)
		if apart {
			group = x.Defs().Groups.Add(trace.LocationGroup{ID: fmt.Sprint("device ", i), Kind: "accelerator", Parent: machine})
		}
		x.stream(group)
	}
	return x
}

func (d *deviceTrace) stream(group uint32) uint32 {
	loc := d.Thread("stream", group)
	d.Defs().Locations.At(loc).Kind = trace.StreamLocation
	return loc
}

func (d *deviceTrace) visit(loc uint32, region string, enter, leave int64) {
	d.Enter(loc, enter, d.Region(region))
	d.Leave(loc, leave, d.Region(region))
}

func (d *deviceTrace) sync(loc uint32, enter, leave int64) {
	d.visit(loc, "cudaDeviceSynchronize", enter, leave)
}

// TestDevices checks waits for devices. The comments have the calculations.
func TestDevices(t *testing.T) {
	for _, test := range []struct {
		name      string
		processes int
		apart     bool
		events    func(x *deviceTrace)
		want      []string
		unjudged  int64
	}{
		// The kernel ends at 60: 60 - 30. The next one ends at 100 with the call: 100 - 80. The third ends after the
		// call, and before the last call, which begins at 140.
		{"one stream", 1, false, func(x *deviceTrace) {
			x.sync(0, 30, 65)
			x.sync(0, 80, 100)
			x.sync(0, 110, 120)
			x.sync(0, 140, 150)
			x.visit(1, "kernel", 20, 60)
			x.visit(1, "kernel", 70, 100)
			x.visit(1, "kernel", 105, 130)
		}, []string{"wait-for-device at 0 from 30 for 30, cause 1", "wait-for-device at 0 from 80 for 20, cause 1"}, 0},
		// The streams of process 0 are idle from 50 and 55 on. That of process 1 works until 40, when its thread has
		// waited since 25.
		{"streams and processes", 2, false, func(x *deviceTrace) {
			second := x.stream(x.Defs().Locations.At(0).Group)
			x.sync(0, 10, 60)
			x.visit(1, "kernel", 5, 50)
			x.visit(second, "kernel", 6, 55)
			x.sync(2, 25, 60)
			x.visit(3, "kernel", 10, 40)
		}, []string{"wait-for-device at 0 from 10 for 45, cause 4", "wait-for-device at 2 from 25 for 15, cause 3"}, 0},
		// A device that the trace lists apart belongs to the only process, and to nobody if there are two.
		{"device apart", 1, true, func(x *deviceTrace) {
			x.sync(0, 10, 60)
			x.visit(1, "kernel", 5, 50)
		}, []string{"wait-for-device at 0 from 10 for 40, cause 1"}, 0},
		{"devices apart", 2, true, func(x *deviceTrace) {
			x.sync(0, 10, 60)
			x.visit(1, "kernel", 5, 50)
		}, nil, 1},
		// The call of the driver in that of the runtime waits for the same kernel: 50 - 10.
		{"nested", 1, false, func(x *deviceTrace) {
			x.Enter(0, 10, x.Region("cudaDeviceSynchronize"))
			x.visit(0, "cuCtxSynchronize", 12, 58)
			x.Leave(0, 60, x.Region("cudaDeviceSynchronize"))
			x.visit(1, "kernel", 5, 50)
		}, []string{"wait-for-device at 0 from 10 for 40, cause 1"}, 0},
	} {
		x := newDeviceTrace(test.processes, test.apart)
		test.events(x)
		r := find(t, format.Recorded(x.Recorder), waits.Options{Worst: 10})
		var found []string
		for _, p := range r.Patterns {
			for _, w := range p.Worst {
				found = append(found, fmt.Sprintf("%s at %d from %d for %d, cause %d", p.Pattern, w.Location, w.Begin, w.Time,
					w.Cause))
			}
		}
		unjudged := int64(0)
		for _, u := range r.Unjudged {
			unjudged += u.Count
		}
		slices.Sort(found)
		if !slices.Equal(found, test.want) || unjudged != test.unjudged {
			t.Errorf("%s: found %q, %d, expected %q, %d", test.name, found, unjudged, test.want, test.unjudged)
		}
	}
}

// TestCausesOfDevices checks the costs of waits for a device. The first wait, from 30 to 60: the stream has been idle
// for 20 and in the kernel for 40, the thread in main: 60, of which the wait is 30: 10 and 20. The second wait, from
// 80 to 100: since 60 the stream has been idle for 10 and in the kernel for 30: 5 and 15. The critical path stays at
// the thread, as nothing tells where the kernels come from.
func TestCausesOfDevices(t *testing.T) {
	x := newDeviceTrace(1, false)
	x.Enter(0, 0, x.Region("main"))
	x.sync(0, 30, 65)
	x.sync(0, 80, 110)
	x.Leave(0, 120, x.Region("main"))
	x.visit(1, "kernel", 20, 60)
	x.visit(1, "kernel", 70, 100)
	c, err := causes.Find(context.Background(), format.Recorded(x.Recorder), causes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string]float64{}
	for _, p := range c.Patterns {
		for _, k := range p.Costs {
			costs[fmt.Sprint(p.Pattern, " ", k.Path, " ", k.Location)] += k.ShortTerm + k.LongTerm
		}
	}
	want := map[string]float64{"wait-for-device [kernel] 1": 35, "wait-for-device [] 1": 15}
	for k, v := range want {
		if math.Abs(costs[k]-v) > 1e-9 || len(costs) != len(want) {
			t.Errorf("found %v, expected %v", costs, want)
			break
		}
	}
	p, err := criticalpath.Find(context.Background(), format.Recorded(x.Recorder), criticalpath.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Begin != 0 || p.End != 120 || len(p.Locations) != 1 || p.Locations[0].Location != 0 {
		t.Errorf("found the path %d to %d at %+v, expected 0 to 120 at location 0", p.Begin, p.End, p.Locations)
	}
}

// simulateDevices returns the trace of a random program whose processes use streams of devices.
func simulateDevices(seed uint64) *trace.Recorder {
	r := rand.New(rand.NewPCG(seed, 8))
	n := 1 + r.IntN(3)
	x := newDeviceTrace(n, n == 1 && seed%2 == 0)
	for i := range n {
		host := uint32(2 * i)
		t, free := r.Int64N(50), int64(0)
		x.Enter(host, t, x.Region("main"))
		for range 5 + r.IntN(60) {
			t += r.Int64N(40)
			switch r.IntN(4) {
			case 0:
				x.visit(host, "work", t, t+r.Int64N(100))
			case 1:
				enter := t
				t = max(t, free) + r.Int64N(5)
				x.sync(host, enter, t)
				continue
			default:
				x.visit(host, "cudaLaunchKernel", t, t+3)
				begin := max(free, t+r.Int64N(10))
				free = begin + r.Int64N(200)
				x.visit(host+1, fmt.Sprint("kernel ", r.IntN(3)), begin, free)
			}
			t += 100
		}
		x.Leave(host, max(t, free)+10, x.Region("main"))
	}
	return x.Recorder
}
