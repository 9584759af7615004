package otf

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestRewriteText checks that rewriting gives the same text: empty comments, comments among snapshots and
// summaries, and comments after the last event; leaves of function 0 where no function is open; times of 2^63 ticks
// and more, which are unsigned in OTF.
func TestRewriteText(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"comments": {
			".0.def":    "DTR3e8\nDP1NM\"p\"\n",
			".1.events": "1\n*1\n#\"\"\n2\n*1\n#\"\"\n#\"comment\"\n2\n*1\n",
			".1.snaps":  "1\n*1\nTC\"\"\n2\n*1\nTC\"s\"\n3\n*1\nTC\"t\"\n3\n*1\n",
			".1.stats":  "2\n*1\nSC\"s\"\n3\n*1\nSC\"\"\n3\n*1\n",
		},
		"leaves": {
			".0.def":    "DTR3e8\nDK7Y6NM\"k\"T\"\"\nDP1NM\"p\"\nDF1G0NM\"f\"\nDS9F0LN3\n",
			".1.events": "1\n*1\nL\n2\n*1\nE1\nL1\n3\n*1\nK7Y6V5\nL0X9\n3\n*1\n",
		},
		"times": {
			".0.def":    "DTR3e8\nDP1NM\"p\"\nDF1G0NM\"f\"\n",
			".1.events": "8000000000000005\n*1\nE1\n8000000000000007\n*1\nL1\n8000000000000007\n*1\n",
			".1.snaps":  "8000000000000006\n*1\nTE1O8000000000000005\n8000000000000006\n*1\n",
			".0.marker": "MD9NM\"m\"Y3\nMS9T8000000000000006P1V\"text\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			writeFile(t, filepath.Join(folder, "x.otf"), "1:1\n")
			for part, text := range files {
				writeFile(t, filepath.Join(folder, "x"+part), text)
			}
			d, _, _ := readCounts(t, filepath.Join(folder, "x.otf"))
			loss := writeAgain(t, d, filepath.Join(folder, "y.otf"))
			if n := len(loss.Rows()); n > 0 {
				t.Errorf("found %v, expected no loss", loss.Rows())
			}
			for part, want := range files {
				if got, _ := os.ReadFile(filepath.Join(folder, "y"+part)); string(got) != want {
					t.Errorf("%s: found %q, expected %q", part, got, want)
				}
			}
		})
	}
}

// TestRepairDefinesOperations checks that a repaired trace defines the collective operations that its events,
// snapshots and summaries refer to, and defines each operation once. Without the definitions, otfprofile
// aborts.
func TestRepairDefinesOperations(t *testing.T) {
	folder := t.TempDir()
	for part, text := range map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3e8\nDP1NM\"p\"\nDPG7M1,NM\"g\"\nDCObNM\"known\"Y1\n",
		".1.snaps":  "2\n*1\nTBC1CLdH1G7RT0S0R0\n2\n*1\n",
		".1.stats":  "2\n*1\nSCO7CLeNS1NR1S1R1\nSCO7CL0NS1NR1S1R1\n2\n*1\n",
		".1.events": "1\n*1\nCOPBbH1C7RT0S0R0\n2\n*1\nCOPE1\nCOPBcH2C7RT0S0R0\nCOPE2\nCOPBcH3C7RT0S0R0\nCOPE3\n2\n*1\n",
	} {
		writeFile(t, filepath.Join(folder, "x"+part), text)
	}
	d, err := Format{}.Open(t.Context(), format.FileSource(filepath.Join(folder, "x.otf")), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.Defs().Repaired = true
	writeAgain(t, d, filepath.Join(folder, "y.otf"))
	got, _ := os.ReadFile(filepath.Join(folder, "y.0.def"))
	var lines []string
	for l := range strings.Lines(string(got)) {
		if strings.HasPrefix(l, "DCO") {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	want := []string{`DCObNM"known"Y1`, `DCOcNM"undefined collective operation 12"Y4`,
		`DCOdNM"undefined collective operation 13"Y4`, `DCOeNM"undefined collective operation 14"Y4`}
	if slices.Sort(lines); !slices.Equal(lines, want) {
		t.Errorf("found %q, expected %q", lines, want)
	}
}

// TestRewriteThumbnail checks that a rewrite keeps the thumbnail if it keeps the visits and their times.
// Otherwise the loss table counts the thumbnail as degraded.
func TestRewriteThumbnail(t *testing.T) {
	const thumbnail = "0:2,1\n1:0,1,\n"
	folder := t.TempDir()
	for part, text := range map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3e8\nDP1NM\"p\"\nDF1NM\"f\"\nDF2NM\"g\"\n",
		".1.events": "1\n*1\nE1\n2\n*1\nE2\n3\n*1\nL2\n4\n*1\nL1\n5\n*1\n#\"c\"\n5\n*1\n",
		".thumb":    thumbnail,
	} {
		writeFile(t, filepath.Join(folder, "x"+part), text)
	}
	for name, c := range map[string]struct {
		sel  trace.Selection
		keep bool
	}{
		"all": {trace.Everything(), true},
		// the last event has another time than in the whole trace
		"shorter": {trace.Selection{From: math.MinInt64, To: 5}, false},
	} {
		d, err := Format{}.Open(t.Context(), format.FileSource(filepath.Join(folder, "x.otf")), &format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m := filepath.Join(folder, name+".otf")
		loss := writeSelected(t, d, c.sel, m)
		got, err := os.ReadFile(filepath.Join(folder, name+".thumb"))
		if kept := err == nil && string(got) == thumbnail; kept != c.keep || (len(loss.Rows()) == 0) != c.keep {
			t.Errorf("%s: found the thumbnail %q and the losses %v, expected it kept: %t", name, got, loss.Rows(), c.keep)
		}
	}
}
