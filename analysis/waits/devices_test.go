package waits_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// deviceTrace is a trace of processes with streams of devices.
type deviceTrace struct{ *trace.Recorder }

// newDeviceTrace returns a trace in which each process has one thread, followed by one stream. If apart
// is set, each stream belongs to a separate group of the kind accelerator.
func newDeviceTrace(processes int, apart bool) *deviceTrace {
	x := &deviceTrace{trace.NewRecorder(trace.TicksPerSecond(1e6))}
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

// launch visits a call that launches work and takes 2 ticks. If stream is not trace.NoRef, an attribute
// of the call names that stream.
func (d *deviceTrace) launch(loc uint32, region string, enter int64, stream uint32) {
	d.visitFor(loc, region, enter, enter+2, stream)
}

// visitFor visits a call of which an attribute names a stream, unless the stream is trace.NoRef.
func (d *deviceTrace) visitFor(loc uint32, region string, enter, leave int64, stream uint32) {
	var attrs []trace.Attr
	if stream != trace.NoRef {
		attrs = append(attrs, trace.Attr{Key: "CUDA_STREAM_REF",
			Value: trace.Value{Type: trace.LocationRef, Num: uint64(stream)}})
	}
	d.Enter(loc, enter, d.Region(region), attrs...)
	d.Leave(loc, leave, d.Region(region))
}

// TestDevices checks waits for devices. The comments give the calculation of each wait.
func TestDevices(t *testing.T) {
	for _, test := range []struct {
		name      string
		processes int
		apart     bool
		events    func(x *deviceTrace)
		want      []string
		unjudged  int64
	}{
		// The first kernel ends at 60, so that the wait is 60 - 30. The second kernel ends at 100
		// together with the call: 100 - 80. The third kernel ends between two calls, so that nothing
		// waits for it.
		{"one stream", 1, false, func(x *deviceTrace) {
			x.sync(0, 30, 65)
			x.sync(0, 80, 100)
			x.sync(0, 110, 120)
			x.sync(0, 140, 150)
			x.visit(1, "kernel", 20, 60)
			x.visit(1, "kernel", 70, 100)
			x.visit(1, "kernel", 105, 130)
		}, []string{"wait-for-device at 0 from 30 for 30, cause 1", "wait-for-device at 0 from 80 for 20, cause 1"}, 0},
		// The streams of process 0 are idle from 50 and from 55 on. The stream of process 1 works until
		// 40; its thread waits for it since 25.
		{"streams and processes", 2, false, func(x *deviceTrace) {
			second := x.stream(x.Defs().Locations.At(0).Group)
			x.sync(0, 10, 60)
			x.visit(1, "kernel", 5, 50)
			x.visit(second, "kernel", 6, 55)
			x.sync(2, 25, 60)
			x.visit(3, "kernel", 10, 40)
		}, []string{"wait-for-device at 0 from 10 for 45, cause 4", "wait-for-device at 2 from 25 for 15, cause 3"}, 0},
		// A device in a separate group belongs to the process if there is only one. With two processes
		// its owner is unknown.
		{"device apart", 1, true, func(x *deviceTrace) {
			x.sync(0, 10, 60)
			x.visit(1, "kernel", 5, 50)
		}, []string{"wait-for-device at 0 from 10 for 40, cause 1"}, 0},
		{"devices apart", 2, true, func(x *deviceTrace) {
			x.sync(0, 10, 60)
			x.visit(1, "kernel", 5, 50)
		}, nil, 1},
		// The definitions name the process that has created each group: 50 - 10, and 70 - 20.
		{"devices apart with creators", 2, true, func(x *deviceTrace) {
			d := x.Defs()
			for i := range uint32(2) {
				process := d.Groups.At(d.Locations.At(2 * i).Group)
				d.Groups.At(d.Locations.At(2*i + 1).Group).Attrs = []trace.Attr{{Key: "creator",
					Value: trace.StringValue(fmt.Sprintf(`"process %d" <%s>`, i, process.ID))}}
			}
			x.sync(0, 10, 60)
			x.visit(1, "kernel", 5, 50)
			x.sync(2, 20, 80)
			x.visit(3, "kernel", 5, 70)
		}, []string{"wait-for-device at 0 from 10 for 40, cause 1", "wait-for-device at 2 from 20 for 50, cause 3"}, 0},
		// The nested call of the driver waits for the same kernel as the call of the runtime: 50 - 10.
		{"nested", 1, false, func(x *deviceTrace) {
			x.Enter(0, 10, x.Region("cudaDeviceSynchronize"))
			x.visit(0, "cuCtxSynchronize", 12, 58)
			x.Leave(0, 60, x.Region("cudaDeviceSynchronize"))
			x.visit(1, "kernel", 5, 50)
		}, []string{"wait-for-device at 0 from 10 for 40, cause 1"}, 0},
		// The trace begins at 5, and the stream is idle from then on: 15 - 5. The stream is idle again
		// from 60 on: 90 - 60. The third kernel is launched at 95, while the second one runs.
		{"launches", 1, false, func(x *deviceTrace) {
			x.visit(0, "init", 5, 10)
			x.launch(0, "cudaLaunchKernel", 15, trace.NoRef)
			x.launch(0, "cudaLaunchKernel", 90, trace.NoRef)
			x.launch(0, "cudaLaunchKernel", 95, trace.NoRef)
			x.visit(1, "kernel", 20, 60)
			x.visit(1, "kernel", 93, 130)
			x.visit(1, "kernel", 140, 150)
		}, []string{"wait-for-launch at 1 from 5 for 10, cause 0", "wait-for-launch at 1 from 60 for 30, cause 0"}, 0},
		// The nested call of the driver is the same launch as the call of the runtime. Each kernel
		// begins before its launch has returned.
		{"launches of a driver", 1, true, func(x *deviceTrace) {
			x.Enter(0, 10, x.Region("cudaLaunchKernel"))
			x.visit(0, "cuLaunchKernel", 11, 30)
			x.Leave(0, 32, x.Region("cudaLaunchKernel"))
			x.Enter(0, 80, x.Region("cudaLaunchKernel"))
			x.visit(0, "cuLaunchKernel", 81, 90)
			x.Leave(0, 92, x.Region("cudaLaunchKernel"))
			x.visit(1, "kernel", 20, 50)
			x.visit(1, "kernel", 85, 95)
		}, []string{"wait-for-launch at 1 from 50 for 30, cause 0"}, 0},
		// Transfers are matched with their calls separately from kernels. The stream is idle from 20
		// until the call for the second transfer at 40.
		{"transfers", 1, false, func(x *deviceTrace) {
			x.launch(0, "cudaMemcpyAsync", 5, trace.NoRef)
			x.launch(0, "cudaLaunchKernel", 8, trace.NoRef)
			x.launch(0, "cudaMemcpyAsync", 40, trace.NoRef)
			x.visit(1, "cudaMemcpy HtoD", 7, 12)
			x.visit(1, "kernel", 12, 20)
			x.visit(1, "cudaMemcpy DtoH", 43, 50)
		}, []string{"wait-for-launch at 1 from 20 for 20, cause 0"}, 0},
		// The trace has no call for the transfer.
		{"unknown transfer", 1, false, func(x *deviceTrace) {
			x.launch(0, "cudaLaunchKernel", 5, trace.NoRef)
			x.visit(1, "kernel", 8, 20)
			x.visit(1, "cudaMemcpy DtoH", 43, 50)
		}, nil, 1},
		// If a process has two streams, the trace does not determine which of them a call refers to,
		// unless an attribute names the stream. With attributes, the second stream has worked until 20,
		// and its next launch is at 30.
		{"unknown streams", 1, false, func(x *deviceTrace) {
			second := x.stream(x.Defs().Locations.At(0).Group)
			x.launch(0, "cudaLaunchKernel", 5, trace.NoRef)
			x.launch(0, "cudaLaunchKernel", 30, trace.NoRef)
			x.visit(1, "kernel", 10, 20)
			x.visit(second, "kernel", 35, 40)
		}, nil, 2},
		{"named streams", 1, false, func(x *deviceTrace) {
			second := x.stream(x.Defs().Locations.At(0).Group)
			x.launch(0, "cudaLaunchKernel", 5, second)
			x.launch(0, "cudaLaunchKernel", 25, 1)
			x.launch(0, "cudaLaunchKernel", 30, second)
			x.launch(0, "cudaStreamSynchronize", 44, second)
			x.visit(1, "kernel", 27, 60)
			x.visit(second, "kernel", 10, 20)
			x.visit(second, "kernel", 35, 45)
		}, []string{"wait-for-device at 0 from 44 for 1, cause 2", "wait-for-launch at 1 from 5 for 20, cause 0",
			"wait-for-launch at 2 from 20 for 10, cause 0"}, 0},
		// The transfer in the stream is recorded as one-sided communication from 16 to 40, and the thread waits for it since
		// 20. The stream waits until 10 for the first call and, in a region for idle time, from 40 to 50 for the second one.
		// The second transfer lasts from 85 to 90 in that region, and its call is at 80.
		{"transfers without regions", 1, false, func(x *deviceTrace) {
			x.Defs().Windows.Add(trace.Named{ID: "0"})
			x.visit(0, "init", 0, 5)
			x.launch(0, "cudaMemcpyAsync", 10, trace.NoRef)
			x.Event(1, 16, trace.RMAGet, 0, []uint64{0, 8, 1})
			x.Event(1, 40, trace.RMACompleteBlocking, 0, []uint64{1})
			x.sync(0, 20, 45)
			x.launch(0, "cudaLaunchKernel", 50, trace.NoRef)
			x.visit(1, "kernel", 55, 75)
			x.launch(0, "cudaMemcpyAsync", 80, trace.NoRef)
			x.Enter(1, 75, x.Region("COMPUTE IDLE"))
			x.Event(1, 85, trace.RMAPut, 0, []uint64{0, 8, 2})
			x.Event(1, 90, trace.RMACompleteBlocking, 0, []uint64{2})
			x.Leave(1, 95, x.Region("COMPUTE IDLE"))
		}, []string{"wait-for-device at 0 from 20 for 20, cause 1", "wait-for-launch at 1 from 0 for 10, cause 0",
			"wait-for-launch at 1 from 40 for 10, cause 0", "wait-for-launch at 1 from 75 for 5, cause 0"}, 0},
		// The recorder has a region for idle time, which is no work: the second kernel belongs to the second call.
		{"region for idle time", 1, false, func(x *deviceTrace) {
			x.visit(0, "init", 0, 5)
			x.launch(0, "cudaLaunchKernel", 10, trace.NoRef)
			x.sync(0, 20, 70)
			x.launch(0, "cudaLaunchKernel", 80, trace.NoRef)
			x.visit(1, "GPU IDLE", 0, 15)
			x.visit(1, "kernel", 15, 40)
			x.visit(1, "GPU IDLE", 40, 85)
			x.visit(1, "kernel", 85, 90)
		}, []string{"wait-for-device at 0 from 20 for 20, cause 1", "wait-for-launch at 1 from 0 for 10, cause 0",
			"wait-for-launch at 1 from 40 for 40, cause 0"}, 0},
		// The first kernel began before the first launch in the trace.
		{"missing launches", 1, false, func(x *deviceTrace) {
			x.launch(0, "cudaLaunchKernel", 20, trace.NoRef)
			x.visit(1, "kernel", 10, 15)
			x.visit(1, "kernel", 25, 30)
		}, nil, 2},
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

// costsOf returns the costs of the waits of a trace by pattern, call path and location.
func costsOf(t *testing.T, events format.Events) map[string]float64 {
	t.Helper()
	c, err := causes.Find(t.Context(), events, causes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string]float64{}
	for _, p := range c.Patterns {
		for _, k := range p.Costs {
			costs[fmt.Sprint(p.Pattern, " ", k.Path, " ", k.Location)] += k.ShortTerm + k.LongTerm
		}
	}
	return costs
}

// TestCausesOfDevices checks the costs of waits for a device. The first wait lasts from 30 to 60. Since
// the begin, the stream was idle for 20 and in the kernel for 40, and the thread was in main. The costs
// add up to the wait of 30, in the proportion 20 to 40: 10 and 20. The second wait lasts from 80 to
// 100. Since 60 the stream was idle for 10 and in the kernel for 30, which gives 5 and 15. The critical
// path stays at the thread, because the trace does not determine which calls launched the kernels.
func TestCausesOfDevices(t *testing.T) {
	x := newDeviceTrace(1, false)
	x.Enter(0, 0, x.Region("main"))
	x.sync(0, 30, 65)
	x.sync(0, 80, 110)
	x.Leave(0, 120, x.Region("main"))
	x.visit(1, "kernel", 20, 60)
	x.visit(1, "kernel", 70, 100)
	costs := costsOf(t, format.Recorded(x.Recorder))
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

// TestCausesOfLaunches checks costs, the critical path, the runtime with shorter work, and the factors of a program
// that launches a kernel, waits for it, and computes before it launches the next one.
//
// The host is in main from 0 to 220, with launches at 20 and 120, and in cudaDeviceSynchronize from 22 to 62 and from
// 122 to 202. The stream runs kernels from 25 to 59 and from 125 to 199. The waits for the device last 59 - 22 and
// 199 - 122, and the waits for launches 20 - 0 and 120 - 59.
//
// The critical path has five pieces: the host in main until 20; the stream until 59 (5 idle, 34 in the kernel);
// the host until 120 (3 in the call that waits, 58 in main); the stream until 199 (5 idle, 74 in the kernel);
// and the host until the end (3 in the call that waits, 18 in main). All exclusive time of main, 20 + 58 + 18,
// is on the path, so that half of this time makes the run shorter by 48. Half of the time of the kernels makes
// it shorter by 17 + 37.
func TestCausesOfLaunches(t *testing.T) {
	x := newDeviceTrace(1, false)
	x.Enter(0, 0, x.Region("main"))
	x.launch(0, "cudaLaunchKernel", 20, trace.NoRef)
	x.sync(0, 22, 62)
	x.launch(0, "cudaLaunchKernel", 120, trace.NoRef)
	x.sync(0, 122, 202)
	x.Leave(0, 220, x.Region("main"))
	x.visit(1, "kernel", 25, 59)
	x.visit(1, "kernel", 125, 199)
	events := format.Recorded(x.Recorder)
	costs := costsOf(t, events)
	// Until 20 the host is in main. After 59, where the first wait ends, it is in the call that waits for 3 ticks, and in
	// main for 58. After 22 and 122, where the launches return, the stream is idle for 3 ticks each, and then in kernels.
	want := map[string]float64{"wait-for-launch [main] 0": 20 + 58, "wait-for-launch [main cudaDeviceSynchronize] 0": 3,
		"wait-for-device [kernel] 1": 34 + 74, "wait-for-device [] 1": 3 + 3}
	if !maps.EqualFunc(costs, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
		t.Errorf("found the costs %v, expected %v", costs, want)
	}
	p, err := criticalpath.Find(t.Context(), events, criticalpath.Options{Gains: 2,
		WhatIf: []criticalpath.Change{{Region: "main", Factor: 0.5}}})
	if err != nil {
		t.Fatal(err)
	}
	var pieces, regions []string
	for x := range p.Pieces.All() {
		pieces = append(pieces, fmt.Sprint(x.Location, x.From, x.To, " ", x.By))
	}
	for _, r := range p.Regions {
		regions = append(regions, fmt.Sprint(r.Region, r.Time))
	}
	wantPieces := []string{"0 0 20 ", "1 20 59 wait-for-launch", "0 59 120 wait-for-device", "1 120 199 wait-for-launch",
		"0 199 220 wait-for-device"}
	if !slices.Equal(pieces, wantPieces) {
		t.Errorf("found the pieces %q, expected %q", pieces, wantPieces)
	}
	if want := []string{"kernel108", "main96", "10", "cudaDeviceSynchronize6"}; !slices.Equal(regions, want) {
		t.Errorf("found the regions %q, expected %q", regions, want)
	}
	if p.WhatIf == nil || *p.WhatIf != 220-48 || p.Gains[0].Region != "kernel" || p.Gains[0].Half != 17+37 {
		t.Errorf("found %+v, expected a runtime of 172 with half of main, and a gain of 54 with half of the kernels", p)
	}
	e, _, err := efficiency.Find(t.Context(), events, efficiency.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The useful time is 220 without two launches of 2 each, and without 40 and 80 in calls that wait.
	if e.Threads != 1 || e.Streams != 1 || e.UsefulMax != 96 || e.Devices == nil ||
		math.Abs(e.Devices.Parallel-108./220) > 1e-12 || e.Devices.LoadBalance != 1 || e.Devices.Communication != 1 ||
		math.Abs(e.Devices.Orchestration-108./220) > 1e-12 || math.Abs(e.Devices.Offload-96./220) > 1e-12 {
		t.Errorf("found %+v with %+v, expected one thread with 96 useful ticks, and a stream that works for 108 of 220",
			e, e.Devices)
	}
}

// newStreams returns a trace of a process with a thread, the host, and n streams, which come before or after it.
func newStreams(n int, streamsFirst bool) (x *deviceTrace, host uint32, streams []uint32) {
	x = &deviceTrace{trace.NewRecorder(trace.TicksPerSecond(1e6))}
	group := x.Process("process", x.Machine("machine"))
	if !streamsFirst {
		host = x.Thread("thread", group)
	}
	for range n {
		streams = append(streams, x.stream(group))
	}
	if streamsFirst {
		host = x.Thread("thread", group)
	}
	return x, host, streams
}

// TestCausesAtTheSameTime checks the costs of a wait for a launch, which ends together with a call that has waited for
// another stream.
//
// The host launches "long" at 0 and "short" at 2, waits from 4 to 24 for "long", which ends at 21, and launches work
// in the second stream at 24, where it ended at 18. This stream waits for 6. It and the host last met in the launch
// of "short", and from 3 on both were in it, or one had left it. Since then the host spent 1 in that call and 3 in
// the call that waits, and waited for 17: D + W = 21, so that "long" has long-term costs of 17 * 6/21.
func TestCausesAtTheSameTime(t *testing.T) {
	for _, streamsFirst := range []bool{false, true} {
		x, host, streams := newStreams(2, streamsFirst)
		x.Enter(host, 0, x.Region("main"))
		x.launch(host, "cudaLaunchKernel", 0, streams[0])
		x.launch(host, "cudaLaunchKernel", 2, streams[1])
		x.sync(host, 4, 24)
		x.launch(host, "cudaLaunchKernel", 24, streams[1])
		x.Leave(host, 26, x.Region("main"))
		x.visit(streams[0], "long", 1, 21)
		x.visit(streams[1], "short", 3, 18)
		x.visit(streams[1], "short", 24, 40)
		c, err := causes.Find(t.Context(), format.Recorded(x.Recorder), causes.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := 0.0
		for _, p := range c.Patterns {
			for _, k := range p.Costs {
				if k.Location == streams[0] {
					found += k.LongTerm
				}
			}
		}
		if want := 17 * 6. / 21; math.Abs(found-want) > 1e-9 {
			t.Errorf("streams first %v: found long-term costs of %v, expected %v", streamsFirst, found, want)
		}
	}
}

// TestLaunchAroundWait checks the runtime with other times if the call that starts a transfer contains a call that
// waits for it. The transfer runs from 15 to 45 and the run ends at 60. If it takes 15, the transfer ends at 30, the
// inner call at 33, the outer one at 35, and the run at 45. If the outer call takes no time of its own, the transfer
// still begins 5 after that call and ends at 45, the inner call ends at 48, and the run at 58.
func TestLaunchAroundWait(t *testing.T) {
	x := newDeviceTrace(1, false)
	x.Enter(0, 0, x.Region("main"))
	x.launch(0, "cudaLaunchKernel", 1, trace.NoRef)
	x.Enter(0, 10, x.Region("cudaMemcpy"))
	x.visit(0, "cuStreamSynchronize", 12, 48)
	x.Leave(0, 50, x.Region("cudaMemcpy"))
	x.Leave(0, 60, x.Region("main"))
	x.visit(1, "kernel", 2, 5)
	x.visit(1, "cudaMemcpy HtoD", 15, 45)
	for _, test := range []struct {
		region string
		factor float64
		want   int64
	}{{"main", 1, 60}, {"cudaMemcpy HtoD", 0.5, 45}, {"cudaMemcpy", 0, 58}} {
		p, err := criticalpath.Find(t.Context(), format.Recorded(x.Recorder), criticalpath.Options{
			WhatIf: []criticalpath.Change{{Region: test.region, Factor: test.factor}}})
		if err != nil {
			t.Fatal(err)
		}
		if *p.WhatIf != test.want {
			t.Errorf("%s, factor %v: found a runtime of %d, expected %d", test.region, test.factor, *p.WhatIf, test.want)
		}
	}
}

// TestDevicesAtTheSameTime checks the path and the runtime with shorter kernels if a call that waits, the idle time of
// the stream and the call that ends it meet at one time, 33. The order of the locations must not matter.
//
// The kernel runs from 0 to 30, the host waits for it from 10 on, returns at 33, and calls for a transfer, which runs
// from 33 to 46. If the kernel takes 15, the host returns at 15 + 3 = 18, and the transfer ends at 18 + 13 = 31.
func TestDevicesAtTheSameTime(t *testing.T) {
	for _, streamFirst := range []bool{false, true} {
		x, host, streams := newStreams(1, streamFirst)
		stream := streams[0]
		x.Enter(host, 0, x.Region("main"))
		x.launch(host, "cudaLaunchKernel", 0, trace.NoRef)
		x.sync(host, 10, 33)
		x.launch(host, "cudaMemcpyAsync", 33, trace.NoRef)
		x.Leave(host, 35, x.Region("main"))
		x.visit(stream, "kernel", 0, 30)
		x.visit(stream, "cudaMemcpy HtoD", 33, 46)
		p, err := criticalpath.Find(t.Context(), format.Recorded(x.Recorder), criticalpath.Options{
			WhatIf: []criticalpath.Change{{Region: "kernel", Factor: 0.5}}})
		if err != nil {
			t.Fatal(err)
		}
		var pieces []string
		for x := range p.Pieces.All() {
			pieces = append(pieces, fmt.Sprint(x.Location == stream, x.From, x.To, " ", x.By))
		}
		want := []string{"true 0 30 ", "false 30 33 wait-for-device", "true 33 46 wait-for-launch"}
		if !slices.Equal(pieces, want) || *p.WhatIf != 31 {
			t.Errorf("stream first %v: found the pieces %q and a runtime of %d, expected %q and 31", streamFirst, pieces,
				*p.WhatIf, want)
		}
	}
}

// TestDeviceFactors checks the factors of two streams that run kernels for 30 and 50 of 100 ticks. The second one has
// transfers for 10 more. The thread computes for 60 ticks, and is in calls for devices for 40. A third stream only
// transfers data. In the group of the others, it does not count; alone in a group, it is a third of the mean.
func TestDeviceFactors(t *testing.T) {
	for _, alone := range []bool{false, true} {
		x := newDeviceTrace(1, false)
		group := x.Defs().Locations.At(0).Group
		second := x.stream(group)
		want := efficiency.Devices{Parallel: 0.4, LoadBalance: 40. / 50, Communication: 50. / 60,
			Orchestration: 0.6, Offload: 0.6}
		if alone {
			group = x.Process("device", x.Machine("node"))
			want.Parallel, want.LoadBalance = 80./3/100, 80./3/50
		}
		x.visit(0, "work", 0, 60)
		x.visit(0, "cudaMemcpy", 60, 100)
		x.Defs().Windows.Add(trace.Named{ID: "0"})
		x.visit(1, "kernel", 10, 40)
		x.visit(second, "kernel", 20, 70)
		x.Event(second, 80, trace.RMAPut, 0, []uint64{0, 8, 1}) // a transfer that is recorded without a region
		x.Event(second, 84, trace.RMACompleteBlocking, 0, []uint64{1})
		x.visit(second, "cudaMemcpy DtoH", 84, 90)
		x.visit(x.stream(group), "cudaMemcpy HtoD", 0, 10)
		e, _, err := efficiency.Find(t.Context(), format.Recorded(x.Recorder), efficiency.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := e.Devices; d == nil || *d != want {
			t.Errorf("alone %v: found %+v, expected %+v", alone, d, want)
		}
	}
}

// simulateDevices returns the trace of a random program whose processes use streams of devices. In a third of the
// programs, processes have two streams, which the attributes of calls name. The transfers are one-sided communication
// without regions if remote is set.
func simulateDevices(seed uint64, remote bool) *trace.Recorder {
	r := rand.New(rand.NewPCG(seed, 8))
	n := 1 + r.IntN(3)
	x := newDeviceTrace(n, n == 1 && seed%2 == 0)
	x.Defs().Windows.Add(trace.Named{ID: "0"})
	for i := range n {
		host := uint32(2 * i)
		streams, named := []uint32{host + 1}, seed%3 == 0
		if named {
			streams = append(streams, x.stream(x.Defs().Locations.At(host+1).Group))
		}
		t, free := r.Int64N(50), make([]int64, len(streams))
		x.Enter(host, t, x.Region("main"))
		for range 5 + r.IntN(60) {
			t += r.Int64N(40)
			k := r.IntN(len(streams))
			stream := trace.NoRef
			if named {
				stream = streams[k]
			}
			switch r.IntN(6) {
			case 0:
				x.visit(host, "work", t, t+r.Int64N(100))
			case 1:
				enter := t
				t = max(t, slices.Max(free)) + r.Int64N(5)
				x.sync(host, enter, t)
				continue
			case 2:
				if named {
					enter := t
					t = max(t, free[k]) + 2
					x.visitFor(host, "cudaStreamSynchronize", enter, t, stream)
					continue
				}
				fallthrough
			default:
				call, work := "cudaLaunchKernel", fmt.Sprint("kernel ", r.IntN(3))
				switch r.IntN(8) {
				case 0:
					call, work = "cudaMemcpyAsync", "cudaMemcpy HtoD"
				case 1:
					call, work = "cudaMemcpy", "cudaMemcpy HtoD"
				}
				begin := max(free[k], t+r.Int64N(10))
				free[k] = begin + r.Int64N(200)
				if call == "cudaMemcpy" {
					x.visitFor(host, call, t, free[k]+3, stream)
					t = free[k] + 3
				} else {
					x.launch(host, call, t, stream)
				}
				if remote && work == "cudaMemcpy HtoD" {
					x.Event(streams[k], begin, trace.RMAGet, 0, []uint64{0, 8, 42})
					x.Event(streams[k], free[k], trace.RMACompleteBlocking, 0, []uint64{42})
				} else {
					x.visit(streams[k], work, begin, free[k])
				}
			}
			t += 100
		}
		x.Leave(host, max(t, slices.Max(free))+10, x.Region("main"))
	}
	return x.Recorder
}

// TestTransfersWithoutRegions checks that waits, the path and the factors of devices do not depend on whether the
// recorder has regions for transfers or records them as one-sided communication.
func TestTransfersWithoutRegions(t *testing.T) {
	for seed := range effort.Rounds(300) {
		var texts [2]string
		for i := range texts {
			d := format.Recorded(simulateDevices(uint64(seed), i > 0))
			e, _, err := efficiency.Find(t.Context(), d, efficiency.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := criticalpath.Find(t.Context(), d, criticalpath.Options{Rows: trace.NewRows(d.Defs())})
			if err != nil {
				t.Fatal(err)
			}
			for x := range p.Pieces.All() {
				texts[i] += fmt.Sprint(x.From, " ", x.To, " ", x.Location, " ", x.By, "\n")
			}
			for _, q := range find(t, d, waits.Options{Worst: 1000}).Patterns {
				for _, w := range q.Worst {
					texts[i] += fmt.Sprint(q.Pattern, w.Location, w.Begin, w.Time, w.Cause, "\n")
				}
			}
			if e.Devices != nil {
				texts[i] += fmt.Sprint(*e.Devices)
			}
		}
		if texts[0] != texts[1] {
			t.Fatalf("seed %d: found\n%s\nwithout regions, expected\n%s", seed, texts[1], texts[0])
		}
	}
}

// TestReferenceOfDevices compares waits and the critical path of random programs with those of a script.
func TestReferenceOfDevices(t *testing.T) {
	type result struct {
		Waits [][4]any `json:"waits"` // pattern, location, begin, length
		Path  [][3]any `json:"path"`  // location, begin, end
	}
	var list []format.Events
	for seed := range uint64(100) {
		list = append(list, format.Recorded(simulateDevices(seed, false)))
	}
	count := map[string]int{}
	for seed, want := range runScript[result](t, list, "reference_devices.py", "reference_input.py") {
		var found, expected []string
		for _, p := range find(t, list[seed], waits.Options{Worst: 1000}).Patterns {
			for _, w := range p.Worst {
				count[p.Pattern]++
				found = append(found, fmt.Sprint(p.Pattern, " ", w.Location, " ", w.Begin, " ", w.Time))
			}
		}
		for _, w := range want.Waits {
			expected = append(expected, fmt.Sprint(w[0], " ", w[1], " ", w[2], " ", w[3]))
		}
		slices.Sort(found)
		if slices.Sort(expected); !slices.Equal(found, expected) {
			t.Errorf("program %d: found the waits %q, expected %q", seed, found, expected)
		}
		p, err := criticalpath.Find(t.Context(), list[seed], criticalpath.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found, expected = nil, nil
		for x := range p.Pieces.All() {
			found = append(found, fmt.Sprint(x.Location, " ", x.From, " ", x.To))
		}
		for _, x := range want.Path {
			expected = append(expected, fmt.Sprint(x[0], " ", x[1], " ", x[2]))
		}
		if !slices.Equal(found, expected) {
			t.Errorf("program %d: found the path %q, expected %q", seed, found, expected)
		}
	}
	for _, p := range []string{"wait-for-device", "wait-for-launch"} {
		if count[p] < 100 {
			t.Errorf("found %d waits %s in all programs, expected more", count[p], p)
		}
	}
}

// TestWindowInsideOfWait checks a window in which only a part of a wait lies, and no call begins. The trace has calls
// that launch work, but none that waits for a device: the stream waits from 60 until the launch at 90.
func TestWindowInsideOfWait(t *testing.T) {
	x := newDeviceTrace(1, false)
	x.launch(0, "cudaLaunchKernel", 0, trace.NoRef)
	x.visit(1, "kernel", 10, 60)
	x.launch(0, "cudaLaunchKernel", 90, trace.NoRef)
	x.visit(1, "kernel", 93, 120)
	for _, w := range []struct{ from, to, time int64 }{{0, 60, 0}, {65, 75, 10}, {75, 121, 15}} {
		r := find(t, format.Recorded(x.Recorder), waits.Options{Window: &trace.Window{From: w.from, To: w.to}})
		if missing := r.Missing(); missing != "" || r.Waiting.Int64() != w.time {
			t.Errorf("from %d to %d: found waits of %d, and %q, expected %d", w.from, w.to, r.Waiting.Int64(), missing, w.time)
		}
	}
}
