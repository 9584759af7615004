package otf

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestCounterPropertiesOfOtherFormats checks a counter whose mode is written in the words of another format.
// OTF_Definitions.h gives these bits of the property: ABS 1, POINT 4, LAST 8, NEXT 12, SIGNED8 0x20, DOUBLE
// 0x120.
func TestCounterPropertiesOfOtherFormats(t *testing.T) {
	for _, x := range []struct {
		mode string
		typ  trace.Type
		want uint64
	}{
		{"ACCUMULATED_START", trace.Uint64, 0},
		{"ACCUMULATED_POINT", trace.Int64, 0x24},
		{"ACCUMULATED_LAST", trace.Uint64, 8},
		{"ACCUMULATED_NEXT", trace.Float64, 0x12c},
		{"ABSOLUTE_POINT", trace.Float64, 0x125},
		{"ABSOLUTE_LAST", trace.Uint64, 9},
		{"ABSOLUTE_NEXT", trace.Uint64, 13},
		// the type of the values counts, not the type that the mode names
		{"ACC/LAST/UNSIGNED8", trace.Float64, 0x128},
		{"", trace.Uint64, 5},
	} {
		if got := counterProperties(&trace.MetricDef{Mode: x.mode, Type: x.typ}); got != x.want {
			t.Errorf("%q, %v: found %#x, expected %#x", x.mode, x.typ, got, x.want)
		}
	}
}

// TestRelativeCounters checks that the loss table lists the metrics whose values are relative. OTF cannot
// express this: otfprint calls the values absolute. Weft restores the modes unless the trace is written with
// --plain.
func TestRelativeCounters(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("a")
	for _, x := range []struct{ id, mode string }{
		{"first", "RELATIVE_POINT"}, {"second", "RELATIVE_NEXT"}, {"third", "ABSOLUTE_POINT"}, {"fourth", ""},
	} {
		m := r.Defs().Metrics.Add(trace.MetricDef{ID: x.id, Name: x.id, Mode: x.mode, Kind: trace.CounterMetric,
			Type: trace.Uint64, Location: trace.NoRef})
		r.Event(loc, 5, trace.Metric, m, []uint64{1})
	}
	for plain, how := range map[bool]format.Fidelity{false: format.WeftOnly, true: format.Lost} {
		path := filepath.Join(t.TempDir(), "x.otf")
		out, err := format.CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		enc, err := Format{}.Create(out, &format.WriteOptions{Plain: plain})
		if err == nil {
			err = format.Convert(t.Context(), format.Recorded(r), trace.Everything(), enc)
		}
		if err == nil {
			err = out.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		want := format.LossRow{Kind: "metric", Field: "mode", How: how,
			Reason: "OTF has no relative counters; the values are written as absolute ones", Count: 2}
		if rows := enc.Loss().Rows(); !slices.Contains(rows, want) {
			t.Errorf("plain %t: found %v, expected %v", plain, rows, want)
		}
		text, err := exec.Command(tool(t, "otfprint"), path).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"first", properties ABS/POINT/`, `"second", properties ABS/NEXT/`} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("otfprint: found %s, expected %q in it", text, want)
			}
		}
	}
}
