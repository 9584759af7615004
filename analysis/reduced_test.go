package analysis_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/rma"
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// TestReduced checks that an analysis has the same result from the events that its reduction
// chooses as from all events.
func TestReduced(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"otf2/testdata/ok/*/*.otf2", "otf/testdata/ok/*/*.otf",
		"pallas/testdata/ok/*/trace/main.pallas", "picl/testdata/ok/*.trf", "etf/testdata/ok/*.etf"} {
		list, err := filepath.Glob("../format/" + pattern)
		if err != nil || len(list) == 0 {
			t.Fatal(pattern, err)
		}
		paths = append(paths, list...)
	}
	type part interface {
		format.Sink
		result() any
	}
	idle := 0
	for _, path := range paths {
		f, err := all.Open(t.Context(), path, &format.ReadOptions{Report: format.NewReport(), Workers: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		d := f.Defs()
		first, last, _, err := f.Extent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		window := &trace.Window{From: first + (last-first)/3, To: first + (last-first)/2}
		for name, x := range map[string]struct {
			reduction format.Reduction
			fresh     func() part
		}{
			"states": {states.Reduction(d, states.Options{}),
				func() part { return statesPart{states.New(d, states.Options{})} }},
			"window": {states.Reduction(d, states.Options{}),
				func() part { return statesPart{states.New(d, states.Options{Window: window})} }},
			"messages": {format.KindReduction(messages.Needs),
				func() part { return messagesPart{messages.New(d, messages.Options{Latency: true})} }},
			"collectives": {format.KindReduction(collectives.Needs),
				func() part { return collectivesPart{collectives.New(d, collectives.Options{})} }},
			"rma": {format.KindReduction(rma.Needs), func() part { return rmaPart{rma.New(d, rma.Options{})} }},
		} {
			whole, reduced := x.fresh(), x.fresh()
			if err := f.Scan(t.Context(), trace.Events(), format.GlobalOrder, whole); err != nil {
				t.Fatal(err)
			}
			if err := format.ScanReduced(t.Context(), f, trace.Events(), x.reduction, reduced); err != nil {
				t.Fatal(path, name, err)
			}
			want, err := json.Marshal(whole.result())
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(reduced.result())
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s: %s of the events that are chosen: found\n%s\nexpected, of all\n%s", path, name, got, want)
			}
			if r, ok := whole.result().(*states.Result); ok && len(r.Processors) > 0 && r.Processors[0].Idle > 0 {
				idle++
			}
		}
	}
	if idle == 0 {
		t.Error("found no trace with an idle processor")
	}
}

// These types give all parts the same method Result, which returns the result as a value of type any.
type (
	statesPart      struct{ *states.Part }
	messagesPart    struct{ *messages.Part }
	collectivesPart struct{ *collectives.Part }
	rmaPart         struct{ *rma.Part }
)

func (p statesPart) result() any      { return p.Result() }
func (p messagesPart) result() any    { return p.Result() }
func (p collectivesPart) result() any { return p.Result() }
func (p rmaPart) result() any         { return p.Result() }
