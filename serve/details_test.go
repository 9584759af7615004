package serve

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// attributesOf returns the attributes of an answer by name.
func attributesOf(v any) map[string]string {
	out := map[string]string{}
	l, _ := look(v, "attributes").([]any)
	for _, a := range l {
		out[look(a, "name").(string)] = look(a, "value").(string)
	}
	return out
}

// TestClaimsOfFile compares the details of spans with the lines of a TRACE file that describe
// claims and dependencies.
func TestClaimsOfFile(t *testing.T) {
	const path = "../examples/odse.etf"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	tracks := map[string]int{}
	depths := map[string]int{}
	for i, x := range get(t, s, api)["tracks"].([]any) {
		if look(x, "kind") == "resource" {
			id := look(x, "id").(string)
			tracks[id] = i
			n := 0
			fmt.Sscan(fmt.Sprint(look(x, "depth")), &n)
			depths[id] = n
		}
	}
	claims, dependencies, described := 0, map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		facts, attributes, _ := strings.Cut(strings.TrimSpace(line), " ; ")
		f := strings.Fields(facts)
		if f[0] == "D" {
			dependencies[f[1]] = true
		}
		if f[0] != "C" {
			continue
		}
		claims++
		want := map[string]string{}
		for _, a := range strings.Split(attributes, ", ") {
			k, v, _ := strings.Cut(a, "=")
			want[k] = v
		}
		// A tick is 1 µs, but times in the file are in ms.
		var start, end float64
		fmt.Sscan(f[2]+" "+f[3], &start, &end)
		from, to := int64(start*1000+0.5), int64(end*1000+0.5)
		found := false
		for d := range depths[f[4]] {
			w := ask(s, "GET", fmt.Sprintf("%s/span?track=%d&depth=%d&time=%d", api, tracks[f[4]], d, from))
			if w.Code != 200 {
				continue
			}
			v := decoded(t, w)
			got := attributesOf(v)
			if look(v, "span/start") != fmt.Sprint(from) || look(v, "span/end") != fmt.Sprint(to) || got["id"] != want["id"] ||
				look(v, "span/name") != want["name"] {
				continue
			}
			found = true
			if a := got["amount"]; a != f[len(f)-1] && !strings.HasPrefix(a, f[len(f)-1]+" ") {
				t.Errorf("%s: found the amount %q", line, a)
			}
			for _, l := range v["links"].([]any) {
				if a := attributesOf(l)["type"]; a == "application" {
					described[look(l, "tag").(string)] = true
				}
			}
		}
		if !found {
			t.Errorf("found nothing of the line %s", line)
		}
	}
	if claims != 198 {
		t.Errorf("found %d claims in the file, want 198", claims)
	}
	if len(dependencies) != 96 || !maps.Equal(described, dependencies) {
		t.Errorf("found the attributes of %d dependencies, want those of the file's %d", len(described), len(dependencies))
	}
}

// TestSimultaneousBegins checks that claims or visits that begin at the same time each have their
// own attributes.
func TestSimultaneousBegins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alike.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(10))
	disk, tape := r.Resource("disk", 4, "heads"), r.Resource("tape", 4, "heads")
	read := r.Region("read")
	loc := r.Location("p")
	number := func(n int64) trace.Attr { return trace.Attr{Key: "n", Value: trace.IntValue(n)} }
	var ids []int64
	ids = append(ids, r.Claim(tape, 5, read, 1, number(0)))
	for n := range int64(4) {
		ids = append(ids, r.Claim(disk, 5, read, 1, number(n+1)))
	}
	for n := range int64(3) {
		r.Enter(loc, 6, read, number(n+10))
	}
	r.Release(ids[1], 20)
	r.Release(ids[3], 20)
	r.Release(ids[2], 30)
	r.Release(ids[0], 40)
	for range 3 {
		r.Leave(loc, 41, read)
	}
	r.Mark(loc, 50, read)
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for i, x := range get(t, s, api)["tracks"].([]any) {
		want := []string{"0 false"} // attributes of the claims of the tape
		switch {
		case look(x, "kind") == "location" && fmt.Sprint(look(x, "spans")) == "3":
			want = []string{"10 false", "11 false", "12 false"}
		case look(x, "name") == "disk":
			want = []string{"1 false", "2 false", "3 false", "4 true"}
		case look(x, "kind") != "resource":
			continue
		}
		for d, w := range want {
			v := get(t, s, fmt.Sprintf("%s/span?track=%d&depth=%d&time=3", api, i, d))
			if got := fmt.Sprint(attributesOf(v)["n"], " ", look(v, "span/open")); got != w {
				t.Errorf("%v, depth %d: found number and open %s, want %s", look(x, "name"), d, got, w)
			}
		}
	}
}

// TestAttributesFromTheMiddle checks that attributes of a late claim are found even if the server reads the
// file from the middle. In that case, the decoder has not seen the definitions of the first names.
func TestAttributesFromTheMiddle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "late.etf")
	var text strings.Builder
	text.WriteString("TU MICROSECONDS\nR 0 8 jobs false ; name=machine\n")
	claims := 200_000
	if effort.Race {
		claims = 40_000
	}
	for i := range claims {
		fmt.Fprintf(&text, "C %d %d %d 0 1 0 ; name=%c, id=%d\n", i, 10*i, 10*i+8, 'Z'-rune(min(i, 9)), i)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := options(t)
	waitReady(t, newTestServer(t, opt, path), 0)
	s := newTestServer(t, opt, path)
	api := waitReady(t, s, 0)
	for _, i := range []int{claims - 5, claims / 2, 3} {
		v := get(t, s, fmt.Sprintf("%s/span?track=0&depth=0&time=%d", api, 10*i))
		if got := attributesOf(v); got["id"] != fmt.Sprint(i) || got["name"] != look(v, "span/name") {
			t.Errorf("claim %d: found %v", i, got)
		}
	}
}

// TestOpen checks that a visit counts as open if its location ends before the visit is left. A
// nested visit of the same region may be left at that time.
func TestOpen(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	a, b := r.Region("a"), r.Region("b")
	p := r.Location("p")
	r.Enter(p, 0, a) // never left
	r.Enter(p, 1, a) // left
	r.Enter(p, 2, b) // never left
	r.Enter(p, 3, a) // left
	r.Enter(p, 9, a) // left immediately
	r.Leave(p, 9, a)
	r.Leave(p, 9, a)
	r.Leave(p, 9, a)
	path := filepath.Join(t.TempDir(), "open.trf")
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for depth, want := range []bool{true, false, true, false} {
		if got := look(get(t, s, fmt.Sprintf("%s/span?track=0&depth=%d&time=4", api, depth)), "span/open"); got != want {
			t.Errorf("depth %d: found open %v, expected %v", depth, got, want)
		}
	}
	if got := look(get(t, s, api+"/span?track=0&depth=4&time=9"), "span/open"); got != false {
		t.Errorf("without length: found open %v", got)
	}
}
