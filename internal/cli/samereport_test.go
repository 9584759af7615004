package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/await"
)

// TestSameFiguresInReport checks that the sections of the report about collective operations, efficiency, findings,
// waits with their causes, and the critical path have the figures of the commands: for the whole trace, for a window,
// and for a location.
func TestSameFiguresInReport(t *testing.T) {
	for _, name := range append([]string{"../analysis/waits/testdata/hand/traces.otf2",
		"../analysis/waits/testdata/p2p/traces.otf2", "../analysis/waits/testdata/omp/traces.otf2",
		"../examples/odse.etf"}, figureTraces...) {
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("../../format", filepath.FromSlash(name))
			d, err := all.Open(await.Context(t), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			flags := [][]string{nil, {"--window", "20%..60%"}}
			if names := d.Defs().FullNames(); len(names) > 0 {
				flags = append(flags, []string{"--location", names[0]})
			}
			for _, list := range flags {
				f := figureComparison{t, nil, "", path, d.Defs().Clock, list, ""}
				f.reportSections()
			}
		})
	}
}

// reportSections compares sections of the report with the commands.
func (f *figureComparison) reportSections() {
	code, page, errs := runWeft(f.t, append(append([]string{"report", "-q", "-o", "-"}, f.flags...), f.path)...)
	if code > 1 {
		f.t.Fatal(errs)
	}
	sections := map[string]string{}
	for _, x := range reportSection.FindAllStringSubmatch(page, -1) {
		sections[x[1]] = x[2]
	}
	for section, figures := range map[string]func() []string{"collectives": f.collectiveLines,
		"efficiency": f.efficiencyLines, "findings": f.findingLines, "waits": f.waitLines, "critical": f.pathLines} {
		want := figures()
		if got := reportLines(section, sections[section]); !slices.Equal(want, got) {
			f.t.Errorf("%v: %s of the commands (-) and of the report (+):\n%s", f.flags, section, gocmp.Diff(want, got))
		}
	}
}

var (
	reportSection = regexp.MustCompile(`(?s)<section id="(\w+)">(.*?)</section>`)
	reportTable   = regexp.MustCompile(`(?s)(?:<h3>([^<]*)</h3>\s*)?<table>(.*?)</table>`)
)

// reportColumns has the columns that are compared, by section and title of a table.
var reportColumns = map[string]map[string][]int{
	"collectives": {"": {0, 1, 2, 3, 4, 5, 6, 8, 10}},
	"efficiency":  {"": {1}},
	"findings":    {"": {0, 1, 2, 3, 4}},
	"waits":       {"Patterns": {0, 1, 2, 5}, "Causes": {0, 1, 2, 3}},
	"critical":    {"Regions": {0, 1}, "Locations": {0, 1}, "Activities": {0, 1, 2}},
}

// reportLines returns the compared cells of a section, a line for each row, in order.
func reportLines(section, text string) (lines []string) {
	for _, t := range reportTable.FindAllStringSubmatch(text, -1) {
		columns := reportColumns[section][html.UnescapeString(t[1])]
		for _, row := range tableRow.FindAllStringSubmatch(t[2], -1) {
			cells := tableCell.FindAllStringSubmatch(row[1], -1)
			if len(cells) == 0 || columns == nil {
				continue
			}
			line := t[1]
			for _, c := range columns {
				cell := strings.NewReplacer("\u202f", "", "\u2003", "").Replace(plainText(cells[c][1]))
				line += "|" + cell
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// answer runs a command with --json and decodes what it prints, if it prints something.
func (f *figureComparison) answer(to any, args ...string) {
	f.t.Helper()
	_, out, errs := runWeft(f.t, append(slices.Concat(args, []string{"--json", "-q"}, f.flags), f.path)...)
	if out == "" {
		return
	}
	if err := json.Unmarshal([]byte(out), to); err != nil {
		f.t.Fatalf("weft %v: %v, %s", args, err, errs)
	}
}

// sortedLines returns at most the first n lines, in order.
func sortedLines(lines []string, n int) []string {
	lines = lines[:min(n, len(lines))]
	slices.Sort(lines)
	return lines
}

// collectiveLines returns the table of collective operations from weft comm.
func (f *figureComparison) collectiveLines() (lines []string) {
	type sum struct {
		Count    int64
		Sum, Max ticksText
	}
	var x struct {
		Collectives struct {
			Operations []struct {
				CommunicatorName, Label, Name            string
				NonBlocking                              bool
				Members, Calls, SentBytes, ReceivedBytes int64
				Time, Waiting                            sum
			}
		}
	}
	f.answer(&x, "comm")
	for _, o := range x.Collectives.Operations {
		if o.NonBlocking {
			o.Name += " (non-blocking)"
		}
		line := fmt.Sprintf("|%s|%s|%d|%d|%d|%d", cmp.Or(o.Label, o.CommunicatorName), o.Name, o.Members, o.Calls,
			o.SentBytes, o.ReceivedBytes)
		times := []ticksText{"", "", ""}
		if o.Time.Count > 0 {
			times[0], times[1] = o.Time.Sum, o.Time.Max
		}
		if o.Waiting.Count > 0 {
			times[2] = o.Waiting.Max
		}
		for _, t := range times {
			if t == "" {
				line += "|–"
			} else {
				line += "|" + f.duration(string(t))
			}
		}
		lines = append(lines, line)
	}
	return sortedLines(lines, len(lines))
}

// efficiencyLines returns the factors of weft efficiency.
func (f *figureComparison) efficiencyLines() (lines []string) {
	var x commandFactors
	f.answer(&x, "efficiency")
	for _, m := range []map[string]float64{x.Factors, x.Hybrid} {
		for _, v := range m {
			lines = append(lines, fmt.Sprintf("|%.3f", v))
		}
	}
	return sortedLines(lines, len(lines))
}

// findingLines returns the findings of weft explain.
func (f *figureComparison) findingLines() (lines []string) {
	var x explanation
	f.answer(&x, "explain")
	for i, y := range x.Findings {
		lines = append(lines, fmt.Sprintf("|%d. %s|%.1f %%|%s|%.1f %%|%s", i+1, y.Title, 100*y.LossShare,
			f.clock.FormatDuration(int64(y.Gain)), 100*y.GainShare, y.Confidence))
	}
	return sortedLines(lines, len(lines))
}

// waitLines returns the patterns and causes of weft waits.
func (f *figureComparison) waitLines() (lines []string) {
	var x struct {
		Patterns []struct {
			Pattern    string
			Count      int64
			Time       ticksText
			Statistics struct{ Max ticksText }
		}
		Causes struct {
			Patterns []struct {
				Pattern string
				Costs   []struct {
					Path                []string
					LocationName        string
					ShortTerm, LongTerm float64
				}
			}
		}
	}
	f.answer(&x, "waits", "--causes")
	for _, p := range x.Patterns {
		lines = append(lines, fmt.Sprintf("Patterns|%s|%d|%s|%s", p.Pattern, p.Count, f.duration(string(p.Time)),
			f.duration(string(p.Statistics.Max))))
	}
	var list []string
	for _, p := range x.Causes.Patterns {
		for _, c := range p.Costs[:min(5, len(p.Costs))] {
			list = append(list, fmt.Sprintf("Causes|%s|%s|%s|%s",
				cmp.Or(strings.Join(c.Path, " > "), "(outside of all regions)"), c.LocationName, p.Pattern,
				f.clock.FormatDuration(int64(c.ShortTerm+c.LongTerm+0.5))))
		}
	}
	lines = append(lines, list[:min(20, len(list))]...)
	return sortedLines(lines, len(lines))
}

// pathLines returns the regions and locations, or the activities, of weft path.
func (f *figureComparison) pathLines() (lines []string) {
	var x struct {
		Regions []struct {
			Region string
			Time   ticksText
			Claims int
		}
		Locations []struct {
			LocationName string
			Time         ticksText
		}
	}
	f.answer(&x, "path")
	for _, r := range x.Regions[:min(20, len(x.Regions))] {
		if r.Claims > 0 {
			lines = append(lines, fmt.Sprintf("Activities|%s|%d|%s", r.Region, r.Claims, f.duration(string(r.Time))))
		} else {
			lines = append(lines, fmt.Sprintf("Regions|%s|%s", cmp.Or(r.Region, "(outside of all regions)"),
				f.duration(string(r.Time))))
		}
	}
	for _, l := range x.Locations[:min(20, len(x.Locations))] {
		lines = append(lines, fmt.Sprintf("Locations|%s|%s", l.LocationName, f.duration(string(l.Time))))
	}
	return sortedLines(lines, len(lines))
}
