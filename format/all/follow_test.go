package all

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// rowTexts collects events as text, with names instead of numbers of definitions.
type rowTexts struct {
	defs  *trace.Definitions
	list  []string
	times []int64
}

func (r *rowTexts) Links([]trace.Link) error { return nil }

func (r *rowTexts) begin(d *trace.Definitions) (format.Sink, error) {
	r.defs = d
	return r, nil
}

// scaleTimes multiplies the times of the collected events by factor, because ticks have become shorter.
func (r *rowTexts) scaleTimes(factor int64) {
	for i := range r.times {
		r.times[i] *= factor
	}
}

func (r *rowTexts) Batch(b *trace.Batch) error {
	d := r.defs
	c := b.Cursor()
	for c.Next() {
		spec := d.Spec(c.Kind())
		name, _ := d.RefName(spec.Ref, c.Ref())
		s := fmt.Sprintf("%s line %d %s %q %s", d.Clock.FormatSeconds(c.Time()), c.Pos(), spec.Name, name,
			d.Locations.At(c.Location()).ID)
		for i, v := range c.Ops() {
			if i < len(spec.Operands) {
				if name, ok := d.OperandName(spec.Operands[i].Type, v); ok {
					s += " " + name
					continue
				}
			}
			s += fmt.Sprintf(" %d", v)
		}
		keys, values := c.Attrs()
		for i, k := range keys {
			s += fmt.Sprintf(" %s=%s", d.Attributes.At(k).Name, values[i].String())
		}
		r.list, r.times = append(r.list, s), append(r.times, c.Time())
	}
	return nil
}

// followTexts holds texts that are difficult for a reader of a growing text: times get more digits, claims end
// after later lines, or definitions stand between events.
var followTexts = map[string]string{
	"digits.etf": "TU MILLISECONDS\nR 0 1 false ; name=CPU\nC 0 0 5 0 1 ; name=A\nE 0 1.5 ; name=x\n" +
		"C 1 1.75 2 0 1 ; name=B\n" +
		"R 1 1 false ; name=GPU\nE 1 2.0625 ; name=y\nC 2 3 3 1 1 ; name=C\nS 0 ; name=s\nF 0 3.1 4 1 2 0\nE 2 5 ; name=z",
	"written-at-end.etf": "TU SECONDS\nR 0 1 false ; name=CPU\nE 0 0 ; name=x\nC 0 1 3 0 1 ; name=A\n" +
		"C 1 0.5 4 0 1 ; name=B\n" +
		"E 1 2.25 ; name=y\r\nC 2 4 4 0 1 ; name=C\n\nX unknown\n",
	"labels.trf": "-3 -901 0.0 0 0 0\n-3 5 0.1 0 0 0\n-5 5 0.2 -1 -1 4 0 work\n-4 5 0.25 0 0 0\n-3 5 0.26 0 0 0\n" +
		"-4 5 0.27 0 0 0\n-4 -901 0.3 0 0 0\n",
	"continued.trf": "-3 -901 0.0 0 0 0\n-3 -21 0.1 0 0 3 \\\n 2 100 7 \\ \n1\n-4 -21 0.2 0 0 0\n-4 -901 0.4 0 0 0\n",
	"processes.trf": "-3 -901 0.0 0 0 0\n-3 -901 0.05 1 0 0\n-3 -21 0.1 0 0 3 2 100 7 1\n-4 -21 0.2 0 0 0\n" +
		"-3 -51 0.15 1 0 0\n-4 -51 0.300001 1 0 3 2 100 7 0\n-4 -901 0.3 0 0 0\n-4 -901 0.4 1 0 0\n",
}

// TestFollow checks that a text that comes in pieces has the same events as the whole text. The events are the
// same only if the lines are in time order, or if the reader waits for all lines.
func TestFollow(t *testing.T) {
	texts := map[string][]byte{}
	for name, text := range followTexts {
		texts[name] = []byte(text)
	}
	for _, pattern := range []string{"../etf/testdata/ok/*", "../picl/testdata/ok/*", "../../examples/*.etf"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if st, err := os.Stat(f); err == nil && st.Mode().IsRegular() && st.Size() < 1<<20 {
				if texts[f], err = os.ReadFile(f); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 9))
	compared := map[bool]int{}
	for name, text := range texts {
		f := format.Probe(Formats(), filepath.Base(name), text[:min(len(text), 64<<10)], 1)
		if f == nil || !f.About().Follows {
			continue
		}
		path := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := f.Open(context.Background(), format.FileSource(path),
			&format.ReadOptions{Workers: 1, Report: format.NewReport()})
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		want := &rowTexts{defs: file.Defs()}
		sel := trace.Events()
		sel.NoStates = true
		if err := file.Scan(context.Background(), sel, format.GlobalOrder, want); err != nil {
			t.Fatal(err)
		}
		for _, waits := range []bool{false, true} {
			late := 0
			opt := &format.FollowOptions{ReadOptions: &format.ReadOptions{Workers: 1, Report: format.NewReport()}, Name: name,
				TooLate: func(int64, int64, int64) error { late++; return nil }}
			if waits {
				opt.Late = func(trace.Clock) (int64, error) { return math.MaxInt64 / 2, nil }
			}
			got := &rowTexts{}
			opt.Begin, opt.ScaleTimes = got.begin, got.scaleTimes
			err := f.Follow(func(yield func([]byte, error) bool) {
				for rest := bytes.Clone(text); len(rest) > 0; {
					n := 1 + r.IntN(min(len(rest), 1+r.IntN(2000)))
					if !yield(rest[:n], nil) {
						return
					}
					clear(rest[:n]) // the events must not refer to this memory
					rest = rest[n:]
				}
			}, opt)
			if whole := (*format.FollowError)(nil); errors.As(err, &whole) {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if late > 0 && !waits {
				continue
			}
			compared[waits]++
			if a, b := strings.Join(got.list, "\n"), strings.Join(want.list, "\n"); a != b {
				for i := range min(len(got.list), len(want.list)) {
					if got.list[i] != want.list[i] {
						t.Errorf("%s, waits %t, event %d:\ngot  %s\nwant %s", name, waits, i, got.list[i], want.list[i])
						break
					}
				}
				if len(got.list) != len(want.list) {
					t.Errorf("%s, waits %t: %d events, expected %d", name, waits, len(got.list), len(want.list))
				}
			}
		}
	}
	if compared[false] < 8 || compared[true] < 15 {
		t.Errorf("%d and %d texts compared, expected at least 8 and 15", compared[false], compared[true])
	}
}

// FuzzFollow checks that the reader of a growing text fails for no text, and delivers events in the order of
// time. The test splits the text into random pieces.
func FuzzFollow(f *testing.F) {
	for _, text := range followTexts {
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for _, x := range Formats() {
			if !x.About().Follows {
				continue
			}
			opt := &format.FollowOptions{ReadOptions: &format.ReadOptions{Workers: 1, Report: format.NewReport()}, Name: "text",
				TooLate: func(int64, int64, int64) error { return nil }}
			if seed%2 == 0 {
				opt.Late = func(c trace.Clock) (int64, error) { return c.ParseDuration("1s") }
			}
			rows := &rowTexts{}
			opt.Begin, opt.ScaleTimes = rows.begin, rows.scaleTimes
			err := x.Follow(func(yield func([]byte, error) bool) {
				for rest := []byte(text); len(rest) > 0; {
					n := 1 + r.IntN(len(rest))
					if !yield(rest[:n], nil) {
						return
					}
					rest = rest[n:]
				}
			}, opt)
			if err != nil {
				continue
			}
			last := int64(math.MinInt64)
			for _, at := range rows.times {
				if at < last {
					t.Fatalf("an event at %d after one at %d", at, last)
				}
				last = at
			}
		}
	})
}
