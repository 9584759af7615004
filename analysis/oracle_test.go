package analysis_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/analysis/states"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/picl"
	"github.com/weft-trace/weft/trace"
)

// oracle is the JSON result that a program independent of weft computed for a PICL trace. Times are
// in nanoseconds. The keys of the maps are the decimal numbers of the trace, and
// "source->destination" in the matrices.
type oracle struct {
	Records      int64                       `json:"records"`
	RecordTypes  map[string]int64            `json:"record_types"`
	EventTypes   map[string]int64            `json:"event_types"`
	Processors   int                         `json:"processors"`
	T0           int64                       `json:"t0_ns"`
	T1           int64                       `json:"t1_ns"`
	PerProcessor map[string]map[string]int64 `json:"per_processor_ns"`
	Profile      map[string]map[string]int64 `json:"concurrency_profile_ns"`
	Sent         int64                       `json:"messages_sent"`
	SentBytes    int64                       `json:"bytes_sent"`
	Matched      int64                       `json:"messages_matched"`
	SendsLeft    int64                       `json:"sends_unmatched"`
	RecvsLeft    int64                       `json:"receives_unmatched"`
	MaxPending   int64                       `json:"max_pending_messages"`
	MaxBytes     int64                       `json:"max_pending_bytes"`
	MatrixCount  map[string]int64            `json:"comm_matrix_count"`
	MatrixBytes  map[string]int64            `json:"comm_matrix_bytes"`
}

// oracleTraces returns the paths of the PICL traces that have a file of expected results beside
// them: those in testdata, and those of a shared directory where it exists.
func oracleTraces(t *testing.T) []string {
	var out []string
	seen := map[string]bool{}
	for _, dir := range []string{"testdata", "../../shared/traces/picl"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.trf.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !seen[filepath.Base(f)] {
				seen[filepath.Base(f)] = true
				out = append(out, strings.TrimSuffix(f, ".json"))
			}
		}
	}
	return out
}

// definitionRecords counts the records of a PICL file that define labels, descriptors or sets, by
// record type and by event type. The oracle counts them as records, but weft reads them as
// definitions and not as events.
func definitionRecords(t *testing.T, path string) (types, events map[string]int64) {
	r, err := picl.NewReader(context.Background(), format.FileSource(path), &format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	types, events = map[string]int64{}, map[string]int64{}
	var rec picl.Record
	for {
		if err := r.Read(&rec); err == io.EOF {
			return types, events
		} else if err != nil {
			t.Fatal(err)
		}
		switch rec.Type {
		case picl.TypeLabel, picl.TypeDescriptor, picl.TypeProcessorSet, picl.TypeProcessSet, picl.TypeEventSet:
			types[strconv.FormatInt(rec.Type, 10)]++
			events[strconv.FormatInt(rec.Event, 10)]++
		}
	}
}

func TestOracle(t *testing.T) {
	traces := oracleTraces(t)
	if len(traces) < 7 {
		t.Fatalf("found %d traces with an oracle, expected the 7 of testdata at least", len(traces))
	}
	for _, path := range traces {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".trf"), func(t *testing.T) {
			text, err := os.ReadFile(path + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want oracle
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			d, err := picl.Format{}.Open(context.Background(), format.FileSource(path), &format.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			c, m, s := counts.New(d.Defs()), messages.New(d.Defs(), messages.Options{}), states.New(d.Defs(), states.Options{})
			if err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, tee{c, m, s}); err != nil {
				t.Fatal(err)
			}
			compareCounts(t, path, &want, c.Result())
			compareMessages(t, &want, m.Result(), true)
			compareStates(t, &want, s.Result())
			compareMerged(t, &want, d)
		})
	}
}

// tee passes each batch and link to all of its sinks.
type tee []format.Sink

func (t tee) Batch(b *trace.Batch) error {
	for _, s := range t {
		if err := s.Batch(b); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) Links(x []trace.Link) error {
	for _, s := range t {
		if err := s.Links(x); err != nil {
			return err
		}
	}
	return nil
}

func equal[T comparable](t *testing.T, what string, found, expected T) {
	t.Helper()
	if found != expected {
		t.Errorf("%s: found %v, expected %v", what, found, expected)
	}
}

func equalMap(t *testing.T, what string, found, expected map[string]int64) {
	t.Helper()
	if !maps.Equal(found, expected) {
		t.Errorf("%s:\nfound    %v\nexpected %v", what, found, expected)
	}
}

func compareCounts(t *testing.T, path string, want *oracle, r *counts.Result) {
	types, events := definitionRecords(t, path)
	all := r.Events
	for _, n := range types {
		all += n
	}
	equal(t, "records", all, want.Records)
	// Statistics are one kind; the oracle distinguishes record types.
	expected := map[string]int64{}
	for k, n := range want.RecordTypes {
		if strings.HasPrefix(k, "-10") {
			k = "statistics"
		}
		expected[k] += n
	}
	for _, k := range r.Kinds {
		name := strings.TrimPrefix(k.Name, "record ")
		switch k.Kind {
		case trace.Enter:
			name = "-3"
		case trace.Leave:
			name = "-4"
		case trace.Mark:
			name = "-2"
		case trace.Comment:
			name = "-7"
		}
		if k.Events > 0 {
			types[name] += k.Events
		}
	}
	equalMap(t, "record types", types, expected)
	for _, x := range r.Regions {
		events[x.ID] += x.Events
	}
	equalMap(t, "event types", events, want.EventTypes)
}

// processor returns the processor of a location's id, which is "processor/process" or the processor
// alone.
func processor(id string) string {
	p, _, _ := strings.Cut(id, "/")
	return p
}

// compareMessages compares with the oracle. Option ordered states whether the events came in global
// time order, so that the pending messages are known.
func compareMessages(t *testing.T, want *oracle, r *messages.Result, ordered bool) {
	equal(t, "messages sent", r.Sent, want.Sent)
	equal(t, "bytes sent", int64(r.SentBytes), want.SentBytes)
	equal(t, "messages matched", r.Matched, want.Matched)
	equal(t, "sends unmatched", r.SendsUnmatched, want.SendsLeft)
	equal(t, "receives unmatched", r.ReceivesUnmatched, want.RecvsLeft)
	equal(t, "pending known", r.PendingKnown, ordered)
	equal(t, "max pending messages", r.MaxPending, want.MaxPending)
	equal(t, "max pending bytes", int64(r.MaxBytes), want.MaxBytes)
	equal(t, "early receives", r.Early, 0)
	equal(t, "size mismatches", r.SizeMismatches, 0)
	count, bytes := map[string]int64{}, map[string]int64{}
	for _, c := range r.Matrix {
		k := processor(c.SourceID) + "->" + processor(c.DestinationID)
		count[k] += c.Count
		bytes[k] += int64(c.Bytes)
	}
	equalMap(t, "matrix of messages", count, want.MatrixCount)
	equalMap(t, "matrix of bytes", bytes, want.MatrixBytes)
}

func compareStates(t *testing.T, want *oracle, r *states.Result) {
	ns := func(ticks int64) int64 {
		n, exact, ok := r.Clock.Rescale(ticks, trace.TicksPerSecond(1_000_000_000))
		if !exact || !ok {
			t.Errorf("%d ticks of %s are no whole nanoseconds", ticks, r.Clock.Resolution())
		}
		return n
	}
	equal(t, "t0", ns(r.First), want.T0)
	equal(t, "t1", ns(r.Last), want.T1)
	equal(t, "processors", len(r.Processors), want.Processors)
	for _, p := range r.Processors {
		number := strconv.FormatInt(p.Number, 10)
		found := map[string]int64{"busy": ns(p.Busy), "overhead": ns(p.Overhead), "idle": ns(p.Idle)}
		equalMap(t, "processor "+number, found, want.PerProcessor[number])
	}
	found := map[string]map[string]int64{"busy": {}, "overhead": {}, "idle": {}}
	for _, l := range r.Profile {
		for state, ticks := range map[string]int64{"busy": l.Busy, "overhead": l.Overhead, "idle": l.Idle} {
			if ticks != 0 { // the oracle lists no numbers of processors without any time
				found[state][strconv.FormatInt(l.Count, 10)] = ns(ticks)
			}
		}
	}
	for state := range found {
		equalMap(t, "concurrency profile of "+state, found[state], want.Profile[state])
	}
	equal(t, "orphans", r.Orphans, 0)
}

// compareMerged gives each location to one of three parts and merges the parts in two orders. The
// results must equal those of the oracle, and those of a single part.
func compareMerged(t *testing.T, want *oracle, d format.Events) {
	type parts struct {
		c *counts.Part
		m *messages.Part
		s *states.Part
		p *profile.Part
	}
	make3 := func() (out [3]parts) {
		for i := range out {
			defs := d.Defs()
			out[i] = parts{counts.New(defs), messages.New(defs, messages.Options{Intervals: true}),
				states.New(defs, states.Options{Changes: true}), profile.New(defs, profile.Options{Locations: true})}
		}
		err := d.Scan(context.Background(), trace.Everything(), format.PerLocation,
			format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
				x := out[b.Loc%3]
				return tee{x.c, x.m, x.s, x.p}.Batch(b)
			}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	merge := func(a, b parts) parts {
		for _, err := range []error{a.c.Merge(b.c), a.m.Merge(b.m), a.s.Merge(b.s), a.p.Merge(b.p)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return a
	}
	x, y := make3(), make3()
	one := merge(merge(x[0], x[1]), x[2])
	two := merge(y[2], merge(y[1], y[0]))
	whole := profile.New(d.Defs(), profile.Options{Locations: true})
	all := counts.New(d.Defs())
	if err := d.Scan(context.Background(), trace.Everything(), format.GlobalOrder, tee{whole, all}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []parts{one, two} {
		compareMessages(t, want, x.m.Result(), true)
		compareStates(t, want, x.s.Result())
		equal(t, "merged counts", text(t, x.c.Result()), text(t, all.Result()))
		equal(t, "merged profile", text(t, x.p.Result()), text(t, whole.Result()))
	}
}

// text returns the JSON of v, by which results are compared.
func text(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The parts of the analyses are sinks.
var _ = []format.Sink{&counts.Part{}, &messages.Part{}, &states.Part{}, &profile.Part{}}

func Example() {
	d, err := picl.Format{}.Open(context.Background(), format.FileSource("testdata/conceptual-pingpong2.trf"),
		&format.ReadOptions{})
	if err != nil {
		panic(err)
	}
	defer d.Close()
	p := profile.New(d.Defs(), profile.Options{})
	if err := d.Scan(context.Background(), trace.Everything(), format.PerLocation, p); err != nil {
		panic(err)
	}
	r := p.Result()
	for _, x := range r.Regions {
		fmt.Printf("%s: %d times, %s, %s exclusive\n", x.Name, x.Count, r.Clock.FormatSum(x.Inclusive),
			r.Clock.FormatSum(x.Exclusive))
	}
	// Output:
	// send0: 2 times, 0 s, 0 s exclusive
	// recv0 (waited): 2 times, 20 µs, 20 µs exclusive
	// tracing: 2 times, 70 µs, 50 µs exclusive
}
