package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestDiffCube checks that a comparison of files of Cube has the figures of that of the traces from
// which they are made, and that files that are damaged or lack times are reported.
func TestDiffCube(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for name, flags := range map[string][]string{"good": nil, "late": {"--late-sender", "20ms", "--imbalance", "2:1"}} {
		weft(t, 0, append([]string{"generate", "--workload", "phases", "--events", "2000", file(name + ".otf2")},
			flags...)...)
		weft(t, 0, "profile", "--cube", file(name+".cubex"), file(name+".otf2"))
	}
	compare := func(a, b string) (out map[string]any) {
		text := weft(t, 0, "diff", "--json", "--change", "0", "--least", "0", file(a), file(b))
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		for _, side := range []string{"a", "b"} {
			delete(out, side)
		}
		return out
	}
	expected := compare("good.otf2", "late.otf2")
	if len(expected["paths"].([]any)) < 5 {
		t.Fatalf("found %v, expected some differences", expected["paths"])
	}
	var profiles any // the runtimes of the files of Cube
	for _, pair := range [][2]string{{"good.cubex", "late.cubex"}, {"good.otf2", "late.cubex"},
		{"good.cubex", "late.otf2"}} {
		found := compare(pair[0], pair[1])
		if pair[0] == "good.cubex" && pair[1] == "late.cubex" {
			profiles = found["runtime"]
		} else if !reflect.DeepEqual(found["runtime"], profiles) {
			// Without the times of events, the runtime is the longest time of a location in regions, on both sides.
			t.Errorf("%v: found the runtime %v, expected %v", pair, found["runtime"], profiles)
		}
		for _, k := range []string{"regions", "paths", "time", "unit", "samples"} {
			if !reflect.DeepEqual(found[k], expected[k]) {
				t.Errorf("%v: found the %s %v, expected %v", pair, k, found[k], expected[k])
			}
		}
	}
	whole, err := os.ReadFile(file("late.cubex"))
	if err != nil {
		t.Fatal(err)
	}
	whole = bytes.TrimRight(whole, "\x00")
	for n := 512; n < len(whole); n += len(whole) / 50 {
		if err := os.WriteFile(file("cut.cubex"), whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		weft(t, 1, "diff", file("good.cubex"), file("cut.cubex"))
	}
	weft(t, 2, "diff", "--window", "10%..20%", file("good.cubex"), file("late.otf2"))
	weft(t, 1, "diff", "--iterations", "compute", file("good.cubex"), file("late.cubex"))
}

// TestDiffCubeOfThreads checks that a trace with a parallel region does not differ from its own Cube file, although the
// call paths of its threads begin at the threads.
func TestDiffCubeOfThreads(t *testing.T) {
	omp, file := "../../analysis/waits/testdata/omp/traces.otf2", filepath.Join(t.TempDir(), "omp.cubex")
	weft(t, 0, "profile", "--cube", file, omp)
	for _, pair := range [][2]string{{omp, file}, {file, omp}} {
		var out struct{ Regions, Paths, Repetitions []any }
		text := weft(t, 0, "diff", "--json", "--change", "0", "--least", "0", pair[0], pair[1])
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		if n := len(out.Regions) + len(out.Paths) + len(out.Repetitions); n > 0 {
			t.Errorf("%v: found %d differences, expected none: %s", pair, n, text)
		}
	}
}
