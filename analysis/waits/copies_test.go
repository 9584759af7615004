package waits_test

import (
	"maps"
	"math"
	"testing"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestSynchronousCopies checks calls that transfer data and return afterwards. A kernel runs from 14 to 50. cudaMemcpy
// lasts from 30 to 80, with a transfer from 55 to 70: a wait of 70 - 30. If the kernel takes 18, the transfer, which
// begins 5 after the kernel, ends 18 earlier, and so does the run. If the trace does not record the transfer, the wait
// is 50 - 30. cudaMemcpyAsync does not wait.
func TestSynchronousCopies(t *testing.T) {
	for _, test := range []struct {
		call     string
		recorded bool
		wait     int64
		runtime  int64
	}{{"cudaMemcpy", true, 40, 82}, {"cuMemcpyDtoH_v2", true, 40, 82}, {"cudaMemcpy", false, 20, 82},
		{"cudaMemcpyAsync", true, 0, 100}, {"cudaMemcpyPeer", true, 0, 100}} {
		x := newDeviceTrace(1, false)
		x.Enter(0, 0, x.Region("main"))
		x.launch(0, "cudaLaunchKernel", 10, trace.NoRef)
		x.visit(0, test.call, 30, 80)
		x.Leave(0, 100, x.Region("main"))
		x.visit(1, "kernel", 14, 50)
		if test.recorded {
			x.visit(1, "cudaMemcpy DtoH", 55, 70)
		}
		d := format.Recorded(x.Recorder)
		waited := int64(0)
		for _, p := range find(t, d, waits.Options{}).Patterns {
			if p.Pattern == "wait-for-device" {
				waited = p.Time.Int64()
			}
		}
		p, err := criticalpath.Find(t.Context(), d, criticalpath.Options{
			WhatIf: []criticalpath.Change{{Region: "kernel", Factor: 0.5}}})
		if err != nil {
			t.Fatal(err)
		}
		if waited != test.wait || *p.WhatIf != test.runtime {
			t.Errorf("%s, transfer recorded: %t: found a wait of %d and a runtime of %d with half of the kernel, "+
				"expected %d and %d", test.call, test.recorded, waited, *p.WhatIf, test.wait, test.runtime)
		}
	}
}

// TestCausesOfCopies checks the causes of waits for transfers that the waiting call itself has started. The host is in
// main until 50 and from 152 to 160, and in cudaMemcpy between. The transfer lasts from 51 to 150, and the host waits
// for 150 - 50 = 100. It met the stream when cudaMemcpy began, so the time of main before it is no cause: main delays
// only the stream, by 50.
func TestCausesOfCopies(t *testing.T) {
	for _, remote := range []bool{false, true} {
		x := newDeviceTrace(1, false)
		x.Defs().Windows.Add(trace.Named{ID: "0"})
		x.Enter(0, 0, x.Region("main"))
		x.visit(0, "cudaMemcpy", 50, 152)
		x.visit(0, "cudaLaunchKernel", 154, 156)
		x.Leave(0, 160, x.Region("main"))
		want := map[string]float64{"wait-for-launch [main] 0": 50 + 2, "wait-for-launch [main cudaMemcpy] 0": 2}
		if remote {
			x.Event(1, 51, trace.RMAGet, 0, []uint64{0, 8, 1})
			x.Event(1, 150, trace.RMACompleteBlocking, 0, []uint64{1})
			want["wait-for-device [] 1"] = 100
		} else {
			x.visit(1, "cudaMemcpy HtoD", 51, 150)
			want["wait-for-device [cudaMemcpy HtoD] 1"] = 99
			want["wait-for-device [] 1"] = 1
		}
		x.visit(1, "kernel", 157, 159)
		costs := costsOf(t, format.Recorded(x.Recorder))
		if !maps.EqualFunc(costs, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("found the costs %v, expected %v", costs, want)
		}
	}
}
