package web_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// sample is a function that writes a trace to a folder and returns the name of its main file.
type sample func(dir string) (string, error)

// samples maps the name of a folder to the trace that is written to it.
var samples = map[string]sample{
	"odse":   fileSample("../examples/odse.etf"),
	"ring":   fileSample("../examples/ring.trf"),
	"fresh":  fileSample("../examples/ring.trf"), // only one test requests it
	"mpi":    folderSample("../format/otf/testdata/ok/mpi4/mpi4.otf"),
	"attrs":  folderSample("../format/pallas/testdata/ok/attrs/trace/main.pallas"),
	"pallas": folderSample("../format/pallas/testdata/ok/abi18_mpi/trace/main.pallas"),
	"hand":   folderSample("../analysis/waits/testdata/hand/traces.otf2"),
	"heat":   folderSample("../format/otf2/testdata/ok/heat2d-mt/traces.otf2"),

	"instant":  folderSample("../format/pallas/testdata/ok/samets/trace/main.pallas"),
	"longest":  folderSample("../format/otf/testdata/ok/bigtime/bigtime.otf"),
	"overflow": folderSample("../format/otf/testdata/ok/hand_overflow/hand_overflow.otf"),
	"records":  folderSample("../format/otf2/testdata/ok/snapshots/all.otf2"),

	"empty-etf":  recordedSample("empty.etf", func() *trace.Recorder { return trace.NewRecorder(nanosecondClock) }),
	"empty-otf2": recordedSample("empty.otf2", func() *trace.Recorder { return trace.NewRecorder(nanosecondClock) }),
	"one":        recordedSample("one.otf2", oneTrace),
	"many":       recordedSample("many.trf", manyTrace),
	"deep":       recordedSample("deep.otf2", deepTrace),
	"unbalanced": recordedSample("unbalanced.otf2", unbalancedTrace),
	"short":      recordedSample("short.otf2", shortTrace),
	"unix":       recordedSample("unix.otf2", func() *trace.Recorder { return longTrace(unixTime, unixTime+1000) }),
	"long":       recordedSample("long.otf2", func() *trace.Recorder { return longTrace(0, 1<<60) }),
	"names": recordedSample("names.otf2", func() *trace.Recorder {
		return namedTrace("مرحبا بالعالم", "计算矩阵乘法", "🧵🪡🧶", "e\u0301\u202egnirts")
	}),
	"script": recordedSample("<b onclick=alert(2)>.otf2", func() *trace.Recorder {
		return namedTrace(script, script+"\x00\x1b[31m", `"><svg/onload=alert(3)>`)
	}),

	"cut-etf":  truncatedSample(fileSample("../examples/odse.etf"), "odse.etf"),
	"cut-picl": truncatedSample(fileSample("../examples/ring.trf"), "ring.trf"),
	"cut-otf":  truncatedSample(folderSample("../format/otf/testdata/ok/mpi4/mpi4.otf"), "mpi4.2.events"),
	"cut-otf2": truncatedSample(folderSample("../format/otf2/testdata/ok/heat2d-mt/traces.otf2"),
		"traces/1.evt"),
	"cut-otf2-definitions": truncatedSample(folderSample("../format/otf2/testdata/ok/heat2d-mt/traces.otf2"),
		"traces.def"),
	"cut-pallas": truncatedSample(folderSample("../format/pallas/testdata/ok/abi18_mpi/trace/main.pallas"),
		"archive_0/thread_0/thread.pallas"),

	"few":    recordedSample("few.otf2", fewTrace),
	"steps":  recordedSample("steps.otf2", stepsTrace),
	"nested": recordedSample("nested.otf2", func() *trace.Recorder { return nestedTrace(600) }),
	// enough messages for the page to draw them in bundles
	"messages": generatedSample(generate.Options{Workload: "stencil", Locations: 4, Events: 100_000, Seed: 1}),
	"before":   generatedSample(generate.Options{Workload: "phases", Locations: 8, Events: 2000, Seed: 1}),
	"after": generatedSample(generate.Options{Workload: "phases", Locations: 8, Events: 2000, Seed: 1,
		Problems: generate.Problems{LateSender: 20_000_000, Imbalance: 2}}),
	"long-names": recordedSample("names.otf2", func() *trace.Recorder {
		var names []string
		for i := range longNames {
			names = append(names, fmt.Sprint(i, " ", strings.Repeat("a long name ", nameLetters/12)))
		}
		return namedTrace(names...)
	}),
	"claims": recordedSample("claims.otf2", claimsTrace),

	"order-one": recordedSample("one.etf", func() *trace.Recorder { return ordersTrace("ABC", "ABC", "ACB") }),
	"order-two": recordedSample("two.etf", func() *trace.Recorder { return ordersTrace("ABC", "ABC", "BCA") }),
}

// place is the main file of a trace, its id in the server, and the address that shows it.
type place struct{ path, id, url string }

// writeTraces writes all traces below one folder, and returns their main files by the names of the
// traces.
var writeTraces = sync.OnceValues(func() (map[string]string, error) {
	main := map[string]string{}
	for name, s := range samples {
		dir := filepath.Join(scratch, "traces", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		f, err := s(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		main[name] = filepath.Join(dir, f)
	}
	return main, nil
})

// server holds the address that weft serve has printed, and the ids of the traces by path.
var server struct {
	sync.Mutex
	address string
	ids     map[string]string
}

// servedTrace returns the place of a trace on the server that serves all traces.
func servedTrace(t *testing.T, name string) place {
	t.Helper()
	main, err := writeTraces()
	failOrSkip(t, err)
	server.Lock()
	defer server.Unlock()
	if server.ids == nil {
		server.address = startServing(t, "serve", "--quiet", filepath.Join(scratch, "traces"))
		var list struct{ Traces []facts }
		ask(t, server.address, "traces", &list)
		server.ids = map[string]string{}
		for _, f := range list.Traces {
			server.ids[f.Path] = f.ID
		}
	}
	path, ok := main[name]
	id := server.ids[name+"/"+filepath.Base(path)]
	if !ok || id == "" {
		t.Fatalf("%s: found no such trace in the server, which has %v", name, server.ids)
	}
	return place{path, id, server.address + "#t=" + id}
}

// fileSample returns a trace of one file.
func fileSample(main string) sample {
	return func(dir string) (string, error) {
		b, err := os.ReadFile(main)
		if err != nil {
			return "", err
		}
		return filepath.Base(main), os.WriteFile(filepath.Join(dir, filepath.Base(main)), b, 0o644)
	}
}

// folderSample returns a trace with all files of its folder.
func folderSample(main string) sample {
	return func(dir string) (string, error) {
		return filepath.Base(main), os.CopyFS(dir, os.DirFS(filepath.Dir(main)))
	}
}

// truncatedSample returns a trace without the last third of one of its files.
func truncatedSample(whole sample, file string) sample {
	return func(dir string) (string, error) {
		main, err := whole(dir)
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, file)
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		return main, os.Truncate(path, info.Size()*2/3)
	}
}

// recordedSample returns a trace with the records of create; the extension of name selects the format.
func recordedSample(name string, create func() *trace.Recorder) sample {
	return func(dir string) (string, error) {
		f, ok := format.ByExtension(all.Formats(), name)
		if !ok {
			return "", fmt.Errorf("%s: no such format", name)
		}
		return name, format.Save(context.Background(), filepath.Join(dir, name), f, create())
	}
}

// generatedSample returns a trace of weft generate.
func generatedSample(opt generate.Options) sample {
	return func(dir string) (string, error) {
		const name = "generated.otf2"
		g, err := generate.New(opt)
		if err != nil {
			return "", err
		}
		out, err := format.CreateFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		defer out.Abort()
		e, err := otf2.Format{}.Create(out, &format.WriteOptions{})
		if err != nil {
			return "", err
		}
		if err := format.Convert(context.Background(), g, trace.Everything(), e); err != nil {
			return "", err
		}
		return name, out.Commit()
	}
}

// nanosecondClock is a clock with ticks of a nanosecond. unixTime is a time of such a clock:
// nanoseconds since 1970.
var nanosecondClock = trace.TicksPerSecond(1_000_000_000)

const unixTime = 1_700_000_000_123_456_789

const script = `<img src=x onerror=alert(1)>`

// longNames is the number of names in the trace of long names. Each name has nameLetters letters.
const longNames, nameLetters = 30, 20_000

func oneTrace() *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	r.Enter(r.Location("only"), 5, r.Region("main"))
	return r
}

func manyTrace() *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	a, b := r.Region("a"), r.Region("b")
	for i := range int64(10_000) {
		l := r.Location(fmt.Sprint("p", i))
		r.Enter(l, i, a)
		r.Enter(l, i+20, b)
		r.Leave(l, i+40, b)
		r.Leave(l, i+61, a)
	}
	return r
}

// levels is the depth of calls in a trace: more than recursion reaches in practice.
const levels = 100_000

func deepTrace() *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	l, f := r.Location("main"), r.Region("descend")
	for i := range int64(levels) {
		r.Enter(l, i, f)
	}
	for i := range int64(levels) {
		r.Leave(l, levels+i, f)
	}
	return r
}

// unbalancedTrace has visits that never end, leaves without an enter, and leaves in the wrong order.
func unbalancedTrace() *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	l, m := r.Location("one"), r.Location("two")
	f, g := r.Region("f"), r.Region("g")
	for i := range int64(50) {
		r.Leave(l, 10*i, f)
		r.Enter(l, 10*i+1, g)
		r.Enter(l, 10*i+4, f)
		r.Leave(l, 10*i+7, g)
		r.Enter(m, 10*i+2, f)
	}
	return r
}

// shortTrace has spans without duration, single ones and many at the same time.
func shortTrace() *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	l, f, g := r.Location("main"), r.Region("f"), r.Region("g")
	for i := range int64(100) {
		for range i {
			r.Enter(l, 100*i, f)
			r.Enter(l, 100*i, g)
			r.Leave(l, 100*i, g)
			r.Leave(l, 100*i, f)
		}
	}
	return r
}

// longTrace has a few spans of very different lengths between two times.
func longTrace(from, to int64) *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	a, b, f := r.Location("one"), r.Location("two"), r.Region("f")
	r.Enter(a, from, f)
	r.Send(a, from+1, b, 7, 1<<40)
	for d := to - from; d > 2; d /= 2 {
		r.Enter(b, to-d, f)
		r.Leave(b, to-d+d/4, f)
	}
	r.Recv(b, to-1, a, 7, 1<<40)
	r.Leave(a, to, f)
	return r
}

// namedTrace has locations, regions and attributes with given names.
func namedTrace(names ...string) *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	for i, n := range names {
		l, f := r.Location(n), r.Region(n)
		for k := range int64(20) {
			r.Enter(l, 100*k+int64(i), f, trace.Attr{Key: n, Value: trace.StringValue(n)})
			r.Mark(l, 100*k+20, f, trace.Attr{Key: n, Value: trace.StringValue(n)})
			r.Leave(l, 100*k+80, f)
		}
	}
	return r
}

// fewTrace has spans of few ticks, at depth 1: a from 1 to 3, b from 3 to 4, c from 5 to 9.
func fewTrace() *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	l, main := r.Location("main"), r.Region("main")
	r.Enter(l, 100, main)
	for _, s := range fewSpans {
		f := r.Region(s.name)
		r.Enter(l, 100+s.start, f)
		r.Leave(l, 100+s.end, f)
	}
	r.Leave(l, 112, main)
	return r
}

// stepsTrace has calls of main, and calls of the same regions below these.
func stepsTrace() *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	l, open := r.Location("main"), []uint32{}
	for _, s := range []struct {
		at   int64
		name string // "" for a leave
	}{
		{0, "main"}, {1_000_000, "f"}, {1_200_000, "f"}, {1_210_000, ""}, {1_500_000, ""}, {2_000_000, "work"},
		{2_500_000, ""}, {2_500_200, "k"}, {2_500_250, ""}, {3_000_000, "g"}, {3_100_000, "k"}, {3_100_010, ""},
		{3_500_000, ""}, {4_000_000, ""},
	} {
		if s.name != "" {
			open = append(open, r.Region(s.name))
			r.Enter(l, s.at, open[len(open)-1])
		} else {
			r.Leave(l, s.at, open[len(open)-1])
			open = open[:len(open)-1]
		}
	}
	return r
}

// nestedTrace has nested calls of a given depth.
func nestedTrace(depth int) *trace.Recorder {
	r := trace.NewRecorder(nanosecondClock)
	l, f := r.Location("main"), r.Region("descend")
	for i := range int64(depth) {
		r.Enter(l, i, f)
	}
	for i := range int64(depth) {
		r.Leave(l, int64(depth)+i, f)
	}
	return r
}

// claimsTrace has resources with overlapping claims: one with a capacity, which is held in parts of any
// size and beyond the capacity, and one without.
func claimsTrace() *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	random := rand.New(rand.NewPCG(7, 9))
	r.Location("main")
	for _, x := range []struct {
		name     string
		capacity float64
		amounts  []float64
		lanes    int
	}{
		{"heads", 4, []float64{1}, 4}, {"memory", 100, []float64{0.1, 3, 30, 60}, 4}, {"tokens", 0, []float64{1, 2}, 4},
		{"queue", 100, []float64{0.1, 9, 90}, 1}} {
		resource := r.Resource(x.name, x.capacity, "of it")
		type end struct{ id, time int64 }
		var open []end
		for at := int64(10); at < 20_000; at += random.Int64N(60) {
			for i := 0; i < len(open); i++ {
				if open[i].time <= at {
					r.Release(open[i].id, at)
					open = slices.Delete(open, i, i+1)
					i--
				}
			}
			if len(open) < x.lanes {
				id := r.Claim(resource, at, r.Region(fmt.Sprint("job ", random.IntN(5))), x.amounts[random.IntN(len(x.amounts))])
				open = append(open, end{id, at + 1 + random.Int64N(400)})
			}
		}
	}
	return r
}

// ordersTrace has objects with claims of a millisecond each, one after the other, in the given order of names.
func ordersTrace(objects ...string) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	r.Location("events")
	cpu := r.Resource("CPU", 2, "")
	at := int64(0)
	for i, order := range objects {
		for _, name := range order {
			id := r.Claim(cpu, at, r.Region(string(name)), 1, trace.Attr{Key: "name", Value: trace.StringValue(string(name))},
				trace.Attr{Key: "id", Value: trace.StringValue(fmt.Sprint(i))})
			at += 1000
			r.Release(id, at)
		}
	}
	return r
}
