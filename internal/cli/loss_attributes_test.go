package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
)

// richArchive has definitions of all kinds and attributes of all types. OTF2's own library wrote it.
const richArchive = "../../format/otf2/testdata/ok/rich/traces.otf2"

// printedAttribute matches an attribute in the output of otf2-print. The groups are its name, type and value.
var printedAttribute = regexp.MustCompile(`\("(\w+)" <\d+>; (\w+); (.*?)\)(?:, \("|$)`)

// eventAttributes holds the names of the attributes of an event, by the kind and the time of the event. The times in
// the archive are unique, except those of metrics.
type eventAttributes map[string]map[string][]string

// printedEvents returns the events in the output of otf2-print, with the names of their attributes.
func printedEvents(t *testing.T, path string) eventAttributes {
	t.Helper()
	out, _ := runTool(t, path, "otf2-print")
	if out == nil {
		t.Skip("otf2-print is not installed")
	}
	kinds := map[string]string{"ENTER": "enter", "LEAVE": "leave", "MPI_SEND": "send", "MPI_RECV": "recv",
		"METRIC": "metric", "MPI_COLLECTIVE_BEGIN": "collective-begin", "MPI_COLLECTIVE_END": "collective-end"}
	events, kind, time := eventAttributes{}, "", ""
	for l := range strings.Lines(string(out)) {
		f := strings.Fields(l)
		switch {
		case len(f) > 2 && kinds[f[0]] != "":
			kind, time = kinds[f[0]], f[2]
			if events[kind] == nil {
				events[kind] = map[string][]string{}
			}
			events[kind][time] = nil
		case len(f) > 2 && f[0] == "ADDITIONAL" && kind != "":
			for rest := strings.TrimSpace(l); ; {
				m := printedAttribute.FindStringSubmatchIndex(rest)
				if m == nil {
					break
				}
				events[kind][time] = append(events[kind][time], rest[m[2]:m[3]])
				rest = rest[m[7]+1:]
			}
		default:
			kind = ""
		}
	}
	return events
}

// TestLossOfAttributes checks that the loss table of a conversion to OTF counts each event of which otfprint does not
// show all attributes that otf2-print shows, and no other event.
func TestLossOfAttributes(t *testing.T) {
	before := printedEvents(t, richArchive)
	for _, flags := range [][]string{nil, {"--plain"}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		rows := lossRows(t, append(flags, richArchive, out)...)
		text, _ := runTool(t, out, "otfprint", "--fullkeyvalue")
		if text == nil {
			t.Skip("otfprint is not installed")
		}
		kinds := map[string]string{"Enter": "enter", "Leave": "leave", "SendMessage": "send", "ReceiveMessage": "recv",
			"BeginCollective": "collective-begin", "EndCollective": "collective-end"}
		definition := regexp.MustCompile(`DefKeyValue: .*token (\d+), .*name "(\w+)"`)
		event := regexp.MustCompile(`\t(\d+) (\w+): .*KeyValue: (.*)`)
		names, after := map[string]string{}, map[string]map[string]bool{}
		for l := range strings.Lines(string(text)) {
			if m := definition.FindStringSubmatch(l); m != nil {
				names[m[1]] = m[2]
			} else if m := event.FindStringSubmatch(l); m != nil {
				shown := map[string]bool{}
				for _, pair := range regexp.MustCompile(`(?:^|, )(\d+):`).FindAllStringSubmatch(m[3], -1) {
					shown[names[pair[1]]] = true
				}
				after[kinds[m[2]]+" "+m[1]] = shown
			}
		}
		for kind, events := range before {
			if kind == "metric" {
				continue // OTF has a record for each member
			}
			want, got := 0, 0
			for time, attributes := range events {
				if slices.ContainsFunc(attributes, func(name string) bool { return !after[kind+" "+time][name] }) {
					want++
				}
			}
			for _, r := range rows {
				if r.Kind == kind && strings.HasSuffix(r.Field, "attributes") {
					got += int(r.Count)
				}
			}
			if got != want || want == 0 {
				t.Errorf("%s %v: the loss table has %d events, otfprint lacks attributes of %d", kind, flags, got, want)
			}
		}
	}
}

// TestLossOfKeyValues checks that the loss table of a conversion from OTF counts each event with a key-value pair of a
// type that the other format does not have: a character or bytes. All pairs of the trace are on events that have one.
func TestLossOfKeyValues(t *testing.T) {
	path := "../../format/otf/testdata/ok/all_kv_short/all_kv_short.otf"
	text, _ := runTool(t, path, "otfprint", "--fullkeyvalue")
	if text == nil {
		t.Skip("otfprint is not installed")
	}
	kinds := map[string]string{"Enter": "enter", "Leave": "leave", "SendMessage": "send", "ReceiveMessage": "recv",
		"Counter": "metric", "BeginCollective": "collective-begin", "EndCollective": "collective-end",
		"Collective": "collective", "RMAPut": "rma-put", "RMAGet": "rma-get", "RMAEnd": "rma-end"}
	want := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)\t\d+ (\w+): .*KeyValue: `).FindAllSubmatch(text, -1) {
		if kind := kinds[string(m[1])]; kind != "" {
			want[kind]++
		}
	}
	for _, flags := range [][]string{nil, {"--plain"}} {
		got := map[string]int64{}
		for _, r := range lossRows(t, append(flags, path, filepath.Join(t.TempDir(), "x.otf2"))...) {
			if r.Field == "attributes" && want[r.Kind] > 0 {
				got[r.Kind] += r.Count
			}
		}
		if d := gocmp.Diff(want, got); d != "" || len(want) != len(kinds) {
			t.Errorf("%v: otfprint (-) and the loss table (+):\n%s", flags, d)
		}
	}
}

// TestAttributesInPlainPICL checks that an event with a record of PICL does not get lost with its attributes in plain
// files. The sends, receives and collective operations of such a file are those that otf2-print shows.
func TestAttributesInPlainPICL(t *testing.T) {
	before := printedEvents(t, richArchive)
	out := filepath.Join(t.TempDir(), "x.trf")
	rows := lossRows(t, "--plain", richArchive, out)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for l := range strings.Lines(string(text)) {
		f := strings.Fields(l)
		got[f[0]+" "+f[1]]++
	}
	for kind, record := range map[string]string{"send": "-2 -21", "recv": "-2 -51", "collective-begin": "-3 -782",
		"collective-end": "-4 -782"} { // -782 is MPI_Allreduce
		if want := len(before[kind]); got[record] != want {
			t.Errorf("found %d × %s, otf2-print shows %d × %s", got[record], record, want, kind)
		}
		want := format.LossRow{Kind: kind, Field: "attributes", How: format.Lost,
			Reason: "the format has no record or field for it"}
		for _, attributes := range before[kind] {
			want.Count += int64(min(len(attributes), 1))
		}
		if !slices.Contains(rows, want) {
			t.Errorf("the loss table does not have %v: %v", want, rows)
		}
	}
}

// TestAttributesOfOperationsInPICL checks that the end of an operation counts as a whole only if the file has no exit
// for it. A user record after an exit, at the same time and processor, adds the attributes.
func TestAttributesOfOperationsInPICL(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.trf")
	got := map[string]int64{}
	for _, r := range lossRows(t, richArchive, out) {
		if r.Kind == "collective-end" && r.Field != "names of operands" {
			got[r.Field] += r.Count
		}
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, exit := map[string]int64{}, ""
	for l := range strings.Lines(string(text)) {
		switch f := strings.Fields(l); {
		case f[0] == "-4" && f[1] == "-782":
			exit = f[2] + " " + f[3]
		case f[0] == "900" && strings.Contains(l, "kind=collective-end"):
			want[map[bool]string{true: "attributes"}[exit == f[2]+" "+f[3]]]++
		}
	}
	if d := gocmp.Diff(want, got); d != "" || len(want) != 2 {
		t.Errorf("records of the file (-) and the loss table (+):\n%s", d)
	}
}

// lossRows returns the loss table of weft convert.
func lossRows(t *testing.T, args ...string) (rows []format.LossRow) {
	t.Helper()
	text := weft(t, 0, append([]string{"convert", "-q", "--json", "--allow-loss"}, args...)...)
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestReferencesReturn checks that definitions and attributes for which the model has no table are in an archive again
// after a conversion to another format and back: otf2-print shows them as before.
func TestReferencesReturn(t *testing.T) {
	ids := regexp.MustCompile(` <\d+>`)
	references := regexp.MustCompile(`(METRIC|SOURCE_CODE_LOCATION|INTERRUPT_GENERATOR|IO_FILE); [^)]*`)
	shown := func(path string) (lines []string) {
		out, _ := runTool(t, path, "otf2-print", "-A")
		if out == nil {
			t.Skip("otf2-print is not installed")
		}
		for l := range strings.Lines(string(out)) {
			l = ids.ReplaceAllString(l, "")
			switch word, _, _ := strings.Cut(l, " "); word {
			case "SOURCE_CODE_LOCATION", "INTERRUPT_GENERATOR", "IO_DIRECTORY", "CALLING_CONTEXT_SAMPLE":
				l = regexp.MustCompile(`, Scope: .*|Calling Context: "[^"]*"`).ReplaceAllString(l, "")
				lines = append(lines, strings.Join(strings.Fields(l), " "))
			}
			lines = append(lines, references.FindAllString(l, -1)...)
		}
		slices.Sort(lines)
		return lines
	}
	want := shown(richArchive)
	for _, name := range []string{"x.otf", "x.etf", "x.trf", "x.pallas"} {
		dir := t.TempDir()
		way, back := filepath.Join(dir, name), filepath.Join(dir, "back.otf2")
		weft(t, 0, "convert", "-q", "--allow-loss", richArchive, way)
		weft(t, 0, "convert", "-q", "--allow-loss", way, back)
		if d := gocmp.Diff(want, shown(back)); d != "" {
			t.Errorf("otf2-print before (-) and after a conversion to %s and back (+):\n%s", name, d)
		}
		again := filepath.Join(dir, "again.otf2")
		weft(t, 0, "filter", "-q", "--min-duration", "0", back, again)
		if d := gocmp.Diff(want, shown(again)); d != "" {
			t.Errorf("otf2-print before (-) and after an edit of what came back from %s (+):\n%s", name, d)
		}
	}
}

// TestLossOfScopesOfMetricInstances checks that the loss table of a conversion counts the counters of metric instances,
// whose scopes no other format has a field for. otf2-print says how many there are.
func TestLossOfScopesOfMetricInstances(t *testing.T) {
	out, _ := runTool(t, richArchive, "otf2-print", "-G")
	if out == nil {
		t.Skip("otf2-print is not installed")
	}
	members, want := map[string]int{}, 0
	class := regexp.MustCompile(`(?m)^METRIC_CLASS +(\d+) .* (\d+) Members?:`)
	instance := regexp.MustCompile(`(?m)^METRIC_INSTANCE .*Class: (\d+).*Scope: \w+ "`)
	for _, m := range class.FindAllStringSubmatch(string(out), -1) {
		members[m[1]], _ = strconv.Atoi(m[2])
	}
	for _, m := range instance.FindAllStringSubmatch(string(out), -1) {
		want += members[m[1]]
	}
	got := 0
	for _, r := range lossRows(t, richArchive, filepath.Join(t.TempDir(), "x.otf")) {
		if r.Kind == "property of a signal, series or counter" {
			got += int(r.Count)
		}
	}
	if got != want || want == 0 {
		t.Errorf("the loss table has properties of %d counters, otf2-print shows %d with a scope", got, want)
	}
}
