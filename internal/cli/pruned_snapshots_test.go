package cli

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// archiveWithSnapshots copies an archive of testdata and adds snapshots and a thumbnail with otf2-snapshots.
func archiveWithSnapshots(t *testing.T, name string) (path string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS("../../format/otf2/testdata/ok/"+name)); err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.otf2"))
	addSnapshots(t, paths[0])
	return paths[0]
}

// addSnapshots adds four snapshots of each location and a thumbnail to an archive with otf2-snapshots.
func addSnapshots(t *testing.T, path string) {
	t.Helper()
	if _, err := exec.LookPath("otf2-snapshots"); err != nil {
		t.Skip("otf2-snapshots is not installed")
	}
	if out, err := exec.Command("otf2-snapshots", "-n", "4", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestSnapshotsOfRestoredArchives checks that edits of archives that weft wrote, and restores, keep the snapshots, the
// thumbnail and the trace identifier that otf2-snapshots has added, as otf2-print shows. The loss table counts those
// of locations that have lost events, and those of an edit that changes names.
func TestSnapshotsOfRestoredArchives(t *testing.T) {
	dir := t.TempDir()
	generated, converted := filepath.Join(dir, "stencil.otf2"), filepath.Join(dir, "converted.otf2")
	weft(t, 0, "generate", "--workload", "stencil", "--locations", "4", "--events", "300", generated)
	text := "-3 1 0.1 0 0 0\n-3 2 0.2 0 0 0\n-3 1 0.3 1 0 0\n-4 2 0.7 0 0 0\n-4 1 0.8 1 0 0\n-4 1 0.9 0 0 0\n"
	if err := os.WriteFile(filepath.Join(dir, "in.trf"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	weft(t, 0, "convert", "-q", filepath.Join(dir, "in.trf"), converted)
	for _, path := range []string{generated, converted} {
		addSnapshots(t, path)
		snapshots := func(path string) string {
			out, _ := runTool(t, path, "otf2-print", "-A")
			_, text, _ := strings.Cut(string(out), "=== Snapshots")
			return regexp.MustCompile("Trace identifier +.*").FindString(string(out)) + text
		}
		want, columns := snapshots(path), thumbnail(t, path)
		for _, verb := range [][]string{{"repair"}, {"filter", "--min-duration", "0"}, {"cut", "--to", "100%"},
			{"merge"}} {
			edited := filepath.Join(t.TempDir(), "edited.otf2")
			out := weft(t, 0, append(verb, path, edited)...)
			if got := snapshots(edited); got != want || !strings.Contains(want, "SNAPSHOT_START") {
				t.Errorf("%s: otf2-print prints %q, before %q", verb[0], got, want)
			}
			if got := thumbnail(t, edited); !reflect.DeepEqual(got, columns) {
				t.Errorf("%s: found samples %v, expected %v", verb[0], got, columns)
			}
			if strings.Contains(out, "snapshot") || strings.Contains(out, "thumbnail") {
				t.Errorf("%s: found %q, expected no loss", verb[0], out)
			}
		}
	}
	edited := filepath.Join(t.TempDir(), "edited.otf2")
	out := weft(t, 0, "filter", "--allow-loss", "--location", "*0*", generated, edited)
	if !strings.Contains(out, "snapshots") || !strings.Contains(out, "thumbnails") {
		t.Errorf("found %q, expected snapshots and thumbnails", out)
	}
	out = weft(t, 0, "anonymize", "--allow-loss", generated, filepath.Join(t.TempDir(), "names.otf2"))
	if !strings.Contains(out, "\nsnapshot") || !strings.Contains(out, "\nthumbnail") {
		t.Errorf("found %q, expected snapshots and thumbnails", out)
	}
}

// TestPrunedSnapshots checks that otf2-print prints the same snapshots, apart from ids, for an archive and for the
// archive that --prune writes from it. All events remain.
func TestPrunedSnapshots(t *testing.T) {
	path, pruned := archiveWithSnapshots(t, "heat2d-mt"), filepath.Join(t.TempDir(), "pruned.otf2")
	weft(t, 0, "filter", "-q", "--prune", "--min-duration", "0", path, pruned)
	snapshots := func(path string) string {
		out, _ := runTool(t, path, "otf2-print", "-A")
		_, text, _ := strings.Cut(string(out), "=== Snapshots")
		return printedID.ReplaceAllString(text, "")
	}
	want := snapshots(path)
	if got := snapshots(pruned); got != want || !strings.Contains(want, "SNAPSHOT_START") {
		t.Errorf("otf2-print prints %q, before %q", got, want)
	}
}

// TestPrunedThumbnail checks that the columns of a thumbnail of otf2-snapshots keep their regions and samples in a
// pruned archive. Columns of removed regions are left out; they have no samples.
func TestPrunedThumbnail(t *testing.T) {
	path, pruned := archiveWithSnapshots(t, "omp"), filepath.Join(t.TempDir(), "pruned.otf2")
	weft(t, 0, "filter", "-q", "--prune", "--min-duration", "0", path, pruned)
	before, after := thumbnail(t, path), thumbnail(t, pruned)
	unused := slices.Collect(maps.Keys(before))
	unused = slices.DeleteFunc(unused, func(name string) bool { _, ok := after[name]; return ok })
	if want := []string{"OpenMP loop"}; !slices.Equal(unused, want) || len(after) != len(before)-1 {
		t.Errorf("columns %q are left out, want %q", unused, want)
	}
	for name, samples := range after {
		if !slices.Equal(samples, before[name]) {
			t.Errorf("%s: samples differ", name)
		}
	}
	for _, sample := range before["OpenMP loop"] {
		if sample != 0 {
			t.Errorf("sample %d of a region without visits", sample)
		}
	}
}

// thumbnail returns the samples in thumbnail 0 of an archive, by the names of regions.
func thumbnail(t *testing.T, path string) map[string][]uint64 {
	t.Helper()
	a, err := otf2.Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	texts, names := map[uint64]string{}, map[uint64]string{}
	for _, id := range []uint8{10, 15} { // String, Region
		err = a.Definitions(func(_ int64, r *otf2.Record) error {
			switch {
			case r.ID == id && id == 10:
				texts[r.Values[0]] = r.Texts[0]
			case r.ID == id:
				names[r.Values[0]] = texts[r.Values[1]]
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	columns, samples := []string{}, map[string][]uint64{}
	err = a.Thumbnail(0, func(_ int64, r *otf2.Record) error {
		if r.ID == 10 { // name, description, type, number of samples, number of columns, regions
			for _, region := range r.Values[5:] {
				columns = append(columns, names[region])
			}
			return nil
		}
		if len(r.Values) != 2+len(columns) { // baseline, number of columns
			return fmt.Errorf("a sample has %d values, expected %d", len(r.Values)-2, len(columns))
		}
		for i, name := range columns {
			samples[name] = append(samples[name], r.Values[2+i])
		}
		return nil
	})
	if err != nil || len(columns) == 0 {
		t.Fatal(columns, err)
	}
	return samples
}

// TestReasonOfThumbnail checks the reasons for which a thumbnail of OTF is not kept: --prune of one trace, and a merge
// of two.
func TestReasonOfThumbnail(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "x.otf")
	for name, text := range map[string]string{"x.otf": "1:1\n",
		"x.0.def":    "DTRf4240\nDP1NM\"p\"\nDFG1NM\"g\"\nDF1G1NM\"f\"\n",
		"x.1.events": "0\n*1\nE1\n32\n*1\nL1\n32\n*1\n", "x.thumb": "0:2,1\n1:1,1,\n"} {
		writeText(t, filepath.Join(dir, name), text)
	}
	for want, args := range map[string][]string{
		"definitions were left out":              {"filter", "--prune", in},
		"it shows only one of the joined traces": {"merge", in, in},
	} {
		out := weft(t, exitGood, append(args, filepath.Join(t.TempDir(), "out.otf"))...)
		if !strings.Contains(out, "thumbnail") || !strings.Contains(out, want) {
			t.Errorf("%v: found %q, expected a lost thumbnail and the reason %q", args[0], out, want)
		}
	}
}
