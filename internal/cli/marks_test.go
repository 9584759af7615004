package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMarksAreMarkers checks that otf2-marker prints the marks of a TRACE trace that weft converts to OTF2, also with
// --plain, and that weft restores the marks. Only weft reads the attribute that a marker cannot hold, and the place
// among events, for which the archive has events. Plain archives have neither.
func TestMarksAreMarkers(t *testing.T) {
	marks := "E 0 1.5 ; name=start\nE 1 1.5\nE 2 4.5 ; name=stop, cause=door\n"
	path := filepath.Join(t.TempDir(), "x.etf")
	writeText(t, path, "TU SECONDS\nR 0 1 true ; name=cpu\nC 0 1 5 0 1 ; name=a\n"+marks)
	for _, flags := range [][]string{nil, {"--plain"}} {
		archive, back := filepath.Join(t.TempDir(), "a.otf2"), filepath.Join(t.TempDir(), "b.etf")
		args := append([]string{"convert", "-q", "--json", "--allow-loss", path, archive}, flags...)
		_, loss, _ := runWeft(t, args...)
		rows := 1
		if flags == nil {
			rows = 2
		}
		if n := strings.Count(loss, `"kind": "mark"`); n != rows || !strings.Contains(loss, `"field": "attributes"`) {
			t.Errorf("%v: found %s\nexpected %d rows for marks, one of them for attributes", flags, loss, rows)
		}
		out, _ := runTool(t, archive, "otf2-marker")
		var texts []string
		for line := range strings.Lines(string(out)) {
			if at, text, ok := strings.Cut(line, "Text: "); ok && strings.Contains(at, "Scope: LOCATION:") {
				_, time, _ := strings.Cut(at, "Time: ")
				time, _, _ = strings.Cut(time, ",")
				texts = append(texts, time+" "+strings.TrimSpace(text))
			}
		}
		if got := strings.Join(texts, "; "); out != nil && got != `15 "start"; 15 ""; 45 "stop"` {
			t.Errorf("%v: otf2-marker prints %s", flags, out)
		}
		if flags == nil {
			weft(t, 0, "convert", "-q", archive, back)
			for line := range strings.Lines(marks) {
				if line = strings.TrimSuffix(line, "\n"); !strings.Contains(readText(t, back), "\n"+line) {
					t.Errorf("found %s\nexpected %s", readText(t, back), line)
				}
			}
		}
	}
}

// TestMarkersOfProcessGroupsInOTF2 checks that otf2-marker prints the markers of an OTF trace with the scope that they
// have in OTF: a group of processes, one process, or the whole trace, which is process 0.
func TestMarkersOfProcessGroupsInOTF2(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf":      "1:1,2\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDPG64M1,2,NM\"pair\"\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\n*2\nE1\n9\n*1\nL1\n*2\nL1\n",
		".0.marker": "MD1NM\"kind\"Y1\nMS1T2P64V\"pair\"\nMS1T3P2V\"b\"\nMS1T4P0V\"all\"\n",
	})
	for _, flags := range [][]string{nil, {"--plain", "--allow-loss"}} {
		archive := filepath.Join(t.TempDir(), "a.otf2")
		weft(t, 0, append([]string{"convert", "-q", path, archive}, flags...)...)
		markers, _ := runTool(t, archive, "otf2-marker")
		if markers == nil {
			t.Skip("otf2-marker is not installed")
		}
		defined, _ := runTool(t, archive, "otf2-print", "-G")
		comm := regexp.MustCompile(`(?m)^COMM +(\d+)  Name: "pair"`).FindStringSubmatch(string(defined))
		at := regexp.MustCompile(`(?m)^LOCATION +(\d+)  Name: "b"`).FindStringSubmatch(string(defined))
		if comm == nil || at == nil {
			t.Fatalf("otf2-print: found %s\nexpected a communicator pair and a location b", defined)
		}
		for _, want := range []string{"COMM:" + comm[1] + `, Text: "pair"`, "LOCATION:" + at[1] + `, Text: "b"`,
			`GLOBAL, Text: "all"`} {
			if !strings.Contains(string(markers), "Scope: "+want) {
				t.Errorf("otf2-marker: found %s\nexpected %s", markers, want)
			}
		}
	}
}

// TestPlainCommentsAndNoOps checks the loss table of conversions with --plain. Marks and parameters become comments of
// OTF, which otfprint prints with their names: they are degraded, not lost. No-ops are lost in OTF2 as a whole.
func TestPlainCommentsAndNoOps(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\nN\n2\n*1\nN\n9\n*1\nL1\n",
	})
	archive := filepath.Join(t.TempDir(), "a.otf2")
	_, loss, _ := runWeft(t, "convert", "-q", "--json", "--plain", "--allow-loss", path, archive)
	if !regexp.MustCompile(`"kind": "no-op",\s+("field": "",\s+)?"how": "lost",[^}]+"count": 2`).MatchString(loss) {
		t.Errorf("found %s\nexpected 2 lost no-ops", loss)
	}
	marks, out := filepath.Join(t.TempDir(), "x.etf"), filepath.Join(t.TempDir(), "x.otf")
	writeText(t, marks, "TU SECONDS\nE 0 1.5 ; name=start\nE 1 2.5 ; cause=door\n")
	_, loss, _ = runWeft(t, "convert", "-q", "--json", "--plain", "--allow-loss", marks, out)
	if !regexp.MustCompile(`"kind": "mark",\s+("field": "",\s+)?"how": "degraded",[^}]+"count": 2`).MatchString(loss) {
		t.Errorf("found %s\nexpected 2 degraded marks", loss)
	}
	printed, _ := runTool(t, out, "otfprint")
	if printed != nil && !strings.Contains(string(printed), `comment "mark start"`) {
		t.Errorf("otfprint: found %s\nexpected a comment with the name of the mark", printed)
	}
}
