package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/internal/effort"
)

// webPage is the contents of a report: the facts and tables of each section.
type webPage struct {
	text     []byte
	elements map[string]int
	facts    map[string]map[string][]field // facts by section and name
	tables   map[string][]webTable         // tables by section
}

// webTable is a table of a report.
type webTable struct {
	head []string
	rows [][]field
}

// field is a cell of a table: its text, and the tooltip.
type field struct{ text, title string }

// runReport runs weft report and returns the page.
func runReport(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errs); code > exitDefects {
		t.Fatalf("weft %s: exit code %d, %s", strings.Join(args, " "), code, errs.Bytes())
	}
	return out.Bytes()
}

// readPage parses a page.
func readPage(t *testing.T, text []byte) *webPage {
	t.Helper()
	p := &webPage{text: text, elements: map[string]int{}, facts: map[string]map[string][]field{},
		tables: map[string][]webTable{}}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	section, name := "", ""
	var into *field
	depth := 0 // depth in titles of pictures, which are no part of the text
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			a := map[string]string{}
			for _, x := range e.Attr {
				a[x.Name.Local] = x.Value
				if k := strings.ToLower(x.Name.Local); strings.HasPrefix(k, "on") || k == "href" &&
					!strings.HasPrefix(x.Value, "#") || (k == "src" || k == "srcset") &&
					!strings.HasPrefix(x.Value, "data:image/png;base64,") {
					t.Errorf("found <%s %s=%.40q>", e.Name.Local, k, x.Value)
				}
			}
			p.elements[e.Name.Local]++
			tables := p.tables[section]
			switch e.Name.Local {
			case "section":
				section = a["id"]
				p.facts[section] = map[string][]field{}
			case "dt":
				into = &field{}
			case "dd":
				into = &field{title: a["title"]}
			case "table":
				p.tables[section] = append(tables, webTable{})
			case "th", "td":
				into = &field{title: a["title"]}
			case "tr":
				x := &tables[len(tables)-1]
				x.rows = append(x.rows, nil)
			case "title":
				depth++
			}
		case xml.CharData:
			if into != nil && depth == 0 {
				into.text += string(e)
			}
		case xml.EndElement:
			tables := p.tables[section]
			switch e.Name.Local {
			case "dt":
				name = into.text
			case "dd":
				p.facts[section][name] = append(p.facts[section][name], *into)
			case "th":
				x := &tables[len(tables)-1]
				x.head = append(x.head, into.text)
				x.rows = nil
			case "td":
				x := &tables[len(tables)-1]
				x.rows[len(x.rows)-1] = append(x.rows[len(x.rows)-1], *into)
			case "title":
				depth--
			}
		}
	}
}

// table returns the rows of the table with the given column names.
func (p *webPage) table(t *testing.T, section string, head ...string) []([]field) {
	t.Helper()
	for _, x := range p.tables[section] {
		if slices.Equal(x.head, head) {
			return x.rows
		}
	}
	t.Fatalf("section %s: found no table with the columns %q in %+v", section, head, p.tables[section])
	return nil
}

// parseCount parses an integer in groups of three digits.
func parseCount(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "\u202f", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// inTicks converts the exact time of a field, such as "0.001 s", to ticks.
func inTicks(t *testing.T, f field, clock string) int64 {
	t.Helper()
	seconds, ok1 := new(big.Rat).SetString(strings.TrimSuffix(f.title, " s"))
	rate, ok2 := new(big.Rat).SetString(clock)
	if !ok1 || !ok2 {
		t.Fatalf("found the time %q %q", f.text, f.title)
	}
	n := seconds.Mul(seconds, rate)
	if !n.IsInt() {
		t.Fatalf("%q is no whole number of ticks", f.title)
	}
	return n.Num().Int64()
}

// TestReportFigures compares the numbers of a report with those of the commands.
func TestReportFigures(t *testing.T) {
	effort.Sequential(t)
	dir := t.TempDir()
	t.Setenv("WEFT_CACHE", filepath.Join(dir, "cache"))
	stencil, many := filepath.Join(dir, "stencil.otf2"), filepath.Join(dir, "tree.otf2")
	runReport(t, "generate", "--workload", "stencil", "--events", "20000", stencil)
	runReport(t, "generate", "--workload", "calltree", "--events", "9000", "--locations", "40", many)
	type trace struct {
		path string
		args []string
	}
	for _, x := range []trace{{stencil, nil}, {stencil, []string{"--window", "20%..45%"}}, {many, nil},
		{many, []string{"--from", "50%"}},
		{stencil, []string{"--location", "rank 1", "--window", "20%..45%"}}, {stencil, []string{"--group", "node 0"}},
		{"../../examples/odse.etf", nil}, {"../../examples/odse.etf", []string{"--to", "30%"}},
		// A claim on the CPU ends at 1.961 ms, and 128 ms is after all claims but not after the
		// signals.
		{"../../examples/odse.etf", []string{"--window", "1.961ms..128ms"}},
		{"../../examples/odse.etf", []string{"--location", "GPU", "--window", "1ms..30ms"}},
		{"../../examples/ring.trf", nil}, {"../../examples/worley-table20.trf", []string{"--from", "10%", "--to", "90%"}},
		{"../../format/otf/testdata/ok/hand_malformed_enter/hand_malformed_enter.otf", nil},
		{"../../format/otf/testdata/ok/mpi4/mpi4.otf", nil}} {
		t.Run(filepath.Base(x.path)+strings.Join(x.args, " "), func(t *testing.T) {
			p := readPage(t, runReport(t, append([]string{"report", "-q", "-o", "-", x.path}, x.args...)...))
			command := func(to any, args ...string) {
				if err := json.Unmarshal(runReport(t, append(args, x.path, "-q", "--json")...), to); err != nil {
					t.Fatal(err)
				}
			}
			c := reportComparison{t: t, page: p, command: command, args: x.args}
			c.overview()
			c.resources()
			c.profile()
			c.paths()
			c.locations()
			c.communication()
			c.rules()
		})
	}
}

// infoFigures is the part of weft info's JSON that the test compares.
type infoFigures struct {
	Events    int64
	Locations []struct{ Events int64 }
	Window    *struct{ First, Last int64 }
	Clock     struct{ TicksPerSecond string }
	Kinds     []struct {
		Name            string
		Events, Derived int64
	}
	Files     []struct{ Size int64 }
	First     *int64
	Last      *int64
	Resources []struct {
		Name        string
		Count, Busy int64
	}
}

// reportComparison compares the sections of a report with the JSON of commands.
type reportComparison struct {
	t       *testing.T
	page    *webPage
	command func(to any, args ...string) // runs a command with --json and decodes the output
	args    []string                     // flags of the selection
	info    infoFigures
	clock   string // ticks per second
}

// overview compares the overview with weft info, whose numbers it keeps.
func (c *reportComparison) overview() {
	of := &c.info
	c.command(of, append([]string{"info"}, c.args...)...)
	locations := len(of.Locations)
	c.clock = of.Clock.TicksPerSecond
	if len(c.args) > 0 {
		locations = 0
		for _, l := range of.Locations {
			locations += int(min(l.Events, 1))
		}
		of.First, of.Last = &of.Window.First, &of.Window.Last
	}
	overview := c.page.facts["overview"]
	if n := parseCount(c.t, overview["Events"][0].text); n != of.Events {
		c.t.Errorf("found %d events, expected %d", n, of.Events)
	}
	if n := parseCount(c.t, overview["Locations"][0].text); n != int64(locations) {
		c.t.Errorf("found %d locations, expected %d", n, locations)
	}
	if n := inTicks(c.t, overview["Duration"][0], c.clock); n != *of.Last-*of.First {
		c.t.Errorf("found a duration of %d ticks, expected %d", n, *of.Last-*of.First)
	}
	size := int64(0)
	for _, f := range of.Files {
		size += f.Size
	}
	if n := parseCount(c.t, strings.TrimSuffix(overview["Size"][0].title, " bytes")); n != size {
		c.t.Errorf("found %d bytes, expected %d", n, size)
	}
	for i, row := range c.page.table(c.t, "overview", "kind", "events") {
		if k := of.Kinds[i]; row[0].text != k.Name || parseCount(c.t, row[1].text) != k.Events+k.Derived {
			c.t.Errorf("found the kind %v, expected %+v", row, k)
		}
	}
}

// resources compares the resources with weft info and weft usage.
func (c *reportComparison) resources() {
	of := &c.info
	if len(of.Resources) > 0 {
		// weft usage measures the same over the same time.
		var used usage.Result
		c.command(&used, append([]string{"usage"}, c.args...)...)
		if used.First != *of.First || used.Last != *of.Last || len(used.Resources) != len(of.Resources) {
			c.t.Errorf("found usage from %d to %d, expected info's %d to %d", used.First, used.Last, *of.First, *of.Last)
		}
		for i, row := range c.page.table(c.t, "resources", "resource", "capacity", "claims", "busy", "part", "use",
			"most at once",
			"highest amount") {
			u, length := used.Resources[i], used.Last-used.First
			share := func(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) + " %" }
			busy, use := share(float64(length-u.Open[0])/float64(length)), share(float64(u.Mean)/u.Capacity)
			if r := of.Resources[i]; u.Claims != r.Count || length-u.Open[0] != r.Busy || row[4].text != busy ||
				row[5].text != use {
				c.t.Errorf("found %v, and by info %+v, expected %+v of usage, %s and %s", row, r, u, busy, use)
			}
		}
		for i, row := range c.page.table(c.t, "resources", "resource", "capacity", "claims", "busy", "part", "use",
			"most at once",
			"highest amount") {
			if r := of.Resources[i]; row[0].text != r.Name || parseCount(c.t, row[2].text) != r.Count ||
				inTicks(c.t, row[3], c.clock) != r.Busy {
				c.t.Errorf("found the resource %v, expected %+v", row, r)
			}
		}
	}
}

// profile compares the regions and activities with weft profile.
func (c *reportComparison) profile() {
	var prof profileResult
	c.command(&prof, append([]string{"profile"}, c.args...)...)
	if len(prof.Regions) > 0 {
		rows := c.page.table(c.t, "regions", "region", "group", "exclusive", "part", "inclusive", "visits",
			"min", "mean", "max")
		if len(rows) != min(20, len(prof.Regions)) {
			c.t.Errorf("found %d regions of %d", len(rows), len(prof.Regions))
		}
		for i, row := range rows {
			r := prof.Regions[i]
			if row[0].text != r.Name || inTicks(c.t, row[2], c.clock) != r.Exclusive.Int64() ||
				inTicks(c.t, row[4], c.clock) != r.Inclusive.Int64() || parseCount(c.t, row[5].text) != r.Count ||
				inTicks(c.t, row[6], c.clock) != r.Min || inTicks(c.t, row[8], c.clock) != r.Max {
				c.t.Errorf("found the region %v, expected %+v", row, r)
			}
		}
	}
	if len(prof.Activities) > 0 {
		for i, row := range c.page.table(c.t, "resources", "activity", "claims", "time", "min", "mean", "max") {
			if a := prof.Activities[i]; row[0].text != a.Name || parseCount(c.t, row[1].text) != a.Count ||
				inTicks(c.t, row[2], c.clock) != a.Time.Int64() {
				c.t.Errorf("found the activity %v, expected %+v", row, a)
			}
		}
	}
}

// paths compares the call paths with weft profile --tree.
func (c *reportComparison) paths() {
	if c.page.tables["paths"] != nil {
		var tree treeResult
		c.command(&tree, append([]string{"profile", "--tree"}, c.args...)...)
		rows := c.page.table(c.t, "paths", "call path", "inclusive", "part", "exclusive", "visits", "min", "mean", "max")
		if len(rows) > 40 || len(rows) < min(10, len(tree.Paths)) {
			c.t.Errorf("found %d paths of %d", len(rows), len(tree.Paths))
		}
		i := 0
		for _, row := range rows {
			name := strings.TrimLeft(row[0].text, "\u2003")
			for ; i < len(tree.Paths); i++ {
				n := tree.Paths[i]
				if name == n.Name && len(row[0].text)-len(name) == len("\u2003")*min(n.Depth, 24) &&
					inTicks(c.t, row[1], c.clock) == n.Inclusive.Int64() && inTicks(c.t, row[3], c.clock) == n.Exclusive.Int64() &&
					parseCount(c.t, row[4].text) == n.Count {
					break
				}
			}
			if i == len(tree.Paths) {
				c.t.Fatalf("found the path %v, expected one of the tree, in its order", row)
			}
		}
	}
}

// locations compares the locations with weft profile --by location.
func (c *reportComparison) locations() {
	if c.page.tables["locations"] != nil {
		var by profileResult
		c.command(&by, append([]string{"profile", "--by", "location"}, c.args...)...)
		covered := map[int64]int{}
		least, most := int64(-1), int64(0)
		for _, l := range by.Locations {
			if l.Covered > 0 {
				covered[l.Covered]++
				most = max(most, l.Covered)
				if least < 0 || l.Covered < least {
					least = l.Covered
				}
			}
		}
		tables := c.page.tables["locations"]
		// weft states and the viewer call another time busy, and the viewer has this name for this one.
		if row := tables[0].rows[0]; row[0].text != "in regions" || inTicks(c.t, row[1], c.clock) != least ||
			inTicks(c.t, row[3], c.clock) != most {
			c.t.Errorf("found %v, expected times in regions of %d to %d", row, least, most)
		}
		for _, row := range tables[len(tables)-1].rows {
			n := inTicks(c.t, row[1], c.clock)
			if covered[n]--; covered[n] < 0 {
				c.t.Errorf("found the location %v, expected none with that time in regions", row)
			}
		}
	}
}

// communication compares the messages and collective operations with weft comm.
func (c *reportComparison) communication() {
	var comm commResult
	c.command(&comm, append([]string{"comm"}, c.args...)...)
	m := comm.Messages
	if m.Sent+m.Received > 0 {
		facts := c.page.facts["messages"]
		bytesOf := func(f field) int64 { return parseCount(c.t, strings.TrimSuffix(f.title, " bytes")) }
		if s, r := facts["Sent"], facts["Received"]; parseCount(c.t, s[0].text) != m.Sent ||
			bytesOf(s[1]) != int64(m.SentBytes) || parseCount(c.t, r[0].text) != m.Received ||
			bytesOf(r[1]) != int64(m.ReceivedBytes) {
			c.t.Errorf("found the messages %v, expected %+v", facts, m)
		}
		if m.Latency.Count > 0 && (inTicks(c.t, facts["Least latency"][0], c.clock) != m.Latency.Min ||
			inTicks(c.t, facts["Median latency"][0], c.clock) != m.Latency.Median ||
			inTicks(c.t, facts["Greatest latency"][0], c.clock) != m.Latency.Max) {
			c.t.Errorf("found the latencies %v, expected %+v", facts, m.Latency)
		}
		left := slices.Clone(m.Matrix)
		last := int64(1 << 62)
		for _, row := range c.page.table(c.t, "messages", "from", "to", "messages", "bytes", "part", "min", "mean", "max") {
			count, size := parseCount(c.t, row[2].text), parseCount(c.t, row[3].text)
			i := -1
			for k, pair := range left {
				if pair.Count == count && int64(pair.Bytes) == size && (pair.Latency == nil) == (row[5].text == "–") &&
					(pair.Latency == nil || pair.Latency.Min == inTicks(c.t, row[5], c.clock) &&
						pair.Latency.Max == inTicks(c.t, row[7], c.clock)) {
					i = k
				}
			}
			if i < 0 || size > last {
				c.t.Fatalf("found the pair %v, expected one of weft comm, most bytes first", row)
			}
			left, last = slices.Delete(left, i, i+1), size
		}
	} else if c.page.tables["messages"] != nil {
		c.t.Error("found messages, expected none")
	}
	c.collectives(comm.Collectives.Operations)
}

// collectives compares the collective operations with those of weft comm.
func (c *reportComparison) collectives(operations []collectives.Operation) {
	calls := int64(0)
	for _, o := range operations {
		calls += o.Calls
	}
	if calls > 0 {
		rows := c.page.table(c.t, "collectives", "communicator", "operation", "members", "calls", "sent bytes",
			"received bytes",
			"time", "mean", "max", "mean wait", "max wait")
		for _, row := range rows {
			if !slices.ContainsFunc(operations, func(o collectives.Operation) bool {
				return strings.HasPrefix(row[1].text, o.Name) && parseCount(c.t, row[3].text) == o.Calls &&
					parseCount(c.t, row[4].text) == int64(o.Sent) &&
					(o.Time.Count == 0 || inTicks(c.t, row[6], c.clock) == o.Time.Sum.Int64() &&
						inTicks(c.t, row[8], c.clock) == o.Time.Max)
			}) {
				c.t.Errorf("found the operation %v, expected one of weft comm", row)
			}
		}
		if len(rows) != min(20, len(operations)) {
			c.t.Errorf("found %d operations", len(rows))
		}
	}
}

// rules compares the broken rules with weft check.
func (c *reportComparison) rules() {
	var found checkResult
	c.command(&found, append([]string{"check"}, c.args...)...)
	if len(found.Rules) == 0 {
		if c.page.tables["checks"] != nil {
			c.t.Errorf("found rules, expected none")
		}
		return
	}
	rows := c.page.table(c.t, "checks", "rule", "times", "what it means", "first place")
	if len(rows) != min(20, len(found.Rules)) {
		c.t.Errorf("found %d rules, expected %d", len(rows), len(found.Rules))
	}
	for _, row := range rows {
		i := slices.IndexFunc(found.Rules, func(r checkRule) bool { return r.Rule == row[0].text })
		if i < 0 || parseCount(c.t, row[1].text) != found.Rules[i].Count {
			c.t.Errorf("found the rule %v, expected one of %+v", row, found.Rules)
		}
	}
}

// TestReportOfMany checks that a page stays small for many locations, and that two runs write the
// same page.
func TestReportOfMany(t *testing.T) {
	locations := 3000
	if testing.Short() {
		locations = 400
	}
	dir := t.TempDir()
	t.Setenv("WEFT_CACHE", filepath.Join(dir, "cache"))
	path, out := filepath.Join(dir, "many.otf2"), filepath.Join(dir, "many.html")
	runReport(t, "generate", "--workload", "ring", "--locations", strconv.Itoa(locations), "--events",
		strconv.Itoa(20*locations), path)
	runReport(t, "report", path, "-o", out)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 2_000_000 {
		t.Errorf("found a page of %d bytes, expected less than 2 MB", len(text))
	}
	if again := runReport(t, "report", path, "-o", "-", "-j", "1"); !bytes.Equal(text, again) {
		t.Error("two reports of a trace differ")
	}
	p := readPage(t, text)
	for _, want := range []string{fmt.Sprintf("48 of %d rows, at equal distances; the times in its legend are theirs.",
		locations), "The 12 locations with most work, and the 12 with least"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the text %q is missing", want)
		}
	}
	if p.elements["script"]+p.elements["link"]+p.elements["iframe"] > 0 {
		t.Errorf("found the elements %v", p.elements)
	}
}
