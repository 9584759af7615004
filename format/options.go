package format

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// ReadOptions are the settings of a reader. The zero value reads leniently, uses all cores and
// discards defects.
type ReadOptions struct {
	Strict bool    // stop at the first error or warning
	Report *Report // receives defects; may be nil
	// Values maps names of options to their values.
	Values  map[string]string
	Workers int // number of cores; 0 means all
	// Memory is the maximum number of bytes that external sorting keeps in memory. 0 means 64 MiB. A
	// format that sorts several files at the same time keeps at least 1 MiB of each.
	Memory int
	// Progress, if it is not nil, is called with the part that has been read and the whole, in units
	// that the format chooses, such as bytes or threads.
	Progress func(done, total int64)

	where trace.Place // place of defects that state no place themselves
}

// OptionError reports an option with an invalid value.
type OptionError struct{ Option, Value, Expected string }

// Error returns the option, its value, and the expected values.
func (e *OptionError) Error() string {
	return fmt.Sprintf("option %s: found %q, expected %s", e.Option, e.Value, e.Expected)
}

// CheckOptions returns an [OptionError] for the first setting of the format that has an unknown name or an
// invalid value. It ignores settings of other formats, which have another prefix.
func (a About) CheckOptions(values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !strings.HasPrefix(name, a.Name+".") {
			continue
		}
		i := slices.IndexFunc(a.Options, func(o Option) bool { return o.Name == name })
		if i < 0 {
			return &OptionError{name, values[name], "an option that " + a.Title + " has"}
		}
		if list := a.Options[i].Values; len(list) > 0 && !slices.Contains(list, values[name]) {
			return &OptionError{name, values[name], "one of " + strings.Join(list, ", ")}
		}
	}
	return nil
}

// Cores returns the number of workers: Workers, or the number of cores that the program may use.
func (o *ReadOptions) Cores() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// SortMemory returns the number of bytes that external sorting may use in memory.
func (o *ReadOptions) SortMemory() int {
	if o.Memory > 0 {
		return o.Memory
	}
	return 64 << 20
}

// Value returns the value of an option, or def if it is not set.
func (o *ReadOptions) Value(name, def string) string { return value(o.Values, name, def) }

// Int returns the value of a numeric option, which can have a suffix k, M or G, or def if it is not
// set. The error is an [OptionError].
func (o *ReadOptions) Int(name string, def int64) (int64, error) {
	s := o.Value(name, "")
	if s == "" {
		return def, nil
	}
	mult := int64(1)
	t := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i")
	for suffix, m := range map[string]int64{"k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		if u, ok := strings.CutSuffix(t, suffix); ok {
			t, mult = u, m
			break
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/mult {
		return 0, &OptionError{name, s, "a number such as 128 or 16M"}
	}
	return n * mult, nil
}

// value returns an element of m, or def if m does not have it.
func value(m map[string]string, name, def string) string {
	if v, ok := m[name]; ok {
		return v
	}
	return def
}

// At returns a copy of the options for defects at a location. A defect that states no location itself gets
// this one.
func (o *ReadOptions) At(location uint32) *ReadOptions {
	at := *o
	at.where = trace.Place{Location: location, HasLocation: location != trace.NoRef}
	return &at
}

// Defect reports a defect. In strict mode it returns warnings and errors that count in the report as an
// error; the reader must then stop.
func (o *ReadOptions) Defect(d *trace.Defect) error {
	if o.where.HasLocation && d.Event == (trace.Place{}) {
		d.Event = o.where
	}
	if o.Report != nil && !o.Report.add(d) {
		return nil
	}
	if o.Strict && d.Severity >= trace.Warning {
		return d
	}
	return nil
}

// Pass begins another pass over the events. Readers call it at the beginning of a scan.
func (o *ReadOptions) Pass() {
	if o.Report != nil {
		o.Report.Pass()
	}
}

// WriteOptions are the settings of a writer.
type WriteOptions struct {
	Values  map[string]string
	Workers int
	// Plain requests a trace with only the format's own records. Without it, an encoder adds data
	// that only weft reads, so that a conversion back restores all.
	Plain bool
}

// Value returns the value of an option, or def if it is not set.
func (o *WriteOptions) Value(name, def string) string { return value(o.Values, name, def) }

// Bool returns the value of a yes-or-no option; false if it is not set. The error is an
// [OptionError].
func (o *WriteOptions) Bool(name string) (bool, error) {
	s := o.Value(name, "false")
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, &OptionError{name, s, "true or false"}
	}
	return b, nil
}
