package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// writePICL writes a PICL file and returns its path.
func writePICL(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.trf")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOperations_7 checks the collective operations of PICL and MPICL. The records are those that coNCePTuaL writes: a
// barrier of all, a barrier and a reduce operation of subset 0, an all-reduce operation without a subset, and a
// broadcast to a processor subset. A mark is no operation, nor has an exit without an entry any fields.
func TestOperations_7(t *testing.T) {
	path := writePICL(t, "-202 -812 0 -1 -1 3 2 0 1 2\n-201 -1 0 -1 -1 3 2 5 0 2\n"+
		"-3 -402 1 0 0 1 2 -1\n-3 -402 2 1 0 0\n-3 -402 3 2 0 2 2 -1 -1\n"+
		"-4 -402 4 0 0 0\n-4 -402 4 1 0 0\n-4 -402 4 2 0 0\n"+
		"-3 -790 5 1 0 3 2 24 2 0\n-3 -790 5 2 0 3 2 24 2 0\n-4 -790 6 1 0 1 2 -1\n-4 -790 6 2 0 1 2 24\n"+
		"-3 -782 7 0 0 2 2 8 -1\n-4 -782 8 0 0 1 2 -1\n-4 -782 8 1 0 1 2 -1\n"+
		"-2 -402 9 0 0 1 2 -1\n"+
		"-3 -785 10 0 0 3 2 64 0 5\n-3 -785 10 2 0 3 2 64 0 5\n-4 -785 11 2 0 1 2 64\n-4 -785 11 0 0 1 2 64\n"+
		"-3 -402 12 1 0 1 2 77\n-4 -402 13 1 0 0\n")
	var got []string
	for l := range strings.Lines(weft(t, 0, "print", "-q", path)) {
		if f := strings.Fields(l); strings.HasPrefix(f[2], "collective-end") {
			got = append(got, strings.Join(f[:2], " ")+" "+strings.Join(f[3:len(f)-1], " "))
		}
	}
	want := []string{
		`4 0/0 operation=barrier communicator=all processes root=? sent=0 bytes received=0 bytes`,
		`4 1/0 operation=barrier communicator=all processes root=? sent=0 bytes received=0 bytes`,
		`4 2/0 operation=barrier communicator=all processes root=? sent=0 bytes received=0 bytes`,
		`6 1/0 operation=reduce communicator=subset 0 root=1 sent=24 bytes received=0 bytes`,
		`6 2/0 operation=reduce communicator=subset 0 root=1 sent=24 bytes received=24 bytes`,
		`8 0/0 operation=allreduce communicator=all processes root=? sent=8 bytes received=8 bytes`,
		`8 1/0 operation=allreduce communicator=? root=? sent=? bytes received=? bytes`,
		`11 2/0 operation=broadcast communicator=subset 5 root=0 sent=0 bytes received=64 bytes`,
		`11 0/0 operation=broadcast communicator=subset 5 root=0 sent=64 bytes received=0 bytes`,
		`13 1/0 operation=barrier communicator=? root=? sent=0 bytes received=0 bytes`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	archive := filepath.Join(t.TempDir(), "x.otf2")
	weft(t, 0, "convert", "-q", path, archive)
	out, _ := runTool(t, archive, "otf2-print", "-A")
	if out == nil {
		t.Skip("otf2-print is not installed")
	}
	for _, want := range []string{
		`MPI_COLLECTIVE_END 1 6\d* Operation: REDUCE, Communicator: "subset 0", Root: 1 \("2/0"\), Sent: 24, Received: 0`,
		`MPI_COLLECTIVE_END 0 11\d* Operation: BCAST, Communicator: "subset 5", Root: 0 \("0/0"\), Sent: 64, Received: 0`,
		`COMM_GROUP, .* 2 Members: 1 \("1/0"\), 2 \("2/0"\)`, `COMM_GROUP, .* 2 Members: 0 \("0/0"\), 2 \("2/0"\)`,
	} {
		text := regexp.MustCompile(` +`).ReplaceAllString(regexp.MustCompile(` <\d+>`).ReplaceAllString(string(out), ""), " ")
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("otf2-print does not show %s", want)
		}
	}
}

// TestBarrierOfTwoSubsets_5 checks barriers whose entry has both fields of section 5, a subset of processors and a
// subset of processes. Such a barrier joins the processes that belong to both: of the processors 0 and 2 and the
// processes 7 and 8, only 0/7 and 2/8. The members of a subset of which some is no process are processors.
func TestBarrierOfTwoSubsets_5(t *testing.T) {
	path := writePICL(t, "-201 -1 0 -1 -1 3 2 -5 0 2\n-202 -1 0 -1 -1 3 2 -6 7 8\n-202 -812 0 -1 -1 3 2 3 1 2\n"+
		"-3 -402 1 0 7 2 2 -5 -6\n-3 -402 1 2 8 2 2 -5 -6\n-4 -402 2 0 7 0\n-4 -402 2 2 8 0\n"+
		"-3 -402 3 2 8 2 2 -5 3\n-4 -402 4 2 8 0\n"+
		"-3 -402 5 1 7 2 2 -5 -9\n-4 -402 6 1 7 0\n-3 -402 7 1 7 2 2 -1 -1\n-4 -402 8 1 7 0\n")
	rows := func(path string) (rows []string) {
		for l := range strings.Lines(weft(t, 0, "comm", "-q", path)) {
			if name, rest, ok := strings.Cut(l, " barrier "); ok {
				f := strings.Fields(rest)
				rows = append(rows, strings.TrimSpace(name)+": "+f[0]+" members, "+f[1]+" calls")
			}
		}
		slices.Sort(rows)
		return rows
	}
	want := []string{"all processes: 1 members, 1 calls", "subsets -5,-6: 2 members, 2 calls",
		"subsets -5,3: 1 members, 1 calls", "–: 0 members, 1 calls"}
	if got := rows(path); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
	// In the merged trace, the second run has the processors 3 to 5 and the same processes.
	merged := filepath.Join(t.TempDir(), "m.trf")
	weft(t, 0, "merge", "-q", path, path, merged)
	joint := 0
	for _, r := range rows(merged) {
		if strings.HasPrefix(r, "subsets ") {
			joint++
			if name, rest, _ := strings.Cut(r, ": "); !slices.Contains(want, "subsets -5,-6: "+rest) &&
				!slices.Contains(want, "subsets -5,3: "+rest) {
				t.Errorf("%s: found %s", name, rest)
			}
		}
	}
	if out := weft(t, 0, "check", merged); joint != 4 || strings.Contains(out, "expected a member of it") {
		t.Errorf("found %d barriers of two subsets, expected 4\n%s", joint, out)
	}
}

// TestWrittenOperations_7 checks that a plain conversion of an OTF2 archive to PICL has the collective operations of
// the archive, with their communicators, and that weft restores all events from a conversion that is not plain.
func TestWrittenOperations_7(t *testing.T) {
	// The first field of a row of weft comm is the communicator, which has another name in PICL.
	operations := func(path string) (rows []string) {
		for l := range strings.Lines(weft(t, 0, "comm", "-q", path)) {
			for _, operation := range []string{"barrier", "broadcast", "allreduce", "reduce"} {
				if _, rest, ok := strings.Cut(l, " "+operation+" "); ok {
					f := strings.Fields(rest)
					rows = append(rows, strings.Join(append([]string{operation}, slices.Delete(f, 2, 4)...), " "))
				}
			}
		}
		slices.Sort(rows)
		return slices.Compact(rows)
	}
	for _, path := range []string{"../../format/otf2/testdata/ok/heat2d-mt/traces.otf2",
		"../../format/otf2/testdata/ok/ring/eztrace_log.otf2"} {
		dir := t.TempDir()
		plain, complete := filepath.Join(dir, "plain.trf"), filepath.Join(dir, "complete.trf")
		weft(t, 0, "convert", "-q", "--plain", "--allow-loss", path, plain)
		weft(t, 0, "convert", "-q", path, complete)
		want := operations(path)
		if got := operations(plain); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: found\n%s\nexpected\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got, want := weft(t, 0, "print", "-q", complete), weft(t, 0, "print", "-q", path); got != want {
			t.Errorf("%s: weft restores other events", path)
		}
		if out := weft(t, 0, "check", "-q", plain); strings.Contains(out, "error") && !strings.Contains(out, " 0 errors") {
			t.Errorf("%s: %s", path, out)
		}
	}
}

// TestMergeOfOperationsInPICL checks that merged runs keep their collective operations apart: subsets of ranks and
// roots have the new numbers of processors, and "all" means the processors of the own run.
func TestMergeOfOperationsInPICL(t *testing.T) {
	path := writePICL(t, "-202 -812 0 -1 -1 3 2 0 0 1\n-3 -402 1 0 0 1 2 -1\n-3 -402 1 1 0 1 2 -1\n"+
		"-4 -402 2 0 0 0\n-4 -402 2 1 0 0\n-3 -790 3 0 0 3 2 64 1 0\n-3 -790 3 1 0 3 2 64 1 0\n"+
		"-4 -790 4 0 0 1 2 -1\n-4 -790 4 1 0 1 2 64\n")
	merged := filepath.Join(t.TempDir(), "m.trf")
	weft(t, 0, "merge", "-q", path, path, merged)
	out := weft(t, 0, "comm", "-q", merged)
	if n := strings.Count(out, "barrier"); n != 2 {
		t.Errorf("found %d kinds of barriers, expected one of each run\n%s", n, out)
	}
	var roots []string
	for l := range strings.Lines(weft(t, 0, "print", "-q", merged)) {
		if strings.Contains(l, "operation=reduce") {
			roots = append(roots, strings.Fields(l)[1]+" "+regexp.MustCompile(`root=\S+`).FindString(l))
		}
	}
	if want := []string{"0/0 root=1", "1/0 root=1", "2/0 root=1", "3/0 root=1"}; !slices.Equal(roots, want) {
		t.Errorf("found %v, expected %v", roots, want) // ranks in the communicator of the run
	}
	if out := weft(t, 0, "check", merged); !strings.Contains(out, "0 errors, 0 warnings") {
		t.Error(out)
	}
}

// TestLossOfBytesOfOperations checks that the loss table counts operations whose numbers of bytes a record of PICL
// does not state: it has one length, and in a gather only the root receives (docs/formats/picl.md).
func TestLossOfBytesOfOperations_7(t *testing.T) {
	for received, want := range map[string]int{"0": 0, "10": 1} {
		dir := t.TempDir()
		for name, text := range map[string]string{"x.otf": "1:1,2\n",
			"x.0.def": "DP1NM\"a\"\nDP2NM\"b\"\nDPG1M1,2,NM\"MPI_COMM_WORLD\"\nDCO1NM\"gather\"Y3\n",
			"x.1.events": "1\n*1\nCOPB1H1C1RT1S10R10\n1\n*2\nCOPB1H1C1RT1S10R" + received +
				"\n2\n*1\nCOPE1\n2\n*2\nCOPE1\n2\n*2\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for how, flags := range map[string][]string{"weft only": nil, "lost": {"--plain"}} {
			n := 0
			for _, r := range convertedLoss(t, "operands", append(flags, filepath.Join(dir, "x.otf"),
				filepath.Join(t.TempDir(), "x.trf"))...) {
				if r.Kind == "collective-begin" && r.How == how {
					n += r.Count
				}
			}
			if n != want {
				t.Errorf("with %s bytes: found %d operations, expected %d, %s", received, n, want, how)
			}
		}
	}
}
