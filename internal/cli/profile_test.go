package cli

import (
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// profileFigures holds the numbers of a profile for one region at one location.
type profileFigures struct {
	count                int64
	exclusive, inclusive float64
}

// TestOtfprofile compares profiles with those of otfprofile for the traces on which it does not
// crash. otfprofile leaves out undefined functions and visits without end, and confuses functions
// that streams define for themselves. Its inclusive time counts recursive visits several times, as
// the sum of the visits does.
func TestOtfprofile(t *testing.T) {
	effort.Sequential(t)
	program, err := exec.LookPath("otfprofile")
	if err != nil {
		t.Skip("otfprofile is not installed")
	}
	traces, err := filepath.Glob("../../format/otf/testdata/ok/*/*.otf")
	if err != nil || len(traces) == 0 {
		t.Fatalf("found %d traces, %v", len(traces), err)
	}
	compared := 0
	for _, path := range traces {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if filepath.Base(path) == "localdefs.otf" {
				t.Skip("otfprofile takes one stream's definitions for another's")
			}
			prefix := filepath.Join(t.TempDir(), "p")
			if out, err := exec.Command(program, "--csv", "--notex", "-o", prefix, "-i", path).CombinedOutput(); err != nil {
				t.Skipf("otfprofile does not read it: %v %s", err, out)
			}
			text, err := os.ReadFile(prefix + ".csv")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "nan") {
				t.Skip("otfprofile divides by zero")
			}
			want := map[[2]string]profileFigures{}
			for _, l := range strings.Split(string(text), "\n") {
				f := strings.Split(l, ";")
				if f[0] == "FUNCTION" && f[1] != "Process" {
					addFigures(t, want, f[1], f[2], f[3], f[4], f[5])
				}
			}
			rows, err := csv.NewReader(strings.NewReader(weft(t, 0, "profile", "-q", "--by", "location", "--csv",
				path))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			col := map[string]int{}
			for i, name := range rows[0] {
				col[name] = i
			}
			unclosed := map[string]bool{} // locations with open visits
			for _, f := range rows[1:] {
				unclosed[f[1]] = unclosed[f[1]] || f[col["unclosed"]] != "0"
			}
			got := map[[2]string]profileFigures{}
			for _, f := range rows[1:] {
				if !strings.HasPrefix(f[3], "undefined") && f[col["count"]] != "0" {
					addFigures(t, got, f[1], f[3], f[col["count"]], f[col["exclusive"]], f[col["sum"]])
				}
			}
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }
			for k, w := range want {
				g, ok := got[k]
				if unclosed[k[0]] {
					continue
				}
				if !ok || g.count != w.count || !near(g.exclusive, w.exclusive) || !near(g.inclusive, w.inclusive) {
					t.Errorf("%q: found %+v, otfprofile has %+v", k, g, w)
				}
				delete(got, k)
			}
			for k, g := range got {
				if unclosed[k[0]] {
					continue
				}
				t.Errorf("%q: found %+v, otfprofile has none", k, g)
			}
			compared++
		})
	}
	if compared < 5 {
		t.Errorf("compared %d traces, expected more", compared)
	}
}

// addFigures adds a line of a profile to a map by location and region.
func addFigures(t *testing.T, to map[[2]string]profileFigures, location, region, count, exclusive, inclusive string) {
	t.Helper()
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	x, err := strconv.ParseFloat(exclusive, 64)
	if err != nil {
		t.Fatal(err)
	}
	i, err := strconv.ParseFloat(inclusive, 64)
	if err != nil {
		t.Fatal(err)
	}
	k := [2]string{location, region}
	f := to[k]
	to[k] = profileFigures{f.count + n, f.exclusive + x, f.inclusive + i}
}
