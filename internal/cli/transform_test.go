package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/format/pallas"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/internal/effort"
)

// runWeft runs a command line in this process.
func runWeft(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// realTraces are real traces of every format, small ones.
var realTraces = map[string]string{
	"etf":    "../../examples/odse.etf",
	"picl":   "../../examples/ring.trf",
	"otf":    "../../format/otf/testdata/ok/mpi4/mpi4.otf",
	"otf2":   "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2",
	"ring":   "../../format/otf2/testdata/ok/ring/eztrace_log.otf2",
	"pallas": "../../format/pallas/testdata/ok/abi18_mpi/trace/main.pallas",
}

// What the verbs write of real traces, in every format, passes check without errors, and
// OTF's and OTF2's own tools read it without a word.
func TestTransformsAreSound(t *testing.T) {
	effort.Long(t)
	for name, path := range realTraces {
		var known []byte // what otf2-print has to say of the trace itself
		if filepath.Ext(path) == ".otf2" {
			_, known = tool(t, path, "otf2-print", "-A")
		}
		for _, verb := range [][]string{
			{"cut", "--from", "30%", "--to", "60%"},
			{"cut", "--percent", "45-46", "--prune"},
			{"filter", "--not-region", "*e*", "--min-duration", "1us"},
			{"filter", "--location", "*0*", "--max-depth", "2"},
			{"repair"},
			{"anonymize"},
			{"merge", path},
		} {
			for _, ext := range []string{"otf2", "otf", "pallas", "etf", "trf"} {
				out := filepath.Join(t.TempDir(), "x."+ext)
				args := append(append([]string{}, verb...), "-q", "--allow-loss", path, out)
				if code, _, errs := runWeft(t, args...); code != 0 {
					t.Errorf("%s: %v: exit code %d: %s", name, args, code, errs)
					continue
				}
				if code, found, errs := runWeft(t, "check", "--places", "2", out); code != 0 {
					t.Errorf("%s: check of %v: exit code %d: %s%s", name, args, code, found, errs)
				}
				switch ext {
				case "otf2":
					silentOTF2(t, out, known)
				case "otf":
					silent(t, nil, out, "otfprint")
				}
			}
		}
	}
}

// tool runs a tool on a trace and returns what it prints, and what it complains of: nothing where
// the tool is not installed.
func tool(t *testing.T, path, name string, flags ...string) (out, complaints []byte) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		return nil, nil
	}
	var errs bytes.Buffer
	c := exec.Command(name, append(flags, path)...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Errorf("%s %q: %v: %s", name, append(flags, path), err, errs.String())
	}
	return out, errs.Bytes()
}

// silent runs a tool that must have nothing to complain of but what is known, and returns what it
// prints.
func silent(t *testing.T, known []byte, path, name string, flags ...string) []byte {
	t.Helper()
	out, errs := tool(t, path, name, flags...)
	// An anonymous archive has other names for the same things.
	unnamed := regexp.MustCompile(`".*?" <`)
	known = unnamed.ReplaceAll(known, []byte("<"))
	for line := range bytes.Lines(errs) {
		if !bytes.Contains(known, unnamed.ReplaceAll(line, []byte("<"))) {
			t.Errorf("%s %q: %s", name, append(flags, path), line)
		}
	}
	return out
}

// locationEvents finds the id and the number of events in a line about a location that
// otf2-print -G prints.
var locationEvents = regexp.MustCompile(`(?m)^LOCATION +(\d+) .*# Events: (\d+)`)

// silentOTF2 runs otf2-print, which must have nothing to complain of but what is known. libotf2 3.0 follows a
// pointer in freed memory when it opens all locations of an archive and one of them has no
// events, also in archives of its own writer. The locations of such an archive are printed one
// by one.
func silentOTF2(t *testing.T, path string, known []byte) {
	t.Helper()
	var events []string
	empty := false
	for _, l := range locationEvents.FindAllSubmatch(silent(t, known, path, "otf2-print", "-G"), -1) {
		if string(l[2]) == "0" {
			empty = true
		} else {
			events = append(events, string(l[1]))
		}
	}
	if !empty {
		silent(t, known, path, "otf2-print", "-A")
		return
	}
	for _, id := range events {
		silent(t, known, path, "otf2-print", "-L", id)
	}
}

// sentAgain finds the sends and receives of messages that began before a piece in the lines of weft print --json.
var sentAgain = regexp.MustCompile(`"kind":"(send|recv|send-begin|recv-complete)".*"cut\.began"`)

// The messages of a piece are those that are sent or received in it, each with its
// partner: pieces of a real trace have together the messages of the whole.
func TestPiecesOfMessages(t *testing.T) {
	type sums struct{ Sent, Received, Matched, SizeMismatches int64 }
	count := func(path string) (s sums, repeated int64) {
		code, out, errs := runWeft(t, "messages", "--json", path)
		if code != 0 {
			t.Fatal(errs)
		}
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatal(err)
		}
		_, out, _ = runWeft(t, "print", "--json", "--kind", "message", path)
		return s, int64(len(sentAgain.FindAllString(out, -1)))
	}
	for _, name := range []string{"otf", "otf2", "ring", "pallas"} {
		whole, _ := count(realTraces[name])
		var sum sums
		again := int64(0)
		bounds := []string{"", "17%", "44.5%", "45%", "80%", ""}
		for i := range len(bounds) - 1 {
			args := []string{"cut", "-q"}
			if bounds[i] != "" {
				args = append(args, "--from", bounds[i])
			}
			if bounds[i+1] != "" {
				args = append(args, "--to", bounds[i+1])
			}
			out := filepath.Join(t.TempDir(), "x.otf2")
			if code, _, errs := runWeft(t, append(args, realTraces[name], out)...); code != 0 {
				t.Fatal(errs)
			}
			s, n := count(out)
			sum.Sent += s.Sent
			sum.Received += s.Received
			sum.SizeMismatches += s.SizeMismatches
			again += n
		}
		if sum.Sent+sum.Received-again != whole.Sent+whole.Received || sum.SizeMismatches != whole.SizeMismatches {
			t.Errorf("%s: found %+v in pieces, %d of them repeated, expected %+v", name, sum, again, whole)
		}
	}
}

// A pass through several verbs at once is what they do one after another.
func TestOnePass(t *testing.T) {
	dir := t.TempDir()
	file := func(n string) string { return filepath.Join(dir, n, "x.otf2") }
	for _, args := range [][]string{
		{"cut", "--from", "20%", "--to", "70%", realTraces["otf2"], file("a")},
		{"filter", "--region", "MPI_*", file("a"), file("b")},
		{"anonymize", file("b"), file("c")},
		{"anonymize", "--from", "20%", "--to", "70%", "--region", "MPI_*", realTraces["otf2"], file("d")},
	} {
		mkdir(t, filepath.Dir(args[len(args)-1]))
		if code, _, errs := runWeft(t, args...); code != 0 {
			t.Fatal(args, errs)
		}
	}
	// How many texts there were before depends on the strings of the archive in between. Markers
	// have no attributes there.
	number := regexp.MustCompile(`"text \d+"`)
	events := func(path string) map[string]int {
		_, out, _ := runWeft(t, "print", "--json", path)
		m := map[string]int{}
		for _, l := range strings.Split(out, "\n") {
			if !strings.Contains(l, `"kind":"marker"`) {
				m[number.ReplaceAllString(l, `"text"`)]++
			}
		}
		return m
	}
	if a, b := events(file("c")), events(file("d")); len(a) < 10 || !maps.Equal(a, b) {
		t.Errorf("one pass gives %d different events, three give %d", len(b), len(a))
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// Archives of traces that OTF2 has no records for have nothing that OTF2's own rules find.
func TestForeignArchives(t *testing.T) {
	for _, name := range []string{"etf", "picl", "otf", "pallas"} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		if code, _, errs := runWeft(t, "convert", "-q", realTraces[name], out); code != 0 {
			t.Fatal(errs)
		}
		plain := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, "convert", "-q", "--plain", "--allow-loss", realTraces[name], plain)
		silentOTF2(t, plain, nil)
		if _, found, errs := runWeft(t, "check", "--rule", "otf2.*", out); !strings.Contains(found, "0 errors, 0 warnings") {
			t.Errorf("%s: %s%s", name, found, errs)
		}
	}
}

// printed is what a tool prints of a trace: how often each line comes, without the numbers of
// records and the time that it took.
func printed(t *testing.T, path, name string, flags ...string) map[string]int {
	t.Helper()
	number := regexp.MustCompile(`^\(#\d+\) *\t`)
	out, _ := tool(t, path, name, flags...)
	m := map[string]int{}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "processing time:") {
			m[number.ReplaceAllString(line, "")]++
		}
	}
	return m
}

// differences are the lines of which there are more in b than in a, and in a than in b.
func differences(a, b map[string]int) (more, fewer []string) {
	for line, n := range b {
		if n > a[line] {
			more = append(more, line)
		}
	}
	for line, n := range a {
		if n > b[line] {
			fewer = append(fewer, line)
		}
	}
	return more, fewer
}

// Verbs edit traces: the format's own tool prints the same of what a verb that changes nothing has
// written as of the trace.
func TestVerbsEdit(t *testing.T) {
	effort.Long(t)
	for _, c := range []struct {
		dir, tool, flag string
		names           []string // of traces that the tool reads to the end
	}{
		{"../../format/otf2/testdata/ok/", "otf2-print", "-A", []string{"heat2d-mt/traces.otf2", "omp/eztrace_log.otf2", "propvals/traces.otf2", "ring/eztrace_log.otf2"}},
		{"../../format/otf/testdata/ok/", "otfprint", "--fullkeyvalue", []string{"aux_snapshots/aux_snapshots.otf", "hello/hello.otf", "kv_types/kv_types.otf", "map_1to1/map_1to1.otf", "map_explicit/map_explicit.otf", "mpi4/mpi4.otf", "time0/time0.otf", "tokens/tokens.otf"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skip(c.tool + " is not installed")
			}
			for _, name := range c.names {
				path := c.dir + name
				want := printed(t, path, c.tool, c.flag)
				if len(want) < 15 {
					t.Errorf("%s prints %d different lines of %s", c.tool, len(want), name)
				}
				verbs := [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"repair"}}
				switch filepath.Dir(name) {
				case "omp", "ring", "kv_types":
					verbs = verbs[:3] // there are regions that are not left in their order
				}
				for _, verb := range verbs {
					out := filepath.Join(t.TempDir(), "x"+filepath.Ext(path))
					if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", path, out)...); code != 0 {
						t.Errorf("%s: %q: exit code %d: %s", name, verb, code, errs)
						continue
					}
					if more, fewer := differences(want, printed(t, out, c.tool, c.flag)); len(more)+len(fewer) > 0 {
						t.Errorf("%s: %q: %s prints anew:\n%sand no longer:\n%s", name, verb, c.tool, strings.Join(more, ""), strings.Join(fewer, ""))
					}
				}
			}
		})
	}
}

// withBareLeaves copies a trace of OTF with leaves that do not say what they leave, as VampirTrace
// writes them.
func withBareLeaves(t *testing.T, path string) string {
	t.Helper()
	dir, leave := t.TempDir(), regexp.MustCompile(`(?m)^L[0-9a-f]+$`)
	stub := strings.TrimSuffix(filepath.Base(path), ".otf")
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), stub+".*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".events" {
			b = leave.ReplaceAll(b, []byte("L0"))
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, stub+".otf")
}

// A leave that does not say what it leaves is that of the innermost region, however many cores read
// the trace; verbs leave it so.
func TestBareLeaves(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.otf") // than a piece that a core reads
	weft(t, 0, "generate", "--workload", "stencil", "--events", "300000", large)
	for _, path := range []string{realTraces["otf"], large} {
		bare := withBareLeaves(t, path)
		for _, args := range [][]string{{"print", "-q", "-j", "1"}, {"print", "-q", "-j", "3", "--from", "60%", "--to", "70%"}, {"profile", "-q", "-j", "1", "--csv"}, {"profile", "-q", "-j", "4", "--csv"},
			{"profile", "-q", "-j", "2", "--csv", "--from", "30%", "--to", "80%"}, {"comm", "-q", "-j", "2"}} {
			code, want, _ := runWeft(t, append(slices.Clone(args), path)...)
			if c, got, errs := runWeft(t, append(slices.Clone(args), bare)...); c != code || got != want || len(want) < 100 {
				t.Errorf("%s: %q: exit code %d, %d bytes other than expected: %s", filepath.Base(path), args, c, len(got), errs)
			}
		}
	}
	if _, err := exec.LookPath("otfprint"); err != nil {
		t.Skip("otfprint is not installed")
	}
	bare := withBareLeaves(t, realTraces["otf"])
	want := printed(t, bare, "otfprint", "--fullkeyvalue")
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"repair"}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", bare, out)...)
		if more, fewer := differences(want, printed(t, out, "otfprint", "--fullkeyvalue")); len(more)+len(fewer) > 0 {
			t.Errorf("%q: otfprint prints anew:\n%sand no longer:\n%s", verb, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
}

// localArchive writes heat2d-mt anew with what no recorder at hand writes: references of each
// location's own, with mapping tables of both kinds, clocks that are corrected in three intervals,
// snapshots and a thumbnail. Its times are others.
func localArchive(t *testing.T) string {
	t.Helper()
	from, err := otf2.Open(format.FileSource("../../format/otf2/testdata/ok/heat2d-mt/traces.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "local.otf2")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := otf2.NewWriter(out, otf2.Anchor{})
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	regions := uint64(0)
	must(from.Definitions(func(_ int64, r *otf2.Record) error {
		if r.ID == 15 { // a region
			regions = max(regions, r.Values[0]+1)
		}
		return w.Define(r)
	}))
	ids, err := from.LocationIDs()
	must(err)
	var mapped []uint64 // the archive's region of each of the location's own, which is one less
	for i := range regions {
		mapped = append(mapped, (i+1)%regions)
	}
	for n, id := range ids {
		e, s := w.Location(id), w.Snapshots(id)
		must(e.Map(otf2.Regions, mapped))
		must(e.MapSome(otf2.Comms, [][2]uint64{{100, 0}, {101, 1}}))
		r, err := from.Events(id, otf2.EventOptions{})
		must(err)
		for {
			x, err := r.Next()
			if err == io.EOF {
				break
			}
			must(err)
			switch x.ID {
			case 12, 13: // an enter or a leave
				x.Values[0] = (x.Values[0] + regions - 1) % regions
			case 14, 15, 18, 19, 23: // a message or a collective operation
				x.Values[1] += 100
			}
			if e.Count == 0 {
				for k := range uint64(4) {
					must(e.Clock(otf2.ClockOffset{Time: x.Time + k*300_000, Offset: int64(n*1000) + []int64{0, 40, -70, 13}[k], Deviation: 0.5}))
				}
			}
			if e.Count%500 == 0 {
				must(s.Write(&otf2.Event{Time: x.Time, Record: otf2.Record{ID: 10, Values: []uint64{1}}}))
				must(s.Write(&otf2.Event{Time: x.Time, Record: otf2.Record{ID: 13, Values: []uint64{x.Time, uint64(n)}}}))
				must(s.Write(&otf2.Event{Time: x.Time, Record: otf2.Record{ID: 11, Values: []uint64{e.Count}}}))
			}
			must(e.Write(x))
		}
		r.Close()
	}
	must(w.Thumbnail(0, &otf2.Record{ID: 10, Values: []uint64{0, 1, 0, 1, 2, 0}, Texts: []string{"calls", "of two regions"}}))
	must(w.Thumbnail(0, &otf2.Record{ID: 11, Values: []uint64{10, 2, 3, 4}}))
	must(errors.Join(w.Close(), out.Commit()))
	return path
}

// locals are the records of an archive's snapshots with their times, and the records of its events
// as its locations say them, as texts, and the times of these.
func locals(t *testing.T, path string) (snapshots, events []string, times []int64) {
	t.Helper()
	a, err := otf2.Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := a.LocationIDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		read := func(next func() (*otf2.Event, error), use func(x *otf2.Event, text string)) {
			for {
				x, err := next()
				if err == io.EOF {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				use(x, fmt.Sprint(id, x.ID, x.Values, x.Texts, x.Attributes))
			}
		}
		if s, err := a.Snapshots(id); err == nil {
			read(s.Next, func(x *otf2.Event, text string) { snapshots = append(snapshots, fmt.Sprint(x.Time, text)) })
			s.Close()
		}
		r, err := a.Events(id, otf2.EventOptions{RawClocks: true, RawIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		read(r.Next, func(x *otf2.Event, text string) { events, times = append(events, text), append(times, int64(x.Time)) })
		r.Close()
	}
	return snapshots, events, times
}

// Verbs that do not change times leave each location its own references and its own clock.
func TestVerbsKeepLocalDefinitions(t *testing.T) {
	path := localArchive(t)
	snapshots, events, times := locals(t, path)
	if len(snapshots) < 20 || len(events) < 4000 {
		t.Fatalf("found %d records of snapshots and %d events", len(snapshots), len(events))
	}
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge", "-q"}, {"repair", "-q"}, {"filter", "--not-region", "*a*"}} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, append(slices.Clone(verb), "-q", "--allow-loss", path, out)...)
		s, e, at := locals(t, out)
		if verb[1] == "--not-region" {
			// The events that stay are as they were.
			all := map[string]bool{}
			for _, x := range events {
				all[x] = true
			}
			if len(e) > len(events)-100 || slices.ContainsFunc(e, func(x string) bool { return !all[x] }) {
				t.Errorf("%q: of %d events, %d stay, or others", verb, len(events), len(e))
			}
			continue
		}
		if !slices.Equal(s, snapshots) {
			t.Errorf("%q: %d records of snapshots, or others, expected %d", verb, len(s), len(snapshots))
		}
		// Of two times that are corrected to one, either will do.
		if !slices.Equal(e, events) || !slices.EqualFunc(at, times, func(a, b int64) bool { return a-b <= 1 && b-a <= 1 }) {
			t.Errorf("%q: %d events, or others, expected %d", verb, len(e), len(events))
		}
		if _, err := exec.LookPath("otf2-print"); err != nil {
			continue
		}
		for flag, least := range map[string]int{"-A": 4000, "-M": 8, "-C": 16, "-T": 1} {
			want := printed(t, path, "otf2-print", flag)
			if len(want) < least {
				t.Errorf("otf2-print %s prints %d lines", flag, len(want))
			}
			if more, fewer := differences(want, printed(t, out, "otf2-print", flag)); len(more)+len(fewer) > 0 {
				t.Errorf("%q: otf2-print %s prints %d lines anew and %d no longer: %.300s", verb, flag, len(more), len(fewer), strings.Join(more, ""))
			}
		}
	}
	// What changes times has no use for the clocks that made them.
	out := filepath.Join(t.TempDir(), "x.otf2")
	weft(t, 0, "align", "-q", "--allow-loss", path, out)
	if _, err := exec.LookPath("otf2-print"); err == nil {
		if l := printed(t, out, "otf2-print", "-C"); slices.ContainsFunc(slices.Collect(maps.Keys(l)), func(x string) bool { return strings.Contains(x, "CLOCK_OFFSET") }) {
			t.Errorf("an aligned archive has clock offsets")
		}
	}
}

// An anonymous archive has the definitions and events of the original, record by record, and none
// of its texts but words and the names of libraries.
func TestAnonymizeEdits(t *testing.T) {
	known := regexp.MustCompile(`^(|-?[0-9.]+|MPI.*|pthread_.*|OpenMP.*|POSIX.*|machine|node)$`)
	// The fields that are words: names of attributes and properties, units.
	words := map[uint8]int{11: 1, 19: 8, 26: 1, 28: 1, 29: 1}
	for _, name := range []string{"heat2d-mt/traces.otf2", "omp/eztrace_log.otf2", "propvals/traces.otf2", "rma/traces.otf2", "thumbnails/t.otf2"} {
		path, out := "../../format/otf2/testdata/ok/"+name, filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, "anonymize", "-q", path, out)
		word := map[string]bool{}
		records := func(path string) (kinds map[uint8]int, texts map[string]bool) {
			a, err := otf2.Open(format.FileSource(path))
			if err != nil {
				t.Fatal(err)
			}
			kinds, texts = map[uint8]int{}, map[string]bool{a.Anchor.Machine: true, a.Anchor.Description: true}
			for _, p := range a.Anchor.Properties {
				texts[p.Value] = true
			}
			ids := map[uint64]string{}
			if err := a.Definitions(func(_ int64, r *otf2.Record) error {
				if kinds[r.ID]++; r.ID == 10 {
					ids[r.Values[0]] = r.Texts[0]
				} else if field, ok := words[r.ID]; ok {
					word[ids[r.Values[field]]] = true
				}
				for _, x := range r.Texts {
					texts[x] = true
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return kinds, texts
		}
		kinds, texts := records(path)
		k, others := records(out)
		if !maps.Equal(k, kinds) {
			t.Errorf("%s: %v definitions, expected %v", name, k, kinds)
		}
		for x := range texts {
			if others[x] && !word[x] && !known.MatchString(x) {
				t.Errorf("%s: found the text %q", name, x)
			}
		}
		if _, err := exec.LookPath("otf2-print"); err != nil {
			continue
		}
		count := func(path string) map[string]int {
			n := map[string]int{}
			for line, times := range printed(t, path, "otf2-print", "-A") {
				if words := strings.Fields(line); len(words) > 0 {
					n[words[0]] += times
				}
			}
			return n
		}
		if a, b := count(path), count(out); !maps.Equal(a, b) {
			t.Errorf("%s: otf2-print finds %v, expected %v", name, b, a)
		}
	}
}

// An anonymous OTF trace has all records of the original, which otfprint prints alike but for texts,
// lines of sources and the unique id, and none of its names.
func TestAnonymizeEditsOTF(t *testing.T) {
	known := regexp.MustCompile(`^(|-?[0-9.]+|MPI.*|OMP.*|PAPI.*|salmon)$`) // the last is libotf's version
	blank := regexp.MustCompile(`"[^"]*"|\([^)]*\)|(Def(File|FileGroup|Creator|Comment)|DefinitionComment|DefSclFile): .*|uid: \d+|line \d+|, KeyValue: 12:[0-9A-F]*| 20:[0-9A-F]*,|, 22:[0-9A-F]*`)
	for _, name := range []string{"aux_snapshots", "hello", "kv_types", "map_1to1", "map_explicit", "mpi4", "time0", "tokens"} {
		path, out := "../../format/otf/testdata/ok/"+name+"/"+name+".otf", filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, "anonymize", "-q", path, out)
		definitions := func(path string) (kinds map[otf.Type]int, texts map[string]bool) {
			r, err := otf.Open(t.Context(), format.FileSource(path), &otf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			kinds, texts = map[otf.Type]int{}, map[string]bool{}
			c, err := r.Cursor(t.Context(), otf.Definitions)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for c.Next() {
				x := c.Record()
				kinds[x.Type]++
				if x.Type != otf.DefVersion && x.Type != otf.DefKeyValue {
					texts[x.Name], texts[x.Text] = true, true
				}
			}
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
			return kinds, texts
		}
		kinds, texts := definitions(path)
		k, others := definitions(out)
		if !maps.Equal(k, kinds) || len(kinds) < 4 {
			t.Errorf("%s: %v definitions, expected %v", name, k, kinds)
		}
		for x := range texts {
			if others[x] && !known.MatchString(x) {
				t.Errorf("%s: found the text %q", name, x)
			}
		}
		if _, err := exec.LookPath("otfprint"); err != nil {
			continue
		}
		lines := func(path string) map[string]int {
			n := map[string]int{}
			for line, times := range printed(t, path, "otfprint", "--fullkeyvalue") {
				n[blank.ReplaceAllString(line, "$2$3")] += times
			}
			return n
		}
		if more, fewer := differences(lines(path), lines(out)); len(more)+len(fewer) > 0 {
			t.Errorf("%s: otfprint prints anew:\n%.500s\nand no longer:\n%.500s", name, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
}

// An anonymous Pallas trace has the events, definitions and metadata of the original with other
// texts, each of them for one.
func TestAnonymizeEditsPallas(t *testing.T) {
	name := regexp.MustCompile(`\(.*\)`)
	for _, trace := range []string{"abi16_attrs", "abi17_metadata", "abi18_mpi", "abi19_loops", "attrs", "deep99", "empty_thread", "global_locations", "sparse_ids"} {
		path, out := "../../format/pallas/testdata/ok/"+trace+"/trace/main.pallas", filepath.Join(t.TempDir(), "x.pallas")
		weft(t, 0, "anonymize", "-q", path, out)
		was, is := strings.Split(pallasDefinitions(t, path), "\n"), strings.Split(pallasDefinitions(t, out), "\n")
		if len(was) != len(is) {
			t.Errorf("%s: %d definitions, expected %d", trace, len(is), len(was))
			continue
		}
		words := map[string]bool{} // names of attributes
		other := map[string]string{}
		text := regexp.MustCompile(`^string {(\d+) (.*)}$`)
		byRef := map[string]string{}
		for i := range was {
			a, b := text.FindStringSubmatch(was[i]), text.FindStringSubmatch(is[i])
			if (a == nil) != (b == nil) || a != nil && a[1] != b[1] {
				t.Errorf("%s: found %q, expected %q", trace, is[i], was[i])
			} else if a != nil {
				byRef[a[1]] = a[2]
				if c, twice := other[a[2]]; twice && c != b[2] {
					t.Errorf("%s: %q is %q and %q", trace, a[2], b[2], c)
				}
				other[a[2]] = b[2]
			} else if !strings.HasPrefix(was[i], "metadata") && was[i] != is[i] {
				t.Errorf("%s: found %q, expected %q", trace, is[i], was[i])
			}
		}
		for _, line := range was {
			if f := strings.Fields(line); len(f) > 2 && f[0] == "attribute" {
				words[byRef[f[2]]] = true
			}
		}
		for a, b := range other {
			if a == b && !words[a] && strings.ContainsFunc(a, unicode.IsLetter) && !strings.HasPrefix(a, "MPI_") {
				t.Errorf("%s: found the text %q", trace, a)
			}
		}
		// Times, kinds of events and refs are the same.
		events := func(path string) []string {
			_, s, _ := runWeft(t, "print", "-q", "--compat", path)
			l := strings.Split(s, "\n")
			for i, x := range l {
				if l[i] = name.ReplaceAllString(x, "()"); l[i] == x && len(x) > 20 {
					l[i] = x[:20] // the text of a generic event
				}
			}
			return l
		}
		if a, b := events(path), events(out); !slices.Equal(a, b) {
			t.Errorf("%s: events are other ones:\n%s", trace, cmp.Diff(a, b))
		}
	}
}

// Verbs that change nothing of a Pallas trace leave its events, which are printed as pallas_print
// prints them, its definitions and its metadata as they were.
func TestVerbsEditPallas(t *testing.T) {
	for _, name := range []string{"abi16_attrs", "abi17_metadata", "abi18_mpi", "abi19_loops", "attrs", "deep99", "empty_thread", "global_locations", "mismatched_leave", "samets", "sparse_ids"} {
		path := "../../format/pallas/testdata/ok/" + name + "/trace/main.pallas"
		_, want, _ := runWeft(t, "print", "-q", "--compat", path)
		for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"repair"}} {
			if name == "mismatched_leave" && verb[0] != "filter" {
				continue // it has something to repair, and to close at its end
			}
			out := filepath.Join(t.TempDir(), "x.pallas")
			if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", path, out)...); code != 0 {
				t.Errorf("%s: %q: exit code %d: %s", name, verb, code, errs)
				continue
			}
			if _, got, _ := runWeft(t, "print", "-q", "--compat", out); got != want {
				t.Errorf("%s: %q: the events are other ones:\n%s", name, verb, cmp.Diff(want, got))
			}
			if a, b := pallasDefinitions(t, path), pallasDefinitions(t, out); a != b {
				t.Errorf("%s: %q: definitions:\n%s", name, verb, cmp.Diff(a, b))
			}
		}
	}
}

// pallasDefinitions are the definitions and metadata of a trace and its archives, as text.
func pallasDefinitions(t *testing.T, path string) string {
	t.Helper()
	x, err := pallas.Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	// The writer brings definitions into the order of their refs.
	tables := func(d *pallas.Definitions) {
		var lines []string
		for _, x := range d.Strings {
			lines = append(lines, fmt.Sprintf("string %v", x))
		}
		for _, x := range d.Regions {
			lines = append(lines, fmt.Sprintf("region %v", x))
		}
		for _, x := range d.Attributes {
			lines = append(lines, fmt.Sprintf("attribute %v", x))
		}
		for _, x := range d.Groups {
			lines = append(lines, fmt.Sprintf("group %v", x))
		}
		for _, x := range d.Comms {
			lines = append(lines, fmt.Sprintf("comm %v", x))
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	tables(x.Definitions)
	fmt.Fprintf(&b, "groups %v\nmetadata %v\n", x.LocationGroups, x.Metadata)
	for _, id := range x.ArchiveIDs() {
		a, err := x.Archive(id)
		if err != nil {
			continue // a machine has none
		}
		fmt.Fprintf(&b, "archive %d: locations %v\nmetadata %v\n", id, a.Locations, a.Metadata)
		tables(a.Definitions)
	}
	return b.String()
}

// Of a piece, otf2-print prints nothing that the archive does not have, but for numbers of events,
// the ends of what goes on there, and the attributes that say so.
func TestPiecesOfArchives(t *testing.T) {
	effort.Long(t)
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	for _, name := range []string{"heat2d-mt/traces.otf2", "omp/eztrace_log.otf2", "ring/eztrace_log.otf2"} {
		path := "../../format/otf2/testdata/ok/" + name
		want := printed(t, path, "otf2-print", "-A")
		for _, verb := range [][]string{{"cut", "--from", "20%", "--to", "70%"}, {"filter", "--not-region", "*a*"}} {
			out := filepath.Join(t.TempDir(), "x.otf2")
			if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", path, out)...); code != 0 {
				t.Errorf("%s: %q: exit code %d: %s", name, verb, code, errs)
				continue
			}
			more, fewer := differences(want, printed(t, out, "otf2-print", "-A"))
			if len(fewer) == 0 {
				t.Errorf("%s: %q: otf2-print prints all that it prints of the archive", name, verb)
			}
			times := map[string]bool{}
			for _, line := range more {
				f := strings.Fields(line)
				switch {
				case f[0] == "LOCATION", f[0] == "Number", f[0] == "STRING", strings.Contains(line, `"cut.`):
				case len(f) > 2:
					times[f[2]] = true
				default:
					t.Errorf("%s: %q: otf2-print prints anew: %s", name, verb, line)
				}
			}
			if len(times) > 2 {
				t.Errorf("%s: %q: otf2-print prints events anew at %v, expected those at the ends of the piece", name, verb, slices.Collect(maps.Keys(times)))
			}
		}
	}
}

// Locations that a filter empties have no events, for otf2-print, too.
func TestEmptiedLocations(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	out := filepath.Join(t.TempDir(), "x.otf2")
	if code, _, errs := runWeft(t, "filter", "--location", "0", "-q", realTraces["otf2"], out); code != 0 {
		t.Fatal(errs)
	}
	defs, _ := tool(t, out, "otf2-print", "-G")
	got := ""
	for _, l := range locationEvents.FindAllSubmatch(defs, -1) {
		got += fmt.Sprintf("%s:%s ", l[1], l[2])
	}
	if want := "0:1344 1:0 2:0 3:0 "; got != want {
		t.Errorf("otf2-print finds the events %s, expected %s", got, want)
	}
}

// OTF2's Python bindings, which refuse what the C library forgives, read all archives that weft
// writes: as many events as the archive says.
func TestPythonReads(t *testing.T) {
	effort.Long(t)
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", `import sys; sys.path.append("/usr/lib/python3/dist-packages"); import otf2`).Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("python3-otf2 is not installed")
	}
	dir := t.TempDir()
	var names, paths []string
	write := func(args ...string) {
		path := filepath.Join(dir, fmt.Sprint(len(paths)), "x.otf2")
		mkdir(t, filepath.Dir(path))
		if code, _, errs := runWeft(t, append(args, path)...); code != 0 {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
			return
		}
		names, paths = append(names, strings.Join(args, " ")), append(paths, path)
	}
	for _, workload := range generate.Workloads() {
		write("generate", "--workload", workload.Name, "--events", "1000")
	}
	for _, pattern := range []string{"../../examples/*.*", "../../format/*/testdata/ok/*.*", "../../format/otf/testdata/ok/*/*.otf", "../../format/pallas/testdata/ok/*/trace/main.pallas"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			switch filepath.Ext(path) {
			case ".etf", ".trf", ".otf", ".pallas":
				write("convert", "-q", "--allow-loss", path)
			}
		}
	}
	for _, verb := range [][]string{{"cut", "--from", "20%", "--to", "70%"}, {"filter", "--not-region", "*a*"}, {"repair"}, {"anonymize"}, {"merge", realTraces["otf2"]}} {
		write(append(verb, "-q", "--allow-loss", realTraces["otf2"])...)
	}
	if len(paths) < 60 {
		t.Errorf("found %d traces", len(paths))
	}
	// Where a location has no events the library reads beyond an array: what comes of that
	// depends on what lies there.
	type archive struct {
		name, path string
		events     int
	}
	archives := map[bool][]archive{}
	for i, path := range paths {
		defs, _ := tool(t, path, "otf2-print", "-G")
		x, empty := archive{name: names[i], path: path}, false
		for _, l := range locationEvents.FindAllSubmatch(defs, -1) {
			n, err := strconv.Atoi(string(l[2]))
			if err != nil {
				t.Fatal(err)
			}
			x.events, empty = x.events+n, empty || n == 0
		}
		archives[empty] = append(archives[empty], x)
	}
	for empty, list := range archives {
		t.Run(fmt.Sprintf("empty locations %t", empty), func(t *testing.T) {
			args := []string{"../../testdata/readotf2.py"}
			for _, x := range list {
				args = append(args, x.path)
			}
			out, err := exec.Command(python, args...).Output()
			var died *exec.ExitError
			if empty && errors.As(err, &died) && died.ExitCode() < 0 {
				t.Skip("the library dies of a location without events: ", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
				if line != strconv.Itoa(list[i].events) {
					t.Errorf("%s: the bindings say %s, expected %d events", list[i].name, line, list[i].events)
				}
			}
			if len(list) < 15 {
				t.Errorf("found %d archives", len(list))
			}
		})
	}
}

// hostile writes a trace of 4n events: of one process, whose regions do not nest, or what else takes much time
// where it is done badly.
func hostile(t testing.TB, dir, shape string, n int) string {
	t.Helper()
	if text, ok := hostileClaims(shape, n); ok {
		path := filepath.Join(dir, "x.etf")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var defs, events strings.Builder
	defs.WriteString("DTR3b9aca00\nDP1NM\"p\"\nDFG1NM\"g\"\n")
	events.WriteString("1\n*1\n")
	time, most := 1, 0
	event := func(kind string, region int) {
		time++
		most = max(most, region)
		fmt.Fprintf(&events, "%x\n%s%x\n", time, kind, region)
	}
	each := func(f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	switch shape {
	case "orphaned": // what was never entered is left, deep inside of others
		each(func(int) { event("E", 1); event("E", 1) })
		each(func(i int) { event("L", 100); event("L", 101) })
	case "first in, first out":
		each(func(i int) { event("E", 2*i+1); event("E", 2*i+2) })
		each(func(i int) { event("L", 2*i+1); event("L", 2*i+2) })
	case "never left": // but for calls that cross, deep inside
		each(func(int) { event("E", 1); event("E", 1) })
		for range n / 2 {
			event("E", 2)
			event("E", 3)
			event("L", 2)
			event("L", 3)
		}
	case "crossed":
		each(func(int) { event("E", 1) })
		each(func(int) { event("E", 2) })
		each(func(int) { event("L", 1) })
		each(func(int) { event("L", 2) })
	case "chain": // one region is always left after the next one is entered
		event("E", 1)
		each(func(i int) { event("E", 2*i+2); event("L", 2*i+1); event("E", 2*i+3); event("L", 2*i+2) })
	case "collectives backwards": // those that begin last end first
		defs.WriteString("DPG2M1,NM\"all\"\nDCO1NM\"barrier\"T1\n")
		for i := range 2 * n {
			time++
			fmt.Fprintf(&events, "%x\nCOPB1H%xC2RT0S8R8\n", time, i)
		}
		for i := range 2 * n {
			time++
			fmt.Fprintf(&events, "%x\nCOPE%x\n", time, 2*n-1-i)
		}
	case "recursive": // each region comes again inside of all others
		each(func(i int) { event("E", i+1) })
		each(func(i int) { event("E", i+1) })
		each(func(i int) { event("L", i+1) })
		each(func(i int) { event("L", i+1) })
	}
	for i := range most {
		fmt.Fprintf(&defs, "DF%xG1NM\"f%d\"\n", i+1, i%100)
	}
	for name, text := range map[string]string{"x.otf": "1:1\n", "x.0.def": defs.String(), "x.1.events": events.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "x.otf")
}

// hostileClaims is a trace of Eclipse TRACE4CPS with 2n claims, or 4n fragments.
func hostileClaims(shape string, n int) (text string, ok bool) {
	var b strings.Builder
	b.WriteString("TU NANOSECONDS\nO 0\nR 0 1000 true ; name=r\n")
	switch shape {
	case "claims of one place":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d %d %d 0 0 1 ; name=c\n", i, i, i+2*n)
		}
	case "claims at once":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d %d %d 0 %d 1 ; name=c\n", i, i, i+2*n, i)
		}
	case "claims that end backwards":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d %d %d 0 %d 2 ; name=c\n", i, i, 4*n-i, i)
		}
	case "claims of an instant":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d 5 %d 0 %d 1 ; name=c\n", i, 5+i%2, i)
		}
	case "two claims for one that ends": // which leaves the lowest place
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d %d %d 0 0 1 ; name=c\n", i, i/2, (i/2+1)*(1-i%2)+i%2*(i+4*n))
		}
	case "fragments that overlap":
		b.WriteString("S 0 ; name=s\nC 0 0 1 0 0 1 ; name=c\n")
		for i := range 4 * n {
			fmt.Fprintf(&b, "F 0 %d %d 1 0 0\n", i, i+4*n)
		}
	default:
		return "", false
	}
	return b.String(), true
}

var hostileShapes = []string{
	"orphaned", "first in, first out", "never left", "crossed", "chain", "recursive", "collectives backwards",
	"claims of one place", "claims at once", "claims that end backwards", "claims of an instant", "two claims for one that ends",
	"fragments that overlap",
}

// hostileCommands are those that follow what is open.
var hostileCommands = [][]string{{"check"}, {"profile"}, {"profile", "--tree"}, {"usage"}, {"structure"}, {"states"}, {"info"}, {"comm"}, {"messages"},
	{"filter", "--min-duration", "1us"}, {"cut", "--from", "30%", "--to", "80%"}, {"repair", "--allow-loss"}, {"merge"},
	{"plot"}, {"plot", "--index"}, {"index"}, {"report"}, {"align", "--always"}, {"convert", "--to", "etf"}, {"convert", "--to", "picl"}, {"convert", "--to", "otf"},
	{"convert", "--to", "otf2"}, {"convert", "--to", "pallas"}, {"diff"},
	{"diff", "--metric", "inclusive", "--least", "0", "--csv"}}

// hostileArgs is a command line for a trace; what the command writes goes to dir.
func hostileArgs(command []string, path, dir string) []string {
	args := append(slices.Clone(command), "-q", path)
	switch command[0] {
	case "diff":
		return append(args, path)
	case "filter", "cut", "repair", "merge", "align":
		return append(args, "--force", "--allow-loss", filepath.Join(dir, command[0]+".otf"))
	case "convert":
		return append(args, "--force", "--allow-loss", filepath.Join(dir, "x-"+command[2]+"."+command[2]))
	case "plot", "index", "report":
		return append(args, "--force", "-o", filepath.Join(dir, command[0]+".svg"))
	}
	return args
}

// Traces that are deep in calls, which do not nest or were never entered, take no time that grows with
// the square of their length: that would be minutes for each command.
func TestHostileShapes(t *testing.T) {
	effort.Long(t)
	t.Setenv("WEFT_CACHE", t.TempDir())
	for _, shape := range hostileShapes {
		dir := t.TempDir()
		path := hostile(t, dir, shape, 20_000)
		for _, command := range hostileCommands {
			args := hostileArgs(command, path, dir)
			if code, out, errs := runWeft(t, args...); code > 1 || code == 1 && command[0] != "check" &&
				!strings.Contains(errs, "no processors") && !strings.Contains(errs, "nothing can be compared") {
				t.Errorf("%s: %q: exit code %d: %.200s%.200s", shape, args, code, out, errs)
			}
		}
	}
}

// BenchmarkHostileShapes shows the time of an event for traces of two lengths: it is the same where the
// time grows with the length.
func BenchmarkHostileShapes(b *testing.B) {
	b.Setenv("WEFT_CACHE", b.TempDir())
	for _, shape := range hostileShapes {
		for _, n := range []int{10_000, 40_000} {
			dir := b.TempDir()
			path := hostile(b, dir, shape, n)
			for _, command := range hostileCommands {
				b.Run(fmt.Sprintf("%s/%s/%d", shape, strings.Join(command, " "), 4*n), func(b *testing.B) {
					for b.Loop() {
						Main(hostileArgs(command, path, dir), strings.NewReader(""), io.Discard, io.Discard)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(4*n), "ns/event")
				})
			}
		}
	}
}
