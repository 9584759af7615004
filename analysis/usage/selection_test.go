package usage

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// TestSelections compares the objects of the events that [Little] asks for with those of all events, and the objects
// that it finds by attributes alone with those that it finds with filters that select each event.
func TestSelections(t *testing.T) {
	ctx := context.Background()
	paths, err := filepath.Glob("testdata/*.etf")
	if err != nil || len(paths) == 0 {
		t.Fatalf("found %d traces, error %v", len(paths), err)
	}
	for _, path := range append(paths, "../../examples/odse.etf") {
		f, err := all.Open(ctx, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, attribute := range []string{"id", "name", "nothing"} {
			every := &EventFilter{Attributes: map[string]string{}, Starts: true, Ends: true, Marks: true}
			few := LittleOptions{Attribute: attribute}
			filtered := LittleOptions{Attribute: attribute, Begin: every, End: every}
			want := objectsOf(t, f, trace.Everything(), filtered)
			if len(want) == 0 && attribute == "name" {
				t.Errorf("%s: found no objects", path)
			}
			for _, got := range [][]Object{objectsOf(t, f, few.Selection(), few), objectsOf(t, f, trace.Everything(), few)} {
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: the attribute %q has the objects %v, want %v", path, attribute, got, want)
				}
			}
		}
	}
}

// objectsOf returns the objects of a trace.
func objectsOf(t *testing.T, f format.Events, sel trace.Selection, opt LittleOptions) []Object {
	t.Helper()
	p, err := analysis.Run(context.Background(), f, sel, func() *Little { return NewLittle(f.Defs(), opt) })
	if err != nil {
		t.Fatal(err)
	}
	return p.Result(ResultOptions{}).Objects
}
