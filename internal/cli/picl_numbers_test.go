package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSortedPICLKeepsNames checks that records keep their names when sorting changes their order.
func TestSortedPICLKeepsNames(t *testing.T) {
	for _, text := range []string{
		// after sorting, the label b comes first
		"-5 5 0.0 -1 -1 1 0 a\n1 5 0.4 0 0 0\n-5 5 0.0 -1 -1 1 0 b\n1 5 0.3 0 0 0\n",
		// records whose process is unknown
		"1 5 0.4 1 -1 0\n1 5 0.5 1 0 0\n-5 5 0.0 -1 -1 1 0 b\n1 5 0.3 1 -1 0\n",
		"-4 5 0.4 0 0 0\n-5 5 0.0 -1 -1 1 0 b\n-3 5 0.1 0 0 0\n-4 5 0.2 0 0 0\n", // an exit without entry
		// labels and records of two processors
		"-5 5 0.0 0 -1 1 0 a\n1 5 0.4 0 0 0\n-5 5 0.0 1 -1 1 0 b\n1 5 0.3 1 0 0\n",
		// a label of a subset that is defined later
		"-2 6 0.1 2 0 0\n-2 6 0.05 5 0 0\n-5 -2001 0.01 2 0 1 0 a\n-203 -1 0.9 -1 -1 2 2 -2001 6\n",
	} {
		in, out := textFile(t, "in.trf", text), filepath.Join(t.TempDir(), "out.trf")
		if code, _, errs := runWeft(t, "sort", "-q", in, out); code != 0 {
			t.Fatal(errs)
		}
		_, want, _ := runWeft(t, "print", "-q", "--json", in)
		if _, got, _ := runWeft(t, "print", "-q", "--json", out); got != want {
			t.Errorf("%s: found\n%s\nexpected\n%s", text, got, want)
		}
	}
}

// numbersCase are traces, what weft does with them, and the trace that it writes.
type numbersCase struct {
	name         string
	verb, traces []string
	want         string
}

// ringRecords have a subset of processors that the data of a record name.
const ringRecords = "-201 -1 -1 -1 -1 3 2 -7 0 1\n-3 -21 0.1 0 0 4 2 8 1 1 0\n-4 -51 0.4 1 0 4 2 8 1 0 0\n" +
	"-3 -402 0.5 0 0 2 2 " +
	"-7 -1\n"

// Labels of numbers that occur only in a statistics record, a destination or a subset.
const (
	idleLabels = "-5 8 -1.0 -1 -1 4 0 idle\n-5 -1 -1.0 1 -1 4 0 peer\n-5 9 -1.0 -1 -1 4 0 nine\n-5 11 -1.0 -1 -1 6 0 " +
		"unused\n"
	idleRecords = "-203 -1 -1.0 -1 -1 2 2 -2000 9\n-3 -21 0.1 0 0 3 2 8 1 1\n-4 -21 0.2 0 0 0\n" +
		"-102 -1 0.3 0 0 1 \"%d%d\" " +
		"8 3\n"
	idleWritten = "-203 -1 -1.000000 -1 -1 2 2 -2000 9\n-3 -21 0.100000 0 0 3 2 8 1 1\n-4 -21 0.200000 0 0 0\n-102 -1 " +
		"0.300000 0 0 1 \"%d%d\" 8 3\n"
)

// mergedProcessors are merged traces whose processors have equal numbers.
func mergedProcessors() []numbersCase {
	// Processors of the second trace are 2 and 3, and its subset has another number.
	const rings = "-201 -1 -2.000000 -1 -1 3 2 -7 0 1\n-201 -1 -2.000000 -1 -1 3 2 -2001 2 3\n" +
		"-3 -21 0.100000 0 0 4 2 8 1 1 " +
		"0\n" +
		"-3 -21 0.100000 2 0 4 2 8 1 3 0\n-4 -51 0.400000 1 0 4 2 8 1 0 0\n-4 -51 0.400000 3 0 4 2 8 1 2 0\n" +
		"-3 -402 0.500000 0 0 2 2 -7 -1\n-3 -402 0.500000 2 0 2 2 -2001 -1\n"
	host := "-3 -503 0.1 32767 0 3 0 a.x\n-4 -503 0.2 32767 0 2 2 1 100\n-2 4 0.3 1 100 0\n"
	return []numbersCase{
		{"clash", []string{"merge"}, []string{ringRecords, ringRecords}, rings},
		{"numbers with a point", []string{"merge"}, []string{"-2 4 0.1 0 0 0\n-3 -21 0.2 1 0 3 5 8 1 0\n",
			"-2 4 0.1 0 0 0\n-3 -21 0.2 1 0 3 5 8 1 0\n"},
			"-2 4 0.100000 0 0 0\n-2 4 0.100000 2 0 0\n-3 -21 0.200000 1 0 3 5 8 1 0\n-3 -21 0.200000 3 0 3 5 8 1 2\n"},
		{"parts of one run", []string{"merge"},
			[]string{"-3 -21 0.1 0 0 4 2 8 1 1 0\n-3 -21 0.3 0 0 3 2 8 1 -1\n",
				"-4 -51 0.2 1 0 4 2 8 1 0 0\n-2 4 0.3 -1 -1 0\n"},
			"-3 -21 0.100000 0 0 4 2 8 1 1 0\n-4 -51 0.200000 1 0 4 2 8 1 0 0\n-3 -21 0.300000 0 0 3 2 8 1 -1\n-2 4 0.300000 " +
				"-1 -1 0\n"},
		{"unify", []string{"merge", "--unify"}, []string{"-3 4 0.1 0 0 0\n", "-4 4 0.2 0 0 0\n"},
			"-3 4 0.100000 0 0 0\n-4 4 0.200000 0 0 0\n"},
		{"all and broadcasts", []string{"merge"},
			[]string{"-3 -21 0.1 0 0 3 2 8 1 -1\n-2 4 0.2 -1 -1 0\n", "-3 -21 0.1 0 0 3 2 8 1 -1\n-2 4 0.2 1 0 0\n"},
			"-201 -1 -1.000000 -1 -1 2 2 -2001 0\n-201 -1 -1.000000 -1 -1 3 2 -2002 1 2\n-3 -21 0.100000 0 0 3 2 8 1 " +
				"-2001\n-3 -21 0.100000 2 0 3 2 8 1 -2002\n" +
				"-2 4 0.200000 -2001 -1 0\n-2 4 0.200000 1 0 0\n"},
		{"other side without records", []string{"merge"},
			[]string{"-3 -21 0.1 0 0 3 2 8 1 7\n", "-3 -21 0.2 0 0 3 2 8 1 7\n-4 -51 0.3 0 0 4 2 8 1 -1 -1\n"},
			"-3 -21 0.100000 0 0 3 2 8 1 7\n-3 -21 0.200000 1 0 3 2 8 1 2\n-4 -51 0.300000 1 0 4 2 8 1 -1 -1\n"},
		{"named by data alone", []string{"merge"}, []string{"-3 -21 0.1 6 0 3 2 8 1 7\n", "-3 -21 0.2 6 0 3 2 8 1 7\n"},
			"-3 -21 0.100000 6 0 3 2 8 1 7\n-3 -21 0.200000 8 0 3 2 8 1 9\n"},
		{"spawned alone", []string{"merge"}, []string{"-4 -503 0.1 6 0 2 2 7 0\n", "-4 -503 0.2 6 0 2 2 7 0\n"},
			"-4 -503 0.100000 6 0 2 2 7 0\n-4 -503 0.200000 8 0 2 2 9 0\n"},
		{"nothing known and unknown", []string{"merge"},
			[]string{"-3 -21 0.1 5 0 3 2 -1 -1 -1\n", "-3 -21 0.2 5 0 3 2 -1 -1 -1\n-4 -51 0.3 5 0 4 2 8 1 -1 -1\n"},
			"-3 -21 0.100000 5 0 3 2 -1 -1 -1\n-3 -21 0.200000 6 0 3 2 -1 -1 -1\n-4 -51 0.300000 6 0 4 2 8 1 -1 -1\n"},
		{"spawned, and the host of the second", []string{"merge"}, []string{host, host},
			"-5 -1 -1.000000 3 0 4 0 host\n-3 -503 0.100000 32767 0 3 0 a.x\n-3 -503 0.100000 3 0 3 0 a.x\n-4 -503 0.200000 " +
				"32767 0 2 2 1 100\n" +
				"-4 -503 0.200000 3 0 2 2 2 100\n-2 4 0.300000 1 100 0\n-2 4 0.300000 2 100 0\n"},
	}
}

// mergedNames are merged traces whose event types and subsets have equal numbers or equal names.
func mergedNames() []numbersCase {
	const (
		first  = "-5 4 -1 -1 -1 1 0 A\n-2 4 0.1 0 0 0\n-2 5 0.2 0 0 0\n-102 -1 1 0 0 2 \"%d%d\" 4 1 5 1\n"
		second = "-5 4 -1 -1 -1 1 0 B\n-5 5 -1 -1 -1 1 0 C\n-2 4 0.1 0 0 0\n-2 5 0.2 0 0 0\n-102 4 1 0 0 2 \"%d%d\" 4 1 5 1\n"
	)
	return []numbersCase{
		{"a statistic of an event type that the second trace calls otherwise", []string{"merge"},
			[]string{"-2 3 0.1 6 0 0\n-102 -1 0.2 6 0 1 \"%d%d\" 4 1\n", "-5 4 -1 -1 -1 1 0 B\n-2 4 0.1 6 0 0\n"},
			"-5 5 -1.000000 -1 -1 1 0 B\n-2 3 0.100000 6 0 0\n-2 5 0.100000 7 0 0\n-102 -1 0.200000 6 0 1 \"%d%d\" 4 1\n"},
		{"a subset of event types that one trace defines", []string{"merge"},
			[]string{"-203 -1 -1 -1 -1 2 2 -2000 3\n-2 3 0.1 7 0 0\n", "-2 3 0.1 7 0 0\n-102 -1 0.2 7 0 1 \"%d%d\" -2000 5\n"},
			"-203 -1 -1.000000 -1 -1 2 2 -2000 3\n-2 3 0.100000 7 0 0\n-2 3 0.100000 8 0 0\n-102 -1 0.200000 8 0 1 \"%d%d\" " +
				"-2001 5\n"},
		{"a subset of PICL that one trace defines anew", []string{"merge"},
			[]string{"-203 -1 -1 -1 -1 2 2 -1012 3\n-2 3 0.1 7 0 0\n-102 -1 0.2 7 0 1 \"%d%d\" -1012 5\n",
				"-2 3 0.1 7 0 0\n-102 -1 0.3 7 0 1 \"%d%d\" -1012 5\n"},
			"-203 -1 -1.000000 -1 -1 2 2 -2001 3\n-2 3 0.100000 7 0 0\n-2 3 0.100000 8 0 0\n-102 -1 0.200000 7 0 1 \"%d%d\" " +
				"-2001 5\n-102 -1 0.300000 8 0 1 \"%d%d\" -1012 5\n"},
		{"subsets of subsets", []string{"merge"},
			[]string{"-203 -1 -1 -1 -1 2 2 -2000 3\n-2 3 0.1 7 0 0\n",
				"-203 -1 -1 -1 -1 2 2 -2001 -2000\n-203 -1 -1 -1 -1 2 2 -2000 9\n-2 3 0.1 7 0 0\n"},
			"-203 -1 -1.000000 -1 -1 2 2 -2000 3\n-203 -1 -1.000000 -1 -1 2 2 -2001 -2002\n-203 -1 -1.000000 -1 -1 2 2 -2002 " +
				"9\n-2 3 0.100000 7 0 0\n-2 3 0.100000 8 0 0\n"},
		{"labels of what has no records", []string{"merge"}, []string{idleLabels + idleRecords, "-2 3 0.15 5 0 0\n"},
			idleLabels + strings.Replace(idleWritten, "-4 -21", "-2 3 0.150000 5 0 0\n-4 -21", 1)},
		{"labels of what has no records, two names", []string{"merge"},
			[]string{"-5 8 -1 -1 -1 1 0 A\n-5 -31 -1 -1 -1 1 0 W\n-2 3 0.1 5 0 0\n-102 -1 0.2 5 0 2 \"%d%d\" 8 1 -31 2\n",
				"-5 8 -1 -1 -1 1 0 B\n-2 3 0.1 5 0 0\n-102 -1 0.2 5 0 1 \"%d%d\" 8 1\n"},
			"-5 8 -1.000000 -1 -1 1 0 A\n-5 -31 -1.000000 -2001 -1 1 0 W\n-5 9 -1.000000 -1 -1 1 0 B\n-201 -1 -1.000000 -1 " +
				"-1 2 2 -2001 5\n-2 3 0.100000 5 0 0\n-2 3 0.100000 6 0 0\n" +
				"-102 -1 0.200000 5 0 2 \"%d%d\" 8 1 -31 2\n-102 -1 0.200000 6 0 1 \"%d%d\" 9 1\n"},
		{"event types", []string{"merge"}, []string{first, second},
			"-5 4 -1.000000 -1 -1 1 0 A\n-5 6 -1.000000 -1 -1 1 0 B\n-5 7 -1.000000 -1 -1 1 0 C\n-2 4 0.100000 0 0 0\n-2 6 " +
				"0.100000 1 0 0\n" +
				"-2 5 0.200000 0 0 0\n-2 7 0.200000 1 0 0\n-102 -1 1.000000 0 0 2 \"%d%d\" 4 1 5 1\n-102 6 1.000000 1 0 2 " +
				"\"%d%d\" 6 1 7 1\n"},
		{"one label, two numbers", []string{"merge"},
			[]string{"-5 4 -1 -1 -1 1 0 A\n-2 4 0.1 0 0 0\n", "-5 9 -1 -1 -1 1 0 A\n-2 9 0.1 0 0 0\n"},
			"-5 4 -1.000000 -1 -1 1 0 A\n-2 4 0.100000 0 0 0\n-2 4 0.100000 1 0 0\n"},
		{"subsets of event types", []string{"merge"}, []string{"-203 -1 -1 -1 -1 3 2 -2001 4 5\n-2 4 0.1 0 0 0\n-102 -1 " +
			"0.2 0 0 1 \"%d%d\" -2001 1\n",
			"-5 4 -1 -1 -1 1 0 B\n-203 -1 -1 -1 -1 2 2 -2001 4\n-2 4 0.1 0 0 0\n-102 -1 0.2 0 0 1 \"%d%d\" -2001 1\n"},
			"-5 6 -1.000000 -1 -1 1 0 B\n-203 -1 -1.000000 -1 -1 3 2 -2001 4 5\n-203 -1 -1.000000 -1 -1 2 2 -2002 6\n" +
				"-2 4 0.100000 0 0 0\n-2 6 0.100000 1 0 0\n-102 -1 0.200000 0 0 1 \"%d%d\" -2001 1\n-102 -1 0.200000 1 0 1 " +
				"\"%d%d\" -2002 1\n"},
	}
}

// prunedTraces are traces from which definitions are left out.
func prunedTraces() []numbersCase {
	pruned := strings.ReplaceAll(idleLabels, "-5 11 -1.0 -1 -1 6 0 unused\n", "")
	defects := "-201 -1 -1.0 -1 -1 0\n-201 -1 -1.0 -1 -1 2 2 -1 5\n-202 -1 -1.0 -1 -1 2 1 -7 x\n"
	return []numbersCase{
		{"labels of what has no records, pruned", []string{"filter", "--prune"}, []string{idleLabels + idleRecords},
			pruned + idleWritten},
		{"defective subsets, pruned", []string{"filter", "--prune"}, []string{defects + "-2 3 0.1 5 0 0\n"},
			defects + "-2 3 0.100000 5 0 0\n"},
		{"labels of one processor", []string{"filter", "--prune"},
			[]string{"-5 4 -1 0 -1 1 0 A\n-5 4 -1 1 -1 1 0 B\n-2 4 0.1 0 0 0\n-2 4 0.15 1 0 0\n-2 5 0.2 1 0 0\n"},
			"-5 4 0.100000 0 0 1 0 A\n-2 4 0.100000 0 0 0\n-5 4 0.150000 1 0 1 0 B\n-2 4 0.150000 1 0 0\n-2 5 0.200000 1 0 0\n"},
		{"a label that is not needed, later labels", []string{"filter", "--prune", "--not-region", "two"},
			[]string{"-5 9 -1 -1 -1 1 0 X\n-5 4 -1 -1 -1 3 0 one\n-2 4 0.1 0 0 0\n-2 5 0.2 0 0 0\n-5 4 0.3 -1 -1 3 0 two\n-2 " +
				"4 0.3 0 0 0\n-5 4 0.4 -1 -1 3 0 one\n-2 4 0.5 0 0 0\n"},
			"-5 4 -1.000000 -1 -1 3 0 one\n-2 4 0.100000 0 0 0\n-2 5 0.200000 0 0 0\n-2 4 0.500000 0 0 0\n"},
		{"subsets that data name", []string{"filter", "--prune"}, []string{ringRecords},
			"-201 -1 -2.000000 -1 -1 3 2 -7 0 1\n-3 -21 0.100000 0 0 4 2 8 1 1 0\n-4 -51 0.400000 1 0 4 2 8 1 0 0\n-3 -402 " +
				"0.500000 0 0 2 2 -7 -1\n"},
	}
}

// TestNumbersPICL checks that numbers of processors, event types and subsets in merged and pruned
// PICL traces refer to the same names as before.
func TestNumbersPICL(t *testing.T) {
	for _, x := range slices.Concat(mergedProcessors(), mergedNames(), prunedTraces()) {
		t.Run(x.name, func(t *testing.T) {
			args := append(slices.Clone(x.verb), "-q")
			for i, text := range x.traces {
				args = append(args, textFile(t, strconv.Itoa(i)+".trf", text))
			}
			out := filepath.Join(t.TempDir(), "out.trf")
			weft(t, 0, append(args, out)...)
			got, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			// The records of the header precede all others, at an early enough time.
			headerTime := regexp.MustCompile(`(?m)^(-5|-20\d) (\S+) -\d\.0+ `)
			same := func(s string) string { return headerTime.ReplaceAllString(s, "$1 $2 HEADER ") }
			if diff := cmp.Diff(same(x.want), same(string(got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLabelsWithoutRecordsPICL checks that labels of numbers without records come back from another
// format, also if the file is not in time order.
func TestLabelsWithoutRecordsPICL(t *testing.T) {
	for _, text := range []string{
		"-5 8 0.0 -1 -1 4 0 idle\n-5 -1 0.0 1 -1 4 0 peer\n-5 -1012 0.0 -1 -1 5 0 SENDS\n-3 -21 1.0 0 0 3 2 8 1 1\n-4 -21 " +
			"2.0 0 0 0\n-102 -1 3.0 0 0 1 \"%d%d\" 8 3\n",
		"-5 -1 0.0 1 -1 4 0 peer\n-5 -1012 0.0 -1 -1 5 0 SENDS\n-4 -21 2.0 0 0 0\n-5 8 0.0 -1 -1 4 0 idle\n-3 -21 1.0 0 0 " +
			"3 2 8 1 1\n-102 -1 3.0 0 0 1 \"%d%d\" 8 3\n",
	} {
		over, back := filepath.Join(t.TempDir(), "over.etf"), filepath.Join(t.TempDir(), "back.trf")
		weft(t, 0, "convert", "-q", textFile(t, "in.trf", text), over)
		weft(t, 0, "convert", "-q", over, back)
		if got := readText(t, back); strings.Count(got, "\n-5 ")+1 != 3 || !strings.Contains(got, " 4 0 idle\n") ||
			!strings.Contains(got, " 4 0 peer\n") || !strings.Contains(got, "-5 -1012 ") {
			t.Errorf("%s became\n%s", text, got)
		}
	}
}

// TestLabelsOfChangedPICL checks that a label precedes the records that it names, even if records
// before the label were removed in another format.
func TestLabelsOfChangedPICL(t *testing.T) {
	in := textFile(t, "in.trf", "-2 3 0.1 0 0 0\n-2 4 0.2 0 0 0\n-2 3 0.3 0 0 0\n-5 3 0.35 -1 -1 5 0 later\n-2 3 0.4 0 "+
		"0 0\n-2 4 0.5 0 0 0\n")
	over, back := filepath.Join(t.TempDir(), "over.etf"), filepath.Join(t.TempDir(), "back.trf")
	weft(t, 0, "convert", "-q", in, over)
	weft(t, 0, "filter", "-q", "--not-region", "event 4", over, back)
	const want = "-2 3 0.100000 0 0 0\n-2 3 0.300000 0 0 0\n-5 3 0.350000 -1 -1 5 0 later\n-2 3 0.400000 0 0 0\n"
	if got := readText(t, back); got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
	// The record now precedes the label and keeps its name.
	weft(t, 0, "align", "-q", "--force", "--clock-correction", textFile(t, "clocks.json",
		`{"type":"weft clock correction","version":1,"ticks":10,"perSeconds":1,"locations":[`+
			`{"id":"0/0","points":[[0,-2]]}]}`), over, back)
	if got := readText(t, back); !strings.Contains(got, "0 0 5 0 later\n-2 3 0.200000") &&
		!strings.Contains(got, " later\n-2 3 0.200000") {
		t.Errorf("found\n%s", got)
	}
}

// TestUnknownNumbersPICL checks that data of unknown meaning stay when numbers change, and that the
// loss table reports this.
func TestUnknownNumbersPICL(t *testing.T) {
	const text = "17 4 0.1 0 0 2 2 0 1\n-3 5 0.2 0 0 3 2 0 1 0\n-4 5 0.3 0 0 0\n"
	for _, x := range []struct {
		other, want string
	}{
		{text, "the meaning of the data is unknown; it may contain a number that was changed elsewhere"},
		{strings.ReplaceAll(text, " 0 0 ", " 1 0 "), ""},
	} {
		out := filepath.Join(t.TempDir(), "out.trf")
		shown := weft(t, 0, "merge", "--json", textFile(t, "a.trf", text), textFile(t, "b.trf", x.other), out)
		if got := strings.Contains(shown, "meaning of the data is unknown"); got != (x.want != "") ||
			got && !strings.Contains(shown, `"count": 2`) {
			t.Errorf("want %q: %s", x.want, shown)
		}
	}
}

// TestMergeOfPICLWithProcessorsInDataAlone checks merges of traces with processors that occur in
// data only. They belong to two runs as well: no processor sends to itself or to the other run, and
// the first trace keeps its numbers.
func TestMergeOfPICLWithProcessorsInDataAlone(t *testing.T) {
	in := textFile(t, "in.trf", "-3 -21 1.0 6 0 3 2 8 1 7\n-4 -21 2.0 6 0 0\n")
	out := filepath.Join(t.TempDir(), "out.trf")
	weft(t, 0, "merge", "-q", in, in, out)
	const want = "-3 -21 1.000000 6 0 3 2 8 1 7\n-3 -21 1.000000 8 0 3 2 8 1 9\n-4 -21 2.000000 6 0 0\n-4 -21 2.000000 " +
		"8 0 0\n"
	if got := readText(t, out); got != want {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestMergeOfPICLAndOthers merges a PICL trace with a trace of another format. Both must read as before. The loss table
// must count the records whose event type PICL itself defines, because other tools see them as records of user events.
func TestMergeOfPICLAndOthers(t *testing.T) {
	path, other := "../../format/picl/testdata/ok/feature-coverage.trf", filepath.Join(t.TempDir(), "b.trf")
	weft(t, exitGood, "convert", "-q", realTraces["otf2"], other)
	own := len(regexp.MustCompile(`(?m)^-[234] -[0-9]`).FindAllString(readText(t, path), -1))
	columns := regexp.MustCompile(` +`)
	rows := func(path string) []string {
		list := strings.Split(weft(t, exitGood, "print", "-q", path), "\n")
		for i := range list {
			list[i] = columns.ReplaceAllString(list[i], " ")
		}
		return list
	}
	for _, args := range [][]string{{path, other}, {other, path}} {
		out := filepath.Join(t.TempDir(), "m.trf")
		table := weft(t, exitGood, append([]string{"merge"}, append(args, out)...)...)
		if !regexp.MustCompile(fmt.Sprintf(`record +event type +degraded.* %d +\n`, own)).MatchString(table) {
			t.Errorf("merge of %q: found\n%s\nexpected %d records with an own event type", args, table, own)
		}
		want := append(rows(path), rows(other)...)
		got := append(rows(out), "")
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("merge of %q: found %d lines, expected %d, or other lines", args, len(got), len(want))
		}
	}
}
