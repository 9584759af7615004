package otf

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// checkTrace checks the trace x.otf in a directory.
func checkTrace(t *testing.T, dir string, opt *format.ReadOptions) error {
	t.Helper()
	src := format.FileSource(filepath.Join(dir, "x.otf"))
	d := tracetest.Open(t, Format{}, src, opt)
	defer d.Close()
	c := d.NewChecker()
	ctx := context.Background()
	if err := d.Scan(ctx, trace.Everything(), format.PerLocation, c); err != nil {
		return err
	}
	return c.Finish(ctx)
}

// soundTrace returns the files of a trace without defects.
func soundTrace() map[string]string {
	return map[string]string{
		"x.otf":      "1:1\na:2\n",
		"x.0.def":    "DTR3e8\nDP1NM\"one\"\nDP2NM\"two\"\nDP3NM\"three\"\nDF1G0NM\"f\"\nDF2G0NM\"g\"\nDPG7M1,2,NM\"comm\"\n",
		"x.1.events": "1\n*1\nE1\nE2\n2\n*1\nS2L8T5C7\n3\n*1\nS2L9T5C7\n4\n*1\nS3L9T5C7\nL2\nL1\n4\n*1\n",
		// messages are received before they are sent, as clocks differ
		"x.a.events": "1\n*2\nR1L8T5C7\nR1L9T5C7\n1\n*2\n",
		"x.a.snaps":  "1\n*2\nTE1O1\n1\n*2\n",
		"x.thumb":    "0:0,0\n",
		"x.y.events": "", "x.0a.events": "", "x..events": "", "y.b.events": "", "x.b.txt": "", "xx.b.events": "",
	}
}

// TestGroup0 checks that an undefined group 0 means no group: summaries of all communicators, and of functions
// without a group, are no undefined references.
func TestGroup0(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.otf": "1:1,2\n", "x.0.def": "DTRf4240\nDP1NM\"a\"\nDP2NM\"b\"\nDF1G0NM\"main\"\n",
		"x.1.events": "1\n*1\nE1\n2\nL1\n*1\n",
		"x.1.stats":  "2\n*1\nSG0N1E1I1\nSG7N1E1I1\nSM0NS1NR1LS1LR1\nSFLG0NO0NC0NR0NW0NS0BR0BW0\n2\n*1\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	rep := format.NewReport()
	if err := checkTrace(t, dir, &format.ReadOptions{Report: rep}); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, r := range rep.Rules() {
		if r.Rule == "otf.undefined" {
			for _, d := range r.First {
				found = append(found, d.Found)
			}
		}
	}
	if want := []string{"group 7 in stream 1"}; !slices.Equal(found, want) {
		t.Errorf("found undefined %q, expected %q", found, want)
	}
}

// TestCheck checks that each rule of the checker is found once, and that a sound trace has no defects.
func TestCheck(t *testing.T) {
	for _, x := range []struct {
		rule  string
		count int64
		file  string // name of the file that has the defect
		found string
		files map[string]string // replacements for files of the sound trace; the text "-" removes a file
	}{
		{"", 0, "", "", nil},
		// Files of other traces in the same folder are not checked.
		{"", 0, "", "", map[string]string{"x.abc.otf": "1:1\n", "x.abc.1.events": "1\n*1\n", "x.1.otf": "1:1\n",
			"x.1.1.events.z": "", "x.def": "OTF2", "x.def.z": ""}},
		{"otf.no-trailer", 1, "x.a.snaps", `an end with the line "TE1O1"`, map[string]string{"x.a.snaps": "1\n*2\nTE1O1\n"}},
		{"otf.no-trailer", 1, "x.a.snaps", `an end with the line "yyyyy`,
			map[string]string{"x.a.snaps": "1\n*2\nTC\"" + strings.Repeat("y", 3*tailBytes) + "\"\n"}},
		{"otf.refused", 1, "x.a.snaps", "the time ffffffffffffffff at the end",
			map[string]string{"x.a.snaps": "1\n*2\nTE1O1\n#\"error due to unsorted time stamp, " +
				"aborted\"\nffffffffffffffff\n*2\n"}},
		{"otf.unlisted-stream", 1, "x.b.events.z", "a file of stream b", map[string]string{"x.b.events.z": ""}},
		{"otf.hidden-file", 1, "x.a.events.z", "a file both with and without compression",
			map[string]string{"x.a.events.z": "\x78\x5e"}},
	} {
		dir := t.TempDir()
		files := soundTrace()
		for name, text := range x.files {
			files[name] = text
		}
		for name, text := range files {
			writeFile(t, filepath.Join(dir, name), text)
		}
		rep := format.NewReport()
		if err := checkTrace(t, dir, &format.ReadOptions{Report: rep}); err != nil {
			t.Fatal(err)
		}
		l := slices.DeleteFunc(rep.Rules(), func(r format.RuleCount) bool { return r.Rule == "otf.unknown-record" })
		if x.rule == "" {
			for _, r := range l {
				t.Errorf("a sound trace: %v", r.First[0])
			}
			continue
		}
		if len(l) != 1 || l[0].Rule != x.rule || l[0].Count != x.count {
			t.Errorf("%s: found %v", x.rule, l)
			continue
		}
		d := l[0].First[0]
		if filepath.Base(d.Position.File) != x.file || !strings.HasPrefix(d.Found, x.found) || d.Expected == "" {
			t.Errorf("%s: %v", x.rule, d)
		}
		rules := Format{}.About().Rules
		i := slices.IndexFunc(rules, func(r format.Rule) bool { return r.ID == x.rule })
		if i < 0 || rules[i].Severity != d.Severity {
			t.Errorf("%s: severity %s is not that of the table", x.rule, d.Severity)
		} else if err := checkTrace(t, dir, &format.ReadOptions{Strict: true}); err == nil && d.Severity >= trace.Warning {
			t.Errorf("%s: strict checking found nothing", x.rule)
		}
		// The checks are repeated with compressed files.
		for _, name := range []string{"x.1.events", "x.a.events", "x.a.snaps"} {
			if _, err := CompressFile(context.Background(), filepath.Join(dir, name), Compression{}); err != nil {
				t.Fatal(err)
			}
		}
		if x.rule == "otf.hidden-file" {
			continue
		}
		again := format.NewReport()
		if err := checkTrace(t, dir, &format.ReadOptions{Report: again}); err != nil {
			t.Fatal(err)
		}
		l = slices.DeleteFunc(again.Rules(), func(r format.RuleCount) bool { return r.Rule == "otf.unknown-record" })
		if len(l) != 1 || l[0].Rule != x.rule || l[0].Count != x.count || l[0].First[0].Found != d.Found {
			t.Errorf("%s: found %v in the compressed trace", x.rule, l)
		}
	}
}

// TestCheckReal checks that the checker finds no defects in real traces whose messages have partners and whose
// writers were closed.
func TestCheckReal(t *testing.T) {
	for _, name := range []string{"mpi4", "map_1to1", "map_explicit", "aux_snapshots", "time0", "hello"} {
		rep := format.NewReport()
		src := format.FileSource(filepath.Join("testdata/ok", name, name+".otf"))
		opt := &format.ReadOptions{Report: rep}
		d := tracetest.Open(t, Format{}, src, opt)
		c := d.NewChecker()
		if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, c); err != nil {
			t.Fatal(err)
		}
		if err := c.Finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		d.Close()
		for _, r := range rep.Rules() {
			t.Errorf("%s: %v", name, r.First[0])
		}
	}
}

// TestCheckDamaged checks that checking and shrinking never fail, whatever the files contain.
func TestCheckDamaged(t *testing.T) {
	effort.Sequential(t)
	rng := rand.New(rand.NewPCG(9, 9))
	for range 60 {
		dir := t.TempDir()
		for name, text := range soundTrace() {
			b := []byte(text)
			for range rng.IntN(4) {
				if len(b) > 0 && name != "x.otf" {
					b[rng.IntN(len(b))] = "0123456789abcdefEL*\n \"KST"[rng.IntN(25)]
				}
			}
			if len(b) > 0 && rng.IntN(4) == 0 && name != "x.otf" {
				b = b[:rng.IntN(len(b))]
			}
			writeFile(t, filepath.Join(dir, name), string(b))
		}
		if err := checkTrace(t, dir, &format.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		shrunk(t, filepath.Join(dir, "x.otf"), func(p uint64) bool { return p != 2 }, nil)
	}
}

// TestCheckUnknownPartner checks that a message to an unknown process is not reported as missing its
// partner.
func TestCheckUnknownPartner(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	loc := r.Location("rank 0")
	r.Event(loc, 5, trace.Send, trace.NoRef, []uint64{trace.Undefined, trace.Undefined, 3, 100})
	dir := t.TempDir()
	tracetest.Encode(t, Format{}, format.Recorded(r), filepath.Join(dir, "x.otf"))
	if err := checkTrace(t, dir, &format.ReadOptions{Report: format.NewReport()}); err != nil {
		t.Fatal(err)
	}
}
