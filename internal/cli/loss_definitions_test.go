package cli

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

// printed holds the records that a tool prints: the type of each, and the rest of its text.
type printed [][2]string

// records splits the print of a tool into records. start matches the beginning of a record, its first group is
// the type. Lines that do not match belong to the record before them, whose name has a line end.
func records(text []byte, start *regexp.Regexp) (out printed) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if m := start.FindStringSubmatch(line); m != nil {
			out = append(out, [2]string{m[1], line[len(m[0]):]})
		} else if len(out) > 0 {
			out[len(out)-1][1] += "\n" + line
		}
	}
	return out
}

// count returns how many records of one of the types have a text that matches pattern.
func (p printed) count(pattern string, types ...string) (n int) {
	re := regexp.MustCompile("(?s)" + pattern)
	for _, r := range p {
		if slices.Contains(types, r[0]) && re.MatchString(r[1]) {
			n++
		}
	}
	return n
}

// opaqueDefinitions lists the definitions that weft's model has no table for: the words of otf2-print, and the
// names in the loss table.
var opaqueDefinitions = map[string]string{"PARADIGM": "Paradigm", "PARADIGM_PROPERTY": "ParadigmProperty",
	"IO_PARADIGM": "IoParadigm", "CALLSITE": "Callsite", "CALLPATH": "Callpath",
	"METRIC_CLASS_RECORDER": "MetricClassRecorder", "CART_DIMENSION": "CartDimension", "CART_TOPOLOGY": "CartTopology",
	"CART_COORDINATE": "CartCoordinate", "SOURCE_CODE_LOCATION": "SourceCodeLocation",
	"CALLING_CONTEXT_PROPERTY": "CallingContextProperty", "INTERRUPT_GENERATOR": "InterruptGenerator",
	"IO_FILE_PROPERTY": "IoFileProperty", "IO_PRE_CREATED_HANDLE_STATE": "IoPreCreatedHandleState",
	"CALLPATH_PARAMETER": "CallpathParameter"}

// definitionsOTF2 counts the definitions of an archive by the kinds of the loss table, from what otf2-print -G
// and otf2-marker print. Properties of things that are not defined do not count.
func definitionsOTF2(t *testing.T, path string) tally {
	text, _ := runTool(t, path, "otf2-print", "-G")
	p := records(text, regexp.MustCompile(`^([A-Z_]+) {2,}`))
	markers, _ := runTool(t, path, "otf2-marker")
	m := records(markers, regexp.MustCompile(`^(MARKER_DEF|MARKER) {2,}`))
	n := tally{
		"location and its name":            p.count(``, "LOCATION"),
		"kind of a location":               p.count(`, Type: [CAM]`, "LOCATION"),
		"thread":                           p.count(`, Type: CPU_THREAD`, "LOCATION"),
		"property of a location":           p.count(`^Location: ["0-9]`, "LOCATION_PROPERTY"),
		"location group, system tree node": p.count(``, "LOCATION_GROUP", "SYSTEM_TREE_NODE"),
		"kind of a location group or system tree node": p.count(`, Type: [PA]`, "LOCATION_GROUP") +
			p.count(`, Class: ("[^"]|""[^ ])`, "SYSTEM_TREE_NODE"),
		"property of a location group or system tree node": p.count(`^(System Tree Node|Location Group): ["0-9]`,
			"LOCATION_GROUP_PROPERTY", "SYSTEM_TREE_NODE_PROPERTY", "SYSTEM_TREE_NODE_DOMAIN") +
			p.count(`, Creator: ["I]`, "LOCATION_GROUP"),
		"region and its name":              p.count(``, "REGION"),
		"group or paradigm of a region":    p.count(`, Paradigm: `, "REGION"),
		"role of a region":                 p.count(`, Role: `, "REGION"),
		"property of a region":             p.count(`, Flags: [^N]`, "REGION"),
		"description of a region":          p.count(`, Descr\.: ("[^"]|""[^ ])`, "REGION"),
		"last line of a region":            p.count(`, End: [^0]`, "REGION"),
		"source file and line of a region": p.count(`, File: ("[^"]|""[^ ])|, Begin: [^0]`, "REGION"),
		"communicator":                     p.count(``, "COMM", "INTER_COMM"),
		"property of a communicator":       p.count(``, "INTER_COMM") + p.count(`, Flags: [^N]`, "COMM", "INTER_COMM"),
		"property of a set":                p.count(``, "GROUP") + p.count(`, Flags: [^N]`, "GROUP"),
		"attribute definition":             p.count(``, "ATTRIBUTE"),
		"description of an attribute":      p.count(`, Description: ("[^"]|""[^ ])`, "ATTRIBUTE"),
		"parameter definition":             p.count(``, "PARAMETER"),
		"window definition":                p.count(``, "RMA_WIN"),
		"calling context definition":       p.count(``, "CALLING_CONTEXT"),
		"file definition":                  p.count(``, "IO_REGULAR_FILE", "IO_DIRECTORY"),
		"I/O handle definition":            p.count(``, "IO_HANDLE"),
		"marker definition":                m.count(``, "MARKER_DEF"),
		"group of a marker":                m.count(`Group: "[^"]`, "MARKER_DEF"),
	}
	n["property of a file"] = n["file definition"] + p.count(`, Scope: [^U]`, "IO_REGULAR_FILE", "IO_DIRECTORY")
	for word, name := range opaqueDefinitions {
		n["opaque definition of another format/"+name] = p.count(``, word)
	}
	n.addNames(p)
	n.addSets(p)
	n.addMetrics(p)
	return n
}

// addNames counts the canonical names of regions that differ from their names, and the parents of communicators.
func (n tally) addNames(p printed) {
	aka := regexp.MustCompile(`(?s)Name: (".*?") <\d+> \(Aka\. (".*?") <\d+>\), Descr`)
	ids := regexp.MustCompile(`(?s)^ *(\d+) .*(?:Parent|Common Communicator): (?:.*<)?(\d+)>?, Flags`)
	parents := map[string]string{}
	for _, r := range p {
		if m := aka.FindStringSubmatch(r[1]); r[0] == "REGION" && m != nil && m[1] != m[2] && m[2] != `""` {
			n["canonical name of a region"]++
		}
		if strings.HasSuffix(r[0], "COMM") {
			id := strings.Fields(r[1])[0]
			parents[id] = ""
			if m := ids.FindStringSubmatch(r[1]); m != nil {
				parents[id] = m[2]
			}
		}
	}
	for id, parent := range parents {
		_, ok := parents[parent]
		up := parent
		for range parents { // the ancestors may form a circle
			ok, up = ok && up != id, parents[up]
		}
		if !ok {
			parents[id] = "" // the parent is undefined, or the communicator would be its own ancestor
		} else {
			n["parent of a communicator"]++
		}
	}
}

// addSets counts two sorts of groups: groups to which no communicator refers, and groups whose name differs from
// the names of all communicators that refer to them.
func (n tally) addSets(p printed) {
	group := regexp.MustCompile(`(?s)^ *(\d+)  Name: (?:(".*?") <\d+>|UNDEFINED), Type`)
	comm := regexp.MustCompile(`(?s)[Nn]ame: (".*?") <\d+>, Group(?: A)?: .*? <(\d+)>, (?:Parent|Group B)`)
	names := map[string][]string{}
	for _, r := range p {
		if m := comm.FindStringSubmatch(r[1]); m != nil && strings.HasSuffix(r[0], "COMM") {
			names[m[2]] = append(names[m[2]], m[1])
		}
	}
	for _, r := range p {
		if r[0] != "GROUP" {
			continue
		}
		m := group.FindStringSubmatch(r[1])
		if of := names[m[1]]; of == nil || m[2] != "" && m[2] != `""` && !slices.Contains(of, m[2]) {
			n["set that is no communicator, or has a name of its own"]++
		}
	}
}

// addMetrics counts the members of metric classes and instances, and their descriptions.
func (n tally) addMetrics(p printed) {
	self := regexp.MustCompile(`^ *(\d+) `)
	described := regexp.MustCompile(`(?s), Descr\.: ("[^"]|""[^ ])`)
	member := regexp.MustCompile(` <(\d+)>(?:, |$)`)
	class := regexp.MustCompile(`Class: (\d+), `)
	members, used := map[string]tally{}, map[string]bool{} // by class, and by member
	text := map[string]string{}
	for _, r := range p {
		if r[0] == "METRIC_MEMBER" {
			text[self.FindStringSubmatch(r[1])[1]] = r[1]
		}
	}
	for _, r := range p {
		if r[0] != "METRIC_CLASS" && r[0] != "METRIC_INSTANCE" {
			continue
		}
		id := self.FindStringSubmatch(r[1])[1]
		x := tally{}
		if m := class.FindStringSubmatch(r[1]); r[0] == "METRIC_INSTANCE" && m != nil {
			x = members[m[1]]
		} else if _, list, ok := strings.Cut(r[1], " Member"); ok {
			for _, m := range member.FindAllStringSubmatch(list, -1) {
				x["signal, series, counter definition"]++
				x["recorder and occurrence of a counter"]++
				if s, ok := text[m[1]]; ok {
					used[m[1]] = true
					x["group or type of a counter"]++
					if described.MatchString(s) {
						x["description of a counter"]++
					}
				}
			}
		}
		members[id] = x
		for k, v := range x {
			n[k] += v
		}
	}
	n["opaque definition of another format/MetricMember"] = len(text) - len(used) // those without a class
}

// definitionsOTF counts the definitions of a trace by the kinds of the loss table, from what otfprint prints.
// Kinds without a definition in OTF are missing.
func definitionsOTF(t *testing.T, path string) tally {
	text, _ := runTool(t, path, "otfprint", "--fullkeyvalue")
	p := records(text, regexp.MustCompile(`^\(#\d+\)\s+(\w+): `))
	own := func(r [2]string) bool { return strings.Contains(r[1], `name "weft.`) }
	p = slices.DeleteFunc(p, own)
	return tally{
		"location and its name":                        p.count(``, "DefProcess"),
		"kind of a location":                           p.count(`, parent [^0]`, "DefProcess"),
		"location group, system tree node":             p.count(`name "__NODE__`, "DefProcessGroup"),
		"kind of a location group or system tree node": p.count(`name "__NODE__`, "DefProcessGroup"),
		"region and its name":                          p.count(``, "DefFunction"),
		"group or paradigm of a region":                p.count(`, group [^0]`, "DefFunction"),
		"source file and line of a region":             p.count(`, source [^0]`, "DefFunction"),
		"signal, series, counter definition":           p.count(``, "DefCounter"),
		"group or type of a counter":                   p.count(`, group [^0]`, "DefCounter"),
		"communicator":                                 p.count(`name "[^_]|name "_[^_]`, "DefProcessGroup"),
		"attribute definition":                         p.count(``, "DefKeyValue"),
		"description of an attribute":                  p.count(`desc "[^"]`, "DefKeyValue"),
		"file definition":                              p.count(``, "DefFile"),
		"marker definition":                            p.count(``, "DefMarker"),
	}
}

// seenDefinitions lists, for each format without a tool of its own, the kinds of definitions that the lines or
// records of the format hold.
var seenDefinitions = map[string][]string{
	".etf": {"attribute definition"},
	".trf": {"location and its name", "region and its name"},
	".pallas": {"location and its name", "location group, system tree node",
		"region and its name", "parent of a communicator"},
}

// TestLostDefinitions checks the rows of the loss table about definitions. Some definitions are shown by
// otf2-print for an archive, but not by the tools of the target's format for the converted trace. Each kind of
// these has a row with their number. The row says "lost" with --plain, and otherwise "weft only".
func TestLostDefinitions(t *testing.T) {
	effort.Long(t)
	for _, name := range []string{"otfprint", "otf2-print", "otf2-marker"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	// References of the random archive that lead nowhere become definitions in weft's tables.
	standIns := []string{"parameter definition", "window definition", "calling context definition", "file definition",
		"I/O handle definition", "signal, series, counter definition", "recorder and occurrence of a counter",
		"location and its name", "region and its name", "communicator", "attribute definition",
		"marker definition", "group of a marker"}
	for _, archive := range []string{"heat2d-mt/traces.otf2", "ring/eztrace_log.otf2", "propvals/traces.otf2",
		"rma/traces.otf2", "snapshots/all.otf2"} {
		path := "../../format/otf2/testdata/ok/" + archive
		before := definitionsOTF2(t, path)
		threads := before["thread"]
		delete(before, "thread")
		if len(before) < 20 {
			t.Fatalf("%s: the tools show %v", archive, before)
		}
		for _, to := range []string{".otf", ".etf", ".trf", ".pallas"} {
			for how, flags := range map[string][]string{"weft only": nil, "lost": {"--plain", "--allow-loss"}} {
				out := filepath.Join(t.TempDir(), "x"+to)
				code, text, errs := runWeft(t, append([]string{"convert", "-q", "--json", path, out}, flags...)...)
				if code != 0 {
					t.Fatalf("%s to %s: exit code %d: %s", archive, to, code, errs)
				}
				after := tally{}
				if to == ".otf" {
					after = definitionsOTF(t, out)
				}
				for _, kind := range seenDefinitions[to] {
					after[kind] = before[kind]
				}
				if to == ".pallas" { // all of its locations are threads
					after["kind of a location"] = threads
				}
				rows := lostDefinitions(t, text, how)
				for kind, n := range before {
					want := max(0, n-after[kind])
					if archive == "snapshots/all.otf2" && slices.Contains(standIns, kind) && want > 0 && rows[kind] > want {
						continue
					}
					if rows[kind] != want {
						t.Errorf("%s to %s: %d × %s are %s, but of %d the tools show %d", archive, to, rows[kind], kind, how, n,
							after[kind])
					}
				}
			}
		}
	}
}

// lostDefinitions returns the counts of a loss table by kind, and by kind and field, of rows with the given level.
func lostDefinitions(t *testing.T, text, how string) tally {
	t.Helper()
	var rows []struct {
		Kind, Field, How string
		Count            int
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	n := tally{}
	for _, r := range rows {
		if r.How == how && r.Field == "" {
			n[r.Kind] += r.Count
		} else if r.How == how {
			n[r.Kind+"/"+r.Field] += r.Count
		}
	}
	return n
}

// TestLostDefinitionsOfOTF checks the rows of the loss table about definitions of OTF traces. Some definitions are
// shown by otfprint for a trace, but not by otf2-print for the archive that weft writes. Each kind of these has a
// row with their number.
func TestLostDefinitionsOfOTF(t *testing.T) {
	effort.Long(t)
	for _, name := range []string{"otfprint", "otf2-print", "otf2-marker"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	for _, name := range []string{"all_short", "mpi4", "map_explicit", "aux_snapshots", "localdefs", "hand_markers"} {
		path := "../../format/otf/testdata/ok/" + name + "/" + name + ".otf"
		before := definitionsOTF(t, path)
		text, _ := runTool(t, path, "otfprint", "--fullkeyvalue")
		p := records(text, regexp.MustCompile(`^\(#\d+\)\s+(\w+): `))
		processes := p.count(`, parent 0`, "DefProcess")
		for _, opaque := range []string{"DefAttributeList", "DefProcessOrGroupAttributes", "DefProcessSubstitutes",
			"DefCounterAssignments", "DefAuxSamplePoint"} {
			before["opaque definition of another format/"+opaque] = p.count(``, opaque)
		}
		before["collective operation that the trace numbers itself"] = p.count(``, "DefCollective")
		before["property of a file"] = p.count(`, group [^0]`, "DefFile")
		out := filepath.Join(t.TempDir(), "x.otf2")
		rows := lostDefinitions(t, weft(t, 0, "convert", "-q", "--json", path, out), "weft only")
		text, _ = runTool(t, out, "otf2-print", "-G")
		p = records(text, regexp.MustCompile(`^([A-Z_]+) {2,}`))
		after := definitionsOTF2(t, out)
		after["communicator"] = sameCommunicators(t, path, out)
		after["kind of a location"] = before["kind of a location"] // all locations become threads
		after["location group, system tree node"] = before["location group, system tree node"]
		after["kind of a location group or system tree node"] = before["location group, system tree node"]
		after["group or paradigm of a region"] = p.count(`Paradigm: ("[^"]*" <\d+>|[A-Z]+), `, "REGION") -
			p.count(`Paradigm: USER, `, "REGION")
		after["group or type of a counter"] = p.count(`, Type: [^O]`, "METRIC_MEMBER")
		after["property of a file"] = 0
		for kind, n := range before {
			if kind == "kind of a location" {
				n += processes
			}
			if kind == "communicator" && n == 0 {
				continue // 0 stands for a communicator that is not defined
			}
			if want := max(0, n-after[kind]); rows[kind] != want {
				t.Errorf("%s: %d × %s are weft only, but of %d the tools show %d", name, rows[kind], kind, n, after[kind])
			}
		}
	}
}

// sameCommunicators returns how many communicators of an archive have the name and the members of a process group of
// the OTF trace that it was written from, as the tools of the two formats show them.
func sameCommunicators(t *testing.T, otf, otf2 string) (n int) {
	names, groups := map[string]string{}, map[string]int{}
	text, _ := runTool(t, otf, "otfprint")
	for _, m := range regexp.MustCompile(`DefProcess: .*process (\d+), name "(.*)", parent`).FindAllSubmatch(text, -1) {
		names[string(m[1])] = string(m[2])
	}
	for _, m := range regexp.MustCompile(`DefProcessGroup: .*name "(.*)", procs (.*)`).FindAllSubmatch(text, -1) {
		key := string(m[1]) + ":"
		for _, process := range strings.FieldsFunc(string(m[2]), func(r rune) bool { return r == ' ' || r == ',' }) {
			key += " " + names[process]
		}
		groups[key]++
	}
	members := map[string]string{}
	text, _ = runTool(t, otf2, "otf2-print", "-G")
	for _, m := range regexp.MustCompile(`(?m)^GROUP +(\d+) .*?Members?(.*)`).FindAllSubmatch(text, -1) {
		list := ""
		for _, name := range regexp.MustCompile(`"(.*?)" <\d+>`).FindAllSubmatch(m[2], -1) {
			list += " " + string(name[1])
		}
		members[string(m[1])] = list
	}
	comm := regexp.MustCompile(`(?m)^COMM +\d+ +Name: "(.*?)" <\d+>, Group: ".*?" <(\d+)>`)
	for _, m := range comm.FindAllSubmatch(text, -1) {
		if key := string(m[1]) + ":" + members[string(m[2])]; groups[key] > 0 {
			groups[key]--
			n++
		}
	}
	return n
}

// TestDefinitionsThroughOTF checks that otf2-print shows descriptions, canonical names, roles and lines of regions and
// types of metrics and location groups as before when an archive has been an OTF trace in between.
func TestDefinitionsThroughOTF(t *testing.T) {
	dir := t.TempDir()
	for i, archive := range []string{"heat2d-mt/traces.otf2", "ring/eztrace_log.otf2", "snapshots/all.otf2"} {
		path := "../../format/otf2/testdata/ok/" + archive
		otf, back := filepath.Join(dir, strconv.Itoa(i)+".otf"), filepath.Join(dir, strconv.Itoa(i)+".otf2")
		weft(t, 0, "convert", "-q", path, otf)
		weft(t, 0, "convert", "-q", otf, back)
		before, after := definitionsOTF2(t, path), definitionsOTF2(t, back)
		for _, kind := range []string{"description of a region", "canonical name of a region", "last line of a region",
			"source file and line of a region", "description of a counter"} {
			// A member of a class that also has an event of its own is in two classes.
			if after[kind] != before[kind] && (kind != "description of a counter" || after[kind] < before[kind]) {
				t.Errorf("%s: otf2-print shows %d × %s, expected %d", archive, after[kind], kind, before[kind])
			}
		}
		for _, pattern := range []string{", Type: ACCELERATOR", ", Type: RUSAGE", ", Type: PAPI", ", Role: COLL_OTHER",
			", Role: UNKNOWN", ", Paradigm: UNKNOWN, Flags"} {
			if a, b := matches(t, path, pattern), matches(t, back, pattern); b < a {
				t.Errorf("%s: otf2-print shows %d × %q, expected at least %d", archive, b, pattern, a)
			}
		}
	}
}

// matches returns how often otf2-print -G prints a text.
func matches(t *testing.T, path, pattern string) int {
	text, _ := runTool(t, path, "otf2-print", "-G")
	return strings.Count(string(text), pattern)
}

// TestLossOfSnapshots checks that the loss table counts what repeats the events and is not converted. The anchor file
// of the archive ends with 2 as the number of its snapshots and 2 as that of its thumbnails.
func TestLossOfSnapshots(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".otf": "1:1\n", ".0.def": "DP1NM\"p\"\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\n2\n*1\nL1\n2\n*1\n", ".thumb": "0:2,1\n1:1,1,\n"} {
		if err := os.WriteFile(filepath.Join(dir, "x"+name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]tally{
		"../../format/otf2/testdata/ok/snapshots/all.otf2": {"snapshot": 2, "thumbnail": 2},
		filepath.Join(dir, "x.otf"):                        {"thumbnail": 1},
	} {
		for _, flags := range [][]string{nil, {"--plain", "--allow-loss"}} {
			out := filepath.Join(t.TempDir(), "y.etf")
			text := weft(t, 0, append([]string{"convert", "-q", "--json", path, out}, flags...)...)
			if got := lostDefinitions(t, text, "recomputed"); !maps.Equal(got, want) {
				t.Errorf("%s: found %v, expected %v", path, got, want)
			}
		}
	}
}

// TestLossOfEmptyGroups checks that the loss table counts groups of functions and counters without members. The trace
// has one of each, and one of each with a member.
func TestLossOfEmptyGroups(t *testing.T) {
	trace := writeTrace(t, map[string]string{".otf": "1:1\n",
		".0.def": "DP1NM\"p\"\nDFG1NM\"used\"\nDFG2NM\"empty\"\nDF1G1NM\"f\"\nDCG1NM\"used\"\nDCG2NM\"empty\"\n" +
			"DCNT1G1NM\"c\"P0U\"\"\n",
		".1.events": "1\n*1\nE1\nCNT1V5\n2\n*1\nL1\n2\n*1\n"})
	for _, ext := range []string{".etf", ".otf2", ".pallas", ".trf"} {
		for _, x := range []struct {
			flag string
			how  format.Fidelity
		}{{"--force", format.WeftOnly}, {"--plain", format.Lost}} {
			rows := lossRows(t, x.flag, trace, filepath.Join(t.TempDir(), "x"+ext))
			for _, group := range []string{"DefFunctionGroup", "DefCounterGroup"} {
				if !slices.ContainsFunc(rows, func(r format.LossRow) bool {
					return r.Field == group && r.How == x.how && r.Count == 1
				}) {
					t.Errorf("%s %s: found %v, expected a row with 1 %s %s", ext, x.flag, rows, group, x.how)
				}
			}
		}
	}
}
