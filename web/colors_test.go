package web_test

import (
	"slices"
	"testing"
)

// TestColors checks that an attribute can be chosen for colours, that its values are those that the
// command line prints, and that a link shows the same.
func TestColors(t *testing.T) {
	needBrowser(t)
	type sight struct {
		Chosen, Pixels string
		Legend         []string
		View           struct{ From, To string }
	}
	var out []struct {
		Name                          string
		Options, Errors               []string
		Region, Attribute, Link, Back sight
	}
	traces := []struct{ name, trace, attribute string }{
		{"colors-etf", "odse", "id"},
		{"colors-pallas", "attrs", "u32"},
	}
	var list []map[string]any
	for _, c := range traces {
		list = append(list, map[string]any{"name": c.name, "url": servedTrace(t, c.trace).url, "attribute": c.attribute})
	}
	runScript(t, "colors", map[string]any{"traces": list}, &out)
	for i, s := range out {
		t.Run(s.Name, func(t *testing.T) {
			for _, e := range s.Errors {
				t.Error(e)
			}
			c := traces[i]
			if !slices.Contains(s.Options, c.attribute) {
				t.Errorf("the menu has %q, expected %s", s.Options, c.attribute)
			}
			values := map[string]bool{}
			for _, sp := range readTrace(t, servedTrace(t, c.trace).path).spans {
				if v, ok := sp.attributes[c.attribute]; ok {
					values[v] = true
				}
			}
			if len(s.Attribute.Legend) == 0 {
				t.Error("found no values in the legend")
			}
			for _, v := range s.Attribute.Legend {
				if !values[v] {
					t.Errorf("found the value %q, expected one of %v", v, values)
				}
			}
			if s.Attribute.Chosen != "="+c.attribute || s.Region.Chosen != "region" {
				t.Errorf("found %q chosen, and %q before", s.Attribute.Chosen, s.Region.Chosen)
			}
			if s.Attribute.View != s.Region.View {
				t.Errorf("found the view %v, expected %v as before", s.Attribute.View, s.Region.View)
			}
			if s.Attribute.Pixels == s.Region.Pixels {
				t.Error("the colours did not change")
			}
			if s.Link.Pixels != s.Attribute.Pixels || s.Link.Chosen != s.Attribute.Chosen {
				t.Error("the link shows something else")
			}
			if s.Back.Pixels != s.Region.Pixels {
				t.Error("by region again: found other pixels than before")
			}
		})
	}
}
