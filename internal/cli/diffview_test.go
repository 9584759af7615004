package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// diffFigures is the output of weft diff --json, or the viewer's answer.
type diffFigures struct {
	Missing string
	// Summary has all other fields of the output.
	Summary        map[string]any
	Regions, Paths []map[string]any
}

// figuresOf decodes JSON. It leaves out the fields that only the command or only the viewer writes.
func figuresOf(t *testing.T, text string) (f diffFigures) {
	t.Helper()
	for _, to := range []any{&f, &f.Summary} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	for _, k := range []string{"regions", "paths", "missing", "left", "a", "b", "clock", "failed"} {
		delete(f.Summary, k)
	}
	return f
}

// onlyReported removes the rows that the viewer has in addition, and names call paths as the command does.
func (f *diffFigures) onlyReported() {
	var names [][]any
	for _, p := range f.Paths {
		var path []any
		if i := int(p["parent"].(float64)); i >= 0 {
			path = names[i]
		}
		names = append(names, append(slices.Clone(path), p["region"]))
	}
	for i, p := range f.Paths {
		p["path"] = names[i]
	}
	for _, list := range []*[]map[string]any{&f.Regions, &f.Paths} {
		*list = slices.DeleteFunc(*list, func(r map[string]any) bool { return r["reported"] != true })
		for _, r := range *list {
			for _, k := range []string{"reported", "name", "parent", "subtree"} {
				delete(r, k)
			}
		}
	}
}

// byPath returns the call paths by name. It drops the former names, because the viewer omits those of paths
// inside of renamed or moved paths. The viewer places a removed path inside of the partner of its parent, and
// the partner may have another name. Therefore the key of a removed path is its last region.
func (f *diffFigures) byPath() map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, p := range f.Paths {
		key := fmt.Sprint(p["path"])
		if p["kind"] == "removed" {
			key = fmt.Sprint("removed ", p["region"], p["exclusive"])
			delete(p, "path")
		}
		delete(p, "was")
		out[key] = p
	}
	return out
}

// diffServer is a viewer of some traces.
type diffServer struct {
	*serverProcess
	base string
	ids  map[string]string // indexed by path
}

// newDiffServer starts a viewer and waits until it has the traces.
func newDiffServer(t *testing.T, paths ...string) *diffServer {
	s := &diffServer{serverProcess: startServer(t, t.TempDir(), append([]string{"view"}, paths...)...),
		ids: map[string]string{}}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	s.get(t, s.url) // sets the cookie with the secret
	s.base = u.Scheme + "://" + u.Host
	for i, x := range s.traces(t, s.base).Traces {
		s.ids[paths[i]] = x.ID
		s.untilReady(t, s.base+"/api/traces/"+x.ID)
	}
	return s
}

// diff requests the differences between two traces.
func (s *diffServer) diff(t *testing.T, a, b, query string) (status int, text string) {
	return s.get(t, s.base+"/api/traces/"+s.ids[b]+"/diff?reference="+s.ids[a]+query)
}

// TestDiffOfViewer compares the differences in the viewer with those of weft diff: of two traces, of the same
// window of both, and of two windows of one trace. A tick of the traces is a nanosecond.
func TestDiffOfViewer(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	good, late, early, later := file("good.otf2"), file("late.otf2"), file("early.otf2"), file("later.otf2")
	weft(t, 0, "generate", "--workload", "phases", "--events", "2000", good)
	weft(t, 0, "generate", "--workload", "phases", "--events", "2000", "--late-sender", "20ms", "--imbalance", "2:1", late)
	weft(t, 0, "cut", "--window", "100ms..350ms", good, early)
	weft(t, 0, "cut", "--window", "350ms..950ms", good, later)
	hand, p2p := "../../analysis/waits/testdata/hand/traces.otf2", "../../analysis/waits/testdata/p2p/traces.otf2"
	s := newDiffServer(t, good, late, hand, p2p)
	defer s.stop(t)
	for _, c := range []struct {
		name, a, b, query string
		flags             []string
	}{
		{"whole traces", good, late, "", []string{good, late}},
		{"inclusive times", good, late, "&metric=inclusive&least=1&change=10",
			[]string{"--metric", "inclusive", "--least", "1", "--change", "10", good, late}},
		{"no thresholds", good, late, "&least=0&change=0", []string{"--least", "0", "--change", "0", good, late}},
		{"other programs", hand, p2p, "", []string{hand, p2p}},
		{"two windows", good, good, "&referenceFrom=100000000&referenceTo=350000000&from=350000000&to=950000000" +
			"&least=0&change=0",
			[]string{"--least", "0", "--change", "0", early, later}},
		{"a window of both", good, late, "&from=100000000&to=900000000&referenceFrom=100000000&referenceTo=900000000",
			[]string{"--window", "100ms..900ms", good, late}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := figuresOf(t, weft(t, 0, append([]string{"diff", "--json", "-q"}, c.flags...)...))
			status, text := s.diff(t, c.a, c.b, c.query)
			if status != 200 {
				t.Fatalf("status %d, %s", status, text)
			}
			found := figuresOf(t, text)
			found.onlyReported()
			if len(want.Regions) < 2 || len(want.Paths) < 2 {
				t.Fatalf("found %d regions and %d paths, expected some", len(want.Regions), len(want.Paths))
			}
			for _, x := range []struct {
				what        string
				want, found any
			}{{"summary", want.Summary, found.Summary}, {"regions", want.Regions, found.Regions},
				{"paths", want.byPath(), found.byPath()}} {
				if d := gocmp.Diff(x.want, x.found); d != "" {
					t.Errorf("%s of the command (-) and of the viewer (+):\n%s", x.what, d)
				}
			}
		})
	}
}

// TestBoundsOfDiff checks that an answer of the viewer has no more rows than requested, and states how many it
// leaves out, and that it refuses wrong parameters.
func TestBoundsOfDiff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	weft(t, 0, "generate", "--workload", "phases", "--events", "500", path)
	s := newDiffServer(t, path)
	defer s.stop(t)
	var few struct {
		Regions, Paths                 []any
		ComparedRegions, ComparedPaths int
		Left                           struct{ Regions, Paths int }
	}
	status, text := s.diff(t, path, path, "&limit=2")
	if err := json.Unmarshal([]byte(text), &few); err != nil || status != 200 {
		t.Fatalf("found the status %d, %v", status, err)
	}
	if len(few.Regions) != 2 || len(few.Paths) != 2 || few.ComparedRegions < 3 ||
		few.Left.Regions != few.ComparedRegions-2 || few.Left.Paths != few.ComparedPaths-2 {
		t.Errorf("found %+v, expected 2 regions and 2 paths, and that all others are left out", few)
	}
	for query, wanted := range map[string]string{"&least=101": "least: found", "&least=x": "least: found",
		"&change=-1": "change: found", "&metric=visits": "metric: found", "&limit=0": "limit: found",
		"&referenceFrom=5&referenceTo=5": "referenceTo: found", "&from=5&to=4": "to: found"} {
		if status, text := s.diff(t, path, path, query); status != 400 || !strings.Contains(text, wanted) {
			t.Errorf("%s: found the status %d, %s, expected 400 and %q", query, status, text, wanted)
		}
	}
	if status, _ := s.get(t, s.base+"/api/traces/"+s.ids[path]+"/diff?reference=x"); status != 400 {
		t.Errorf("without a reference: found the status %d, expected 400", status)
	}
}
