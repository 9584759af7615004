package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/trace"
)

// figureTraces lists five traces of each format.
var figureTraces = []string{
	"otf/testdata/ok/mpi4/mpi4.otf", "otf/testdata/ok/all_short/all_short.otf", "otf/testdata/ok/kv_types/kv_types.otf",
	"otf/testdata/ok/hand_ties/hand_ties.otf", "otf/testdata/ok/tokens/tokens.otf",
	"otf2/testdata/ok/ring/eztrace_log.otf2", "otf2/testdata/ok/omp/eztrace_log.otf2",
	"otf2/testdata/ok/heat2d-mt/traces.otf2",
	"otf2/testdata/ok/rma/traces.otf2", "otf2/testdata/ok/thumbnails/t.otf2",
	"pallas/testdata/ok/abi18_mpi/trace/main.pallas", "pallas/testdata/ok/nested/trace/main.pallas",
	"pallas/testdata/ok/abi16_loops/trace/main.pallas",
	"pallas/testdata/ok/deep99/trace/main.pallas", "pallas/testdata/ok/mismatched_leave/trace/main.pallas",
	"picl/testdata/ok/worley-table20.trf", "picl/testdata/ok/conceptual-ring8.trf",
	"picl/testdata/ok/conceptual-pingpong2.trf",
	"picl/testdata/ok/feature-coverage.trf", "picl/testdata/ok/dialect-pastix.trf",
	"etf/testdata/ok/doc-examples.etf", "etf/testdata/ok/feature-coverage.etf",
	"etf/testdata/ok/dialect-capella-poosl.etf",
	"etf/testdata/ok/dialect-capella-snakes.etf", "etf/testdata/ok/legacy-v0.1-tabs.etf",
}

// regionFigures holds the numbers of a table for a region, an activity or a call path, in ticks.
type regionFigures struct {
	Name                 string
	Count                int64
	Exclusive, Inclusive string
}

// sortFigures sorts a list in place and returns it.
func sortFigures(l []regionFigures) []regionFigures {
	slices.SortFunc(l, func(a, b regionFigures) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Count, b.Count),
			strings.Compare(a.Exclusive, b.Exclusive), strings.Compare(a.Inclusive, b.Inclusive))
	})
	return l
}

// ticksText is a JSON number, or a string with a number.
type ticksText string

func (t *ticksText) UnmarshalJSON(b []byte) error {
	*t = ticksText(strings.Trim(string(b), `"`))
	return nil
}

// TestSameFigures checks that commands, the report, the viewer and the picture show the same
// numbers for the same window.
func TestSameFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 25 traces in five ways")
	}
	compareFigures(t, "../../format", figureTraces, func(f *figureComparison, _ int64) { f.compare() })
}

// compareFigures serves the traces below a folder, and calls compare for each of them and for a window of it, with the
// time of its first event.
func compareFigures(t *testing.T, folder string, names []string, compare func(f *figureComparison, first int64)) {
	var paths []string
	for _, name := range names {
		path, err := filepath.Abs(filepath.Join(filepath.FromSlash(folder), filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	s := startServer(t, t.TempDir(), append([]string{"view"}, paths...)...)
	defer s.stop(t)
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	s.get(t, s.url) // sets the cookie with the secret
	base := u.Scheme + "://" + u.Host
	for i, x := range s.traces(t, base).Traces {
		api := base + "/api/traces/" + x.ID
		t.Run(strings.NewReplacer(".", "_", "/", "_").Replace(names[i]), func(t *testing.T) {
			s.untilReady(t, api)
			d, err := all.Open(await.Context(t), paths[i], nil)
			if err != nil {
				t.Fatal(err)
			}
			clock := d.Defs().Clock
			first, last, _, err := d.Extent(await.Context(t))
			if err != nil {
				t.Fatal(err)
			}
			d.Close()
			for _, w := range [][2]int64{{first, last}, {first + (last-first)/5, first + (last-first)*3/5}} {
				if w[0] >= w[1] {
					continue
				}
				f := figureComparison{t, s, api, paths[i], clock, nil, ""}
				if w != [2]int64{first, last} {
					f.flags = []string{"--window", fmt.Sprintf("@%d..@%d", w[0], w[1])}
					f.viewerQuery = fmt.Sprintf("&from=%d&to=%d", w[0]-first, w[1]-first)
				}
				compare(&f, first)
			}
		})
	}
}

// figureComparison compares the numbers for one window of a trace.
type figureComparison struct {
	t           *testing.T
	s           *serverProcess
	api         string
	path        string
	clock       trace.Clock
	flags       []string // flags of commands
	viewerQuery string   // query of the viewer
}

// compare compares all numbers.
func (f *figureComparison) compare() {
	t := f.t
	regions, activities := f.profile()
	for _, x := range []struct {
		what          string
		command, view []regionFigures
	}{
		{"regions", regions, f.viewerProfile("visit")},
		{"activities", activities, f.viewerProfile("claim")},
		{"call paths", f.tree(), f.viewerTree()},
		{"messages", f.matrix(), f.viewerMatrix()},
		{"states", f.states(), f.viewerStates()},
	} {
		if d := gocmp.Diff(x.command, x.view); d != "" {
			t.Errorf("%v: %s of the command (-) and of the viewer (+):\n%s", f.flags, x.what, d)
		}
	}
	if !strings.HasSuffix(f.path, ".trf") { // the event types of PICL determine what waiting is
		command, view := f.states("--waits=false"), f.viewerStates("waits=0")
		if d := gocmp.Diff(command, view); d != "" {
			t.Errorf("%v: states without waits of the command (-) and of the viewer (+):\n%s", f.flags, d)
		}
	}
	f.report(regions)
	f.picture(regions)
	all := f.flags
	for _, r := range regions[:min(len(regions), 2)] { // a selection of the region alone does not change its times
		f.flags = append(slices.Clone(all), "--region", r.Name)
		regions, _ := f.profile()
		f.report(regions)
		f.picture(regions)
	}
	f.flags = all
}

// command runs a command with --json and decodes the output.
func (f *figureComparison) command(to any, args ...string) {
	f.t.Helper()
	code, out, errs := runWeft(f.t, append(append(args, "--json", "-q"), append(slices.Clone(f.flags), f.path)...)...)
	if code > 1 || out == "" {
		f.t.Fatalf("weft %v: exit %d, %s", args, code, errs)
	}
	if err := json.Unmarshal([]byte(out), to); err != nil {
		f.t.Fatalf("weft %v: %v", args, err)
	}
}

// query sends a request to the viewer and decodes the answer.
func (f *figureComparison) query(to any, what string) {
	f.t.Helper()
	status, text := f.s.get(f.t, f.api+"/"+what+f.viewerQuery)
	if status != 200 {
		f.t.Fatalf("%s: status %d, %s", what, status, text)
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
}

// profile returns the rows of weft profile.
func (f *figureComparison) profile() (regions, activities []regionFigures) {
	var x struct {
		Regions []struct {
			Name                 string
			Count                int64
			Exclusive, Inclusive ticksText
		}
		Activities []struct {
			Name  string
			Count int64
			Time  ticksText
		}
	}
	f.command(&x, "profile")
	for _, r := range x.Regions {
		if r.Count > 0 {
			regions = append(regions, regionFigures{r.Name, r.Count, string(r.Exclusive), string(r.Inclusive)})
		}
	}
	for _, a := range x.Activities {
		activities = append(activities, regionFigures{a.Name, a.Count, "", string(a.Time)})
	}
	return sortFigures(regions), sortFigures(activities)
}

// viewerProfile returns the rows of the viewer's profile for visits or claims.
func (f *figureComparison) viewerProfile(kind string) (out []regionFigures) {
	var x struct {
		Rows []struct {
			Kind, Name                string
			Count                     int64
			Exclusive, Inclusive, Sum ticksText
		}
	}
	f.query(&x, "profile?limit=1000")
	for _, r := range x.Rows {
		switch {
		case (r.Kind == "claim") != (kind == "claim"):
		case kind == "claim":
			out = append(out, regionFigures{r.Name, r.Count, "", string(r.Sum)})
		default:
			out = append(out, regionFigures{r.Name, r.Count, string(r.Exclusive), string(r.Inclusive)})
		}
	}
	return sortFigures(out)
}

// tree returns the call paths of weft profile.
func (f *figureComparison) tree() (out []regionFigures) {
	var x struct {
		Paths []struct {
			Name                 string
			Depth                int
			Count                int64
			Exclusive, Inclusive ticksText
		}
	}
	f.command(&x, "profile", "--tree")
	var path []string
	for _, p := range x.Paths {
		path = append(path[:p.Depth], p.Name)
		if p.Count > 0 {
			out = append(out, regionFigures{strings.Join(path, "/"), p.Count, string(p.Exclusive), string(p.Inclusive)})
		}
	}
	return sortFigures(out)
}

// viewerNode is a call path in the viewer's answer.
type viewerNode struct {
	Name                 string
	Count                int64
	Exclusive, Inclusive ticksText
	Children             []viewerNode
}

// viewerTree returns the call paths of the viewer.
func (f *figureComparison) viewerTree() (out []regionFigures) {
	var x struct{ Roots []viewerNode }
	f.query(&x, "calltree?limit=1000")
	var walk func(around string, l []viewerNode)
	walk = func(around string, l []viewerNode) {
		for _, n := range l {
			if n.Count > 0 {
				out = append(out, regionFigures{around + n.Name, n.Count, string(n.Exclusive), string(n.Inclusive)})
			}
			walk(around+n.Name+"/", n.Children)
		}
	}
	walk("", x.Roots)
	return sortFigures(out)
}

// matrix returns the number and bytes of messages between locations, without names.
func (f *figureComparison) matrix() (out []regionFigures) {
	var x struct {
		Messages struct {
			Matrix []struct {
				Count, Bytes int64
				Latency      struct{ Sum ticksText }
			}
		}
	}
	f.command(&x, "comm")
	for _, m := range x.Messages.Matrix {
		out = append(out, regionFigures{"", m.Count, fmt.Sprint(m.Bytes), string(cmp.Or(m.Latency.Sum, "0"))})
	}
	return sortFigures(out)
}

// viewerMatrix returns the same from the viewer.
func (f *figureComparison) viewerMatrix() (out []regionFigures) {
	var x struct {
		Rows []struct {
			Count, Bytes int64
			Sum          *ticksText
		}
	}
	f.query(&x, "matrix?")
	for _, m := range x.Rows {
		sum := ticksText("0")
		if m.Sum != nil {
			sum = *m.Sum
		}
		out = append(out, regionFigures{"", m.Count, fmt.Sprint(m.Bytes), string(sum)})
	}
	return sortFigures(out)
}

// states returns the times in which processors are busy, overhead and idle, without names.
func (f *figureComparison) states(flags ...string) (out []regionFigures) {
	var x struct {
		Processors []struct{ Busy, Overhead, Idle ticksText }
	}
	f.command(&x, append([]string{"states"}, flags...)...)
	for _, p := range x.Processors {
		out = append(out, regionFigures{string(p.Idle), 0, string(p.Busy), string(p.Overhead)})
	}
	return sortFigures(out)
}

// viewerStates returns the states of the viewer, in the form that states returns.
func (f *figureComparison) viewerStates(parameters ...string) (out []regionFigures) {
	var x struct {
		Rows []struct{ Busy, Overhead, Idle ticksText }
	}
	f.query(&x, "states?"+strings.Join(parameters, "&"))
	for _, p := range x.Rows {
		out = append(out, regionFigures{string(p.Idle), 0, string(p.Busy), string(p.Overhead)})
	}
	return sortFigures(out)
}

var (
	tableRow   = regexp.MustCompile(`(?s)<tr>(.*?)</tr>`)
	tableCell  = regexp.MustCompile(`(?s)<td[^>]*>(.*?)</td>`)
	anyTag     = regexp.MustCompile(`<[^>]*>`)
	pictureTag = regexp.MustCompile(`<text[^>]*>([^<]*)`)
)

// plainText returns the visible text of a piece of HTML.
func plainText(s string) string { return html.UnescapeString(anyTag.ReplaceAllString(s, "")) }

// report checks that the rows of the report's table of regions are among those of the command, and
// that the table is complete or full.
func (f *figureComparison) report(regions []regionFigures) {
	t := f.t
	out := filepath.Join(t.TempDir(), "r.html")
	if code, _, errs := runWeft(t, append(append([]string{"report", "-q", "-o", out}, f.flags...), f.path)...); code > 1 {
		t.Fatal(errs)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	f.legend("report", string(page), regions)
	wanted := map[string]int{}
	for _, r := range regions {
		wanted[fmt.Sprintf("%s: %d visits, %s exclusive, %s inclusive", r.Name, r.Count, f.duration(r.Exclusive),
			f.duration(r.Inclusive))]++
	}
	_, table, found := strings.Cut(string(page), `<section id="regions"`)
	if !found {
		_, table, found = strings.Cut(string(page), `id="regions"`)
	}
	if !found {
		if len(regions) > 0 {
			t.Errorf("%v: the report has no table of regions; expected %d rows", f.flags, len(regions))
		}
		return
	}
	table, _, _ = strings.Cut(table, "</table>")
	n := 0
	for _, row := range tableRow.FindAllStringSubmatch(table, -1) {
		cells := tableCell.FindAllStringSubmatch(row[1], -1)
		if len(cells) < 6 {
			continue
		}
		n++
		text := func(i int) string { return plainText(cells[i][1]) }
		line := fmt.Sprintf("%s: %s visits, %s exclusive, %s inclusive", text(0), strings.ReplaceAll(text(5), "\u202f", ""),
			text(2), text(4))
		if wanted[line]--; wanted[line] < 0 && text(5) != "0" {
			t.Errorf("%v: the report says %q; the command says %q", f.flags, line, slices.Sorted(maps.Keys(wanted)))
		}
	}
	if n < min(len(regions), 20) {
		t.Errorf("%v: the report has %d regions, the command %d", f.flags, n, len(regions))
	}
}

// picture checks that the times in the picture's legend are exclusive times of regions.
func (f *figureComparison) picture(regions []regionFigures) {
	t := f.t
	out := filepath.Join(t.TempDir(), "p.svg")
	if code, _, errs := runWeft(t, append(append([]string{"plot", "-q", "-o", out}, f.flags...), f.path)...); code > 1 {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	f.legend("picture", string(text), regions)
}

// legend checks that the times in the legend of a picture in a text are exclusive times of regions.
func (f *figureComparison) legend(where, text string, regions []regionFigures) {
	t := f.t
	wanted := map[string]bool{}
	for _, r := range regions {
		wanted[r.Name+" "+f.duration(r.Exclusive)] = true
	}
	before := ""
	for _, x := range pictureTag.FindAllStringSubmatch(text, -1) {
		now := html.UnescapeString(x[1])
		if time, ok := strings.CutSuffix(now, " exclusive"); ok && !strings.HasSuffix(before, "…") &&
			!wanted[before+" "+time] {
			t.Errorf("%v: the %s says %q of %q; the command says %q", f.flags, where, now, before,
				slices.Sorted(maps.Keys(wanted)))
		}
		before = now
	}
}

// duration formats ticks as text shows them.
func (f *figureComparison) duration(ticks string) string {
	return f.clock.FormatSum(f.ticks(ticksText(ticks)))
}

// ticks parses a number of ticks.
func (f *figureComparison) ticks(text ticksText) (x trace.Ticks) {
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		f.t.Fatal(err)
	}
	return x
}
