package causes_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// openMP writes the events of a process with threads of OpenMP.
type openMP struct {
	*trace.Recorder
	teams map[string]uint64
}

// newOpenMP returns a process with a number of threads.
func newOpenMP(threads int) *openMP {
	x := &openMP{trace.NewRecorder(trace.TicksPerSecond(1_000_000)), map[string]uint64{}}
	process := x.Process("p", x.Machine("m"))
	for i := range threads {
		x.Thread(fmt.Sprint("thread ", i), process)
	}
	return x
}

// team returns the communicator of a team.
func (x *openMP) team(members ...int64) uint64 {
	name := fmt.Sprint(members)
	if c, ok := x.teams[name]; ok {
		return c
	}
	d := x.Defs()
	set := d.Sets.Add(trace.Set{ID: fmt.Sprint(d.Sets.Len()), Name: name, Kind: "locations", Members: members,
		Attrs: []trace.Attr{{Key: "paradigm", Value: trace.StringValue("openmp")}}})
	x.teams[name] = uint64(d.Communicator.Add(trace.Communicator{ID: fmt.Sprint(d.Communicator.Len()), Name: name,
		Set: set, Parent: trace.NoRef}))
	return x.teams[name]
}

// region returns a region of OpenMP with a role.
func (x *openMP) region(name, role string) uint32 {
	i := x.Region(name)
	r := x.Defs().Regions.At(i)
	r.Group, r.Role = "OPENMP", role
	return i
}

func (x *openMP) work(thread uint32, enter, leave int64) {
	x.Enter(thread, enter, x.Region("work"))
	x.Leave(thread, leave, x.Region("work"))
}

func (x *openMP) barrier(thread uint32, enter, leave int64) {
	x.Enter(thread, enter, x.region("barrier", "barrier"))
	x.Leave(thread, leave, x.region("barrier", "barrier"))
}

// fork and join start and end a team of a thread.
func (x *openMP) fork(thread uint32, at int64, threads uint64) {
	x.Event(thread, at, trace.ThreadFork, trace.NoRef, []uint64{threads, 3})
}

func (x *openMP) join(thread uint32, at int64) {
	x.Event(thread, at, trace.ThreadJoin, trace.NoRef, []uint64{3})
}

// begin and end are the begin and end of a thread's work in a team.
func (x *openMP) begin(thread uint32, at int64, team uint64) {
	x.Event(thread, at, trace.ThreadTeamBegin, trace.NoRef, []uint64{team})
	x.Enter(thread, at, x.region("parallel", "parallel"))
}

func (x *openMP) end(thread uint32, at int64, team uint64) {
	x.Leave(thread, at, x.region("parallel", "parallel"))
	x.Event(thread, at, trace.ThreadTeamEnd, trace.NoRef, []uint64{team})
}

// expectIdle compares idle times with the expected ones, by path.
func (x *openMP) expectIdle(t *testing.T, alone, limited map[string]int64) {
	t.Helper()
	r, err := causes.Find(t.Context(), format.Recorded(x.Recorder), causes.Options{Rows: trace.NewRows(x.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		list     []causes.IdleTime
		expected map[string]int64
	}{{"idle threads", r.IdleThreads, alone}, {"limited parallelism", r.LimitedParallelism, limited}} {
		found := map[string]int64{}
		for _, i := range c.list {
			if i.Location != 0 {
				t.Errorf("%s: found a time at location %d", c.name, i.Location)
			}
			found[fmt.Sprint(i.Path)] = i.Time.Int64()
		}
		if !maps.Equal(found, c.expected) {
			t.Errorf("%s: found %v, expected %v", c.name, found, c.expected)
		}
	}
}

// TestLimitedParallelism checks a process of 4 threads, whose first team has 2 of them and whose second team has all.
// By hand: thread 0 works in the first team from the fork at 100 to the end of its last barrier at 310: 10 in parallel,
// 130 in work, and 60 + 10 in barriers, of which it waits for 50. 2 threads are idle meanwhile. It works alone until
// 100, from 310 to 400 and from 520 to 600: 100 + 70 in work, 20 + 20 in parallel, and 60 in main. 3 threads are idle
// meanwhile.
func TestLimitedParallelism(t *testing.T) {
	x := newOpenMP(4)
	x.Enter(0, 0, x.Region("main"))
	x.work(0, 0, 100)
	x.fork(0, 100, 2)
	pair, all := x.team(0, 1), x.team(0, 1, 2, 3)
	x.begin(0, 105, pair)
	x.begin(1, 110, pair)
	x.work(0, 110, 200)
	x.barrier(0, 200, 260)
	x.work(0, 260, 300)
	x.work(1, 110, 250)
	x.barrier(1, 250, 260)
	x.work(1, 260, 290)
	x.barrier(0, 300, 310)
	x.barrier(1, 290, 310)
	x.end(1, 320, pair)
	x.end(0, 325, pair)
	x.join(0, 330)
	x.work(0, 330, 400)
	x.fork(0, 400, 4)
	for i := range uint32(4) {
		x.begin(i, 405, all)
		x.work(i, 410, 500)
		x.barrier(i, 500, 520)
		x.end(i, 530, all)
	}
	x.join(0, 540)
	x.Leave(0, 600, x.Region("main"))
	x.expectIdle(t, map[string]int64{"[main work]": 3 * 170, "[main parallel]": 3 * 40, "[main]": 3 * 60},
		map[string]int64{"[main parallel]": 2 * 10, "[main parallel work]": 2 * 130, "[main parallel barrier]": 2 * 20})
}

// TestNestedLimitedParallelism checks nested parallel regions of a process of 4 threads. By hand: thread 0 starts
// thread 1 at 10, and then thread 2 at 30 and at 70. 2 threads are idle from 10 to 30 and from 50, when the first inner
// barrier ends, to 70, and from 90 to 110, when the outer barrier ends. 1 thread is idle from 30 to 50 and from 70 to
// 90. 3 threads are idle before 10 and after 110.
func TestNestedLimitedParallelism(t *testing.T) {
	x := newOpenMP(4)
	x.Enter(0, 0, x.Region("main"))
	outer, inner := x.team(0, 1), x.team(0, 2)
	x.fork(0, 10, 2)
	x.begin(0, 10, outer)
	x.begin(1, 10, outer)
	for _, at := range []int64{30, 70} {
		x.fork(0, at, 2)
		for _, i := range []uint32{0, 2} {
			x.begin(i, at, inner)
			x.barrier(i, at+10, at+20)
			x.end(i, at+20, inner)
		}
		x.join(0, at+20)
	}
	for _, i := range []uint32{0, 1} {
		x.barrier(i, 100, 110)
		x.end(i, 110, outer)
	}
	x.join(0, 110)
	x.Leave(0, 200, x.Region("main"))
	x.expectIdle(t, map[string]int64{"[main]": 3 * (10 + 90)}, map[string]int64{
		"[main parallel]": 2 * (20 + 20 + 10), "[main parallel barrier]": 2 * 10,
		"[main parallel parallel]": 10 + 10, "[main parallel parallel barrier]": 10 + 10})
}

// TestTeamOfOne checks a parallel region that thread 0 executes alone, from 10 to the end of its barrier at 30, and a
// region in which thread 1 starts a team of its own: the threads that work then are not known.
func TestTeamOfOne(t *testing.T) {
	x := newOpenMP(4)
	x.Enter(0, 0, x.Region("main"))
	single, pair, inner := x.team(0), x.team(0, 1), x.team(1, 2)
	x.fork(0, 10, 1)
	x.begin(0, 10, single)
	x.barrier(0, 25, 30)
	x.end(0, 30, single)
	x.join(0, 30)
	x.fork(0, 40, 2)
	x.begin(0, 40, pair)
	x.begin(1, 40, pair)
	x.fork(1, 50, 2)
	for _, i := range []uint32{1, 2} {
		x.begin(i, 50, inner)
		x.barrier(i, 60, 70)
		x.end(i, 70, inner)
	}
	x.join(1, 70)
	for _, i := range []uint32{0, 1} {
		x.barrier(i, 80, 80)
		x.end(i, 80, pair)
	}
	x.join(0, 80)
	x.Leave(0, 100, x.Region("main"))
	x.expectIdle(t, map[string]int64{"[main]": 3 * (10 + 10 + 20)},
		map[string]int64{"[main parallel]": 3 * 15, "[main parallel barrier]": 3 * 5})
}
