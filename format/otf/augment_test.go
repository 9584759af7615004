package otf

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

// duplicate copies the files of a trace to a new directory and returns the master file.
func duplicate(t *testing.T, m string) string {
	t.Helper()
	dir := t.TempDir()
	l, err := filepath.Glob(strings.TrimSuffix(m, ".otf") + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range l {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, filepath.Base(name)), string(b))
	}
	return filepath.Join(dir, filepath.Base(m))
}

// sortedTraces returns the master files of the real traces that can be augmented, by name. It leaves out
// traces without events and traces that are not in the order of time.
func sortedTraces(t *testing.T) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, dir := range traces(t) {
		if name := filepath.Base(dir); name != "hand_unsorted" && m[name] == "" {
			x := master(t, dir)
			if x == "" {
				continue
			}
			if _, _, ok := span(t, x); ok {
				m[name] = x
			}
		}
	}
	return m
}

// contents returns the contents of the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	l, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		m[e.Name()] = string(b)
	}
	return m
}

// texts returns the records of a part, with time and process. It sorts them except for the records of call
// stacks and pending messages, because otfaux writes the other records in the order of a hash table.
func texts(t *testing.T, m string, part Part, wanted func(Type) bool) []string {
	t.Helper()
	r, err := Open(t.Context(), format.FileSource(m), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Cursor(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	type line struct {
		key, text string
	}
	var l []line
	for c.Next() {
		x := c.Record()
		if !wanted(x.Type) || part.timed() && x.Process == noProcess { // libotf does not read such records
			continue
		}
		key := fmt.Sprintf("%20d %10d %2d", x.Time, x.Process, x.Type)
		text := string(x.Append(nil, false))
		if x.Type != EnterSnapshot && x.Type != SendSnapshot {
			key += text
		}
		l = append(l, line{key, fmt.Sprintf("%d %d %s", x.Time, x.Process, text)})
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	slices.SortStableFunc(l, func(a, b line) int { return strings.Compare(a.key, b.key) })
	out := make([]string, len(l))
	for i := range l {
		out[i] = l[i].text
	}
	return out
}

// sameTexts compares records that otfaux wrote with those that this package wrote.
func sameTexts(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: record %d: found %q, otfaux has %q", what, i, got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: found %d records, otfaux has %d", what, len(got), len(want))
	}
}

// samplePoints returns the definitions that augmenting adds.
func samplePoints(t *testing.T, m string) []string {
	return texts(t, m, Definitions, func(typ Type) bool { return typ == DefAuxSamplePoint || typ == DefTimeRange })
}

// snapshotPoints returns the times of the snapshots that the definitions of a trace list.
func snapshotPoints(t *testing.T, m string) (points []string) {
	for _, x := range texts(t, m, Definitions, func(typ Type) bool { return typ == DefAuxSamplePoint }) {
		var p, kind uint64
		line := x[strings.Index(x, "DAUX"):]
		if _, err := fmt.Sscanf(line, "DAUX%xY%x\n", &p, &kind); err != nil {
			t.Fatal(line, err)
		}
		if kind == snapshotPoint {
			points = append(points, fmt.Sprint(p))
		}
	}
	return points
}

// compareWithOtfaux runs otfaux on a trace with the same points and compares the results. If sound is
// set, otfaux must be able to read the trace.
func compareWithOtfaux(t *testing.T, otfaux, m string, n int, sound bool) {
	t.Helper()
	ours := duplicate(t, m)
	if err := Augment(t.Context(), ours, &AugmentOptions{Points: EqualParts(n)}); errors.Is(err, ErrNoEvents) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	args := []string{"-F", "--all"}
	for _, p := range snapshotPoints(t, ours) {
		if len(p) > 9 {
			t.Skip("otfaux takes the lower 32 bits of a time")
		}
		args = append(args, "-t", p)
	}
	if len(args) == 2 {
		t.Skip("no time between the first event and the last")
	}
	for _, groups := range []bool{false, true} {
		theirs := duplicate(t, m)
		with := args
		if groups {
			with = append(slices.Clip(args), "--funcgroups", "--filegroups")
		}
		cmd := exec.Command(otfaux, append(with, theirs)...)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			if sound {
				t.Fatalf("otfaux: %v: %s", err, out)
			}
			t.Skipf("otfaux: %v: %s", err, out)
		}
		any := func(Type) bool { return true }
		if !groups {
			sameTexts(t, "snapshots", texts(t, ours, Snapshots, any), texts(t, theirs, Snapshots, any))
			sameTexts(t, "definitions", samplePoints(t, ours), samplePoints(t, theirs))
		}
		sameTexts(t, fmt.Sprintf("statistics (groups %t)", groups), texts(t, ours, Statistics, func(typ Type) bool {
			switch typ {
			case FunctionSummary, FileOperationSummary:
				return !groups
			case FunctionGroupSummary, FileGroupOperationSummary:
				return groups
			}
			return true
		}), texts(t, theirs, Statistics, any))
	}
}

// TestAugmentAsOtfaux checks that real traces get the same records as from otfaux.
func TestAugmentAsOtfaux(t *testing.T) {
	effort.Long(t)
	effort.Sequential(t)
	otfaux := tool(t, "otfaux")
	compared := 0
	for name, m := range sortedTraces(t) {
		t.Run(name, func(t *testing.T) {
			if name == "tokens" {
				t.Skip("process ffffffff is none for libotf")
			}
			for _, n := range []int{3, 200} {
				compareWithOtfaux(t, otfaux, m, n, false)
			}
			compared++
		})
	}
	if compared == 0 {
		t.Error("otfaux augments none of the traces")
	}
}

// randomTrace writes a trace of a few processes with everything that augmenting considers: nested functions,
// messages (some are lost, some arrive before they are sent), collective operations, file operations and
// counters. The trace avoids cases that otfaux handles wrongly ([TestOtfauxDiffers]).
func randomTrace(t *testing.T, seed uint64, opt *WriterOptions) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	name := filepath.Join(t.TempDir(), "random")
	w := Create(name, opt)
	put := func(r Record) {
		t.Helper()
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	const processes = 4
	defineRandom(put, processes)
	type process struct {
		stack                   []uint64
		collectives, operations []uint64
		accessed                [10]bool // indexed by file
	}
	var all [processes]process
	now := uint64(rng.IntN(1000))
	var pairs []KeyValue
	for n := range uint64(2000) {
		now += uint64(rng.IntN(4)) * uint64(rng.IntN(9))
		id := rng.IntN(processes)
		p := &all[id]
		at := Record{Time: now, Process: uint64(id) + 1, SCL: uint64(max(0, rng.IntN(5)-3))}
		if pairs = nil; rng.IntN(8) == 0 {
			pairs = []KeyValue{Pair(7, n)}
		}
		at.KeyValues = pairs
		small := func() uint64 { return uint64(rng.IntN(3)) }
		r := at
		switch rng.IntN(14) {
		case 0, 1, 2:
			r.Type, r.Function = Enter, 1+uint64(rng.IntN(8))
			p.stack = append(p.stack, r.Function)
		case 3, 4:
			if len(p.stack) == 0 {
				continue
			}
			r.Type, r.Function = Leave, p.stack[len(p.stack)-1]
			if rng.IntN(3) == 0 {
				r.Function = 0
			}
			p.stack = p.stack[:len(p.stack)-1]
		case 5, 6:
			r.Type, r.Peer, r.Tag, r.Communicator, r.Length = SendMsg, 1+uint64(rng.IntN(processes)), small(), small(), n
		case 7, 8:
			r.Type, r.Peer, r.Tag, r.Communicator, r.Length = RecvMsg, 1+uint64(rng.IntN(processes)), small(), small(), n
		case 9:
			r.Type, r.Counter, r.Value = Counter, 1+uint64(rng.IntN(5)), rng.Uint64()
		case 10:
			r.Type, r.Collective, r.Communicator, r.Root, r.Sent, r.Received, r.Duration = CollectiveOperation,
				1+uint64(rng.IntN(5)), small(), uint64(rng.IntN(processes+1)), n, 2*n, 5
		case 11:
			if len(p.collectives) > 0 && rng.IntN(2) == 0 {
				r.Type, r.Matching = EndCollective, p.collectives[0]
				p.collectives = p.collectives[1:]
				break
			}
			r.Type, r.Matching, r.Collective, r.Communicator, r.Root, r.Sent, r.Received = BeginCollective, n,
				1+uint64(rng.IntN(5)), small(), uint64(rng.IntN(processes+1)), n<<3, n
			p.collectives = append(p.collectives, n)
		case 12:
			r.Type, r.File, r.Handle, r.Operation, r.Bytes, r.Duration = FileOperation, 1+uint64(rng.IntN(9)),
				uint64(rng.IntN(4)), uint64(rng.IntN(10)), n, 3
			if r.Operation == 4 && !p.accessed[r.File] {
				r.Operation = 0
			}
			p.accessed[r.File] = p.accessed[r.File] || r.Operation < 4
		case 13:
			if len(p.operations) > 0 && rng.IntN(2) == 0 {
				r.Type, r.Matching = EndFileOperation, p.operations[0]
				p.operations = p.operations[1:]
				r.File, r.Handle, r.Operation, r.Bytes = 1+uint64(rng.IntN(9)), uint64(rng.IntN(4)), uint64(rng.IntN(4)), n
				p.accessed[r.File] = true
				break
			}
			r.Type, r.Matching = BeginFileOperation, n
			p.operations = append(p.operations, n)
		}
		put(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name + ".otf"
}

// TestAugmentRandom checks that random traces get the same records as from otfaux.
func TestAugmentRandom(t *testing.T) {
	effort.Sequential(t)
	otfaux := tool(t, "otfaux")
	for seed := range uint64(effort.Rounds(6)) {
		m := randomTrace(t, seed, &WriterOptions{Streams: uint32(seed % 4), Long: seed%2 == 1})
		compareWithOtfaux(t, otfaux, m, 7+60*int(seed%3), true)
	}
}

// TestAugmentRead checks that libotf reads the added records.
func TestAugmentRead(t *testing.T) {
	otfprint := tool(t, "otfprint")
	m := randomTrace(t, 41, &WriterOptions{Streams: 2})
	augment(t, m, &AugmentOptions{Points: EqualParts(20)})
	out, err := exec.Command(otfprint, "--fullkeyvalue", m).Output()
	if err != nil {
		t.Fatal(err)
	}
	var ours bytes.Buffer
	if err := PrintCompat(t.Context(), format.FileSource(m), nil, nil, &ours); err != nil {
		t.Fatal(err)
	}
	lines := func(b []byte) (l []string) {
		for x := range strings.Lines(string(b)) {
			if strings.HasPrefix(x, "(#") {
				l = append(l, x)
			}
		}
		return l
	}
	got, want := lines(ours.Bytes()), lines(out)
	if !slices.Equal(got, want) || len(want) < 3000 {
		t.Errorf("found %d lines, otfprint has %d or others", len(got), len(want))
	}
}

// handDefinitions are the definitions of [handTrace].
const handDefinitions = `DTR3e8
DP1NM"rank 0"
DFG1NM"app"
DFG2NM"MPI"
DF1G1NM"main"
DF2G1NM"work"
DF3G2NM"MPI"
DCO1NM"Bcast"Y2
DCO2NM"Reduce"Y3
DCO3NM"Scatter"Y2
DFLG1NM"files"
DFL1NM"a"G1
`

// handTrace writes a trace of one process with the given events.
func handTrace(t *testing.T, events string) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "hand.otf"), "1:1\n")
	writeFile(t, filepath.Join(dir, "hand.0.def"), handDefinitions)
	writeFile(t, filepath.Join(dir, "hand.1.events"), events)
	return filepath.Join(dir, "hand.otf")
}

// pointsAt returns a function that chooses the given break points.
func pointsAt(points ...uint64) func(TimeRange) ([]uint64, error) {
	return func(TimeRange) ([]uint64, error) { return points, nil }
}

// defineRandom puts the definitions of [randomTrace].
func defineRandom(put func(Record), processes uint64) {
	put(Record{Type: DefTimerResolution, TicksPerSecond: 1000})
	for p := range processes {
		put(Record{Type: DefProcess, Token: p + 1, Name: "process"})
	}
	for g := range uint64(3) {
		put(Record{Type: DefFunctionGroup, Token: g + 1, Name: "functions"})
		put(Record{Type: DefFileGroup, Token: g + 1, Name: "files"})
	}
	for f := range uint64(8) {
		put(Record{Type: DefFunction, Token: f + 1, Group: f%3 + 1, Name: "function"})
		put(Record{Type: DefFile, Token: f + 1, Group: f%3 + 1, Name: "file"})
	}
	for k := range uint64(5) {
		put(Record{Type: DefCollectiveOperation, Token: k + 1, Kind: k, Name: "operation"})
		put(Record{Type: DefCounter, Token: k + 1, Name: "counter"})
	}
}

// handEvents are the events of the trace of [TestAugmentHand].
const handEvents = `a
*1
E1X5
10
*1
E2
12
*1
CNT1V64
K7Y6V5
COPB1H9C64RT1S100R0X3
14
*1
E1
COPE9
16
*1
F1H5OP0B0D2
18
*1
L1
FA6
1a
*1
FF1MI6H5OP2B40
1e
*1
L
20
*1
L1
20
*1
`

// handAugmented are the files that augmenting writes for handEvents.
var handAugmented = map[string]string{
	"hand.1.snaps": `12
*1
TE1OaX5
TE2O10
14
*1
TE1OaX5
TE2O10
K7Y6V5
TBC12CL1H9G64RT1S100R0X3
TCNT12CNT1V64
19
*1
TE1OaX5
TE2O10
TOF1O16H5
TCOC64N1
TBF18MI6
TCNT12CNT1V64
19
*1
`,
	"hand.1.stats": `12
*1
SF1N1E6I8
SF2N1E2I2
SG1N2E8Ia
14
*1
SF1N1E6Ia
SF2N1E4I4
SG1N2EaIe
19
*1
SF1N2EaI13
SF2N1E5I9
SG1N3EfI1c
SCO0CL1NS1NR1S100R0
SFL1NO1NC0NRD0NW0NSK0BR0BW0
SFLG1NO1NC0NRD0NW0NSK0BR0BW0
21
*1
SF1N2EcI1a
SF2N1EaIe
SG1N3E16I28
SCO0CL1NS1NR1S100R0
SFL1NO1NC0NRD1NW0NSK0BR40BW0
SFLG1NO1NC0NRD1NW0NSK0BR40BW0
21
*1
`,
	"hand.0.def": handDefinitions + `DTRGaT20
DAUXaY1
DAUXaY0
DAUX12Y1
DAUX12Y0
DAUX14Y1
DAUX14Y0
DAUX19Y1
DAUX19Y0
DAUX21Y1
`,
}

// TestAugmentHand checks small traces whose results were computed by hand: a break point does not count the
// events at its own time, and functions that are open at a break point have their time up to this point.
func TestAugmentHand(t *testing.T) {
	m := handTrace(t, handEvents)
	if err := Augment(t.Context(), m, &AugmentOptions{Points: pointsAt(0x19, 0x12, 0xa, 0x19, 0x14)}); err != nil {
		t.Fatal(err)
	}
	got := contents(t, filepath.Dir(m))
	for name, want := range handAugmented {
		if got[name] != want {
			t.Errorf("%s: found\n%swant\n%s", name, got[name], want)
		}
	}
	if len(got) != 5 {
		t.Errorf("found %d files, want 5", len(got))
	}
}

// TestOtfauxDiffers checks cases that otfaux handles wrongly. The field want is the correct file, and theirs
// is the file of otfaux.
func TestOtfauxDiffers(t *testing.T) {
	const end = "20\n*1\nN\n20\n*1\n"
	for _, c := range []struct {
		name, events string
		part         Part
		want         []string
		theirs       []string
	}{
		{"operations of one kind have one sum", "a\n*1\nCOP1C64RT1S1R2D0\nCOP3C64RT1S10R20D0\n" + end, Statistics,
			[]string{"SCO0CL1NS1NR1S1R2", "SCO0CL3NS1NR1S10R20"}, []string{"SCO0CL3NS2NR2S11R22"}},
		{"bytes of a collective operation have 32 bits", "a\n*1\nCOPB1H1C64RT1S100000001R0\nCOPE1\n" + end, Statistics,
			[]string{"SCO0CL1NS1NR1S100000001R0"}, []string{"SCO0CL1NS1NR1S1R0"}},
		{"a seek does not count before other operations", "a\n*1\nF1H1OP4B0D0\n" + end, Statistics,
			[]string{"SFL1NO0NC0NRD0NW0NSK1BR0BW0", "SFLG1NO0NC0NRD0NW0NSK1BR0BW0"}, nil},
		{"a failed open opens", "a\n*1\nF1H1OP20B0D0\n" + end, Snapshots, nil, []string{"TOF1OaH1"}},
		{"a leave too many ends otfaux", "a\n*1\nE1\n10\n*1\nL1\nL1\n" + end, Statistics, []string{"SF1N1E6I6", "SG1N1E6I6"},
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := handTrace(t, c.events)
			their := duplicate(t, m)
			if err := Augment(t.Context(), m, &AugmentOptions{Points: pointsAt(0x12)}); err != nil {
				t.Fatal(err)
			}
			point := func(m string) (out []string) {
				for _, x := range texts(t, m, c.part, func(Type) bool { return true }) {
					if l, ok := strings.CutPrefix(x, "18 1 "); ok {
						out = append(out, strings.TrimSpace(l))
					}
				}
				return out
			}
			if got := point(m); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
			otfaux := tool(t, "otfaux")
			out, _ := exec.Command(otfaux, "--all", "-t", "18", their).CombinedOutput()
			if got := point(their); !slices.Equal(got, c.theirs) {
				t.Errorf("otfaux now has %q: %s", got, out)
			}
		})
	}
}
