package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"10MB": 10e6, "1000MB": 1e9, "1.5GB": 15e8, "64MiB": 64 << 20, "2KiB": 2048, "3kB": 3000, "7B": 7, "4096": 4096,
		"1e6": 1e6,
	} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("%s: found %d %v, expected %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "MB", "0", "-1MB", "10XB", "10 M B", "nanMB", "infGB", "9999999999GB"} {
		if got, err := parseSize(in); err == nil {
			t.Errorf("%q: found %d, expected an error", in, got)
		}
	}
}

func TestFlags(t *testing.T) {
	c, err := parseFlags(nil, io.Discard)
	if err != nil || c.large != 1000e6 || c.small != 10e6 || c.runs != 3 || c.smallRuns != 7 || c.out == "" ||
		len(c.files) != len(subjects) || len(c.parts) != len(parts) || *c.events["otf"] != 8e6 {
		t.Errorf("found %+v %v", c, err)
	}
	c, err = parseFlags([]string{"-quick", "-runs", "2", "-files", "cps.etf"}, io.Discard)
	if err != nil || c.large != 8e6 || c.runs != 2 || c.smallRuns != 1 || c.out != "" || len(c.files) != 1 {
		t.Errorf("found %+v %v", c, err)
	}
	c, err = parseFlags([]string{"-part", "otf", "-otf-events", "5"}, io.Discard)
	if err != nil || len(c.parts) != 1 || c.parts[0].name != "otf" || *c.events["otf"] != 5 {
		t.Errorf("found %+v %v", c, err)
	}
	for _, bad := range [][]string{{"x"}, {"-part", ""}, {"-part", "text,x"}, {"-otf-events", "0"}, {"-files", "x"},
		{"-runs", "0"}, {"-small", "2GB"}} {
		if _, err := parseFlags(bad, io.Discard); err == nil {
			t.Errorf("%q: expected an error", bad)
		}
	}
}

func TestStat(t *testing.T) {
	if s := statOf(nil); s != (stat{}) {
		t.Errorf("found %v", s)
	}
	if s := statOf([]float64{3, 1, 2}); s != (stat{2, 1, 3, 3}) {
		t.Errorf("found %v", s)
	}
	if s := statOf([]float64{4, 1, 2, 3}); s != (stat{2.5, 1, 4, 4}) {
		t.Errorf("found %v", s)
	}
	zero := 0.0
	if s := statOver([]float64{1, zero}, func(x float64) float64 { return 1 / x }); s.n != 1 {
		t.Errorf("a division by zero counts: %v", s)
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=/bin", "GOGC=10", "TMPDIR=/x", "GOGCX=1"}, "/y")
	if want := []string{"PATH=/bin", "GOGCX=1", "LC_ALL=C", "TMPDIR=/y"}; !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

func TestShuffle(t *testing.T) {
	dir := t.TempDir()
	var want []string
	var text strings.Builder
	for i := range 5000 {
		s := fmt.Sprintf("line %d %s", i, strings.Repeat("x", i%50))
		if i == 77 {
			s += strings.Repeat("y", 3<<20) // longer than the program's buffers
		}
		want = append(want, s)
		text.WriteString(s)
		if i < 4999 { // the last line does not end in a line feed
			text.WriteByte('\n')
		}
	}
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := shuffle(in, out, 1); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	kept := 0
	for i := range min(len(got), len(want)) {
		if got[i] == want[i] {
			kept++
		}
	}
	if kept > 50 {
		t.Errorf("%d of %d lines are where they were", kept, len(want))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Error("the lines are not the same")
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("found %d files, expected only input and output", len(left))
	}
	if err := shuffle(in, filepath.Join(dir, "again"), 1); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(filepath.Join(dir, "again")); !bytes.Equal(again, b) {
		t.Error("the same seed gives another order")
	}
}

func TestOrderChecker(t *testing.T) {
	const sorted = `{"time":-3,"location":"a","kind":"enter","region":"f"}
{"time":5,"location":"\",\"kind\":\"link","kind":"enter","region":"link"}
{"time":5,"location":"b","kind":"leave","region":"f"}
{"time":1,"location":"a","kind":"link","region":null}
{"time":null,"location":null,"kind":"link","region":null}
`
	read := func(seed maphash.Seed, text string, step int) *orderChecker {
		o := &orderChecker{seed: seed}
		for b := []byte(text); len(b) > 0; b = b[min(step, len(b)):] {
			if _, err := o.Write(b[:min(step, len(b))]); err != nil {
				t.Fatal(err)
			}
		}
		return o
	}
	seed := maphash.MakeSeed()
	o := read(seed, sorted, 1<<20)
	if o.events != 3 || o.links != 2 || o.late != 0 || o.finish() != nil {
		t.Errorf("found %+v", o)
	}
	for step := range 70 {
		if p := read(seed, sorted, step+1); !p.equal(o) || p.late != 0 {
			t.Errorf("pieces of %d bytes: found %+v", step+1, p)
		}
	}
	lines := strings.SplitAfter(sorted, "\n")
	lines[0], lines[1] = lines[1], lines[0]
	if p := read(seed, strings.Join(lines, ""), 100); p.late != 1 || !p.equal(o) {
		t.Errorf("found %+v, expected one event too late", p)
	}
	if p := read(seed, strings.Replace(sorted, `"b"`, `"c"`, 1), 100); p.equal(o) {
		t.Error("another event is not noticed")
	}
	if read(seed, sorted[:len(sorted)-1], 100).finish() == nil {
		t.Error("a text that ends within a line: expected an error")
	}
	for _, bad := range []string{"x\n", `{"time":1.5,"kind":"enter"}` + "\n", `{"x":1,"kind":"enter"}` + "\n",
		`{"time":1}` + "\n"} {
		if _, err := (&orderChecker{seed: seed}).Write([]byte(bad)); err == nil {
			t.Errorf("%q: expected an error", bad)
		}
	}
}

func TestChild(t *testing.T) {
	var out bytes.Buffer
	if err := child(context.Background(), []string{"open", "calltree", "2000"}, &out); err != nil ||
		out.String() == "0\n" {
		t.Errorf("found %q %v", out.String(), err)
	}
	for _, bad := range [][]string{nil, {"open"}, {"open", "x", "1"}, {"open", "cps", "x"},
		{"generate", "cps", "1", "etf"}} {
		if err := child(context.Background(), bad, io.Discard); err == nil {
			t.Errorf("%q: expected an error", bad)
		}
	}
}

// testUsage returns a usage with the given seconds and MiB.
func testUsage(cpu, wall float64, mib int64) usage {
	d := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return usage{cpu: d(cpu), user: d(cpu), wall: d(wall), peak: mib << 20}
}

// sample returns a report in which all limits are kept.
func sample() *report {
	x := &fileResult{
		subject: subjects[0], small: generatedFile{10e6, 1e5}, large: generatedFile{1e9, 1e7}, open: 20,
		smallRounds: []round{{one: testUsage(0.1, 0.1, 9), mawk: testUsage(0.2, 0.2, 1), wc: testUsage(0.01, 0.01, 1)}},
		rounds: []round{
			{one: testUsage(9.004, 9, 9), two: testUsage(10, 5, 9), mawk: testUsage(10, 10, 1), wc: testUsage(1, 1, 1),
				near: 100 * time.Millisecond},
			{one: testUsage(8.004, 8, 9), two: testUsage(9, 4, 9), mawk: testUsage(10, 10, 1), wc: testUsage(1, 1, 1),
				near: 100 * time.Millisecond},
		},
		memory: []commandResult{{"weft check -q", []usage{testUsage(20, 11, 40), testUsage(20, 11, 42)}}},
		encodeRounds: []encodeRound{{testUsage(12, 12, 9), testUsage(4, 4, 9), testUsage(10, 10, 9), testUsage(30, 30, 9),
			testUsage(16, 16, 9)}},
		otherSize:    2e9,
		shuffledRuns: []commandResult{{"weft print -q --json", []usage{testUsage(30, 30, 200)}}},
		order:        &orderResult{events: 123, same: true},
	}
	return &report{result: result{machine: machine{"CPU", 2, "go1.26", "0.10"}, runs: 2}, otfPage: "performance-otf.md",
		mawk: "mawk 1", wc: "wc 1", smallRuns: 1,
		startUp: stat{0.004, 0.004, 0.004, 1}, files: []*fileResult{x}}
}

func TestDocument(t *testing.T) {
	doc := string(sample().document())
	checkDocument(t, doc,
		"| ≤ 1.00 × mawk | cps.etf: 0.85 (0.80–0.90) | pass |",
		"| ≥ 1.60 × | cps.etf: 1.90 (1.80–2.00) | pass |",
		"| ≤ 1.15 × per byte | cps.etf: 0.89 (0.83–0.94) | pass |",
		"| cps.etf: 42.0 MiB | pass |",
		"| cps.etf: 200.0 MiB, in order | pass |",
		"| ≤ 1.00 × the same file decoded | cps.etf: 0.80 | pass |",
		"| cps.etf | 1000 MB | 8.504 s | 118 | 100 | 1000 | 0.85 (0.80–0.90) | 8.50 (8.00–9.00) |",
		"| cps.etf | trf | 2000 MB | 30.00 s | 10.00 s | 16.00 s |",
		"| 123 events in order, the same |",
		"(performance-otf.md)",
	)
}

// checkDocument checks a document of a report in which all limits are kept. It must contain the
// wanted texts.
func checkDocument(t *testing.T, doc string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(doc, want) {
			t.Errorf("the document lacks %s", want)
		}
	}
	if strings.Contains(doc, "fail") || strings.Contains(doc, "%!") || t.Failed() {
		t.Errorf("found\n%s", doc)
	}
	for line := range strings.Lines(doc) {
		if n := len([]rune(line)); !strings.HasPrefix(line, "|") && n > 90 {
			t.Errorf("%d characters in line %s", n, line)
		}
	}
}

func TestDocumentFailures(t *testing.T) {
	verdicts := func(change func(r *report)) (v []string) {
		r := sample()
		change(r)
		doc := string(r.document())
		if strings.Contains(doc, "NaN") || strings.Contains(doc, "Inf") || strings.Contains(doc, "%!") {
			t.Errorf("found\n%s", doc)
		}
		for line := range strings.Lines(doc) {
			for _, s := range []string{"pass", "**fail**", "**incomplete**", "not measured"} {
				if strings.HasSuffix(line, "| "+s+" |\n") {
					v = append(v, strings.Trim(s, "*")[:4])
				}
			}
		}
		return v
	}
	for name, test := range map[string]struct {
		change func(r *report)
		want   string
	}{
		"slow": {func(r *report) {
			r.files[0].rounds[0].one = testUsage(30, 9,
				9)
			r.files[0].rounds[1].one = testUsage(30, 9, 9)
		}, "fail pass fail pass pass pass"},
		"no mawk":  {func(r *report) { r.mawk = ""; r.files[0].rounds[0].mawk = usage{} }, "not  pass pass pass pass pass"},
		"no wc":    {func(r *report) { r.wc = "" }, "pass pass pass pass pass pass"},
		"one core": {func(r *report) { r.cores = 1 }, "pass not  pass pass pass pass"},
		"serial": {func(r *report) {
			r.files[0].rounds = []round{{one: testUsage(9, 9, 9), two: testUsage(9, 9, 9), mawk: testUsage(10, 9, 9), near: 1e8}}
		}, "pass fail pass pass pass pass"},
		"hungry": {func(r *report) { r.files[0].memory[0].runs[1].peak = 65 << 20 }, "pass pass pass fail pass pass"},
		"many open": {func(r *report) { r.files[0].open = 1 << 20; r.files[0].memory[0].runs[1].peak = 127 << 20 },
			"pass pass pass pass pass pass"},
		"late":   {func(r *report) { r.files[0].order.late = 1 }, "pass pass pass pass fail pass"},
		"others": {func(r *report) { r.files[0].order.same = false }, "pass pass pass pass fail pass"},
		"much": {func(r *report) { r.files[0].shuffledRuns[0].runs[0].peak = 257 << 20 },
			"pass pass pass pass fail pass"},
		"slow, small": {func(r *report) { r.files[0].smallRounds[0].one = testUsage(0.3, 0.3, 9) },
			"fail pass pass pass pass pass"},
		"encoder, small": {func(r *report) {
			r.files[0].smallEncodeRounds = []encodeRound{{generate: testUsage(0.4, 1, 9), generator: testUsage(0.1, 1, 9),
				decode: testUsage(0.2, 1, 9)}}
		}, "pass pass pass pass pass fail"},
		"system": {func(r *report) { r.files[0].encodeRounds[0].generate.cpu *= 2 }, "pass pass pass pass pass pass"},
		"encoder": {func(r *report) { r.files[0].encodeRounds[0].generate = testUsage(15, 15, 9) },
			"pass pass pass pass pass fail"},
		"problem": {func(r *report) { r.problems = []problem{{"cps.etf", partMemory, "x"}} },
			"pass pass pass inco pass pass"},
		"nothing":    {func(r *report) { r.files = nil }, "not  not  not  not  not  not "},
		"no results": {func(r *report) { r.files[0] = &fileResult{subject: subjects[0]} }, "not  not  not  not  not  not "},
	} {
		if got := strings.Join(verdicts(test.change), " "); got != test.want {
			t.Errorf("%s: found %s, expected %s", name, got, test.want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	if got := commandLine("/a/b/weft",
		[]string{"check", "-q", "/c/d/large.cps.etf"}); got != "weft check -q large.cps.etf" {
		t.Errorf("found %s", got)
	}
}

func TestWithoutDirectories(t *testing.T) {
	got := withoutDirectories(`weft: /c/d-1/large.etf:3: found "/a/b" and etf/picl, expected 1/60 in /e/f/x`)
	if want := `weft: large.etf:3: found "b" and etf/picl, expected 1/60 in x`; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}
