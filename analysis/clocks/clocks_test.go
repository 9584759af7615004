package clocks_test

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/analysis/clocks"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/trace"
)

// solve collects the whole of a trace and solves it.
func solve(t testing.TB, d format.Decoder, opt clocks.Options) *clocks.Result {
	t.Helper()
	p := clocks.New(d.Defs(), opt)
	if err := d.Scan(context.Background(), trace.Everything(), func(int) format.Sink { return p }); err != nil {
		t.Fatal(err)
	}
	r, err := p.Solve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t testing.TB, path string, values map[string]string) format.Decoder {
	t.Helper()
	d, err := otf2.Format.Open(context.Background(), format.FileSource(path), &format.ReadOptions{Values: values, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestRing is a trace of EZTrace, in which 35 of 80 messages are received before they are
// sent.
func TestRing(t *testing.T) {
	r := solve(t, open(t, "../../format/otf2/testdata/ok/ring/eztrace_log.otf2", nil), clocks.Options{})
	if r.Messages != 80 || r.Before.Messages != 35 {
		t.Errorf("found %d of %d messages early, expected 35 of 80", r.Before.Messages, r.Messages)
	}
	if r.After.Any() {
		t.Errorf("found violations after correction: %+v", r.After)
	}
	t.Logf("%+v", r)
	t.Logf("%+v", r.Correction)
}

// TestHeat uses the clocks as they were recorded.
func TestHeat(t *testing.T) {
	d := open(t, "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2", map[string]string{"otf2.raw-clocks": "true"})
	r := solve(t, d, clocks.Options{})
	if r.Messages != 400 || r.Before.Messages != 200 {
		t.Errorf("found %d of %d messages early, expected 200 of 400", r.Before.Messages, r.Messages)
	}
	t.Logf("%+v", r)
	t.Logf("%+v", r.Correction)
}
