package cli

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/suggest"
	"github.com/weft-trace/weft/analysis/verify"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// randomTrace returns a trace of nested calls, claims and events, often at the same times, whose ids are objects.
func randomTrace(r *rand.Rand) format.Events {
	clocks := []trace.Clock{trace.TicksPerSecond(1000), trace.TicksPerSecond(1 << 10), {Num: 3e9, Den: 7},
		trace.TicksPerSecond(1)}
	rec := trace.NewRecorder(clocks[r.IntN(len(clocks))])
	var locations []uint32
	for i := range 1 + r.IntN(3) {
		locations = append(locations, rec.Location(fmt.Sprint("p", i)))
	}
	resource := rec.Resource("cpu", 1, "")
	names := []string{"A", "B", "C", "it's", "D"}
	t := r.Int64N(100) - 50
	open := map[uint32][]uint32{}
	var claims []int64
	cycle := r.IntN(2) == 0 // the names take turns
	for i := range 20 + r.IntN(200) {
		t += max(0, r.Int64N(8)-2)
		l := locations[r.IntN(len(locations))]
		name := names[r.IntN(len(names))]
		if cycle {
			name = names[i%len(names)]
		}
		region := rec.Region(name)
		id := trace.Attr{Key: "id", Value: trace.IntValue(r.Int64N(5) - 1)}
		switch n := len(open[l]); {
		case cycle && r.IntN(3) > 0:
			rec.Mark(l, t, rec.Region("event "+name), id)
		case r.IntN(4) == 0:
			claims = append(claims, rec.Claim(resource, t, region, 1, id))
		case len(claims) > 0 && r.IntN(3) == 0:
			rec.Release(claims[0], t)
			claims = claims[1:]
		case n > 0 && r.IntN(2) == 0:
			rec.Leave(l, t, open[l][n-1])
			open[l] = open[l][:n-1]
		case r.IntN(2) == 0:
			rec.Mark(l, t, region, id)
		default:
			rec.Enter(l, t, region, id)
			open[l] = append(open[l], region)
		}
	}
	return format.Recorded(rec)
}

// TestSuggestionsHold checks that the properties of random traces hold in these traces, and that those without
// undecided events hold if the traces are complete.
func TestSuggestionsHold(t *testing.T) {
	found := map[suggest.Kind]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		flags := &suggestFlags{least: 1 + r.IntN(4)}
		if r.IntN(2) == 0 {
			flags.by = "id"
		}
		m := suggest.NewMiner(flags.by)
		var traces []format.Events
		for range 1 + r.IntN(3) {
			e := randomTrace(r)
			traces = append(traces, e)
			if err := m.Add(t.Context(), e, suggest.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		list := m.Properties(int64(flags.least), 200)
		var text bytes.Buffer
		newSuggestions(m, list, make([]string, len(traces))).writeSpecification(&text, flags.least)
		spec, err := verify.Parse("suggested.etl", text.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		for i, e := range traces {
			for _, s := range []verify.Semantics{verify.Compatible, verify.TwoValued} {
				x, err := verify.Run(t.Context(), e, spec, verify.Options{Semantics: s})
				if err != nil {
					t.Fatal(err)
				}
				for k, c := range x.Checks {
					found[list[k].Kind]++
					if c.Verdict.Violated() && (s == verify.Compatible || list[k].Undecided == 0) {
						t.Fatalf("seed %d, trace %d, semantics %s: %s is %s: %s", seed, i, s, c.Name, c.Verdict, c.Formula)
					}
				}
			}
		}
	}
	for _, k := range []suggest.Kind{suggest.Response, suggest.Precedence, suggest.Period} {
		if found[k] < 50 {
			t.Errorf("%d properties of the kind %s, expected at least 50", found[k], k)
		}
	}
}

// TestSuggestionsOfFiles checks that the properties of example and generated traces hold in them.
func TestSuggestionsOfFiles(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct {
		workload, ext string
		flags         []string
	}{
		{"", "", []string{"--by", "id"}},
		{"", "", nil},
		{"cps", "etf", []string{"--by", "id"}},
		{"cps", "trf", nil},
		{"ring", "otf2", nil},
		{"stencil", "otf", nil},
		{"stencil", "otf2", []string{"--by", "location"}},
		{"stencil", "otf2", []string{"--location", "rank 1", "--window", "100us..1ms"}},
	} {
		in := "../../examples/odse.etf"
		if x.workload != "" {
			in = filepath.Join(dir, x.workload+"."+x.ext)
			if code, _, errs := runWeft(t, "generate", "--force", "--workload", x.workload, "--events", "3000", in); code != 0 {
				t.Fatal(errs)
			}
		}
		code, out, errs := runWeft(t, append([]string{"verify", "--suggest", in}, x.flags...)...)
		if code != 0 {
			t.Fatalf("%s %v: exit %d: %s", in, x.flags, code, errs)
		}
		if n := strings.Count(out, "\ncheck "); n < 5 || n > 50 {
			t.Errorf("%s %v: %d checks", in, x.flags, n)
		}
		spec := filepath.Join(dir, "suggested.etl")
		if err := os.WriteFile(spec, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"verify", spec, in}
		if len(x.flags) > 2 {
			args = append(args, x.flags...)
		}
		if code, out, errs := runWeft(t, args...); code != 0 {
			t.Errorf("%s %v: exit %d: %s%s", in, x.flags, code, out, errs)
		}
	}
}

// TestSuggestionsDetect checks that a property of good traces is violated in each trace in which one delay is twice
// as long. The delays are random, and more than half of the greatest one.
func TestSuggestionsDetect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	delays := make([]int64, 20)
	for i := range delays {
		delays[i] = 101 + r.Int64N(100)
	}
	recorded := func(doubled int) format.Events {
		rec := trace.NewRecorder(trace.TicksPerSecond(1e6))
		loc := rec.Location("main")
		for i, d := range delays {
			if i == doubled {
				d *= 2
			}
			rec.Mark(loc, int64(i)*1000, rec.Region("A"))
			rec.Mark(loc, int64(i)*1000+d, rec.Region("B"))
		}
		rec.Mark(loc, 100000, rec.Region("last"))
		return format.Recorded(rec)
	}
	m := suggest.NewMiner("")
	if err := m.Add(t.Context(), recorded(-1), suggest.Options{}); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	newSuggestions(m, m.Properties(5, 50), make([]string, 1)).writeSpecification(&text, 5)
	spec, err := verify.Parse("suggested.etl", text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i := -1; i < len(delays); i++ {
		x, err := verify.Run(t.Context(), recorded(i), spec, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		violated := false
		for _, c := range x.Checks {
			violated = violated || c.Name == "response_A_B" && c.Verdict.Violated()
		}
		if violated != (i >= 0) {
			t.Errorf("delay %d doubled: violated %t\n%s", i, violated, text.String())
		}
	}
}

// TestDecimalIn checks times as specifications write them.
func TestDecimalIn(t *testing.T) {
	for _, x := range []struct {
		num, den int64
		up       bool
		want     string
	}{
		{5594, 1000000, true, "5.594 ms"},
		{60, 1, true, "60 s"},
		{1, 1024, true, "976.5625 us"},
		{0, 1, true, "0 s"},
		{1, 2000000000, true, "0.5 ns"},
		{7, 3, true, "2.333333334 s"},
		{7, 3, false, "2.333333333 s"},
	} {
		r := big.NewRat(x.num, x.den)
		u := unitOf(r)
		if got := decimalIn(r, u, x.up) + " " + u.name; got != x.want {
			t.Errorf("%d/%d s: %s, expected %s", x.num, x.den, got, x.want)
		}
	}
}

// TestSuggestionsOfManyValues checks that weft verify takes a specification with many properties of many values.
func TestSuggestionsOfManyValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects.etf")
	weft(t, 0, "generate", "--workload", "cps", "--violations", "3", "--events", "20000", path)
	text := weft(t, 0, "verify", "--suggest", "--by", "id", "--least", "20", path)
	if n := strings.Count(text, "\ncheck "); n < 20 {
		t.Errorf("%d properties, expected at least 20", n)
	}
	if _, err := verify.Parse("suggested.etl", []byte(text)); err != nil {
		t.Error(err)
	}
}

// TestVerifyCarried checks that calls have the same names in another format as in lines of TRACE that carry them.
func TestVerifyCarried(t *testing.T) {
	dir := t.TempDir()
	calls, claims := filepath.Join(dir, "calls.otf2"), filepath.Join(dir, "claims.etf")
	weft(t, 0, "generate", "--events", "2000", calls)
	weft(t, 0, "convert", calls, claims)
	for _, path := range []string{calls, claims} {
		text := weft(t, 1, "verify", "--never", "start compute", path)
		if !strings.Contains(text, "start of compute on rank") {
			t.Errorf("%s: %s", filepath.Base(path), text)
		}
		if text := weft(t, 0, "verify", "--suggest", path); !strings.Contains(text, "check response_") {
			t.Errorf("%s: %s", filepath.Base(path), text)
		}
	}
}

// TestSuggestedMean checks the text of a mean that is a power of ten of a second: seven claims take 1 us each.
func TestSuggestedMean(t *testing.T) {
	text := "TU MICROSECONDS\nR 0 1 false\n"
	for i := range 7 {
		text += fmt.Sprintf("C %d %d %d 0 1 ; name=A\n", i, 10*i*i, 10*i*i+1)
	}
	path := filepath.Join(t.TempDir(), "t.etf")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const want = "followed by end A: 7 times, min 1 us, mean 1 us, max 1 us."
	if out := weft(t, exitGood, "verify", "--suggest", path); !strings.Contains(out, want) {
		t.Errorf("found %s, expected %s", out, want)
	}
}
