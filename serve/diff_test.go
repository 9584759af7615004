package serve

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// writeProgram writes a trace of four locations. Each location calls main for 1000 ticks, and inside of main
// it calls a region for the given ticks.
func writeProgram(t *testing.T, path, region string, ticks int64) {
	t.Helper()
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	outer, inner := r.Region("main"), r.Region(region)
	for i := range 4 {
		loc := r.Location(fmt.Sprint("p", i))
		r.Enter(loc, 0, outer)
		r.Enter(loc, 100, inner)
		r.Leave(loc, 100+ticks, inner)
		r.Leave(loc, 1000, outer)
	}
	save(t, path, r)
}

// TestDiff checks the differences between two programs, between two windows of a program, and with a trace
// without calls.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name+".otf2") }
	writeProgram(t, file("one"), "solve", 400)
	writeProgram(t, file("two"), "solve", 500)
	writeProgram(t, file("three"), "other", 10)
	writeOrders(t, file("claims"), "ABC")
	empty := trace.NewRecorder(trace.TicksPerSecond(1000))
	empty.Value(empty.Location("p"), 5, empty.Counter("c", ""), 1)
	save(t, file("empty"), empty)
	s := newTestServer(t, options(t), file("one"), file("two"), file("three"), file("claims"), file("empty"))
	var api, id []string
	for i := range 5 {
		api, id = append(api, waitReady(t, s, i)), append(id, s.traceAt(t, i).id)
	}
	const windows = "/diff?referenceFrom=200&referenceTo=400&from=400&to=600&reference="
	for _, c := range []struct{ target, path, want string }{
		// At 4 locations, solve takes 400 ticks in one program and 500 in the other, and main takes 600 and
		// 500 ticks. All values of a program are equal. Therefore U = 16, which is significant
		// (docs/analyses/diff.md).
		{api[1] + "/diff?reference=" + id[0], "regions/0/region", "solve"},
		{api[1] + "/diff?reference=" + id[0], "regions/0/kind", "regression"},
		{api[1] + "/diff?reference=" + id[0], "regions/0/exclusive/difference", "400"},
		{api[1] + "/diff?reference=" + id[0], "regions/0/exclusive/ratio", "1.25"},
		{api[1] + "/diff?reference=" + id[0], "regions/0/test/u", "16"},
		{api[1] + "/diff?reference=" + id[0], "regions/0/test/significant", "true"},
		{api[1] + "/diff?reference=" + id[0], "regions/1/exclusive/difference", "-400"},
		{api[1] + "/diff?reference=" + id[0], "paths/0/subtree/a", "4000"},
		{api[1] + "/diff?reference=" + id[0], "paths/1/parent", "0"},
		{api[1] + "/diff?reference=" + id[0], "runtime/difference", "0"},
		{api[1] + "/diff?metric=inclusive&reference=" + id[0], "regions/1/reported", "false"},
		{api[1] + "/diff?least=20&reference=" + id[0], "regions/0/reported", "false"},
		{api[2] + "/diff?reference=" + id[0], "paths/1/kind", "removed"},
		{api[2] + "/diff?reference=" + id[0], "paths/1/parent", "0"},
		{api[2] + "/diff?reference=" + id[0], "paths/2/kind", "added"},
		{api[2] + "/diff?limit=1&reference=" + id[0], "left/reportedPaths", "2"},
		// solve lasts from 100 to 500. It takes all 200 ticks of the window from 200 on, and 100 ticks of the
		// window from 400 on.
		{api[0] + windows + id[0], "regions/0/region", "main"},
		{api[0] + windows + id[0], "regions/0/exclusive/b", "400"},
		{api[0] + windows + id[0], "regions/1/inclusive/a", "800"},
		{api[0] + windows + id[0], "regions/1/inclusive/b", "400"},
		{api[3] + "/diff?reference=" + id[3], "regions/0/region", "A (claims)"},
		{api[4] + "/diff?reference=" + id[0], "missing", "found no calls of regions and no claims in B, empty.otf2"},
		{api[0] + "/diff?reference=" + id[4], "missing", "found no calls of regions and no claims in A, empty.otf2"},
	} {
		v := get(t, s, c.target)
		checkAnswer(t, s, "Diff", v)
		if got := fmt.Sprint(look(v, c.path)); got != c.want {
			t.Errorf("%s %s: found %s, expected %s", c.target, c.path, got, c.want)
		}
	}
}
