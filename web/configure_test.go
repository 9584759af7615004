package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// configureReport is the report of the script configure; configureView is a part of what the page shows.
type configureReport struct {
	Before, After, Again, Back configureView
	Names, Panels, Filtered    []string
	Details                    struct {
		Title      string
		Attributes [][]string
	}
	Heights struct {
		Lanes                []int
		Changed, Again, Back bool
		Stacked              bool
		Link                 string
	}
	Only struct {
		configureView
		Ids string
	}
	OnlyLink, All bool
	Colors        []string
	Link          string
	Calls         struct{ Rows, Panels []string }
	Count         int
	Errors        []string
}

type configureView struct {
	Rows, Legend []string
	Pixels       string
}

// TestConfigure checks that attributes can be chosen for colours, names and rows, that the rows are
// the objects that weft behaviour finds, and that a link shows the same.
func TestConfigure(t *testing.T) {
	needBrowser(t)
	var out configureReport
	odse, attrs := servedTrace(t, "odse"), servedTrace(t, "attrs")
	// memory M1 of odse.etf has a capacity of 100
	memory := -1
	for i, x := range waitReady(t, odse).Tracks {
		if x.Capacity == 100 {
			memory = i
		}
	}
	runScript(t, "configure", map[string]any{"url": odse.url, "time": "1000", "memory": memory,
		"calls": attrs.url + "~;rows=u32"}, &out)
	for _, e := range out.Errors {
		t.Error(e)
	}
	// the trace has the attributes id and name; spans also have names
	if found := fmt.Sprint(out.Colors); found != "[by region by group of regions by name by row by attribute id "+
		"by attribute name]" {
		t.Errorf("found the colours %s, expected each once", found)
	}
	h := out.Heights
	if len(h.Lanes) < 2 || slices.Min(h.Lanes) != slices.Max(h.Lanes) {
		t.Errorf("found lanes of the heights %v, expected several of one height", h.Lanes)
	}
	if !h.Changed || !h.Again || !h.Back || !h.Stacked || !strings.Contains(h.Link, "cs=0") {
		t.Errorf("found %+v, expected other pixels, in the link %q too, and those at first in the end", h, h.Link)
	}
	var classes struct{ Classes []struct{ Names []string } }
	text := runWeft(t, "behaviour", "--json", "--by", "id", "--top", "0", odse.path)
	if err := json.Unmarshal(text, &classes); err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, c := range classes.Classes {
		objects = append(objects, c.Names...)
	}
	sorted := func(list []string) string {
		list = slices.Clone(list)
		slices.Sort(list)
		return fmt.Sprint(slices.Compact(list))
	}
	// names of rows out of sight are not made; the group has a row, and so have a counter and its group
	if out.Count != len(objects)+3 || out.After.Rows[0] != "by id" {
		t.Errorf("found %d rows, the first %q, expected %d, the first by id", out.Count, out.After.Rows[0], len(objects)+3)
	}
	for _, r := range out.After.Rows[1:] {
		if !slices.Contains(objects, r) {
			t.Errorf("found the row %q, expected one of %q", r, objects)
		}
	}
	for _, v := range out.After.Legend {
		if !slices.Contains(objects, v) {
			t.Errorf("the legend has %q, expected one of %q", v, objects)
		}
	}
	for _, n := range out.Names {
		if len(n) != 1 || n < "A" || n > "G" {
			t.Errorf("found the name %q, expected one of the tasks A to G", n)
		}
	}
	// task A of object 0 holds CPU at 1 ms
	if id := slices.IndexFunc(out.Details.Attributes, func(a []string) bool { return a[0] == "id" }); id < 0 ||
		out.Details.Attributes[id][1] != "0" || out.Details.Title != "A" {
		t.Errorf("found %+v, expected the name A and the id 0", out.Details)
	}
	if fmt.Sprint(out.Again) != fmt.Sprint(out.After) && out.Again.Pixels != out.After.Pixels {
		t.Error("the link shows something else")
	}
	if o := out.Only; !out.OnlyLink || !out.All || o.Pixels == out.Back.Pixels {
		t.Errorf("%s: found other pixels %t, the same in a link %t and all spans again %t, expected true for each",
			o.Ids, o.Pixels != out.Back.Pixels, out.OnlyLink, out.All)
	}
	values := map[string]bool{"by u32": true, "(no u32)": true}
	for _, m := range regexp.MustCompile(`\bu32=(\d+)`).FindAllSubmatch(runWeft(t, "print", attrs.path), -1) {
		values[string(m[1])] = true
	}
	seen := map[string]bool{}
	for _, r := range out.Calls.Rows {
		seen[r] = true
	}
	if !maps.Equal(seen, values) {
		t.Errorf("found the rows %v for calls, expected %v", seen, values)
	}
	out.Panels = append(out.Panels, out.Calls.Panels...)
	if len(out.Panels) > 0 {
		t.Errorf("found errors in panels: %q", out.Panels)
	}
	for _, r := range out.Filtered {
		if slices.Contains(objects, r) && !strings.Contains(r, "1") {
			t.Errorf("found the row %s, expected those with 1 alone", r)
		}
	}
	if out.Back.Pixels != out.Before.Pixels || sorted(out.Back.Rows) != sorted(out.Before.Rows) {
		t.Errorf("found the rows %q, expected those at first, %q", out.Back.Rows, out.Before.Rows)
	}
}
