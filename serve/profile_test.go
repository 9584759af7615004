package serve

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestProfileOfMany: the profile of a window over many locations, however it is divided, and
// as json.Marshal writes it. The expected sums are those of the trace's making.
func TestProfileOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.otf2")
	r := trace.NewRecorder(trace.Seconds(1000))
	const locations = 300
	names := []string{"main", "a<\"&\u2028", "b", "c"}
	var regions []uint32
	for _, n := range names {
		regions = append(regions, r.Region(n))
	}
	// Location i is in main from 0 to 1000, and in region 1 + i mod 3 from 10 to 20+i.
	for i := range int64(locations) {
		l := r.Location(fmt.Sprint("rank ", i))
		r.Enter(l, 0, regions[0])
		r.Enter(l, 10, regions[1+i%3])
		r.Leave(l, 20+i, regions[1+i%3])
		r.Leave(l, 1000, regions[0])
	}
	save(t, path, r)
	s := viewing(t, options(t), path)
	api := ready(t, s, 0)
	// In the window from 5 to 100 there are 95 ticks of main and min(100, 20+i) - 10 others.
	inside := func(i int64) int64 { return min(100, 20+i) - 10 }
	sums := map[string][5]int64{}
	for i := range int64(locations) {
		for _, x := range []struct {
			name                 string
			inclusive, exclusive int64
		}{{names[0], 95, 95 - inside(i)}, {names[1+i%3], inside(i), inside(i)}} {
			o, ok := sums[x.name]
			if !ok {
				o[3] = x.inclusive
			}
			sums[x.name] = [5]int64{o[0] + 1, o[1] + x.inclusive, o[2] + x.exclusive, min(o[3], x.inclusive), max(o[4], x.inclusive)}
		}
	}
	for _, by := range []string{"region", "location", "group"} {
		w := ask(s, "GET", api+"/profile?from=5&to=100&by="+by)
		var a struct {
			From, To string
			Rows     []struct {
				Kind, Name           string
				Track, Group, Region int
				Count                int64
				Inclusive, Exclusive int64 `json:",string"`
				Min, Max, Mean       int64 `json:",string"`
			}
		}
		text := w.Body.Bytes()
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		if a.From != "5" || a.To != "100" {
			t.Errorf("by %s: found the window %s to %s", by, a.From, a.To)
		}
		got := map[string][5]int64{}
		seen := map[string]bool{}
		last := int64(1 << 62)
		for _, x := range a.Rows {
			o, ok := got[x.Name]
			if !ok {
				o[3] = x.Min
			}
			got[x.Name] = [5]int64{o[0] + x.Count, o[1] + x.Inclusive, o[2] + x.Exclusive, min(o[3], x.Min), max(o[4], x.Max)}
			key := fmt.Sprint(x.Track, x.Group, x.Name)
			if seen[key] || x.Exclusive > last || names[x.Region] != x.Name || x.Kind != "region" || x.Mean != x.Inclusive/x.Count || (x.Track < 0) != (by != "location") {
				t.Fatalf("by %s: found the row %+v behind %d", by, x, last)
			}
			seen[key], last = true, x.Exclusive
		}
		if fmt.Sprint(got) != fmt.Sprint(sums) {
			t.Errorf("by %s: found %v, want %v", by, got, sums)
		}
		if n := len(a.Rows); by == "location" && n != 2*locations || by == "region" && n != 4 {
			t.Errorf("by %s: found %d rows", by, n)
		}
	}
	a := profileAnswer{-1, 2, []profileRow{{visits, 1, -1, 2, "x<>&\"\\\u2028\x01\xff", 3, 4, 5, 6, 7, 8}, {claims, 1, -1, 2, "", 3, 4, 5, 6, 7, 8}}}
	want, err := json.Marshal(&a)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.appendJSON(nil); err != nil || string(got) != string(want) {
		t.Errorf("found %s, %v, want %s", got, err, want)
	}
}
