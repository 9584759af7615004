package serve

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestSumsBeyond64Bits checks sums above 2⁶³. Each of three locations is in main, and inside of it
// in sub, for 4·10¹⁸ ns, which adds up to 1.2·10¹⁹ ns. Three claims hold a resource for the same
// time.
func TestSumsBeyond64Bits(t *testing.T) {
	const long, all = int64(4e18), "12000000000000000000"
	calls, claims := filepath.Join(t.TempDir(), "calls.otf2"), filepath.Join(t.TempDir(), "claims.etf")
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	main, sub := r.Region("main"), r.Region("sub")
	for _, name := range []string{"a", "b", "c"} {
		l := r.Location(name)
		r.Enter(l, 0, main)
		r.Enter(l, 0, sub)
		r.Leave(l, long, sub)
		r.Leave(l, long, main)
	}
	for i := range uint32(3) {
		r.Send(1, 0, 0, int64(i), 1)
		r.Recv(0, long, 1, int64(i), 1)
	}
	save(t, calls, r)
	r = trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	cpu, work := r.Resource("cpu", 3, ""), r.Region("work")
	for range 3 {
		r.Release(r.Claim(cpu, 0, work, 1), long)
	}
	save(t, claims, r)
	s := newTestServer(t, options(t), calls, claims)
	first, second := waitReady(t, s, 0), waitReady(t, s, 1)
	for _, x := range []struct{ target, path, want string }{
		{first + "/profile", "rows/0/inclusive", all},
		{first + "/profile", "rows/0/exclusive", all},
		{first + "/profile", "rows/0/sum", all},
		{first + "/profile", "rows/0/mean", "4000000000000000000"},
		{first + "/profile", "rows/1/inclusive", all},
		{first + "/profile?tracks=0-2&from=0&to=4000000000000000000", "rows/0/exclusive", all},
		{first + "/profile?by=group", "rows/0/exclusive", all},
		{first + "/profile?by=location&limit=1", "left/exclusive", "8000000000000000000"},
		{first + "/profile?limit=1", "rows/0/exclusive", all},
		{first + "/calltree", "roots/0/inclusive", all},
		{first + "/calltree", "roots/0/children/0/exclusive", all},
		{first + "/calltree?limit=1", "left/exclusive", all},
		{first + "/states", "busy", all},
		{first + "/matrix", "rows/0/sum", all},
		{first + "/matrix", "rows/0/mean", "4000000000000000000"},
		{second + "/profile", "rows/0/exclusive", all},
		{second + "/profile", "rows/0/sum", all},
		{second + "/profile?by=location&from=0&to=4000000000000000000", "rows/0/exclusive", all},
		{second + "/locations", "rows/0/exclusive/0/ticks", all},
		{second + "/locations", "rows/0/busy", "4000000000000000000"},
	} {
		if v := get(t, s, x.target); fmt.Sprint(look(v, x.path)) != x.want {
			t.Errorf("%s %s: found %v, expected %s, in %v", x.target, x.path, look(v, x.path), x.want, v)
		}
	}
}
