package web_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAccess goes through the page with the keyboard and with axe, which checks the needs of screen
// readers. Everything must be reachable, have a name, and be inside a landmark.
func TestAccess(t *testing.T) {
	needBrowser(t)
	type stop struct {
		Name, Role string
		Region     int
		Seen       bool
	}
	var out struct {
		Violations []struct {
			State, Rule, Impact, Help string
			Nodes                     []string
		}
		Stops []stop
		Acts  struct {
			Selected, Live, Title string
			Dropped               *string
			Tab                   struct {
				Selected string
				Panel    bool
			}
			SearchClosed, Dialogs int
			AfterMenu, AfterHelp  string
			InMenu, AfterRowMenu  bool
		}
		Outside []string
		Errors  []string
	}
	heat := servedTrace(t, "heat")
	list, _, _ := strings.Cut(heat.url, "#")
	report := filepath.Join(t.TempDir(), "report.html")
	runWeft(t, "report", "-o", report, heat.path)
	runScript(t, "access", map[string]any{"url": heat.url, "folder": list, "search": "MPI",
		"small":  servedTrace(t, "odse").url + "," + servedTrace(t, "before").id,
		"long":   servedTrace(t, "long-names").url,
		"report": "file:///" + strings.TrimPrefix(filepath.ToSlash(report), "/")}, &out)
	for _, x := range out.Outside {
		t.Errorf("on a small screen, %s is outside of the panel or window", x)
	}
	for _, e := range out.Errors {
		t.Error(e)
	}
	for _, v := range out.Violations {
		t.Errorf("%s: %s (%s): %s\n\t%s", v.State, v.Rule, v.Impact, v.Help, strings.Join(v.Nodes, "\n\t"))
	}
	var names []string
	last := 0
	for _, s := range out.Stops {
		names = append(names, s.Name)
		if !s.Seen {
			t.Errorf("nobody sees that %s %q has the keyboard", s.Role, s.Name)
		}
		if s.Region < last {
			t.Errorf("%s %q comes after part %d of the page, expected it in the order of the page", s.Role, s.Name, last)
		}
		last = max(last, s.Region)
	}
	for _, want := range []string{"Links", "Range", "Measure", "Colours by", "Picture or table", "Light or dark",
		"Keys and mouse", "Show only rows", "Order of rows", "Window within", "Levels of nesting", "Height of rows",
		"Time line of", "Width of the names", "Height of the tables", "Profile"} {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("Tab does not lead to %q: found %q", want, names)
		}
	}
	a := &out.Acts
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"Enter on the time line tells", strings.HasPrefix(a.Selected, "selected "+a.Title+", "), true},
		{"the status line is live", a.Live, "polite"},
		{"Escape drops the selection", a.Dropped == nil, true},
		{"an arrow key selects the next tab", a.Tab.Selected, "true"},
		{"the panel is that of the tab", a.Tab.Panel, true},
		{"Escape closes the search", a.SearchClosed, 0},
		{"the menu has the keyboard", a.InMenu, true},
		{"Escape gives it back", a.AfterMenu, "Export: Picture or table as a file"},
		{"Escape gives it back to the row", a.AfterRowMenu, true},
		{"Escape closes the help", a.Dialogs, 0},
		{"and gives the keyboard back", a.AfterHelp, "Keys and mouse (?)"},
	} {
		if x.got != x.want {
			t.Errorf("%s: found %v, expected %v (%s)", x.what, x.got, x.want, fmt.Sprintf("%+v", *a))
		}
	}
}
