package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestCutDevices checks which calls for devices, and which work of a stream, a piece from 30 to 60 repeats and ends.
// Visits have a location, the thread t or the stream s, a region, a begin and an end; get is a transfer outside of
// regions. Expected are the rows at 30 with their original times, and those at 60.
func TestCutDevices(t *testing.T) {
	for _, x := range []struct{ name, visits, expected string }{
		{"between a launch and its kernel", "t main 0 90, t cudaLaunchKernel 5 7, s kernel 8 20, t cudaLaunchKernel 22 24, " +
			"s kernel 35 40", "t enter main 0, t enter cudaLaunchKernel 22, t leave cudaLaunchKernel 24, t leave main"},
		{"in a kernel and in the call that waits for it",
			"t main 0 90, t cudaLaunchKernel 5 7, t cudaDeviceSynchronize 10 50, s kernel 8 40",
			"t enter main 0, t enter cudaLaunchKernel 5, t leave cudaLaunchKernel 7, t enter cudaDeviceSynchronize 10, " +
				"s enter kernel 8, t leave main"},
		{"no work before", "t cudaLaunchKernel 5 6, t cudaLaunchKernel 6 7, s kernel 35 40, s kernel 41 45, t main 80 90",
			"t enter cudaLaunchKernel 5, t leave cudaLaunchKernel 6, t enter cudaLaunchKernel 6, t leave cudaLaunchKernel 7"},
		{"all work before", "t cudaLaunchKernel 5 6, s kernel 7 10, t cudaLaunchKernel 32 34, s kernel 35 40", ""},
		{"nested calls", "t cudaLaunchKernel 5 20, t cuLaunchKernel 6 19, s kernel 35 40, t main 80 90",
			"t enter cudaLaunchKernel 5, t leave cudaLaunchKernel 20"},
		{"work before the end of its call", "t cudaMemcpy 10 40, s cudaMemcpy HtoD 12 28, s kernel 70 80, t main 80 90",
			"t enter cudaMemcpy 10, s enter cudaMemcpy HtoD 12, s leave cudaMemcpy HtoD 28"},
		{"an open transfer", "t cudaMemcpyAsync 10 12, s get 14 40, t main 80 90",
			"t enter cudaMemcpyAsync 10, t leave cudaMemcpyAsync 12, s rma-get 14"},
		{"an open transfer at the end", "t cudaMemcpyAsync 32 33, s get 34 70, t main 80 90",
			"s rma-complete-blocking"},
		{"an ended transfer", "t cudaMemcpy 10 40, s get 12 28, s kernel 70 80, t main 80 90",
			"t enter cudaMemcpy 10, s rma-get 12, s rma-complete-blocking 28"},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		r.Defs().Windows.Add(trace.Named{ID: "0"})
		group := r.Process("process", r.Machine("machine"))
		thread, stream := r.Thread("t", group), r.Thread("s", group)
		r.Defs().Locations.At(stream).Kind = trace.StreamLocation
		r.Mark(stream, 100, r.Region("end"))
		r.Mark(thread, 100, r.Region("end"))
		for n, visit := range strings.Split(x.visits, ", ") {
			fields := strings.Fields(visit)
			var begin, end int64
			last := len(fields) - 2
			fmt.Sscan(fields[last]+" "+fields[last+1], &begin, &end)
			loc := thread
			if fields[0] == "s" {
				loc = stream
			}
			if name := strings.Join(fields[1:last], " "); name == "get" {
				r.Event(loc, begin, trace.RMAGet, 0, []uint64{uint64(thread), 8, uint64(n)})
				r.Event(loc, end, trace.RMACompleteBlocking, 0, []uint64{uint64(n)})
			} else {
				r.Enter(loc, begin, r.Region(name))
				r.Leave(loc, end, r.Region(name))
			}
		}
		events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 30, To: 60}))
		var found []string
		for loc := range stream + 1 {
			for _, e := range events {
				if e.loc != loc || e.time != 30 && e.time != 60 {
					continue
				}
				text := r.Defs().Locations.At(e.loc).Name + " " + e.kind.Spec().Name
				if e.kind == trace.Enter || e.kind == trace.Leave {
					text += " " + r.Defs().Regions.At(e.ref).Name
				}
				found = append(found, strings.TrimSpace(text+" "+e.attrs[transform.BeganAttribute]))
			}
		}
		var expected []string
		for _, loc := range []string{"t ", "s "} {
			for _, row := range strings.Split(x.expected, ", ") {
				if strings.HasPrefix(row, loc) {
					expected = append(expected, row)
				}
			}
		}
		if fmt.Sprint(found) != fmt.Sprint(expected) {
			t.Errorf("%s: found %q, expected %q", x.name, found, expected)
		}
	}
}
