package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// problemsHelp describes the problems that the flags of the workload phases put into a trace.
const problemsHelp = `
An iteration of phases consists of MPI_Bcast, computing, MPI_Allreduce, a message to the next rank,
and MPI_Barrier. Without problems, no location waits. The flags --late-sender, --serial, --lock,
--slowing and one of --imbalance, --slow-node and --noise add problems. The properties of the trace,
which weft info shows, describe each problem: its region, its location, the waits in ticks (1 ns) that
weft waits finds, and the ticks by which the run would be shorter without the problem (gain).

With --period or a fault, the objects of cps arrive at equal intervals and do not wait for each
other. --violations sets the number of objects that are confirmed before task G ends, --stragglers
the number of objects that begin late (by --late), and --anomalies the number of objects without task
E. The properties of the trace have these numbers, and the checks for weft verify that the objects
violate.
`

// faultFlags holds the flags of the workload cps.
type faultFlags struct {
	o            *generate.Options
	period, late string
}

func (ff *faultFlags) register(f *pflag.FlagSet) {
	f.StringVar(&ff.period, "period", "", "cps: time between the arrivals of two objects, such as 10ms (with faults 8ms)")
	f.Var(newInteger(&ff.o.Faults.Violations, 0, 0, 0), "violations",
		"cps: number of objects that are confirmed too early")
	f.Var(newInteger(&ff.o.Faults.Stragglers, 0, 0, 0), "stragglers", "cps: number of objects that begin late")
	f.StringVar(&ff.late, "late", "", "cps: delay of the stragglers, such as 100ms (default 10 periods)")
	f.Var(newInteger(&ff.o.Faults.Anomalies, 0, 0, 0), "anomalies", "cps: number of objects that skip task E")
}

// setOptions copies the values of the flags to the options of the workload.
func (ff *faultFlags) setOptions() error {
	for _, d := range []struct {
		flag, value string
		to          *int64
	}{{"period", ff.period, &ff.o.Period}, {"late", ff.late, &ff.o.Faults.Late}} {
		if d.value == "" {
			continue
		}
		t, err := trace.TicksPerSecond(1_000_000).ParseDuration(d.value)
		if err == nil && t <= 0 {
			err = errors.New("expected more than 0")
		}
		if err != nil {
			return usageError("--%s %s: %w", d.flag, d.value, err)
		}
		*d.to = t
	}
	return nil
}

// problemFlags holds the flags of the workload phases.
type problemFlags struct {
	o                               *generate.Options
	compute, late, serial, lock     string
	imbalance, slow, slowing, noise string
}

func (p *problemFlags) register(f *pflag.FlagSet) {
	f.Var(newInteger(&p.o.Threads, 0, 0, 0), "threads", "phases: number of threads of each process; 0 means 1")
	f.StringVar(&p.compute, "compute", "", "phases: computing time of a thread in an iteration (default 100ms)")
	f.StringVar(&p.late, "late-sender", "", "phases: time by which one rank sends its messages late, such as 50ms")
	f.StringVar(&p.serial, "serial", "", "phases: time during which only rank 0 works, such as 100ms")
	f.StringVar(&p.lock, "lock", "",
		"phases: part of the computing time during which a thread holds a lock, such as 20ms")
	f.StringVar(&p.imbalance, "imbalance", "",
		"phases: ratio of the longest to the shortest computing time of a rank, such as 3:1")
	f.StringVar(&p.slow, "slow-node", "", "phases: factor by which the last node computes longer, such as 1.5")
	f.StringVar(&p.slowing, "slowing", "",
		"phases: share of the first iteration by which each iteration takes longer than the one before, such as 2%")
	f.StringVar(&p.noise, "noise", "",
		"phases: share by which one rank, the next one in each iteration, computes longer, such as 20%")
}

// setOptions copies the values of the flags to the options of the workload.
func (p *problemFlags) setOptions() error {
	duration := func(s string) (float64, error) {
		t, err := trace.TicksPerSecond(1_000_000_000).ParseDuration(s)
		if err == nil && t <= 0 {
			err = errors.New("expected more than 0")
		}
		return float64(t), err
	}
	number := func(s string, least float64, expected string) (float64, error) {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x > least) || math.IsInf(x, 0) {
			return 0, errors.New("expected " + expected)
		}
		return x, nil
	}
	ratio := func(s string) (float64, error) {
		const expected = "a ratio such as 3:1"
		long, short, _ := strings.Cut(s, ":")
		a, err := number(long, 0, expected)
		if err != nil {
			return 0, err
		}
		b, err := number(short, 0, expected)
		if err == nil && a <= b {
			err = errors.New("expected the longer time first, as in 3:1")
		}
		return a / b, err
	}
	factor := func(s string) (float64, error) { return number(s, 1, "a factor above 1, such as 1.5") }
	percent := func(s string) (float64, error) {
		const expected = "percents above 0, such as 2%"
		s, ok := strings.CutSuffix(s, "%")
		if !ok {
			return 0, errors.New("expected " + expected)
		}
		x, err := number(s, 0, expected)
		return x / 100, err
	}
	q := &p.o.Problems
	for _, x := range []struct {
		flag, value string
		time        *int64
		part        *float64
		parse       func(string) (float64, error)
	}{
		{"compute", p.compute, &p.o.Compute, nil, duration}, {"late-sender", p.late, &q.LateSender, nil, duration},
		{"serial", p.serial, &q.Serial, nil, duration}, {"lock", p.lock, &q.Lock, nil, duration},
		{"imbalance", p.imbalance, nil, &q.Imbalance, ratio}, {"slow-node", p.slow, nil, &q.SlowNode, factor},
		{"slowing", p.slowing, nil, &q.Slowing, percent}, {"noise", p.noise, nil, &q.Noise, percent},
	} {
		if x.value == "" {
			continue
		}
		v, err := x.parse(x.value)
		if err != nil {
			return usageError("--%s %s: %w", x.flag, x.value, err)
		}
		if x.time != nil {
			if *x.time = math.MaxInt64; v < 1<<62 {
				*x.time = int64(v)
			}
		} else {
			*x.part = v
		}
	}
	return nil
}
