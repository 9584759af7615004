package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// tally holds the number of events and definitions of each kind in a trace, by the names that tallies use.
type tally map[string]int

// tallies holds a function for each format that counts the contents of a trace from the output of
// the format's own tool or, for text formats, from the lines of the file. They use nothing of weft.
var tallies = map[string]func(t *testing.T, path string) tally{
	".otf": func(t *testing.T, path string) tally {
		record := regexp.MustCompile(`^\(#\d+\) *\t\d+ (\w+):(.*)`)
		length := regexp.MustCompile(`length (\d+)`)
		return tallyLines(t, path, "otfprint", func(n tally, l string) {
			m := record.FindStringSubmatch(l)
			if m == nil {
				return
			}
			switch m[1] {
			case "Enter", "Leave", "Marker":
				n[strings.ToLower(m[1])]++
			case "SendMessage":
				n.message("send", length.FindStringSubmatch(m[2]))
			case "ReceiveMessage":
				n.message("recv", length.FindStringSubmatch(m[2]))
			case "EndCollective":
				n["collective-end"]++
			case "Counter":
				n["metric"]++
			}
		})
	},
	".otf2": func(t *testing.T, path string) tally {
		length := regexp.MustCompile(`Length: (\d+)`)
		values := regexp.MustCompile(`\("[^"]*" <\d+>; `)
		n := tallyLines(t, path, "otf2-print", func(n tally, l string) {
			switch word, rest, _ := strings.Cut(l, " "); word {
			case "ENTER", "LEAVE":
				n[strings.ToLower(word)]++
			case "MPI_SEND", "MPI_ISEND":
				n.message("send", length.FindStringSubmatch(rest))
			case "MPI_RECV", "MPI_IRECV":
				n.message("recv", length.FindStringSubmatch(rest))
			case "MPI_COLLECTIVE_END":
				n["collective-end"]++
			case "METRIC":
				n["metric"] += len(values.FindAllString(rest, -1))
			}
		})
		for word, k := range tallyLines(t, path, "otf2-marker", func(n tally, l string) {
			if strings.HasPrefix(l, "MARKER ") {
				n["marker"]++
			}
		}) {
			n[word] = k
		}
		return n
	},
	".etf": func(t *testing.T, path string) tally {
		kind := regexp.MustCompile(`[;,] *kind=([a-z-]+)`)
		length := regexp.MustCompile(`length=(\d+)`)
		return tallyLines(t, path, "", func(n tally, l string) {
			m := kind.FindStringSubmatch(l)
			switch {
			case strings.HasPrefix(l, "C "):
				n["enter"]++ // a region that is never left ends with the trace
			case !strings.HasPrefix(l, "E ") || m == nil:
			case m[1] == "send" || m[1] == "send-begin":
				n.message("send", length.FindStringSubmatch(l))
			case m[1] == "recv" || m[1] == "recv-complete":
				n.message("recv", length.FindStringSubmatch(l))
			case m[1] == "collective-end" || m[1] == "metric" || m[1] == "marker":
				n[m[1]]++
			}
		})
	},
	".trf": func(t *testing.T, path string) tally {
		labels, native := map[string]string{}, ""
		length := regexp.MustCompile(`,length=(\d+)`)
		return tallyLines(t, path, "", func(n tally, l string) {
			f := strings.Fields(l)
			if len(f) < 5 {
				return
			}
			event, _ := strconv.Atoi(f[1])
			data := append(f[min(7, len(f)):], "", "", "", "")
			switch {
			case f[0] == "-5":
				labels[f[1]] = data[0]
			case f[0] == "-3" && event >= 0:
				n["enter"]++
			case f[0] == "-4" && event >= 0:
				n["leave"]++
			case f[0] == "-4" && (event == -402 || event <= -780 && event >= -793):
				n["collective-end"]++
				native = f[2] + " " + f[3]
			case f[0] == "900" && strings.Contains(l, "kind=collective-end") && native != f[2]+" "+f[3],
				f[0] == "-2" && labels[f[1]] == "collective-end":
				n["collective-end"]++ // other user records add attributes to an exit of an operation
			case f[0] == "900" && strings.Contains(l, " kind=send,"):
				n.message("send", length.FindStringSubmatch(l))
			case f[0] == "900" && strings.Contains(l, " kind=recv,"):
				n.message("recv", length.FindStringSubmatch(l))
			case f[0] == "-2" && event >= 3_000_000, f[0] == "900" && strings.Contains(l, "kind=metric,"):
				n["metric"]++
			case f[0] == "-2" && (event == -21 || event == -27):
				n.message("send", []string{"", data[0]})
			case f[0] == "-2" && (event == -60 || event == -61):
				n.message("recv", []string{"", data[1]}) // the length follows the request id
			case f[0] == "-2" && (event == -51 || event == -52):
				n.message("recv", []string{"", data[3]}) // the length follows the fields of the entry
			}
		})
	},
}

// message counts a message and its bytes. The first group of a match contains the bytes.
func (n tally) message(what string, length []string) {
	bytes, _ := strconv.Atoi(length[1])
	n[what]++
	n[what+" bytes"] += bytes
}

// tallyLines counts over the lines that a tool prints about a trace. Without a tool it reads the
// lines of the file.
func tallyLines(t *testing.T, path, name string, count func(n tally, line string)) tally {
	t.Helper()
	n := tally{}
	var text []byte
	if name != "" {
		text, _ = runTool(t, path, name)
	} else {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for l := range bytes.Lines(text) {
		count(n, string(l))
	}
	return n
}

// TestMatrix checks that, for each command and output format, the format's own tool counts the same
// in the output as in the original, except for what the loss table lists as lost.
func TestMatrix(t *testing.T) {
	effort.Long(t)
	for _, name := range []string{"otfprint", "otf2-print", "otf2-marker"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	verbs := [][]string{{"convert"}, {"convert", "--plain", "--allow-loss"}, {"filter", "--min-duration", "0"},
		{"cut", "--to", "100%"},
		{"merge"}, {"repair"}, {"sort"}, {"align"}, {"anonymize"}}
	archives := "../../format/otf2/testdata/ok/"
	otfs := "../../format/otf/testdata/ok/"
	for _, path := range []string{
		archives + "heat2d-mt/traces.otf2", archives + "ring/eztrace_log.otf2", archives + "omp/eztrace_log.otf2",
		archives + "propvals/traces.otf2", richArchive,
		otfs + "mpi4/mpi4.otf", otfs + "hello/hello.otf", otfs + "map_explicit/map_explicit.otf", otfs + "time0/time0.otf",
		otfs + "aux_snapshots/aux_snapshots.otf",
	} {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			before := tallies[filepath.Ext(path)](t, path)
			if len(before) < 2 {
				t.Fatalf("the tool counts %v", before)
			}
			for _, verb := range verbs {
				for to, count := range tallies {
					if verb[0] == "sort" && (to != ".otf" || filepath.Ext(path) != to) ||
						verb[0] == "repair" && filepath.Base(filepath.Dir(path)) == "omp" {
						continue // sort writes only the trace's own format; omp has regions without leave
					}
					out := filepath.Join(t.TempDir(), "x"+to)
					code, text, errs := runWeft(t, append(slices.Clone(verb), "--json", path, out)...)
					if code != 0 {
						t.Errorf("%s to %s: exit code %d: %s", verb, to, code, errs)
						continue
					}
					lost := lostEvents(t, text)
					after := count(t, out)
					for what, n := range before {
						row, _, _ := strings.Cut(what, " ")
						if to == ".etf" && row == "leave" {
							continue
						}
						if to == ".trf" && row == "marker" && lost[row] == 0 {
							continue // weft writes user records for these
						}
						if what == row && after[what]+lost[row] != n || what != row && lost[row] == 0 && after[what] != n {
							t.Errorf("%s to %s: %d × %s before, %d after, %d lost", verb, to, n, what, after[what], lost[row])
						}
					}
					for what, n := range after {
						if n > before[what] {
							t.Errorf("%s to %s: %d × %s before, %d after", verb, to, before[what], what, n)
						}
					}
				}
			}
		})
	}
}

// lostEvents returns the number of lost events by kind, from a loss table.
func lostEvents(t *testing.T, text string) map[string]int {
	t.Helper()
	type row struct {
		Kind, Field, How string
		Count            int
	}
	var rows []row
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		var changed struct{ Loss []row }
		if err := json.Unmarshal([]byte(text), &changed); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		rows = changed.Loss
	}
	m := map[string]int{}
	for _, r := range rows {
		if r.How == "lost" && r.Field == "" {
			m[cmp.Or(map[string]string{"send-begin": "send", "recv-complete": "recv"}[r.Kind], r.Kind)] += r.Count
		}
	}
	return m
}

// TestMarkersConvert checks that markers stay markers: otf2-marker prints those of an archive as
// before after a conversion to OTF and back, and otfprint prints their texts, types and processes. Process 0 stands for
// the whole trace. No process is defined for the markers alone.
func TestMarkersConvert(t *testing.T) {
	effort.Long(t)
	dir := t.TempDir()
	way := []string{realTraces["otf2"], filepath.Join(dir, "a.otf"), filepath.Join(dir, "b.otf2"),
		filepath.Join(dir, "plain.otf2")}
	want, _ := runTool(t, way[0], "otf2-marker")
	if want == nil {
		t.Skip("otf2-marker is not installed")
	}
	weft(t, 0, "convert", "-q", way[0], way[1])
	weft(t, 0, "convert", "-q", way[1], way[2])
	weft(t, 0, "convert", "-q", "--plain", "--allow-loss", way[1], way[3])
	for _, path := range way[2:] {
		if got, _ := runTool(t, path, "otf2-marker"); string(got) != string(want) ||
			!strings.Contains(string(got), "Severity: LOW") {
			t.Errorf("%s: %s\nexpected %s", path, got, want)
		}
	}
	text, _ := runTool(t, way[1], "otfprint")
	for _, line := range []string{`DefMarker: ID 1, name "phase", type HINT`,
		`Marker: ID 1, process 0, text "first half"`, `Marker: ID 1, process 2, text "rank 1 here"`} {
		if text != nil && !strings.Contains(string(text), line) {
			t.Errorf("otfprint does not show %s", line)
		}
	}
	if strings.Contains(string(text), `name "markers"`) {
		t.Error("otfprint shows a process that the archive does not have")
	}
}
