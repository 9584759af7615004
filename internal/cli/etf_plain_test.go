package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestLossOfPlainTRACE checks that --plain counts what only weft's own data keep: that calls have no end, and the part
// of the epoch below a millisecond. Claims of TRACE without an end cannot come from a TRACE file.
func TestLossOfPlainTRACE(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open.trf")
	const text = "-3 7 0.1 0 0 0\n-3 8 0.2 0 0 0\n-4 8 0.3 0 0 0\n-3 9 0.4 1 0 0\n-2 9 0.5 0 0 0\n"
	if err := os.WriteFile(open, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const epoch = "../../format/otf2/testdata/ok/rma/traces.otf2" // begins 1795548485.653762328 s after 1970
	for _, x := range []struct {
		in, kind, field string
		plain           bool
		want            int64
	}{
		{open, "enter", "", true, 2},
		{open, "enter", "", false, 0},
		{epoch, "clock", "epoch", true, 1},
		{epoch, "clock", "epoch", false, 0},
	} {
		args := []string{"convert", "-q", "--json", "--allow-loss", "--force", x.in, filepath.Join(dir, "x.etf")}
		if x.plain {
			args = append(args, "--plain")
		}
		var rows []format.LossRow
		if err := json.Unmarshal([]byte(weft(t, 0, args...)), &rows); err != nil {
			t.Fatal(err)
		}
		count := int64(0)
		for _, r := range rows {
			if r.Kind == x.kind && r.Field == x.field && r.How == format.Degraded {
				count += r.Count
			}
		}
		if count != x.want {
			t.Errorf("%q: counted %d, expected %d", args, count, x.want)
		}
	}
}

// TestPlainTimeUnits checks that --plain keeps the times of a trace whose unit is longer than a second, also before
// time 0, in all formats. In them, the first event is at time 0 or at its own time.
func TestPlainTimeUnits(t *testing.T) {
	dir := t.TempDir()
	for unit, seconds := range map[string]float64{"MINUTES": 60, "HOURS": 3600} {
		for first, text := range map[float64]string{0: "C 0 0 1 0 1 ; name=a\nC 1 1.25 2 0 1 ; name=b\n",
			-1: "C 0 -1 0 0 1 ; name=a\nC 1 0.25 1 0 1 ; name=b\n"} {
			in := filepath.Join(dir, "in.etf")
			if err := os.WriteFile(in, []byte("TU "+unit+"\nR 0 1 false ; name=r\n"+text), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"x.otf", "x.otf2", "p/x.pallas", "x.trf"} {
				out := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
					t.Fatal(err)
				}
				weft(t, 0, "convert", "-q", "--allow-loss", "--force", "--plain", in, out)
				var times []float64
				for line := range strings.Lines(weft(t, 0, "print", "--kind", "enter,leave", "--region", "a,b", out)) {
					s, err := strconv.ParseFloat(strings.Fields(line)[0], 64)
					if err != nil {
						t.Fatal(err)
					}
					times = append(times, s)
				}
				if len(times) != 4 {
					t.Fatalf("%s of %s: found times %v, expected 4", name, unit, times)
				}
				begin := times[0]
				for i, want := range []float64{0, 1, 1.25, 2} {
					if times[i]-begin != want*seconds || begin != 0 && begin != first*seconds {
						t.Errorf("%s of %s: found time %d at %v s, expected it %v s after the first", name, unit, i, times[i],
							want*seconds)
					}
				}
			}
		}
	}
}

// TestPlainTimesBeyondOTF2 checks that --plain counts times that do not fit the ticks of OTF2, and keeps the others.
func TestPlainTimesBeyondOTF2(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "x.etf"), filepath.Join(dir, "x.otf2")
	const trace = "TU HOURS\nO 0\nR 0 100 false ; name=r\nC 0 -4000000000000000 -3999999999999999 0 1 ; name=a\n" +
		"C 1 0 1 0 1 ; name=b\n"
	if err := os.WriteFile(in, []byte(trace), 0o666); err != nil {
		t.Fatal(err)
	}
	var rows []format.LossRow
	text := weft(t, 0, "convert", "-q", "--json", "--plain", "--allow-loss", in, out)
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	lost := int64(0)
	for _, r := range rows {
		if r.Field == "time" && r.How == format.Lost {
			lost += r.Count
		}
	}
	if lost != 2 {
		t.Errorf("counted %d lost times, expected the begin and the end of a", lost)
	}
	printed, _ := runTool(t, out, "otf2-print")
	if printed == nil {
		t.Skip("otf2-print is not installed")
	}
	for _, want := range []string{`ENTER +0 +0 +Region: "b"`, `LEAVE +0 +3600 +Region: "b"`} {
		if !regexp.MustCompile(want).Match(printed) {
			t.Errorf("otf2-print prints no line %s:\n%s", want, printed)
		}
	}
}
