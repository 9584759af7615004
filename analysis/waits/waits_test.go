package waits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// scoutNames maps the metrics of Scalasca's analyser to patterns.
var scoutNames = map[string]string{
	"mpi_latesender": "late-sender", "mpi_latereceiver": "late-receiver", "mpi_barrier_wait": "wait-at-barrier",
	"mpi_barrier_completion": "barrier-completion", "mpi_wait_nxn": "wait-at-nxn", "mpi_nxn_completion": "nxn-completion",
	"mpi_latebroadcast": "late-broadcast", "mpi_earlyreduce": "early-reduce", "mpi_earlyscan": "early-scan",
	"mpi_init_completion": "init-completion", "mpi_finalize_wait": "wait-at-finalize",
	"omp_ibarrier_wait": "wait-at-implicit-omp-barrier", "omp_ebarrier_wait": "wait-at-explicit-omp-barrier",
	"omp_lock_contention_critical": "lock-contention",
}

// scout reads a file of figures of Scalasca's analyser, and returns them by pattern and path, with
// one for each location. The file lists long paths without their outer regions.
func scout(t *testing.T, path string, names map[string]string) map[string]map[string][]int64 {
	t.Helper()
	all := map[string]map[string][]int64{}
	for _, f := range testtrace.ReadScout(t, path) {
		pattern := names[f.Metric]
		if pattern == "" {
			continue
		}
		if all[pattern] == nil {
			all[pattern] = map[string][]int64{}
		}
		all[pattern][f.Path] = append(all[pattern][f.Path], int64(f.Value))
	}
	return all
}

func open(t testing.TB, path string) format.Events {
	t.Helper()
	d, err := otf2.Format{}.Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// find returns the waits of a trace.
func find(t testing.TB, d format.Events, opt waits.Options) *waits.Result {
	t.Helper()
	opt.Rows = trace.NewRows(d.Defs())
	r, err := waits.Find(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestScout compares all figures of Scalasca's analyser with the results.
func TestScout(t *testing.T) {
	for _, name := range []string{"hand", "p2p", "omp"} {
		dir := filepath.Join("testdata", name)
		expected := scout(t, filepath.Join(dir, "scout.txt"), scoutNames)
		if len(expected) == 0 {
			t.Fatalf("%s: found no figures", name)
		}
		r := find(t, open(t, filepath.Join(dir, "traces.otf2")), waits.Options{Worst: 3})
		found := map[string]map[string][]int64{}
		for _, p := range r.Patterns {
			if p.PartOf != "" {
				continue
			}
			paths := map[string][]int64{}
			for _, s := range p.PathLocations {
				path := strings.Join(s.Path, "/")
				for x := range expected[p.Pattern] {
					if strings.HasSuffix(path, x) {
						path = x
					}
				}
				if paths[path] == nil {
					paths[path] = make([]int64, 3)
				}
				paths[path][*s.Location] = s.Time.Int64()
			}
			found[p.Pattern] = paths
		}
		if a, b := fmt.Sprint(found), fmt.Sprint(expected); a != b {
			t.Errorf("%s:\nfound    %s\nexpected %s", name, a, b)
		}
		if len(r.Unjudged) > 0 || r.Violations != (waits.Violations{}) {
			t.Errorf("%s: found %+v, %+v", name, r.Unjudged, r.Violations)
		}
	}
}

// TestWrongOrder checks the message of trace p2p that is received before an earlier message of
// another location.
func TestWrongOrder(t *testing.T) {
	r := find(t, open(t, "testdata/p2p/traces.otf2"), waits.Options{})
	var found []string
	for _, p := range r.Patterns {
		if p.PartOf != "" {
			found = append(found, fmt.Sprint(p.Pattern, " ", p.Count, " ", p.Time, " ", p.PartOf))
		}
	}
	expected := []string{"late-sender-wrong-order 1 350 late-sender",
		"late-sender-wrong-order-different-source 1 350 late-sender-wrong-order"}
	if !slices.Equal(found, expected) {
		t.Errorf("found %q, expected %q", found, expected)
	}
}

// TestEmptyPath checks that JSON has the path of waits outside of all regions, as docs/json/waits.md states, and no
// path in the other breakdowns.
func TestEmptyPath(t *testing.T) {
	for expected, s := range map[string]waits.Share{`{"path":[],"count":2,"time":3}`: {Path: []string{}},
		`{"region":"a","count":2,"time":3}`: {Region: "a"}} {
		s.Count, s.Time = 2, trace.TicksOf(3)
		found, err := json.Marshal(s)
		if err != nil || string(found) != expected {
			t.Errorf("found %s, error %v, expected %s", found, err, expected)
		}
	}
}
