package cli

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDefinitionsStayAhead_2_4 checks the order of the definition records that commands write for a file that is
// not in the order of time. Header records come first. The others are in the order of time, before the records
// that they name.
func TestDefinitionsStayAhead_2_4(t *testing.T) {
	const text = "-5 -1 -1.0 1 -1 3 0 one\n-5 5 -1.0 1 -1 4 0 task\n-6 -1 -1.0 1 -1 1 \"%d%s\" 7 \"%d\"\n" +
		"-2 9 0.05 0 0 0\n-3 -21 0.4 0 0 3 2 8 1 1\n-4 -21 0.5 0 0 0\n-2 9 0.8 0 0 0\n" +
		"-3 5 0.1 1 0 0\n-5 6 0.3 1 -1 4 0 more\n-2 6 0.35 1 0 1 7 3\n-4 5 0.7 1 0 0\n"
	const want = "-5 -1 -1.0 1 -1 3 0 one\n-5 5 -1.0 1 -1 4 0 task\n-6 -1 -1.0 1 -1 1 \"%d%s\" 7 \"%d\"\n" +
		"-2 9 0.05 0 0 0\n-3 5 0.1 1 0 0\n-5 6 0.3 1 -1 4 0 more\n-2 6 0.35 1 0 1 7 3\n" +
		"-3 -21 0.4 0 0 3 2 8 1 1\n-4 -21 0.5 0 0 0\n-4 5 0.7 1 0 0\n-2 9 0.8 0 0 0\n"
	in := textFile(t, "in.trf", text)
	for _, verb := range append(slices.Clone(editVerbs[1:]), []string{"repair"}) {
		out := filepath.Join(t.TempDir(), "out.trf")
		weft(t, 0, append(verb, "-q", in, out)...)
		if got := readText(t, out); got != want {
			t.Errorf("%q: found\n%s\nexpected\n%s", verb, got, want)
		}
	}
	// A label of a later time than the records after it stays before these records.
	out := filepath.Join(t.TempDir(), "out.trf")
	weft(t, 0, "sort", "-q", textFile(t, "in.trf", "-2 9 0.5 0 0 0\n-5 5 3.0 -1 -1 4 0 task\n-2 5 0.1 1 0 0\n"), out)
	if got, want := readText(t, out), "-5 5 3.0 -1 -1 4 0 task\n-2 5 0.1 1 0 0\n-2 9 0.5 0 0 0\n"; got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
	// Of two records that define the same subset, the last one in the file counts, regardless of their times.
	weft(t, 0, "sort", "-q", "--force", textFile(t, "in.trf",
		"-2 9 0.5 0 0 0\n-201 -1 0.4 -1 -1 2 2 -5 0\n-201 -1 0.2 -1 -1 2 2 -5 1\n-2 9 0.1 1 0 0\n-2 9 0.3 1 0 0\n"), out)
	if got := readText(t, out); strings.Index(got, "-5 0\n") > strings.Index(got, "-5 1\n") {
		t.Errorf("found\n%s\nexpected the members 0 ahead of the members 1", got)
	}
	times := func(path string) (list []float64) {
		for l := range strings.Lines(readText(t, path)) {
			v, err := strconv.ParseFloat(strings.Fields(l)[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, v)
		}
		return list
	}
	// The same with more pieces than one merge takes.
	var b strings.Builder
	for i := range 100 {
		p := strconv.Itoa(i)
		b.WriteString("-5 -1 -1.0 " + p + " -1 4 0 node\n")
	}
	for i := range 100 {
		p := strconv.Itoa(i)
		b.WriteString("-2 5 0.1 " + p + " 0 0\n-5 6 0.2 " + p + " -1 4 0 more\n-2 6 0.3 " + p + " 0 0\n")
	}
	weft(t, 0, "sort", "-q", "--force", textFile(t, "in.trf", b.String()), out)
	if got := times(out); len(got) != 400 || !slices.IsSorted(got) {
		t.Errorf("found the times %v, expected 400 in their order", got)
	}
}
