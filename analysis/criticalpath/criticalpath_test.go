package criticalpath_test

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// TestScout compares with the figures of Scalasca's analyser.
func TestScout(t *testing.T) {
	for _, name := range []string{"hand", "p2p", "omp"} {
		dir := "../waits/testdata/" + name
		r := find(t, dir+"/traces.otf2")
		f, err := os.Open(dir + "/scout.txt")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		expected, length := map[string]float64{}, 0.0
		metric := ""
		for s := bufio.NewScanner(f); s.Scan(); {
			line := s.Text()
			if !strings.HasPrefix(line, " ") {
				metric = strings.Fields(line)[0]
				continue
			}
			switch metric {
			case "critical_path", "critical_path_activities", "critical_imbalance_impact", "non_critical_path_activities":
				if name == "omp" && metric != "critical_path" {
					continue // docs/analyses/path.md has the differences
				}
				path, figures, _ := strings.Cut(line, "[")
				for loc, n := range strings.Split(strings.Trim(figures, "]"), ",") {
					v, err := strconv.ParseFloat(strings.Trim(n, " '"), 64)
					if err != nil {
						t.Fatal(err)
					}
					if v > 0 {
						expected[fmt.Sprint(metric, " ", strings.TrimSpace(path), " ", loc)] = v
					}
					if metric == "critical_path" {
						length += v
					}
				}
			}
		}
		found, sum := map[string]float64{}, int64(0)
		for _, p := range r.Paths {
			path := strings.Join(p.Path, "/")
			path = path[max(0, len(path)-34):]
			sum += p.Critical
			for metric, v := range map[string]float64{"critical_path": float64(p.Critical),
				"critical_path_activities": float64(p.Activities), "non_critical_path_activities": float64(p.NonCritical),
				"critical_imbalance_impact": p.Impact} {
				if v > 0 && (name != "omp" || metric == "critical_path") {
					found[fmt.Sprint(metric, " ", path, " ", p.Location)] = v
				}
			}
		}
		if float64(r.Length) != length || sum != r.Length {
			t.Errorf("%s: found a path of %d with parts of %d, expected %g", name, r.Length, sum, length)
		}
		for k, v := range expected {
			if math.Abs(found[k]-v) > 1 {
				t.Errorf("%s: %s: found %g, expected %g", name, k, found[k], v)
			}
			delete(found, k)
		}
		for k, v := range found {
			t.Errorf("%s: %s: found %g, expected nothing", name, k, v)
		}
		at := r.Begin
		for _, p := range r.Pieces {
			if p.From != at {
				t.Errorf("%s: found a piece from %d, expected it from %d", name, p.From, at)
			}
			at = p.To
		}
		if at != r.End {
			t.Errorf("%s: the pieces end at %d, expected %d", name, at, r.End)
		}
	}
}

func find(t *testing.T, path string) *criticalpath.Result {
	t.Helper()
	d, err := otf2.Format{}.Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := criticalpath.Find(context.Background(), d, criticalpath.Options{Rows: trace.NewRows(d.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
