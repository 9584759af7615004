package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// TestSameBytesOnAllCores rewrites archives with one goroutine and with several. All files must be the same.
func TestSameBytesOnAllCores(t *testing.T) {
	traces := map[string]string{
		"heat2d":   realTraces["otf2"],
		"ring":     realTraces["ring"], // has open visits at the ends of locations, and mapping tables
		"snapshot": "../../format/otf2/testdata/ok/snapshots/all.otf2",
		"rma":      "../../format/otf2/testdata/ok/rma/traces.otf2",
	}
	for name, path := range traces {
		for _, verb := range [][]string{
			{"cut", "--from", "30%", "--to", "60%"},
			{"cut", "--to", "100%"},
			{"cut", "--from", "50%", "--prune"},
			{"filter", "--not-region", "MPI_*", "--min-duration", "1us"},
			{"repair"},
			{"anonymize"},
			{"merge", "--anchor", "none", path},
			{"merge", "--anchor", "none", realTraces["otf2"]},
		} {
			label := name + ": " + strings.Join(verb, " ")
			var first map[string]string
			for _, workers := range []string{"1", "2", "4"} {
				out := filepath.Join(t.TempDir(), "x.otf2")
				args := append(append([]string{"-j", workers}, verb...), "-q", "--allow-loss", path, out)
				if code, _, errs := runWeft(t, args...); code != exitGood {
					t.Fatalf("%s: exit code %d: %s", label, code, errs)
				}
				files := readFiles(t, filepath.Dir(out))
				if first == nil {
					first = files
				}
				if len(files) != len(first) {
					t.Errorf("%s: found %d files with -j %s, expected %d as with -j 1", label, len(files), workers, len(first))
				}
				for file, content := range first {
					if files[file] != content {
						t.Errorf("%s: %s with -j %s differs from that with -j 1", label, file, workers)
					}
				}
			}
		}
	}
}

// readFiles returns the contents of all files below a folder, by their paths.
func readFiles(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		files[name] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestStandInsInOrder rewrites an archive with undefined regions. Location 0 uses regions 9 and 8 in this order, and
// location 1 uses region 7. The written definitions of the regions must have ascending ids, because otf2-print warns
// of others.
func TestStandInsInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.otf2")
	dst, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := otf2.NewWriter(dst, otf2.Anchor{})
	const none = 1<<32 - 1
	for i, regions := range [][]uint64{{9, 8}, {7}} {
		l := w.Location(uint64(i))
		for n, region := range regions {
			for k := range uint64(2) { // an enter and a leave
				err = errors.Join(err, l.Write(&otf2.Event{Time: uint64(n)*2 + k,
					Record: otf2.Record{ID: 12 + uint8(k), Values: []uint64{region}}}))
			}
		}
		err = errors.Join(err, w.Define(&otf2.Record{ID: 14, Values: []uint64{uint64(i), none, 1, l.Count, none}}))
	}
	if err := errors.Join(err, w.Close(), dst.Commit()); err != nil {
		t.Fatal(err)
	}
	for _, verb := range [][]string{{"repair"}, {"cut", "--from", "0%", "--prune"}, {"cut", "--from", "30%", "--prune"},
		{"merge", "--anchor", "none", path}, {"merge", "--anchor", "none", path, "--from", "30%"}} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		if code, _, errs := runWeft(t, append(append(verb, "-q", "--allow-loss"), path, out)...); code != exitGood {
			t.Fatalf("%v: exit code %d: %s", verb, code, errs)
		}
		a, err := otf2.Open(format.FileSource(out))
		if err != nil {
			t.Fatal(err)
		}
		var ids []uint64
		if err := a.Definitions(func(_ int64, r *otf2.Record) error {
			if r.ID == 15 { // a region
				ids = append(ids, r.Values[0])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(ids) == 0 || !slices.IsSorted(ids) {
			t.Errorf("%v: found definitions of regions %v, expected ascending ids", verb, ids)
		}
	}
}

// TestMatchOnce checks that patterns are matched again for a definition whose name has changed, and for one that
// was added later.
func TestMatchOnce(t *testing.T) {
	d := &trace.Definitions{}
	d.Regions.Add(trace.Region{ID: "0", Name: "solve"})
	d.Regions.Add(trace.Region{ID: "1", Name: "wait"})
	matches, err := choose(d, aRegion, []string{"s*"})
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...bool) {
		t.Helper()
		for i, w := range want {
			if got := matches(uint32(i)); got != w {
				t.Errorf("region %s: found %t, expected %t", d.Regions.At(uint32(i)).Name, got, w)
			}
		}
	}
	check(true, false)
	d.Regions.At(0).Name, d.Regions.At(1).Name = "init", "start"
	d.Regions.Add(trace.Region{ID: "2", Name: "stop"})
	check(false, true, true)
}
