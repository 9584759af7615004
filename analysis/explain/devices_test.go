package explain_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/trace"
)

// offloading returns a trace of processes that meet at a barrier in each of 20 rounds. Those with a device launch a
// kernel of the given length at 10 ticks after the begin of a round, and wait for it until 5 ticks after its end. The
// others, with the length 0, come to the barrier at 200. The barrier ends 5 ticks after the last of them has come.
func offloading(kernels ...int64) *trace.Recorder {
	return offloadingRounds(len(kernels), func(process int, _ int64) (late, kernel int64) { return 0, kernels[process] })
}

// offloadingRounds is like offloading. times returns by how many ticks a process is late in a round, before it launches
// the kernel, and the length of the kernel.
func offloadingRounds(processes int, times func(process int, round int64) (late, kernel int64)) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	node := r.Machine("node")
	launch, wait, kernel := r.Region("cudaLaunchKernel"), r.Region("cudaDeviceSynchronize"), r.Region("kernel")
	barrier := r.Region("MPI_Barrier")
	var threads, streams []uint32
	for i := range processes {
		process := r.Process("rank "+strconv.Itoa(i), node)
		threads = append(threads, r.Thread("host "+strconv.Itoa(i), process))
		if _, kernel := times(i, 0); kernel > 0 {
			stream := r.Thread("stream "+strconv.Itoa(i), process)
			r.Defs().Locations.At(stream).Kind = trace.StreamLocation
			streams = append(streams, stream)
		} else {
			streams = append(streams, trace.NoRef)
		}
	}
	set := trace.Set{ID: "0", Kind: "locations"}
	for _, thread := range threads {
		id, err := strconv.ParseInt(r.Defs().Locations.At(thread).ID, 10, 64)
		if err != nil {
			panic(err)
		}
		set.Members = append(set.Members, id)
	}
	world := trace.Communicator{ID: "0", Name: "world", Set: r.Defs().Sets.Add(set)}
	comm := uint64(r.Defs().Communicator.Add(world))
	visit := func(loc uint32, from, to int64, region uint32) {
		r.Enter(loc, from, region)
		r.Leave(loc, to, region)
	}
	begin := int64(0)
	for n := range int64(20) {
		round := int64(205)
		for i := range processes {
			late, k := times(i, n)
			round = max(round, late+k+25)
		}
		for i, thread := range threads {
			come := begin + 200
			if late, k := times(i, n); k > 0 {
				launched := begin + late + 10
				come = launched + k + 10
				visit(thread, launched-5, launched, launch)
				visit(streams[i], launched, launched+k, kernel)
				visit(thread, launched+2, launched+k+5, wait)
			}
			r.Enter(thread, come, barrier)
			r.Event(thread, come, trace.CollectiveBegin, trace.NoRef, nil)
			r.Event(thread, begin+round, trace.CollectiveEnd, trace.NoRef, []uint64{0, comm, trace.Undefined, 0, 0,
				trace.Undefined})
			r.Leave(thread, begin+round, barrier)
		}
		begin += round
	}
	return r
}

// TestSlowDevice checks a kernel that takes three times as long on one of four devices. If it took as long as on the
// others, each of 20 rounds would be 2000 ticks shorter.
func TestSlowDevice(t *testing.T) {
	f := page(t, offloading(1000, 1000, 3000, 1000)).Findings
	if len(f) == 0 || f[0].ID != "late" || f[0].Gain != 20*2000 || f[0].WhatIf != "kernel@stream 2=mean" ||
		!slices.Equal(f[0].Locations, []string{"stream 2"}) {
		t.Errorf("found %+v, expected the kernel at stream 2 with a gain of 40000", f)
	}
}

// TestNoisyDevices checks a kernel that takes three times as long on one of four devices, in each of 20 rounds on the
// next one. If it took as long as on the others, each round would be 2000 ticks shorter.
func TestNoisyDevices(t *testing.T) {
	f := page(t, offloadingRounds(4, func(process int, round int64) (late, kernel int64) {
		if int64(process) == round%4 {
			return 0, 3000
		}
		return 0, 1000
	})).Findings
	if len(f) == 0 || f[0].ID != "noise" || f[0].Gain != 20*2000 || f[0].WhatIf != "kernel=median" {
		t.Errorf("found %+v, expected noise of the kernel with a gain of 40000", f)
	}
}

// TestSlowingDevices checks a kernel that takes longer in each of 20 rounds by 100 ticks. If it took as long as in the
// first round, the rounds would be shorter by 0, 100, … 1900 ticks.
func TestSlowingDevices(t *testing.T) {
	f := page(t, offloadingRounds(4, func(_ int, round int64) (late, kernel int64) {
		return 0, 1000 + 100*round
	})).Findings
	i := slices.IndexFunc(f, func(f explain.Finding) bool { return f.ID == "slowing" })
	if i < 0 || f[i].Gain != 100*190 || f[i].WhatIf != "kernel=steady" {
		t.Errorf("found %+v, expected slowing kernels with a gain of 19000", f)
	}
}

// TestLateLaunches checks one of four processes that launches its kernel 2500 ticks later than the others in each of 20
// rounds. Its device waits for the launch, but so do the other processes.
func TestLateLaunches(t *testing.T) {
	f := page(t, offloadingRounds(4, func(process int, _ int64) (late, kernel int64) {
		return 2500 * int64(process/3), 1000
	})).Findings
	if len(f) == 0 || f[0].ID != "late" || f[0].Gain < 49_000 || f[0].Gain > 50_000 ||
		!slices.Equal(f[0].Locations, []string{"host 3"}) {
		t.Errorf("found %+v, expected that host 3 is late with a gain of 50000, but for 2 %%", f)
	}
}

// TestLateLaunchOfManyDevices checks a loss below 2 % of the time of all threads and streams whose gain is greater. One
// of six processes launches its kernel of 2000 ticks 60 ticks later than the others in each of 20 rounds of 2085 ticks.
// The gain is 60 of 2085, 2.9 %. The others wait for 60 ticks, but mostly because the process waits for its device. Its
// stream waits for 60 of 6 · 2 · 2085 ticks. The time after the wait for the device, which is also outside of all
// regions, becomes shorter as well: the gain is 1200, but for 5 %.
func TestLateLaunchOfManyDevices(t *testing.T) {
	f := page(t, offloadingRounds(6, func(process int, _ int64) (late, kernel int64) {
		if process == 1 {
			return 60, 2000
		}
		return 0, 2000
	})).Findings
	i := slices.IndexFunc(f, func(f explain.Finding) bool { return slices.Equal(f.Locations, []string{"host 1"}) })
	if i < 0 || f[i].Gain < 1140 || f[i].Gain > 1200 || f[i].LossShare > 0.02 {
		t.Errorf("found %+v, expected that host 1 is late with a gain of 1200", f)
	}
}

// TestProcessesWaitForDevice checks a run in which one process has a device, and three others wait for it in a barrier.
// There is no other device that could do the work. Without the kernel, the other processes come last, at 200 instead of
// 3020.
func TestProcessesWaitForDevice(t *testing.T) {
	f := page(t, offloading(3000, 0, 0, 0)).Findings
	if len(f) == 0 || f[0].ID != "device" || f[0].Gain != 20*2820 || f[0].WhatIf != "kernel=0" {
		t.Errorf("found %+v, expected waits for the kernel with a gain of 56400", f)
	}
}

// TestKernelDelaysLaunches checks a kernel for which the thread waits before it uses another stream. In each of 10
// rounds of 300 ticks, the kernel runs from 20 to 200 in the first stream. The thread waits for it from 30 on, and then
// launches kernels of 10 ticks in two other streams. While the thread waits, these two wait for their
// launches. The finding about the kernel must not advise to let the device do this work.
func TestKernelDelaysLaunches(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("rank", r.Machine("node"))
	thread := r.Thread("host", process)
	streams := []uint32{r.Thread("stream 0", process), r.Thread("stream 1", process), r.Thread("stream 2", process)}
	for _, s := range streams {
		r.Defs().Locations.At(s).Kind = trace.StreamLocation
	}
	visit := func(loc uint32, from, to int64, name string, attrs ...trace.Attr) {
		r.Enter(loc, from, r.Region(name), attrs...)
		r.Leave(loc, to, r.Region(name))
	}
	in := func(stream int) trace.Attr {
		return trace.Attr{Key: "CUDA_STREAM_REF", Value: trace.Value{Type: trace.LocationRef, Num: uint64(streams[stream])}}
	}
	for i := range int64(10) {
		begin := 300 * i
		visit(thread, begin, begin+10, "cudaLaunchKernel", in(0))
		visit(streams[0], begin+20, begin+200, "kernel")
		visit(thread, begin+30, begin+205, "cudaStreamSynchronize", in(0))
		for s := range int64(2) {
			visit(thread, begin+210+10*s, begin+220+10*s, "cudaLaunchKernel", in(1+int(s)))
			visit(streams[1+s], begin+230+10*s, begin+240+10*s, "other")
		}
	}
	p := page(t, r)
	f := p.Findings
	if len(f) == 0 || f[0].ID != "device" || f[0].Title != "Threads wait for kernel on a device" ||
		strings.Contains(f[0].Advice, "let the device do") {
		t.Errorf("found %+v, expected that threads wait for the kernel", f)
	}
	if !strings.Contains(p.Verdict, ": threads wait for kernel on a device.") {
		t.Errorf("found %q, expected a small letter after the colon", p.Verdict)
	}
}
