package cli

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepairLeftFiles checks traces whose writer was killed: files are missing, empty, or end inside of a record.
// weft repair must write a trace that weft check and otfprint read without complaint.
func TestRepairLeftFiles(t *testing.T) {
	good := map[string]string{
		"t.otf":      "1:1\n2:2\n",
		"t.0.def":    "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDFG1NM\"app\"\nDF7G1NM\"main\"\nDPG3M1,2,NM\"world\"\n",
		"t.1.events": "1\n*1\nE7\n2\n*1\nS2L8T0C3\n3\n*1\nL7\n3\n*1\n",
		"t.2.events": "2\n*2\nE7\n4\n*2\nR1L8T0C3\n4\n*2\nL7\n4\n*2\n",
	}
	for _, x := range []struct {
		name    string
		in      string            // the file that is named
		changes map[string]string // files that are different; "-" is missing
		code    int
		lines   int // what otfprint prints: definitions and events
	}{
		{"nothing", "t.otf", nil, 0, 6 + 6},
		{"definitions", "t.otf", map[string]string{"t.0.def": "-"}, 1, 5 + 6},
		{"master file", "t.1.events", map[string]string{"t.otf": "-"}, 0, 6 + 6},
		{"master file, by its definitions", "t.0.def", map[string]string{"t.otf": "-"}, 0, 6 + 6},
		{"text of the master file", "t.otf", map[string]string{"t.otf": ""}, 0, 6 + 6},
		{"both", "t.2.events", map[string]string{"t.otf": "-", "t.0.def": "-"}, 1, 5 + 6},
		{"end of the definitions", "t.otf",
			map[string]string{"t.0.def": "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDF7G1NM\"ma"}, 0, 5 + 6},
		{"end of a record", "t.otf", map[string]string{"t.2.events": "2\n*2\nE7\n4\n*2\nR1L8T0C3\n5\n*2\nL"},
			0, 7 + 6}, // a leave, and the definition of its attribute
		{"end of a record, both with line", "t.otf",
			map[string]string{"t.1.events": "1\n*1\nE7\n2\n*1\nS2L8T0C3\n3\n*1\nL7\n3\n*1\nE7",
				"t.2.events": good["t.2.events"] + "L7"},
			0, 6 + 6},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			files := maps.Clone(good)
			maps.Copy(files, x.changes)
			for name, text := range files {
				if text != "-" {
					writeText(t, filepath.Join(dir, name), text)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "out"), 0o777); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(dir, "out", "r.otf")
			code, text, errs := runWeft(t, "repair", filepath.Join(dir, x.in), out)
			if code != x.code {
				t.Fatalf("repair: exit code %d, expected %d: %s%s", code, x.code, text, errs)
			}
			if code, text, _ := runWeft(t, "check", out); code != 0 || !strings.Contains(text, "0 errors, 0 warnings") {
				t.Errorf("check: exit code %d, %s", code, text)
			}
			printed, complaints := runTool(t, out, "otfprint")
			n := strings.Count(string(printed), "\n(#")
			if installed := printed != nil; installed && (n != x.lines || len(complaints) > 0) {
				t.Errorf("otfprint printed %d records, expected %d:\n%s%s", n, x.lines, printed, complaints)
			}
		})
	}
}
