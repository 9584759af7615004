package otf2

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// anchorOf returns the anchor file below a folder.
func anchorOf(t testing.TB, dir string) string {
	t.Helper()
	found := ""
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".otf2") {
			found = path
		}
		return nil
	})
	if found == "" {
		t.Fatalf("%s: no anchor file", dir)
	}
	return found
}

// compat returns the text that weft print --compat prints for an archive.
func compat(t testing.TB, anchor string) []byte {
	t.Helper()
	var out bytes.Buffer
	opt := &format.ReadOptions{Report: format.NewReport()}
	if err := (Format{}).Compat(context.Background(), format.FileSource(anchor), opt,
		format.Printing{Selection: trace.Everything()}, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPrint checks that the archives in testdata print as otf2-print printed them.
func TestPrint(t *testing.T) {
	wants := tracetest.Glob(t, "testdata/ok/*/print.txt.gz")
	shared, _ := filepath.Glob("../../../shared/traces/otf2/*.print.txt.gz")
	if len(shared) == 0 {
		t.Log("the shared traces are not here")
	}
	for _, path := range append(wants, shared...) {
		dir := filepath.Dir(path)
		if name, ok := strings.CutSuffix(path, ".print.txt.gz"); ok {
			dir = name
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			want, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			sameLines(t, compat(t, anchorOf(t, dir)), want)
		})
	}
}

// TestPrintWindow checks that printing a window shows the events that the whole archive has in this window,
// like otf2-print --time, even if clock offsets let corrected times decrease.
func TestPrintWindow(t *testing.T) {
	for _, offsets := range [][]ClockOffset{
		nil,
		{{Time: 0, Offset: 0}, {Time: 400_000, Offset: 1000}},
		// corrected times go back at the beginning, by the offset of 900 000
		{{Time: 0, Offset: 900_000}, {Time: 400_000, Offset: 100_000}},
		// corrected times go back in the middle
		{{Time: 0, Offset: 0}, {Time: 200_000, Offset: 300_000}, {Time: 400_000, Offset: -90_000}},
	} {
		path := filepath.Join(t.TempDir(), "w.otf2")
		dst, err := format.CreateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(dst, Anchor{EventChunk: minChunk})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(2) {
			l := w.Location(i)
			for _, o := range offsets {
				if err := l.Clock(o); err != nil {
					t.Fatal(err)
				}
			}
			for k := range uint64(100_000) {
				if err := l.Write(&Event{Time: 4*k + i, Record: Record{ID: 17, Values: []uint64{k}}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Define(&Record{ID: defLocation, Values: []uint64{i, undefined32, 1, l.Count, undefined32}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), dst.Commit()); err != nil {
			t.Fatal(err)
		}
		lines := func(from, to int64) (l []string) {
			var out bytes.Buffer
			sel := trace.Everything()
			sel.From, sel.To = from, to
			if err := (Format{}).Compat(context.Background(), format.FileSource(path),
				&format.ReadOptions{Report: format.NewReport()}, format.Printing{Selection: sel}, &out); err != nil {
				t.Fatal(err)
			}
			for _, x := range strings.Split(out.String(), "\n") {
				if strings.HasPrefix(x, "MPI_IRECV_REQUEST") {
					l = append(l, x)
				}
			}
			return l
		}
		all := lines(math.MinInt64, math.MaxInt64)
		if len(all) != 200_000 {
			t.Fatalf("%v: found %d events, expected 200000", offsets, len(all))
		}
		times := make([]int64, len(all))
		for i, l := range all {
			if times[i], err = strconv.ParseInt(strings.Fields(l)[2], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range [][2]int64{{0, 1000}, {150_000, 160_000}, {500_000, 500_400}, {499_000, math.MaxInt64},
			{0, 899_000}, {7, 7}, {-5, 0}} {
			var want []string
			for i, l := range all {
				if times[i] >= x[0] && times[i] < x[1] {
					want = append(want, l)
				}
			}
			if got := lines(x[0], x[1]); !slices.Equal(got, want) {
				t.Errorf("%v, window %v: found %d events, expected %d", offsets, x, len(got), len(want))
			}
		}
	}
}

// sameLines reports the first lines that differ.
func sameLines(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	shown := 0
	for i := range max(len(g), len(w)) {
		line := func(l []string) string {
			if i < len(l) {
				return l[i]
			}
			return "(end)"
		}
		if line(g) != line(w) {
			if shown++; shown > 6 {
				break
			}
			t.Errorf("line %d:\n%s\nwant\n%s", i+1, line(g), line(w))
		}
	}
	if shown == 0 {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

// TestKernelRoles checks the roles of regions that OTF2 3.1 has added (OTF2_RegionRole).
func TestKernelRoles(t *testing.T) {
	for role, expected := range map[uint64]string{38: "FILE_IO_METADATA", 39: "KERNEL_LAUNCH", 40: "KERNEL",
		41: "INVALID <41>"} {
		if found := enumWord(regionRoles, role); found != expected {
			t.Errorf("role %d: found %s, expected %s", role, found, expected)
		}
	}
}
