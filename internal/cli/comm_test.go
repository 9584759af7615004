package cli

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// commJSON returns the JSON of weft comm.
func commJSON(t *testing.T, args ...string) *commResult {
	t.Helper()
	var x commResult
	if err := json.Unmarshal([]byte(weft(t, 0, append([]string{"comm", "-q", "--json"}, args...)...)), &x); err != nil {
		t.Fatal(err)
	}
	return &x
}

// traffic is a number of messages or calls and of bytes.
type traffic struct{ count, bytes int64 }

// parseNumber parses an integer.
func parseNumber(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOtfprofileMatrix compares the messages between locations, the message sizes and the sums of
// collective operations with the output of otfprofile for the same traces.
func TestOtfprofileMatrix(t *testing.T) {
	effort.Long(t)
	effort.Sequential(t)
	program, err := exec.LookPath("otfprofile")
	if err != nil {
		t.Skip("otfprofile is not installed (Debian package otf-trace)")
	}
	traces, err := filepath.Glob("../../format/otf/testdata/ok/*/*.otf")
	if err != nil || len(traces) == 0 {
		t.Fatalf("found %d traces, %v", len(traces), err)
	}
	// Generated traces have more messages and operations.
	for _, workload := range []string{"stencil", "ring", "masterworker"} {
		path := filepath.Join(t.TempDir(), workload+".otf")
		weft(t, 0, "generate", "--workload", workload, "--locations", "6", "--events", "5000", path)
		traces = append(traces, path)
	}
	compared, called := 0, 0
	for _, path := range traces {
		t.Run(filepath.Base(path), func(t *testing.T) {
			prefix := filepath.Join(t.TempDir(), "p")
			if out, err := exec.Command(program, "--csv", "-M", "-S", "--notex", "-o", prefix, "-i",
				path).CombinedOutput(); err != nil {
				t.Skipf("otfprofile does not read it: %v %s", err, out)
			}
			expected := readOtfprofile(t, prefix+".csv")
			if len(expected.matrix) == 0 {
				t.Skip("otfprofile finds no messages")
			}
			x := commJSON(t, path)
			if got := commMatrix(t, path, x); !maps.Equal(got, expected.matrix) {
				t.Errorf("matrix: found %v, otfprofile has %v", got, expected.matrix)
			}
			found := map[int64]int64{}
			for _, s := range x.Messages.Sizes {
				found[int64(s.Least)] = s.Count
			}
			if !maps.Equal(found, expected.sizes) {
				t.Errorf("sizes: found %v, otfprofile has %v", found, expected.sizes)
			}
			var sum collectiveSums
			for _, o := range x.Collectives.Operations {
				sum = collectiveSums{sum.count + o.Calls, sum.sent + int64(o.Sent), sum.received + int64(o.Received),
					sum.seconds + o.Time.Sum.Float()}
			}
			ticks, err := strconv.ParseFloat(x.Clock.TicksPerSecond, 64)
			if err != nil {
				t.Fatal(err)
			}
			seconds := sum.seconds / ticks
			all := expected.all
			if sum.seconds = all.seconds; sum != all || math.Abs(seconds-all.seconds) > 1e-5*all.seconds {
				t.Errorf("collective operations: found %+v in %g s, otfprofile has %+v", sum, seconds, all)
			}
			compared++
			if all.count > 0 {
				called++
			}
		})
	}
	if t.Logf("%d traces, %d with collective operations", compared, called); compared < 4 || called < 1 {
		t.Errorf("compared %d traces, %d with collective operations, expected more", compared, called)
	}
}

// collectiveSums are the sums of all collective operations.
type collectiveSums struct {
	count, sent, received int64
	seconds               float64
}

// otfprofile is the output of otfprofile: the messages by the names of locations, the numbers of messages
// by their size, and the sums of collective operations over all locations of a kind.
type otfprofile struct {
	matrix map[[2]string]traffic
	sizes  map[int64]int64
	all    collectiveSums
}

func readOtfprofile(t *testing.T, path string) otfprofile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	x := otfprofile{matrix: map[[2]string]traffic{}, sizes: map[int64]int64{}}
	for _, l := range strings.Split(string(text), "\n") {
		f := strings.Split(l, ";")
		switch {
		case len(f) < 4:
		case f[1] == "Process" || f[1] == "name" || f[1] == "":
			names[f[0]] = f
		case f[0] == "P2PCMC" || f[0] == "P2PCMS":
			for i, v := range f[2 : len(f)-1] {
				k := [2]string{f[1], names[f[0]][i+2]}
				cell := x.matrix[k]
				if f[0] == "P2PCMC" {
					cell.count = parseNumber(t, v)
				} else {
					cell.bytes = parseNumber(t, v)
				}
				if x.matrix[k] = cell; cell == (traffic{}) {
					delete(x.matrix, k)
				}
			}
		case f[0] == "MSGSIZE":
			x.sizes[parseNumber(t, f[1])] = parseNumber(t, f[2])
		case f[0] == "COLLOP":
			s, err := strconv.ParseFloat(f[7], 64)
			if err != nil {
				t.Fatal(err)
			}
			x.all = collectiveSums{x.all.count + max(parseNumber(t, f[3]), parseNumber(t, f[4])),
				x.all.sent + parseNumber(t, f[5]), x.all.received + parseNumber(t, f[6]), x.all.seconds + s}
		}
	}
	return x
}

// commMatrix returns the messages by the names of locations, as weft comm finds them.
func commMatrix(t *testing.T, path string, x *commResult) map[[2]string]traffic {
	t.Helper()
	byID := map[string]string{}
	rows, err := csv.NewReader(strings.NewReader(weft(t, 0, "profile", "-q", "--by", "location", "--csv",
		path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[1:] {
		byID[r[0]] = r[1]
	}
	got := map[[2]string]traffic{}
	for _, c := range x.Messages.Matrix {
		got[[2]string{byID[c.SourceID], byID[c.DestinationID]}] = traffic{c.Count, int64(c.Bytes)}
	}
	return got
}

// TestTruth compares a trace of EZTrace with what the traced ranks themselves recorded: the
// messages and operations are the same, and messages take as long as the ranks measured. As the
// clocks of the ranks differ, the test compares times of round trips.
func TestTruth(t *testing.T) {
	effort.Long(t)
	agreeOnce(t, runTruth)
}

// runTruth runs the program once and returns the differences in the times of messages, as agreeOnce expects them.
func runTruth(t *testing.T) map[string]string {
	differences := map[string]string{}
	dir, anchor := tracedProgram(t, "truth", 4)
	sent, took, calls := map[[2]string]traffic{}, map[[2]string]float64{}, map[string]int64{}
	received := int64(0)
	for rank := range 4 {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("truth.%d", rank)))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			switch f := strings.Fields(l); f[0] {
			case "sent":
				sent[[2]string{f[1], f[2]}] = traffic{parseNumber(t, f[3]), parseNumber(t, f[4])}
			case "received":
				s, err := strconv.ParseFloat(f[4], 64)
				if err != nil {
					t.Fatal(err)
				}
				received += parseNumber(t, f[3])
				took[[2]string{f[1], f[2]}] = s / float64(parseNumber(t, f[3]))
			case "calls":
				calls[f[1]] += parseNumber(t, f[2])
			}
		}
	}
	x := commJSON(t, anchor)
	m := x.Messages
	if m.Matched != received || m.Received != received || m.SendsUnmatched+m.ReceivesUnmatched > 0 ||
		m.Latency.Count != received {
		t.Errorf("found %+v, expected %d messages", m, received)
	}
	// EZTrace writes one location for each rank, in the order of ranks.
	rank := func(loc uint32) string { return strconv.Itoa(int(loc)) }
	got, latency := map[[2]string]traffic{}, map[[2]string]float64{}
	ticks, err := strconv.ParseFloat(x.Clock.TicksPerSecond, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Matrix {
		k := [2]string{rank(c.Source), rank(c.Destination)}
		got[k] = traffic{c.Count, int64(c.Bytes)}
		latency[k] = c.Latency.Sum.Float() / float64(c.Latency.Count) / ticks
	}
	if !maps.Equal(got, sent) {
		t.Errorf("found %v, ranks sent %v", got, sent)
	}
	for k, there := range took {
		back := [2]string{k[1], k[0]}
		want, got := there+took[back], latency[k]+latency[back]
		pair := fmt.Sprintf("messages from %s to %s and back", k[0], k[1])
		differences[pair] = ""
		if math.Abs(got-want) > 0.1*want+0.002 {
			differences[pair] = fmt.Sprintf("found %g s, ranks measured %g s", got, want)
		}
	}
	found, operations := map[string]int64{}, int64(0)
	for _, o := range x.Collectives.Operations {
		found[o.Name] += o.Calls
		operations += o.Matched
	}
	if !maps.Equal(found, calls) || operations != 6+5+2*4 { // each half of the ranks takes part in 4 operations of its own
		t.Errorf("found %v in %d operations, ranks did %v", found, operations, calls)
	}
	// With corrected clocks, no message is received before it is sent.
	clocks := filepath.Join(dir, "clocks.json")
	weft(t, 0, "align", "-q", "--correction", clocks, anchor)
	x = commJSON(t, "--clock-correction", clocks, anchor)
	early := x.Messages.Early
	for _, o := range x.Collectives.Operations {
		early += o.Early
	}
	if early > 0 || x.Messages.Latency.Min < 0 {
		t.Errorf("%d are early with corrected clocks: %+v", early, x.Messages.Latency)
	}
	return differences
}

// TestPallasInfo compares messages and collective operations with the events that pallas_info
// printed for the same traces.
func TestPallasInfo(t *testing.T) {
	compared := 0
	for _, name := range []string{"abi16_mpi", "abi18_mpi", "abi19_mpi"} {
		for _, dir := range []string{"../../format/pallas/testdata/ok", "../../../shared/traces/pallas"} {
			info, err := os.Open(filepath.Join(dir, name, "info_full.txt.gz"))
			if err != nil {
				continue
			}
			defer info.Close()
			text, err := gzip.NewReader(info)
			if err != nil {
				t.Fatal(err)
			}
			sent, received, collective := pallasInfo(t, text)
			x := commJSON(t, filepath.Join(dir, name, "trace", "main.pallas"))
			got := map[[2]string]traffic{}
			all := traffic{}
			for _, c := range x.Messages.Matrix {
				got[[2]string{c.SourceID, c.DestinationID}] = traffic{c.Count, int64(c.Bytes)}
			}
			for _, r := range received {
				all.count += r.count
				all.bytes += r.bytes
			}
			if len(sent) == 0 || !maps.Equal(got, sent) {
				t.Errorf("%s: found %v, pallas_info has %v", name, got, sent)
			}
			if !maps.Equal(sent, received) || x.Messages.Matched != all.count || int64(x.Messages.ReceivedBytes) != all.bytes {
				t.Errorf("%s: found %+v, pallas_info has received %v", name, x.Messages, received)
			}
			calls := map[string][3]int64{}
			for _, o := range x.Collectives.Operations {
				calls[fmt.Sprint(o.Number, " ", o.CommunicatorID)] = [3]int64{o.Calls, int64(o.Sent), int64(o.Received)}
			}
			if len(collective) == 0 || !maps.Equal(calls, collective) {
				t.Errorf("%s: found %v, pallas_info has %v", name, calls, collective)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("found no trace with what pallas_info says")
	}
}

// pallasInfo returns the messages and bytes sent and received by pairs of locations, and the calls
// and bytes of collective operations by number and communicator, from a text of pallas_info.
func pallasInfo(t *testing.T, text io.Reader) (sent, received map[[2]string]traffic, collective map[string][3]int64) {
	sent, received, collective = map[[2]string]traffic{}, map[[2]string]traffic{}, map[string][3]int64{}
	thread, next := "", false
	for s := bufio.NewScanner(text); s.Scan(); {
		l := s.Text()
		if f := strings.Fields(l); next && len(f) > 1 {
			thread = f[1] // the events that follow belong to the last such table's thread
		}
		next = strings.HasPrefix(l, "#Thread_name")
		_, event, ok := strings.Cut(l, "MPI_")
		name, rest, is := strings.Cut(event, "(")
		args, times, end := strings.Cut(rest, ")")
		if !ok || !is || !end || !strings.HasPrefix(l, "E") {
			continue
		}
		v := map[string]string{}
		for _, a := range strings.Split(args, ", ") {
			key, value, _ := strings.Cut(a, "=")
			v[key] = value
		}
		if len(v) < 4 {
			continue
		}
		n := parseNumber(t, strings.TrimSpace(times))
		switch name {
		case "SEND", "ISEND", "RECV", "IRECV":
			to, k := sent, [2]string{thread, v["dest"]}
			if v["src"] != "" {
				to, k = received, [2]string{v["src"], thread}
			}
			to[k] = traffic{to[k].count + n, to[k].bytes + n*parseNumber(t, v["len"])}
		case "COLLECTIVE_END":
			k := v["op"] + " " + v["comm"]
			c := collective[k]
			collective[k] = [3]int64{c[0] + n, c[1] + n*parseNumber(t, v["sent"]), c[2] + n*parseNumber(t, v["recv"])}
		}
	}
	return sent, received, collective
}

// TestKnownTraffic checks traces of known programs: 50 messages for each of 8 pairs of neighbours.
// Half of the messages are received before they are sent unless the archive's own clock offsets are
// applied.
func TestKnownTraffic(t *testing.T) {
	const heat = "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2"
	for early, option := range map[int64]string{0: "otf2.raw-clocks=false", 200: "otf2.raw-clocks=true"} {
		x := commJSON(t, "--option", option, heat)
		if m := x.Messages; m.Matched != 400 || m.Early != early || m.Latency.Early != early || m.Latency.Count != 400 ||
			len(m.Matrix) != 8 || (m.Latency.Min < 0) != (early > 0) {
			t.Errorf("%s: found %+v", option, m)
		}
		for _, c := range x.Messages.Matrix {
			if c.Count != 50 || c.Latency == nil || c.Latency.Count != 50 {
				t.Errorf("%s: found %+v", option, c)
			}
		}
		warned := strings.Contains(weft(t, 0, "comm", "-q", "--option", option, heat),
			"latencies and waits are not to be trusted")
		if warned != (early > 0) {
			t.Errorf("%s: warned %t", option, warned)
		}
	}
}

// TestCommTables compares text and CSV with the JSON.
func TestCommTables(t *testing.T) {
	const path = "../../format/otf/testdata/ok/mpi4/mpi4.otf"
	x := commJSON(t, path)
	read := func(show string) [][]string {
		rows, err := csv.NewReader(strings.NewReader(weft(t, 0, "comm", "-q", "--csv", "--show", show, path))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows[1:]
	}
	for i, r := range read("matrix") {
		c := x.Messages.Matrix[i]
		l := c.Latency
		want := fmt.Sprintf("[%s %s %d %d %d %d %s %s %s %s %s %s]", c.SourceID, c.DestinationID, c.Count, c.Bytes, l.Count,
			l.Early, formatNanoseconds(l.Min), formatNanoseconds(l.Sum.Over(l.Count).Int64()), formatNanoseconds(l.Max),
			c.SourceName, c.DestinationName, formatNanoseconds(l.Longest.Sent))
		// means have fractions of ticks, which are cut off here
		r[7] = r[7][:min(len(r[7]), len(formatNanoseconds(l.Sum.Over(l.Count).Int64())))]
		if fmt.Sprint(r) != want {
			t.Errorf("found %v, expected %s", r, want)
		}
	}
	var sizes []messages.Size
	for _, r := range read("sizes") {
		sizes = append(sizes, messages.Size{Least: uint64(parseNumber(t, r[0])), Most: uint64(parseNumber(t, r[1])),
			Count: parseNumber(t, r[2]), Bytes: uint64(parseNumber(t, r[3]))})
	}
	if fmt.Sprint(sizes) != fmt.Sprint(x.Messages.Sizes) {
		t.Errorf("found %v, expected %v", sizes, x.Messages.Sizes)
	}
	if r := read("collectives"); len(r) != 1 || strings.Join(r[0][:9], " ") != "1000000001 __MPI_COMM_WORLD__ "+
		"allreduce false 4 200 12800 51200 0.000006" || r[0][12] != "50" || r[0][13] != "47" {
		t.Errorf("found %q", r)
	}
	// --show selects a single table.
	for what, header := range map[string]string{"matrix": "FROM ", "sizes": "SIZE ", "collectives": "COMMUNICATOR "} {
		text := weft(t, 0, "comm", "-q", "--show", what, path)
		for other, h := range map[string]string{"matrix": "FROM ", "sizes": "SIZE ", "collectives": "COMMUNICATOR "} {
			if strings.Contains(text, "\n"+h) != (other == what) {
				t.Errorf("--show %s: found\n%s\nexpected %q alone", what, text, header)
			}
		}
	}
	for _, args := range [][]string{{"--show", "x"}, {"--json", "--csv"}, {"--csv", "--show", "sizes,matrix"},
		{"--top", "-1"}, {"--window", "x..y"}} {
		weft(t, 2, append([]string{"comm", path}, args...)...)
	}
	// Adjacent windows together contain all messages.
	var sum, calls int64
	for _, w := range []string{"..30%", "30%..70%", "70%.."} {
		y := commJSON(t, "--window", w, path)
		sum += y.Messages.Matched
		calls += y.Collectives.Operations[0].Calls
		if y.Messages.Matched == 0 || y.Messages.Matched == x.Messages.Matched {
			t.Errorf("%s: %d messages", w, y.Messages.Matched)
		}
	}
	if sum != x.Messages.Matched || calls != 200 {
		t.Errorf("found %d messages, %d calls in all windows", sum, calls)
	}
}

// formatNanoseconds formats nanoseconds as seconds.
func formatNanoseconds(ticks int64) string {
	s := strings.TrimRight(fmt.Sprintf("%.9f", float64(ticks)/1e9), "0")
	return strings.TrimSuffix(s, ".")
}

// TestNamesInComm checks that text has the names of locations, with an addition if several
// locations share a name, and that JSON and CSV have ids and names.
func TestNamesInComm(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	first, second := r.Location("worker"), r.Location("worker")
	other := r.Location("a longer name than most others have, by far")
	for i, l := range []uint32{first, second, other} {
		r.Send(l, int64(i), []uint32{second, other, first}[i], 1, 8)
	}
	for i, l := range []uint32{second, other, first} {
		r.Recv(l, int64(10+i), []uint32{first, second, other}[i], 1, 8)
	}
	f, _ := format.ByExtension(all.Formats(), "x.otf2")
	path := filepath.Join(t.TempDir(), "x.otf2")
	if err := format.Save(t.Context(), path, f, r); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"comm", path}, {"messages", path}, {"messages", "--list", path}} {
		text := weft(t, 0, command...)
		for _, want := range []string{"worker (0) +worker (1) ", "worker (1) +a",
			" longer name than most others have, by far +worker (0) "} {
			if !regexp.MustCompile(strings.NewReplacer("(", `\(`, ")", `\)`).Replace(want)).MatchString(text) {
				t.Errorf("%v: expected %q in\n%s", command, want, text)
			}
		}
	}
	x := commJSON(t, path).Messages.Matrix[0]
	if x.SourceID != "0" || x.SourceName != "worker" || x.DestinationID != "1" || x.DestinationName != "worker" {
		t.Errorf("found %+v", x)
	}
	if text := weft(t, 0, "messages", "--list", "--json", path); !strings.HasPrefix(text,
		`{"source":"0","destination":"1","sourceName":"worker","destinationName":"worker",`) {
		t.Errorf("found %s", text)
	}
	if text := weft(t, 0, "messages", "--list", "--csv", path); !strings.Contains(text, ",worker,worker\n") {
		t.Errorf("found %s", text)
	}
}

// TestRMA checks that transfers to and from remote memory are the same in all formats. The formats'
// own tools must show the same partners: ranks of a communicator of locations 3 and 1 in the
// archive, processes in OTF, and ranks in an archive converted from that OTF trace.
func TestRMA(t *testing.T) {
	const archive = "../../format/otf2/testdata/ok/rma/traces.otf2"
	transfers := func(path string) (l []string) {
		for _, x := range commJSON(t, path).RMA.Transfers {
			l = append(l, fmt.Sprintf("%s %d-%d %d/%d %d", x.Operation, x.Origin, x.Target, x.Count, x.Bytes, x.Sum))
		}
		return l
	}
	want := []string{"atomic 1-1 1/8 0", "get 1-1 1/50 10", "put 1-3 1/101 10", "put 3-1 1/103 10", "atomic 3-3 1/8 0",
		"get 3-3 1/50 10"}
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.otf")
	weft(t, 0, "convert", "-q", "--plain", "--allow-loss", archive, plain)
	again := filepath.Join(dir, "again.otf2")
	weft(t, 0, "convert", "-q", "--plain", "--allow-loss", plain, again)
	paths := []string{archive}
	for _, name := range []string{"x.otf", "x.pallas", "x.etf", "x.trf", "x.otf2"} {
		path := filepath.Join(dir, name)
		weft(t, 0, "convert", "-q", "--allow-loss", archive, path)
		paths = append(paths, path)
	}
	for _, path := range paths {
		if got := transfers(path); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, expected %q", path, got, want)
		}
	}
	native := slices.DeleteFunc(slices.Clone(want), func(x string) bool { return strings.HasPrefix(x, "atomic") })
	for _, path := range []string{plain, again} {
		if got := transfers(path); !slices.Equal(got, native) {
			t.Errorf("%s: found %q, expected %q", path, got, native)
		}
	}
	for _, x := range []struct {
		tool, path string
		lines      string
		want       []string
	}{
		{"otfprint", plain, `(?m)DefProcess: .* process (.*), name (.*), parent|` +
			`(RMA\w+): (?:origin|process) (\d+)(?:, target (\d+))?`,
			[]string{`1 "rank 0 · main"`, `2 "rank 1 · main"`, `3 "rank 2 · main"`, `4 "rank 3 · main"`, "RMAPut 2 4",
				"RMAPut 4 2", "RMAEnd 2", "RMAEnd 4", "RMAGet 2 2", "RMAGet 4 4", "RMAEnd 2", "RMAEnd 4"}},
		{"otf2-print", again, `RMA_(PUT|GET|OP\w+) +(\d+) .*?(?:Remote: \d \(".*?" <(\d)>\), Bytes: (\d+), )?Matching: (\d+)`,
			[]string{"PUT 1 3 101 7", "PUT 3 1 103 7", "OP_COMPLETE_BLOCKING 1 7", "OP_COMPLETE_BLOCKING 3 7", "GET 1 1 50 8",
				"GET 3 3 50 8", "OP_COMPLETE_BLOCKING 1 8", "OP_COMPLETE_BLOCKING 3 8"}},
	} {
		t.Run(x.tool, func(t *testing.T) {
			out, _ := runTool(t, x.path, x.tool)
			if out == nil {
				t.Skip(x.tool, " is not installed")
			}
			var got []string
			for _, m := range regexp.MustCompile(x.lines).FindAllStringSubmatch(string(out), -1) {
				got = append(got, strings.Join(strings.Fields(strings.Join(m[1:], " ")), " "))
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("found %q, expected %q", got, x.want)
			}
		})
	}
}

// TestOperationsOfOTF checks collective operations of an OTF trace, whose numbers the trace itself
// defines. They are the same in all formats, and in plain traces of the formats with records for
// them.
func TestOperationsOfOTF(t *testing.T) {
	const path = "../../format/otf/testdata/ok/mpi4/mpi4.otf"
	want := commJSON(t, path).Collectives.Operations
	if len(want) != 1 || want[0].Name != "allreduce" || want[0].Calls != 200 || want[0].Matched != 50 {
		t.Fatalf("found %+v", want)
	}
	for _, args := range [][]string{{"x.otf2"}, {"--plain", "y.otf2"}, {"x.pallas"}, {"--plain", "y.pallas"}, {"x.otf"},
		{"--plain", "y.otf"}, {"x.etf"}, {"x.trf"}} {
		out := filepath.Join(t.TempDir(), args[len(args)-1])
		weft(t, 0, slices.Concat([]string{"convert", "-q", "--allow-loss"}, args[:len(args)-1], []string{path, out})...)
		l := commJSON(t, out).Collectives.Operations
		if len(l) != 1 {
			t.Errorf("%q: found %+v", args, l)
			continue
		}
		x, y := l[0], want[0]
		if x.Name != y.Name || x.Members != y.Members || x.Calls != y.Calls || x.Sent != y.Sent ||
			x.Received != y.Received || x.Matched != y.Matched || x.Time != y.Time || x.Waiting != y.Waiting {
			t.Errorf("%q: found %+v, expected %+v", args, x, y)
		}
	}
}

// TestPlainPallasTimes checks that times of a plain Pallas trace are nanoseconds, even if the
// original has other ticks: here 1001 per second.
func TestPlainPallasTimes(t *testing.T) {
	const path = "../../format/otf/testdata/ok/hand_spaces/hand_spaces.otf"
	out := filepath.Join(t.TempDir(), "x.pallas")
	weft(t, 0, "convert", "-q", "--plain", "--allow-loss", path, out)
	span := func(path string) (x struct {
		First int64
		Last  int64
	}, clock trace.Clock) {
		f, err := all.Open(t.Context(), path, &format.ReadOptions{Report: format.NewReport()})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if x.First, x.Last, _, err = f.Extent(t.Context()); err != nil {
			t.Fatal(err)
		}
		return x, f.Defs().Clock
	}
	a, clock := span(path)
	b, nanoseconds := span(out)
	if clock.Num != 1001 || nanoseconds.Num != 1_000_000_000 {
		t.Fatalf("found clocks of %d and %d ticks a second", clock.Num, nanoseconds.Num)
	}
	for _, x := range [][2]int64{{a.First, b.First}, {a.Last, b.Last}} {
		if want, _, _ := clock.Rescale(x[0], nanoseconds); x[1] != want {
			t.Errorf("tick %d became %d ns, expected %d", x[0], x[1], want)
		}
	}
}

// TestCommunicatorsOfMergedTraces checks that communicators of merged traces keep their names and
// have different ids.
func TestCommunicatorsOfMergedTraces(t *testing.T) {
	both := filepath.Join(t.TempDir(), "both.otf2")
	if code, _, errs := runWeft(t, "merge", "-q", realTraces["ring"], realTraces["ring"], both); code != 0 {
		t.Fatal(errs)
	}
	_, out, _ := runWeft(t, "comm", "--show", "collectives", both)
	for _, want := range []string{"MPI_COMM_WORLD (0) ", "MPI_COMM_WORLD (10) "} {
		if strings.Count(out, want) != 2 {
			t.Errorf("found %s, expected %q before a barrier and a broadcast", out, want)
		}
	}
	if _, out, _ = runWeft(t, "comm", "--show", "collectives", realTraces["ring"]); strings.Contains(out, "WORLD (") {
		t.Errorf("found %s, expected no id where one communicator has the name", out)
	}
}

// TestLongestMessage checks the message with the greatest latency from rank 0 to rank 1. otf2-print
// shows its send as MPI_ISEND at 1037600331386 and its receive as MPI_IRECV at 1037600600340.
func TestLongestMessage(t *testing.T) {
	const path = "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2"
	want := messages.Pair{Source: 0, Destination: 1, Sent: 1037600331386, Received: 1037600600340}
	if got := commJSON(t, path).Messages.Matrix[0].Latency.Longest; got == nil || *got != want {
		t.Errorf("found %+v, expected %+v", got, want)
	}
	text := weft(t, 0, "comm", "-q", path)
	for _, want := range []string{"268.954 µs  1037.600331386 s",
		"sent at 1037.600058585 s, received at 1037.600393766 s\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("found no %q in %s", want, text)
		}
	}
	if none := commJSON(t, "../../format/picl/testdata/ok/feature-coverage.trf").Messages; none.Latency.Count == 0 &&
		none.Latency.Longest != nil {
		t.Errorf("found %+v where no message has a latency", none.Latency.Longest)
	}
}
