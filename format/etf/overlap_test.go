package etf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/tracetest"
)

// TestPlaces compares places with a search of all claims.
func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var p places
	var list []*openClaim
	found := 0
	for i := range uint64(20_000) {
		less := 48 // in percent; from time to time, all claims end
		if i%2000 > 1500 {
			less = 95
		}
		if rng.IntN(100) < less && len(list) > 0 {
			k := rng.IntN(len(list))
			p.remove(list[k])
			list = slices.Delete(list, k, k+1)
			continue
		}
		h := &openClaim{number: i, offset: float64(rng.IntN(2000)) / 4, amount: float64(rng.IntN(8)) - 1}
		var want *openClaim
		n := 0
		for _, o := range list {
			if h.amount <= 0 || o.amount <= 0 || o.offset >= h.offset+h.amount || h.offset >= o.offset+o.amount {
				continue
			}
			if n++; want == nil || o.offset < want.offset || o.offset == want.offset && o.number < want.number {
				want = o
			}
		}
		if o, m := p.overlaps(h); o != want || m != n {
			t.Fatalf("step %d, %+v: found %+v and %d in all, expected %+v and %d", i, h, o, m, want, n)
		}
		found += min(n, 1)
		p.add(h)
		list = append(list, h)
	}
	if found < 1000 {
		t.Errorf("only %d overlaps", found)
	}
}

// TestOverlapsOfManyClaims checks that at most one defect is reported for each claim. The defect names one
// overlapping claim and the number of the others. A claim that ends when others begin, or that has no
// duration, overlaps with none.
func TestOverlapsOfManyClaims(t *testing.T) {
	var text strings.Builder
	text.WriteString("R 0 100 true ;\n")
	for i := range 5 { // all claims have the same position
		fmt.Fprintf(&text, "C %d %d 20 0 0 1 ;\n", i, i)
	}
	text.WriteString("C 5 4 30 0 90 5 ;\nC 6 20 30 0 0 1 ;\nC 7 25 25 0 0 1 ;\n")
	text.WriteString("C 8 26 30 0 0 90.5 ;\nC 9 27 28 0 60 1 ;\nC 10 28 29 0 60 0 ;\n")
	list := found(t, text.String(), "etf.offset-overlap")
	want := []string{
		"3: claim 1 at offset 0 with amount 1: a place that claim 0 (offset 0, amount 1) does not hold",
		"4: claim 2 at offset 0 with amount 1: a place that claim 0 (offset 0, amount 1) does not hold, nor another one",
		"5: claim 3 at offset 0 with amount 1: a place that claim 0 (offset 0, amount 1) does not hold, nor 2 others",
		"6: claim 4 at offset 0 with amount 1: a place that claim 0 (offset 0, amount 1) does not hold, nor 3 others",
		"10: claim 8 at offset 0 with amount 90.5: a place that claim 6 (offset 0, amount 1) does not hold, nor another one",
		"11: claim 9 at offset 60 with amount 1: a place that claim 8 (offset 0, amount 90.5) does not hold",
	}
	if !slices.Equal(list, want) {
		t.Errorf("found\n%s\nexpected\n%s", strings.Join(list, "\n"), strings.Join(want, "\n"))
	}
}

// TestOverloadIsExact checks that the amount in use has no rounding errors: ten times 0.1 does not exceed
// 1. A single claim beyond the capacity is another defect, and does not hide overloads after its end.
func TestOverloadIsExact(t *testing.T) {
	var text strings.Builder
	text.WriteString("R 0 1 false ;\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "C %d %d %d 0 0.1 ;\n", i, i, i+10)
	}
	text.WriteString("C 10000 20000 20001 0 1000000 ;\nC 10001 20002 20004 0 0.75 ;\nC 10002 20003 20004 0 0.5 ;\n")
	// A claim that alone exceeds the capacity is reported as too large, and no overload is reported while this
	// claim is open.
	text.WriteString("C 10003 30000 30009 0 5 ;\nC 10004 30001 30009 0 0.75 ;\nC 10005 30002 30009 0 0.5 ;\n")
	list := found(t, text.String(), "etf.overload")
	if want := []string{"10004: 1.25 of resource 0 held at 20003 s: at most its capacity 1"}; !slices.Equal(list, want) {
		t.Errorf("found %q, expected %q", list, want)
	}
	var x preciseSum
	for range 10 {
		x.add(0.1)
	}
	if x.sum != 1 {
		t.Errorf("found %v, expected 1", x.sum)
	}
}

// found returns the positions and texts of the defects of a rule in a text.
func found(t *testing.T, text, rule string) (list []string) {
	t.Helper()
	rep := format.NewReport()
	rep.Keep = 100
	if _, err := tracetest.Read(Format{}, "x.etf", []byte(text), &format.ReadOptions{Report: rep}); err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Rules() {
		for _, d := range r.First {
			if r.Rule == rule {
				list = append(list, fmt.Sprintf("%d: %s: %s", d.Position.Line, d.Found, d.Expected))
			}
		}
	}
	return list
}
