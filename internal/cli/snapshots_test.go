package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/internal/effort"
)

// randomProcesses is the number of processes in traces of randomOTF; randomFunctions are the names of the functions.
const randomProcesses = 4

var randomFunctions = []string{"main", "work", "MPI_Send", "MPI_Recv", "MPI_Barrier", "MPI_Wait", "idle"}

// randomOTF writes a random OTF trace: processes that begin late, end early and rest between calls, nested calls,
// messages of which some are lost or received before they are sent, collective operations, remote memory access, files
// and counters. No process leaves a call before those inside it.
func randomOTF(t *testing.T, seed uint64, path string, events int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 25))
	w := otf.Create(path, &otf.WriterOptions{Streams: uint32(seed % 4)})
	put := func(r otf.Record) {
		t.Helper()
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	defineRandomOTF(put)
	var stacks [randomProcesses][]uint64
	var open [randomProcesses][]uint64 // matching numbers of collective operations
	var calls [randomProcesses]int
	var from, to [randomProcesses]uint64
	for p := range randomProcesses {
		from[p], to[p] = uint64(rng.IntN(events)), uint64(events)
		if rng.IntN(3) > 0 {
			from[p] = 0
		}
		if rng.IntN(4) == 0 {
			to[p] = from[p] + uint64(rng.IntN(events))
		}
	}
	now := uint64(rng.IntN(100))
	early := rng.IntN(3) == 0
	var sent [randomProcesses][randomProcesses]int
	for n := range uint64(events) {
		now += uint64(rng.IntN(4)) * uint64(rng.IntN(9))
		p := rng.IntN(randomProcesses)
		if n < from[p] || n >= to[p] {
			continue
		}
		r := otf.Record{Time: now, Process: uint64(p) + 1}
		s := &stacks[p]
		peer := rng.IntN(randomProcesses)
		switch rng.IntN(16) {
		case 0, 1, 2, 3:
			r.Type, r.Function = otf.Enter, 1+uint64(rng.IntN(len(randomFunctions)))
			*s = append(*s, r.Function)
		case 4, 5, 6, 7:
			if len(*s) == 0 {
				continue
			}
			r.Type, r.Function = otf.Leave, (*s)[len(*s)-1]
			*s = (*s)[:len(*s)-1]
		case 8, 9:
			r.Type, r.Peer, r.Tag, r.Communicator, r.Length = otf.SendMsg, uint64(peer)+1, 0, 9, n
			sent[p][peer]++
		case 10, 11:
			if sent[peer][p] == 0 && !early {
				continue
			}
			sent[peer][p]--
			r.Type, r.Peer, r.Tag, r.Communicator, r.Length = otf.RecvMsg, uint64(peer)+1, 0, 9, n
		case 12:
			if len(open[p]) > 0 {
				r.Type, r.Matching = otf.EndCollective, open[p][0]
				open[p] = open[p][1:]
				break
			}
			least := calls[0]
			for _, c := range calls {
				least = min(least, c)
			}
			if calls[p] > least {
				continue
			}
			calls[p]++
			r.Type, r.Matching, r.Collective, r.Communicator, r.Sent, r.Received = otf.BeginCollective, n, 1, 9, 8, 16
			open[p] = append(open[p], n)
		case 13:
			r.Type, r.Counter, r.Value = otf.Counter, 1, n
		case 14:
			r.Type, r.File, r.Handle, r.Operation, r.Bytes, r.Duration = otf.FileOperation, 1, 1, uint64(rng.IntN(4)), n, 1
		case 15:
			if seed%3 == 0 && rng.IntN(2) == 0 { // the attribute of a comment makes weft repeat a scan
				r.Type, r.Text = otf.EventComment, "comment"
				break
			}
			r.Type, r.Peer, r.Communicator, r.Tag, r.Bytes = otf.RMAPut, uint64(peer)+1, 9, 1, n
			if rng.IntN(2) == 0 {
				r.Type, r.Bytes = otf.RMAEnd, 0
			}
		}
		put(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// defineRandomOTF writes the definitions of the traces of randomOTF.
func defineRandomOTF(put func(otf.Record)) {
	put(otf.Record{Type: otf.DefTimerResolution, TicksPerSecond: 1000})
	var members []uint32
	for p := range uint64(randomProcesses) {
		put(otf.Record{Type: otf.DefProcess, Token: p + 1, Name: fmt.Sprint("Rank ", p)})
		members = append(members, uint32(p+1))
	}
	put(otf.Record{Type: otf.DefProcessGroup, Token: 9, Name: "MPI_COMM_WORLD", Members: members})
	put(otf.Record{Type: otf.DefFunctionGroup, Token: 1, Name: "Application"})
	put(otf.Record{Type: otf.DefFunctionGroup, Token: 2, Name: "MPI"})
	for i, name := range randomFunctions {
		r := otf.Record{Type: otf.DefFunction, Token: uint64(i + 1), Name: name, Group: 1}
		if strings.HasPrefix(name, "MPI") {
			r.Group = 2
		}
		put(r)
	}
	put(otf.Record{Type: otf.DefCollectiveOperation, Token: 1, Name: "MPI_Barrier", Kind: 1})
	put(otf.Record{Type: otf.DefCounter, Token: 1, Name: "flops"})
	put(otf.Record{Type: otf.DefFile, Token: 1, Name: "data"})
}

// windowAnswers are commands whose answer for a window is the same with and without snapshots.
var windowAnswers = [][]string{
	{"profile", "--json"}, {"profile", "--tree", "--json"}, {"profile", "--location", "2", "--json"},
	{"states", "--json"}, {"states", "--region", "work", "--json"}, {"states", "--waits=false", "--json"},
	{"states", "--location", "2", "--json"},
	{"usage", "--json"}, {"comm", "--json"}, {"comm", "--location", "2", "--json"}, {"comm", "--region", "work", "--json"},
	{"messages", "--json"}, {"messages", "--bins", "3", "--json"}, {"messages", "--list", "--json"},
	{"waits", "--json"}, {"waits", "--causes", "--json"},
}

// TestStatesBeforeComment checks that a comment after a window does not make a processor idle in the window if its
// call continues after the comment. The call lasts from 10 to 200 ticks, so the processor communicates in all 30
// ticks of the window.
func TestStatesBeforeComment(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDFG1NM\"MPI\"\nDF1G1NM\"MPI_Send\"\n",
		".1.events": "a\n*1\nE1\n64\n*1\n#\"note\"\nc8\n*1\nL1\nc8\n*1\n",
	})
	out := weft(t, exitGood, "states", "--json", "-q", "--window", "@20..@50", path)
	for _, want := range []string{`"overhead": 30`, `"idle": 0`, `"unclosed": 0`} {
		if !strings.Contains(out, want) {
			t.Errorf("found %s, expected %s in it", out, want)
		}
	}
}

// answerOf returns the output of a command for a trace, without the name of the trace's folder.
func answerOf(args []string, path string) string {
	var out, errs bytes.Buffer
	code := Main(append(slices.Clone(args), path), strings.NewReader(""), &out, &errs)
	return strings.ReplaceAll(fmt.Sprintf("%s%sexit code %d", &out, &errs, code), filepath.Dir(path), "")
}

// TestSnapshotsChangeNoAnswer checks that commands give the same answer for a window whether a trace has snapshots or
// not.
func TestSnapshotsChangeNoAnswer(t *testing.T) {
	effort.Sequential(t)
	for seed := range uint64(effort.Rounds(12)) {
		plain := filepath.Join(t.TempDir(), "x.otf")
		randomOTF(t, seed, plain, 400)
		rng := rand.New(rand.NewPCG(seed, 26))
		var windows []string
		for range 4 {
			a, b := rng.IntN(2800), rng.IntN(2800)
			windows = append(windows, fmt.Sprintf("@%d..@%d", min(a, b), max(a, b)+1))
		}
		compareWithSnapshots(t, plain, 3+int(seed%9), windows)
	}
}

// TestCompressionChangesNoAnswer checks that commands give the same answer for a window whether the files of a trace
// are compressed or not, with and without snapshots. The files are large enough to be read from restart points.
func TestCompressionChangesNoAnswer(t *testing.T) {
	effort.Sequential(t)
	for seed := range uint64(effort.Rounds(4)) {
		plain := filepath.Join(t.TempDir(), "x.otf")
		const events = 12_000
		randomOTF(t, seed, plain, events)
		compressed := filepath.Join(t.TempDir(), "x.otf")
		weft(t, exitGood, "convert", plain, compressed)
		if seed%2 == 0 {
			weft(t, exitGood, "otf", "snapshots", "--count", "9", compressed)
		}
		weft(t, exitGood, "otf", "compress", compressed)
		rng := rand.New(rand.NewPCG(seed, 27))
		for range 4 {
			a := rng.IntN(6 * events)
			window := fmt.Sprintf("@%d..@%d", a, a+1+rng.IntN(6*events-a))
			for _, args := range append(windowAnswers, []string{"print", "--json"},
				[]string{"print", "--json", "--location", "2"}) {
				args := append(slices.Clone(args), "-q", "--window", window)
				if args[0] == "print" {
					args = append(args, "--kind", "enter,leave,message")
				}
				if x, y := answerOf(args, plain), answerOf(args, compressed); x != y {
					t.Errorf("seed %d: %v: found another answer with compressed files", seed, args)
				}
			}
		}
	}
}

// TestSnapshotsOfRealTraces checks the same for traces of other recorders.
func TestSnapshotsOfRealTraces(t *testing.T) {
	effort.Sequential(t)
	traces, err := filepath.Glob("../../format/otf/testdata/ok/*/*.otf")
	if err != nil || len(traces) == 0 {
		t.Fatal(traces, err)
	}
	for _, path := range traces {
		compareWithSnapshots(t, path, 20, []string{"33%..34%", "50%..80%", "97%..100%"})
	}
}

// compareWithSnapshots compares the answers for windows of a trace with those for a copy that has snapshots. It leaves
// out traces that cannot have any.
func compareWithSnapshots(t *testing.T, plain string, count int, windows []string) {
	t.Helper()
	with := filepath.Join(t.TempDir(), filepath.Base(plain))
	var out bytes.Buffer
	if code := Main([]string{"otf", "snapshots", "--count", fmt.Sprint(count), "--output", with, plain},
		strings.NewReader(""), &out, &out); code != exitGood {
		t.Logf("%s: %s", plain, &out)
		return
	}
	for _, window := range windows {
		for _, args := range windowAnswers {
			args := append(slices.Clone(args), "-q", "--window", window)
			if x, y := answerOf(args, plain), answerOf(args, with); x != y {
				t.Errorf("%s: %v: found with snapshots\n%s\nwithout them\n%s", plain, args, y, x)
			}
		}
	}
}

// TestFilterDropsSamplePoints checks that a filter that drops snapshots but not the events that they describe also
// drops the sample points that announce them (DefAuxSamplePoint). Both processes are in main during the whole trace.
// Process 2 has a file open, so its snapshot at 50 is not empty without the calls.
func TestFilterDropsSamplePoints(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.otf":     "1:1\n2:2\n",
		"x.0.def":   "DTR3b9aca00\nDP1NM\"a\"\nDP2NM\"b\"\nDFG1NM\"g\"\nDF1G1NM\"main\"\nDFL1NM\"f\"G0\nDAUX32Y0\nDAUX50Y1\n",
		"x.1.snaps": "32\n*1\nTE1O0\nTCOC1N0\n32\n*1\n", "x.2.snaps": "32\n*2\nTE1O0\nTOF1O1H1\n32\n*2\n",
		"x.1.stats": "50\n*1\nSF1N1E0I0\n50\n*1\n", "x.2.stats": "50\n*2\nSF1N1E0I0\n50\n*2\n",
		"x.1.events": "0\n*1\nE1\n64\n*1\nL1\n64\n*1\n",
		"x.2.events": "0\n*2\nE1\n1\n*2\nFA1\nFF1MI1H1OP0B0\n64\n*2\nL1\n64\n*2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ kinds, points string }{
		{"--not-kind enter-snapshot", "DAUX50Y1"},
		{"--not-kind collective-count-snapshot", "DAUX50Y1"},
		{"--not-kind region-summary", "DAUX32Y0"},
		{"--kind enter,leave", ""},
		{"--kind enter,leave --prune", ""},
		{"--not-kind comment", "DAUX32Y0 DAUX50Y1"},
		{"--not-kind file-operation-begin", "DAUX32Y0 DAUX50Y1"}, // with the open file of the snapshot
	} {
		out := filepath.Join(t.TempDir(), "y.otf")
		args := append([]string{"filter", "-q"}, strings.Fields(c.kinds)...)
		weft(t, 0, append(args, filepath.Join(dir, "x.otf"), out)...)
		text, err := os.ReadFile(strings.TrimSuffix(out, ".otf") + ".0.def")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(regexp.MustCompile(`(?m)^DAUX.*`).FindAllString(string(text), -1), " "); got != c.points {
			t.Errorf("%s: found %q, expected %q", c.kinds, got, c.points)
		}
		if got := weft(t, 0, "profile", "-q", "--window", "@60..@90", out); !strings.Contains(got, "main") {
			t.Errorf("%s: found no call of main\n%s", c.kinds, got)
		}
	}
}
