package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMergeKeepsUndefinedTokens merges a trace whose records name tokens without definitions with a trace that
// defines these tokens. otfprint must not show one of those definitions for a record of the first trace.
func TestMergeKeepsUndefinedTokens(t *testing.T) {
	requireOTFPrint(t)
	undefined := writeTrace(t, map[string]string{
		".otf": "1:1\n",
		".0.def": "DTR3e8\nDP1NM\"a\"PT2\nDF3G8NM\"known\"X5\nDCNT2G4NM\"c\"P0U\"\"\nDFL3NM\"f\"G4\nDPG30M1,9,NM\"grp\"\n" +
			"DS9F3LN5\nDPGA1V6\n",
		".1.events": "1\n*1\nE3X5\n2\n*1\nE7\nCOPB5H1C30RT2S1R1X9\nCOPE1\nL7\n3\n*1\nL3X5\n5\n*1\n",
		".1.stats":  "1\n*1\nSG8N1E1I1\n5\n*1\n",
	})
	defined := writeTrace(t, map[string]string{
		".otf": "1:1\n",
		".0.def": "DTR3e8\nDP1NM\"b\"\nDP2NM\"b2\"\nDP9NM\"b9\"\nDSF3NM\"b.c\"\nDS5F3LN7\nDFG8NM\"bgroup\"\n" +
			"DF7G8NM\"other\"\nDCG4NM\"bcg\"\nDFLG4NM\"bfg\"\nDCO5NM\"MPI_Bcast\"Y2\nDA6M1,\n",
		".1.events": "1\n*1\nE7\nL7\n5\n*1\n",
	})
	const process, group = "DefProcess: stream 0, process %s,", "DefFunctionGroup: stream 0, group %s,"
	for _, order := range [][]string{{undefined, defined}, {defined, undefined}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		runWeft(t, "merge", "-q", order[0], order[1], out)
		text := otfprinted(t, out)
		for _, x := range [][2]string{ // what names a token, and the definition of that token
			{`name "a", parent (\d+)`, process}, {`name "grp", procs \d+, (\d+)`, process},
			{`BeginCollective: .* root (\d+)`, process}, {`name "known", group (\d+)`, group},
			{`StatFunctionGroup: .* group (\d+)`, group}, {`name "known", .* source (\d+)`, "DefScl: stream 0, source %s,"},
			{`Leave: .* source ([1-9]\d*)`, "DefScl: stream 0, source %s,"},
			{`DefScl: .* file (\d+), line 5`, "DefSclFile: stream 0, file %s,"},
			{`name "c", .* group (\d+)`, "DefCounterGroup: stream 0, group %s,"},
			{`DefFile: f, .* group (\d+)`, "DefFileGroup: bfg, token %s,"},
			{`attr_token (\d+)\n`, "DefAttributeList: stream 0, attr_token %s,"},
			{`BeginCollective: .* collective (\d+)`, "DefCollective: stream 0, collective %s,"},
			{`\t2 Enter: function (\d+)`, "DefFunction: stream 0, function %s,"},
		} {
			m := regexp.MustCompile(x[0]).FindStringSubmatch(text)
			if m == nil {
				t.Errorf("otfprint shows nothing that matches %s:\n%s", x[0], text)
			} else if d := regexp.MustCompile(fmt.Sprintf(x[1], m[1]) + ".*").FindString(text); d != "" {
				t.Errorf("%s: the undefined token became that of %s", m[0], d)
			}
		}
	}
}

// TestMergeOfOwnOperations merges an OTF trace, which numbers collective operations itself, with an archive of OTF2.
// Its number 12 is MPI_Bcast, and OTF2's 12 is reduce. otf2-print and otfprint must show the operations of both.
func TestMergeOfOwnOperations(t *testing.T) {
	requireOTFPrint(t)
	const archive = "../../format/otf2/testdata/ok/ring/eztrace_log.otf2"
	count := func(path, tool, pattern string) map[string]int {
		text, _ := runTool(t, path, tool)
		n := map[string]int{}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			n[m[1]]++
		}
		return n
	}
	const operation = `MPI_COLLECTIVE_END .* Operation: (.*?), Communicator`
	want := count(archive, "otf2-print", operation)
	if len(want) == 0 {
		t.Skip("otf2-print is not installed")
	}
	want["BCAST"]++
	want["REDUCE_SCATTER"]++
	otf := writeTrace(t, map[string]string{
		".otf": "1:1,2\n",
		".0.def": "DTR3e8\nDP1NM\"p\"\nDP2NM\"q\"\nDPG7M2,1,NM\"w\"\n" +
			"DCOcNM\"MPI_Bcast\"Y2\nDCO0NM\"MPI_Reduce_scatter\"Y4\n",
		".1.events": "1\n*1\nCOPBcH6C7RT1S8R8\nCOPE6\nCOPB0H7C7RT0S2R3\n2\n*1\nCOPE7\n2\n*1\n",
	})
	for _, order := range [][]string{{otf, archive}, {archive, otf}} {
		out, back := filepath.Join(t.TempDir(), "x.otf2"), filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, "merge", "-q", order[0], order[1], out)
		if got := count(out, "otf2-print", operation); !maps.Equal(got, want) {
			t.Errorf("otf2-print shows %v, expected %v", got, want)
		}
		root := `BCAST, Communicator: "w" <\d+>, (Root: 1) \("p" <\d+>\), Sent: 8, Received: 8`
		if len(count(out, "otf2-print", root)) != 1 {
			t.Errorf("otf2-print does not show the root of the broadcast: it has rank 1")
		}
		weft(t, 0, "merge", "-q", order[0], order[1], back)
		text := otfprinted(t, back)
		for name, n := range map[string]int{"broadcast": want["BCAST"], "reduce-scatter": 1, "barrier": want["BARRIER"]} {
			m := regexp.MustCompile(`collective (\d+), name "` + name + `"`).FindStringSubmatch(text)
			if m == nil || len(regexp.MustCompile(`BeginCollective: .* collective `+m[1]+`,`).FindAllString(text, -1)) != n {
				t.Errorf("otfprint does not show %d × %s", n, name)
			}
		}
	}
}

// TestPrunedRepairDefinesTokens checks that repair defines undefined tokens that records name, also with --prune. It
// must not define those that only left-out records name.
func TestPrunedRepairDefinesTokens(t *testing.T) {
	requireOTFPrint(t)
	path := writeTrace(t, map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDF3G0NM\"known\"\n",
		".1.stats":  "1\n*1\nSFL6NO1NC1NRD1NW0NSK0BR0BW0\nSG4N1E1I1\n5\n*1\n",
		".1.events": "1\n*1\nE7\n2\n*1\nCOPB5H1C8RT0S1R1\nCOPE1\nCNT9V1\n3\n*1\nE3\nL3\nL7\n5\n*1\n",
	})
	for _, x := range []struct {
		flags []string
		want  map[string]bool // whether otfprint shows the definition
	}{
		{nil, map[string]bool{"DefFunction: stream 0, function 7,": true, "DefCounter: stream 0, counter 9,": true,
			"DefCollective: stream 0, collective 5,": true, "DefProcessGroup: stream 0, group 8,": true,
			"DefFunctionGroup: stream 0, group 4,": true, "token 6, group 0": true}},
		{[]string{"--kind", "enter,leave"}, map[string]bool{"DefFunction: stream 0, function 7,": true,
			"DefCounter": false, "DefCollective": false, "DefProcessGroup": false, "DefFunctionGroup": false,
			"DefFile:": false}},
	} {
		out := filepath.Join(t.TempDir(), "x.otf")
		runWeft(t, append([]string{"repair", "--prune", path, out}, x.flags...)...)
		text := otfprinted(t, out)
		for line, want := range x.want {
			if strings.Contains(text, line) != want {
				t.Errorf("%q: otfprint shows %s: %t, expected %t:\n%s", x.flags, line, !want, want, text)
			}
		}
	}
}

// TestMergeOfListedProcesses merges a trace whose master file lists processes that it does not define with a trace
// that defines them. The processes of the two traces must stay apart, each in the streams of its trace.
func TestMergeOfListedProcesses(t *testing.T) {
	requireOTFPrint(t)
	listed := writeTrace(t, map[string]string{
		".otf": "1:1,3\n", ".0.def": "DTR3e8\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\n2\n*3\nE1\n3\n*1\nL1\n4\n*3\nL1\n4\n*3\n",
	})
	defined := writeTrace(t, map[string]string{
		".otf": "1:1,3\n", ".0.def": "DTR3e8\nDP1NM\"b1\"\nDP3NM\"b3\"\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\nL1\n4\n*3\nE1\nL1\n4\n*3\n",
	})
	for _, order := range [][]string{{listed, defined}, {defined, listed}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, "merge", "-q", order[0], order[1], out)
		master := readText(t, out)
		text := otfprinted(t, out)
		m := regexp.MustCompile(`process (\d+), name "b1"`).FindStringSubmatch(text)
		n := regexp.MustCompile(`process (\d+), name "b3"`).FindStringSubmatch(text)
		if !strings.HasPrefix(master, "1:1,3\n2:") || m == nil || n == nil ||
			!strings.Contains(master, ":"+m[1]+","+n[1]+"\n") {
			t.Errorf("the master file is\n%sfor the processes %q and %q", master, m, n)
		}
	}
}

// TestPrunedUndefinedKeys checks that keys without a definition stay, also those that weft uses in traces of other
// formats (1 to 4). A key of an attribute that weft adds is another one.
func TestPrunedUndefinedKeys(t *testing.T) {
	requireOTFPrint(t)
	path := writeTrace(t, map[string]string{".otf": "1:1\n", ".0.def": "DTR3e8\nDP1NM\"a\"\nDF3G0NM\"f\"\n",
		".1.events": "1\n*1\nK2Y6V7\nE3\n2\n*1\nK1Y6V5\nK9Y6V8\nE3\n3\n*1\nL3\n4\n*1\nL3\n4\n*1\n"})
	out := filepath.Join(t.TempDir(), "x.otf")
	weft(t, 0, "filter", "-q", "--prune", "--min-duration", "0", path, out)
	for _, line := range []string{"1 Enter: function 3, process 1, source 0, KeyValue: 2:7",
		"2 Enter: function 3, process 1, source 0, KeyValue: 1:5, 9:8"} {
		if text := otfprinted(t, out); !strings.Contains(text, line+"\n") {
			t.Errorf("otfprint does not show %s:\n%s", line, text)
		}
	}
	weft(t, 0, "cut", "-q", "--prune", "--from", "@2", path, out)
	text := otfprinted(t, out)
	m := regexp.MustCompile(`token (\d+), type BYTE_ARRAY, name "cut.began"`).FindStringSubmatch(text)
	if m == nil || m[1] == "1" || m[1] == "9" || !strings.Contains(text, "KeyValue: 1:5, 9:8\n") {
		t.Errorf("otfprint shows another key, or the key %q for cut.began:\n%s", m, text)
	}
}
