package efficiency_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// operations returns a random run of ranks that compute and take part in all-reduce operations and barriers. With
// regions, each operation lies in a call of MPI with the same begin and end.
func operations(seed uint64, regions bool) *trace.Recorder {
	random := rand.New(rand.NewPCG(seed, 1))
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine := r.Machine("node")
	ranks := make([]uint32, 2+random.IntN(4))
	set := trace.Set{ID: "0", Kind: "locations"}
	now := make([]int64, len(ranks))
	for i := range ranks {
		name := string(rune('a' + i))
		ranks[i] = r.Thread(name, r.Process(name, machine))
		set.Members = append(set.Members, int64(i))
		now[i] = random.Int64N(50)
		r.Enter(ranks[i], now[i], r.Region("main"))
	}
	d := r.Defs()
	world := uint64(d.Communicator.Add(trace.Communicator{ID: "0", Name: "world", Set: d.Sets.Add(set)}))
	for range 20 {
		name, call := "barrier", r.Region("MPI_Barrier")
		if random.IntN(2) == 0 {
			name, call = "allreduce", r.Region("MPI_Allreduce")
		}
		number, ok := trace.OperationNumber(name)
		if !ok {
			panic(name)
		}
		all := int64(0)
		for i, rank := range ranks {
			r.Enter(rank, now[i], r.Region("work"))
			now[i] += 1 + random.Int64N(100)
			r.Leave(rank, now[i], r.Region("work"))
			now[i] += random.Int64N(10)
			all = max(all, now[i])
		}
		for i, rank := range ranks {
			if regions {
				r.Enter(rank, now[i], call)
			}
			r.Event(rank, now[i], trace.CollectiveBegin, trace.NoRef, nil)
			now[i] = all + random.Int64N(20) + 1
			r.Event(rank, now[i], trace.CollectiveEnd, trace.NoRef, []uint64{number, world, trace.Undefined, 8, 8,
				trace.Undefined})
			if regions {
				r.Leave(rank, now[i], call)
			}
		}
	}
	for i, rank := range ranks {
		r.Leave(rank, now[i]+random.Int64N(50), r.Region("main"))
	}
	return r
}

// TestOperationsOutsideOfCalls checks that the regions around collective operations do not matter: their time is time
// in MPI in either case.
func TestOperationsOutsideOfCalls(t *testing.T) {
	for seed := range uint64(200) {
		var found [2]*efficiency.Result
		for i, regions := range []bool{true, false} {
			r := operations(seed, regions)
			x, ok, err := efficiency.Find(t.Context(), format.Recorded(r), efficiency.Options{Rows: trace.NewRows(r.Defs())})
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			found[i] = x
		}
		if !reflect.DeepEqual(found[0], found[1]) {
			t.Fatalf("seed %d: found %+v with calls of MPI, and %+v without", seed, found[0], found[1])
		}
		if f := found[0].Factors; f.Communication >= 1 || f.Parallel <= 0 {
			t.Fatalf("seed %d: found %+v, expected time outside of useful time", seed, f)
		}
	}
}

// counted returns a run of ranks that compute four times for work ticks and 10 more for each rank before, and then meet
// in barriers until the next multiple of 500. While they compute, they have the given numbers of cycles per tick and of
// instructions per cycle. In barriers, they have 1000 cycles per tick.
func counted(ranks int, work, cycles, instructions int64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	machine, d := r.Machine("node"), r.Defs()
	var counters [2]uint32
	for i, name := range []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"} {
		counters[i] = d.Metrics.Add(trace.MetricDef{ID: name, Name: name, Mode: "ACCUMULATED_START", Type: trace.Uint64,
			Location: trace.NoRef})
	}
	for i := range int64(ranks) {
		name := string(rune('a' + i))
		rank, total := r.Thread(name, r.Process(name, machine)), [2]int64{77, 1000}
		values := func(t int64) {
			for k, counter := range counters {
				r.Event(rank, t, trace.Metric, counter, []uint64{uint64(total[k])})
			}
		}
		for k := range int64(4) {
			values(500 * k)
			r.Enter(rank, 500*k, r.Region("work"))
			end := 500*k + work + 10*i
			total[0] += (end - 500*k) * cycles * instructions
			total[1] += (end - 500*k) * cycles
			values(end)
			r.Leave(rank, end, r.Region("work"))
			r.Enter(rank, end, r.Region("MPI_Barrier"))
			total[0], total[1] = total[0]+500, total[1]+1000*(500*(k+1)-end)
			values(500 * (k + 1))
			r.Leave(rank, 500*(k+1), r.Region("MPI_Barrier"))
		}
	}
	return r
}

// TestCounterScaling checks the factors of the example in docs/analyses/efficiency.md: 4 · (200 + 210) = 1640 ticks of
// useful time with 3 cycles per tick and 2 instructions per cycle, and 4 · (4 · 110 + 60) = 2000 ticks with 2 and 1.
func TestCounterScaling(t *testing.T) {
	var runs [2]*efficiency.Result
	for i, r := range []*trace.Recorder{counted(2, 200, 3, 2), counted(4, 110, 2, 1)} {
		x, ok, err := efficiency.Find(t.Context(), format.Recorded(r), efficiency.Options{Rows: trace.NewRows(r.Defs())})
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		runs[i] = x
	}
	if c := runs[0].Counters; c == nil || c.Instructions != 9840 || c.Cycles != 4920 {
		t.Errorf("found %+v in the first run, expected 9840 instructions and 4920 cycles", c)
	}
	for _, weak := range []bool{false, true} {
		s := efficiency.Scale(runs[0], runs[1], weak)
		if s.Counters == nil {
			t.Fatal("found no factors of counters")
		}
		expected := efficiency.CounterScaling{Instructions: 2.46, IPC: 1.0 / 2, Frequency: 2.0 / 3}
		if weak {
			expected.Instructions *= 2
		}
		c := *s.Counters
		for _, x := range [][2]float64{{c.Instructions, expected.Instructions}, {c.IPC, expected.IPC},
			{c.Frequency, expected.Frequency}, {c.Instructions * c.IPC * c.Frequency, s.Computation}} {
			if math.Abs(x[0]-x[1]) > 1e-12 {
				t.Errorf("weak %t: found %+v, expected %+v", weak, c, expected)
			}
		}
	}
}

// TestSleepingThreads checks that a thread is not useful after it has left a team in which another thread has let it
// work, also if a region is open around its whole life, as EZTrace records it for programs of libgomp. Thread 1 works
// from 10 to 40 and from 150 to 170, and thread 0 all of the time, from 0 to 200: 250 of 2 · 200. Thread 0 has started
// both teams, and its work between them counts.
func TestSleepingThreads(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	first, second := r.Thread("0", process), r.Thread("1", process)
	parallel, working := r.Region("OpenMP Parallel"), r.Region("Working")
	const openMP = 3
	team := func(thread uint32, begin, end int64) {
		r.Event(thread, begin, trace.ThreadTeamBegin, trace.NoRef, []uint64{0})
		r.Enter(thread, begin, parallel)
		r.Event(thread, end, trace.ThreadTeamEnd, trace.NoRef, []uint64{0})
		r.Leave(thread, end, parallel)
	}
	r.Enter(first, 0, working)
	r.Enter(second, 10, working)
	for _, x := range [][3]int64{{10, 100, 40}, {150, 160, 170}} {
		r.Event(first, x[0], trace.ThreadFork, trace.NoRef, []uint64{2, openMP})
		team(first, x[0], x[1])
		team(second, x[0], x[2])
		r.Event(first, max(x[1], x[2]), trace.ThreadJoin, trace.NoRef, []uint64{openMP})
	}
	r.Leave(first, 200, working)
	r.Leave(second, 200, working)
	x, ok, err := efficiency.Find(t.Context(), format.Recorded(r), efficiency.Options{Rows: trace.NewRows(r.Defs())})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if x.Useful.Int64() != 250 || x.UsefulMax != 200 {
		t.Errorf("found useful times of %v, at most %d, expected 250, at most 200", x.Useful, x.UsefulMax)
	}
}

// TestTasks checks that the work of tasks is useful, but not their creation, nor waiting for them. Thread 0 is in main
// until 20 and from 402 to 420, in the parallel region itself for 10 + 5 + 2, computes for 70, creates two tasks in 20,
// and executes one of them, which takes 100, while it waits for tasks: 38 + 17 + 70 + 100 useful ticks. Thread 1 is
// in the parallel region itself for 10 + 2, and executes the other task in the barrier: 12 + 200.
func TestTasks(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	process := r.Process("p", r.Machine("m"))
	visit := func(loc uint32, name string, begin, end int64, inside ...func()) {
		r.Enter(loc, begin, r.Region(name))
		for _, f := range inside {
			f()
		}
		r.Leave(loc, end, r.Region(name))
	}
	first, second := r.Thread("0", process), r.Thread("1", process)
	const parallel, barrier = "!$omp parallel @a.c:1", "!$omp implicit barrier @a.c:2"
	visit(first, "main", 0, 420, func() {
		visit(first, parallel, 20, 402, func() {
			visit(first, "work", 30, 100)
			visit(first, "!$omp create task @a.c:3", 100, 110)
			visit(first, "!$omp create task @a.c:3", 110, 120)
			visit(first, "!$omp taskwait @a.c:5", 120, 340, func() { visit(first, "!$omp task @a.c:3", 125, 225) })
			visit(first, barrier, 345, 400)
		})
	})
	visit(second, parallel, 20, 402, func() {
		visit(second, barrier, 30, 400, func() { visit(second, "!$omp task @a.c:3", 130, 330) })
	})
	x, ok, err := efficiency.Find(t.Context(), format.Recorded(r), efficiency.Options{Rows: trace.NewRows(r.Defs())})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if x.Useful.Int64() != 225+212 || x.UsefulMax != 225 {
		t.Errorf("found useful times of %v, at most %d, expected 437, at most 225", x.Useful, x.UsefulMax)
	}
}

// TestBodyOfSection checks the useful time of a thread in a critical section, in a trace that has no roles of regions,
// as in OTF and Pallas. Entering the section takes 10 + 5 ticks, which are not useful; its body takes 40, and the rest
// of main 45.
func TestBodyOfSection(t *testing.T) {
	for _, section := range []string{"critical", "ordered"} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		l := r.Thread("0", r.Process("p", r.Machine("m")))
		outer, body := r.Region("!$omp "+section+" @a.c:3"), r.Region("!$omp "+section+" sblock @a.c:3")
		r.Enter(l, 0, r.Region("main"))
		r.Enter(l, 20, outer)
		r.Enter(l, 30, body)
		r.Leave(l, 70, body)
		r.Leave(l, 75, outer)
		r.Leave(l, 100, r.Region("main"))
		x, ok, err := efficiency.Find(t.Context(), format.Recorded(r), efficiency.Options{Rows: trace.NewRows(r.Defs())})
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if x.UsefulMax != 85 {
			t.Errorf("%s: found a useful time of %d, expected 40 + 45", section, x.UsefulMax)
		}
	}
}

// TestWaitingReceive checks the factors of a trace of PICL with a receive that has waited (-52), by hand. Rank 0 sends
// from 100 to 110 and ends at 150: U = 140. Rank 1 receives from 20 to 120 and ends at 300: U = 200. On an ideal
// network, the receive ends at 100 and the run at 280. A rank that idles (-601) from 0 to 250 has no useful time.
func TestWaitingReceive(t *testing.T) {
	for idle, expected := range map[bool]efficiency.Factors{
		false: {Parallel: 170. / 300, LoadBalance: 170. / 200, Communication: 200. / 300, Serialisation: 200. / 280,
			Transfer: 280. / 300},
		true: {Parallel: 340. / 900, LoadBalance: 340. / 600, Communication: 200. / 300, Serialisation: 200. / 280,
			Transfer: 280. / 300}} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		d := r.Defs()
		d.Conventions.EventTypes = true
		region := func(id string) uint32 { return d.Regions.Add(trace.Region{ID: id, Name: id}) }
		all, send, receive := region("-901"), region("-21"), region("-52")
		a, b := r.Location("a"), r.Location("b")
		r.Enter(a, 0, all)
		r.Enter(b, 0, all)
		r.Enter(b, 20, receive)
		r.Enter(a, 100, send)
		r.Event(a, 100, trace.Send, trace.NoRef, []uint64{uint64(b), trace.Undefined, 1, 8})
		r.Leave(a, 110, send)
		r.Event(b, 120, trace.Recv, trace.NoRef, []uint64{uint64(a), trace.Undefined, 1, 8})
		r.Leave(b, 120, receive)
		r.Leave(a, 150, all)
		r.Leave(b, 300, all)
		if idle {
			c, waiting := r.Location("c"), region("-601")
			r.Enter(c, 0, waiting)
			r.Leave(c, 250, waiting)
		}
		x, ok, err := efficiency.Find(t.Context(), format.Recorded(r), efficiency.Options{Rows: trace.NewRows(d)})
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		close := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
		if f := x.Factors; !close(f.Parallel, expected.Parallel) || !close(f.LoadBalance, expected.LoadBalance) ||
			!close(f.Communication, expected.Communication) || !close(f.Serialisation, expected.Serialisation) ||
			!close(f.Transfer, expected.Transfer) {
			t.Errorf("found %+v, expected %+v", x.Factors, expected)
		}
	}
}

// TestInputOfMPI checks that the time in MPI's input and output is time in MPI, and that of other input and output is
// useful. The rank runs from 0 to 100, and is in a call from 20 to 50, and in MPI_Barrier from 60 to 61.
func TestInputOfMPI(t *testing.T) {
	for name, expected := range map[string]int64{"MPI_File_write": 69, "write": 99} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		rank := r.Thread("0", r.Process("0", r.Machine("m")))
		r.Enter(rank, 0, r.Region("main"))
		r.Enter(rank, 20, r.Region(name))
		r.Leave(rank, 50, r.Region(name))
		r.Enter(rank, 60, r.Region("MPI_Barrier"))
		r.Leave(rank, 61, r.Region("MPI_Barrier"))
		r.Leave(rank, 100, r.Region("main"))
		e, ok, err := efficiency.Find(t.Context(), format.Recorded(r), efficiency.Options{})
		if err != nil || !ok || e.UsefulMax != expected {
			t.Errorf("%s: found %+v, %v, error %v, expected a useful time of %d", name, e, ok, err, expected)
		}
	}
}
