package etf

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// isLegacy reports whether a file has the dialect "TraceVersion V0.1".
func isLegacy(head []byte) bool {
	f := bytes.Fields(head[:min(len(head), 64)])
	return len(f) >= 2 && string(f[0]) == "TraceVersion" && string(f[1]) == "V0.1"
}

// configuration holds the contents of a V0.1 configuration file.
type configuration struct {
	unit       string
	shift      int64
	attributes map[int64]string
	contexts   map[int64]legacyContext
}

type legacyContext struct {
	name  string
	attrs []int64
}

// readConfiguration reads a configuration file. It ignores unknown lines.
func readConfiguration(r io.Reader) configuration {
	c := configuration{attributes: map[int64]string{}, contexts: map[int64]legacyContext{}}
	s := bufio.NewScanner(io.LimitReader(r, 16<<20))
	for s.Scan() {
		f := strings.Split(strings.TrimRight(s.Text(), "\r"), "\t")
		if len(f) < 2 {
			f = strings.Fields(s.Text())
		}
		if len(f) < 2 {
			continue
		}
		id, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "TimeScaleUnit":
			c.unit = f[1]
		case "TimeScaleShift":
			c.shift = id
		case "Attribute":
			if len(f) > 2 {
				c.attributes[id] = f[2]
			}
		case "Context":
			if len(f) > 2 {
				x := legacyContext{name: f[2]}
				for _, a := range f[3:] {
					if n, err := strconv.ParseInt(a, 10, 64); err == nil {
						x.attrs = append(x.attrs, n)
					}
				}
				c.contexts[id] = x
			}
		}
	}
	return c
}

// values returns the values of a context as attributes with their names.
func (c *configuration) values(ctx int64, vals []string) []Attr {
	var out []Attr
	x, ok := c.contexts[ctx]
	if ok {
		out = append(out, Attr{"context", x.name})
	}
	for i, v := range vals {
		name := "attribute" + strconv.Itoa(i+1)
		if i < len(x.attrs) {
			if n, ok := c.attributes[x.attrs[i]]; ok {
				name = n
			}
		}
		out = append(out, Attr{name, v})
	}
	return out
}

// legacyConverter converts the lines of a V0.1 trace to lines of the current format. It uses the
// configuration file that the trace names if that file is in the folder of the trace.
type legacyConverter struct {
	*linetrace.Rewriter
	conf   configuration
	named  string // name of the configuration file
	ready  bool
	modes  map[int64]resourceMode
	deps   int64
	header []Attr
}

func beginLegacy(w *linetrace.Rewriter) (line func([]byte, int64) error, finish func() error) {
	c := &legacyConverter{Rewriter: w, modes: map[int64]resourceMode{}}
	return c.convertLine, func() error { return nil }
}

type resourceMode struct {
	mode     int64 // 0: a claim takes all of the resource; 1: it has an amount; 2: it has an amount and an offset
	capacity float64
}

func (c *legacyConverter) emit(r *Record, number int64) error { return c.Record(number, r.Append) }

// begin writes the definitions of the configuration before the first record.
func (c *legacyConverter) begin(number int64) error {
	if c.ready {
		return nil
	}
	c.ready = true
	c.conf = configuration{attributes: map[int64]string{}, contexts: map[int64]legacyContext{}}
	if c.named != "" {
		f, err := c.openConfiguration()
		if err == nil {
			c.conf = readConfiguration(f)
			f.Close()
		} else {
			found := "no file of that name"
			if !errors.Is(err, fs.ErrNotExist) {
				found = err.Error()
			}
			if err := c.Defect("etf.configuration", trace.Warning, number, "configuration "+strconv.Quote(c.named), found,
				"this file in the folder of the trace; weft numbers the attributes instead"); err != nil {
				return err
			}
		}
	}
	unit := map[string]string{"ns": "NANOSECONDS", "us": "MICROSECONDS", "ms": "MILLISECONDS", "s": "SECONDS",
		"min": "MINUTES", "h": "HOURS"}[c.conf.unit]
	if unit == "" {
		unit = "SECONDS"
	}
	if err := c.emit(&Record{Keyword: TU, Unit: unit}, number); err != nil {
		return err
	}
	if c.conf.shift != 0 {
		c.header = append(c.header, Attr{"TimeScaleShift", strconv.FormatInt(c.conf.shift, 10)})
	}
	return c.emit(&Record{Keyword: T, Attrs: c.header}, number)
}

// openConfiguration opens the configuration file. It has the name c.named and is in the folder of the trace.
// Failing that, it is the only file there whose name ends in c.named, because people who keep several traces
// in a folder add a prefix to the name.
func (c *legacyConverter) openConfiguration() (fs.File, error) {
	dir := path.Dir(c.Src.Name)
	base := path.Base(strings.ReplaceAll(c.named, "\\", "/"))
	f, err := format.OpenRegular(c.Src.FS, path.Join(dir, base))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	list, e := fs.ReadDir(c.Src.FS, dir)
	if e != nil {
		return nil, err
	}
	found := ""
	for _, x := range list {
		if strings.HasSuffix(x.Name(), base) && x.Type().IsRegular() {
			if found != "" {
				return nil, err
			}
			found = x.Name()
		}
	}
	if found == "" {
		return nil, err
	}
	return format.OpenRegular(c.Src.FS, path.Join(dir, found))
}

// convertLine converts a line of a V0.1 trace.
func (c *legacyConverter) convertLine(l []byte, number int64) error {
	text := strings.TrimRight(string(l), "\r")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	comment := func() error { return c.Record(number, func(b []byte) []byte { return append(b, text...) }) }
	if text[0] == '#' {
		return comment()
	}
	f := legacyFields(strings.Split(text, "\t"))
	if len(f) < 2 {
		f = strings.Fields(text)
	}
	bad := func(found, expected string) error {
		text = "# " + text // a copy keeps the line, as a comment
		return cmp.Or(c.Defect("etf.legacy-line", trace.Error, number, quote(l), found, expected), comment())
	}
	if len(f) < 2 {
		return bad(quote(l), "a keyword and its values, separated by tabs")
	}
	switch f[0] {
	case "TraceVersion":
		c.header = append(c.header, Attr{"TraceVersion", f[1]})
		return nil
	case "ConfigurationID":
		c.header = append(c.header, Attr{"ConfigurationID", f[1]})
		if c.named == "" {
			c.named = f[1]
		}
		return nil
	case "ConfigurationSource":
		c.header = append(c.header, Attr{"ConfigurationSource", f[1]})
		c.named = f[1]
		return nil
	}
	if err := c.begin(number); err != nil {
		return err
	}
	var r Record
	var found, expected string
	switch f[0] {
	case "R":
		r, found, expected = c.readResource(f)
	case "C":
		r, found, expected = c.readClaim(f)
	case "D":
		r, found, expected = c.readDependency(f)
	default:
		found, expected = "keyword "+strconv.Quote(f[0]), "R, C or D"
	}
	if expected != "" {
		return bad(found, expected)
	}
	return c.emit(&r, number)
}

// legacyFields holds the fields of a V0.1 line. A line consists of a keyword, a fixed number of numbers
// (one of which is a unit for resources), a context id, and the values of that context.
type legacyFields []string

// numbers returns n fields, beginning with field from. ok is false if there are fewer fields, or if one
// of them is not a number.
func (f legacyFields) numbers(from, n int) (list []string, ok bool) {
	if len(f) < from+n {
		return nil, false
	}
	for _, s := range f[from : from+n] {
		if _, k, _ := trace.ParseDecimal([]byte(s)); k != len(s) || k == 0 {
			return nil, false
		}
	}
	return f[from : from+n], true
}

func legacyInteger(s string) int64 {
	n, _, _ := legacyTime(s).Ticks(0)
	return n
}

func legacyReal(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64)
	return x
}

func legacyTime(s string) trace.Decimal {
	d, _, _ := trace.ParseDecimal([]byte(s))
	return d
}

// readResource reads the fields of a resource, and stores its mode for the claims that follow. If the fields
// are invalid, it returns the text that it found and a description of the text that it expected. readClaim and
// readDependency return the same results.
func (c *legacyConverter) readResource(f legacyFields) (r Record, found, expected string) {
	a, ok := f.numbers(1, 2)
	if !ok || len(f) < 6 {
		return r, "too few fields", "R ID CAPACITY UNIT MODE [OFFSET] CONTEXT VALUES"
	}
	mode := legacyInteger(f[4])
	at := 5
	if mode == 2 {
		at = 6
	}
	if mode < 0 || mode > 2 || len(f) <= at {
		return r, "mode " + f[4], "0, 1 or 2"
	}
	r = Record{Keyword: R, ID: legacyInteger(a[0]), Capacity: legacyReal(a[1]), UsesOffset: mode == 2}
	r.Attrs = c.conf.values(legacyInteger(f[at]), f[at+1:])
	if f[3] != "" {
		r.Attrs = append(r.Attrs, Attr{"unit", f[3]})
	}
	if mode == 2 && f[5] != "0" {
		r.Attrs = append(r.Attrs, Attr{"offset", f[5]})
	}
	if len(f) > at+1 && f[at+1] != "" {
		r.Attrs = append(r.Attrs, Attr{"name", f[at+1]})
	}
	c.modes[r.ID] = resourceMode{mode, r.Capacity}
	return r, "", ""
}

// readClaim reads the fields of a claim.
func (c *legacyConverter) readClaim(f legacyFields) (r Record, found, expected string) {
	a, ok := f.numbers(1, 2)
	if !ok {
		return r, "no claim id and resource id", "C ID RESOURCE …"
	}
	r = Record{Keyword: C, ID: legacyInteger(a[0]), Resource: legacyInteger(a[1])}
	m, known := c.modes[r.Resource]
	if !known {
		return r, "resource " + a[1], "a resource defined before its claims, whose mode decides what the fields are"
	}
	n := 4 + int(m.mode)
	v, ok := f.numbers(3, n)
	if !ok {
		return r, "too few numbers", "C ID RESOURCE [AMOUNT] [OFFSET] START END 0 CONTEXT VALUES"
	}
	r.Amount = m.capacity
	if m.mode >= 1 {
		r.Amount, v = legacyReal(v[0]), v[1:]
	}
	if m.mode == 2 {
		r.Offset, r.HasOffset, v = legacyReal(v[0]), true, v[1:]
	}
	r.Start, r.End = legacyTime(v[0]), legacyTime(v[1])
	r.Attrs = c.conf.values(legacyInteger(v[3]), f[3+n:])
	return r, "", ""
}

// readDependency reads the fields of a dependency.
func (c *legacyConverter) readDependency(f legacyFields) (r Record, found, expected string) {
	v, ok := f.numbers(1, 4)
	if !ok || legacyInteger(v[2]) < 0 || legacyInteger(v[2]) > 3 {
		return r, "no two ids, type 0 to 3 and context", "D FROM TO TYPE CONTEXT VALUES"
	}
	// The types of V0.1 are 0: end to begin, 1: end to end, 2: begin to begin, 3: begin to end.
	r = Record{Keyword: D, ID: c.deps, Type: [4]int64{2, 3, 0, 1}[legacyInteger(v[2])],
		Src: legacyInteger(v[0]), Dst: legacyInteger(v[1])}
	r.Attrs = c.conf.values(legacyInteger(v[3]), f[5:])
	c.deps++
	return r, "", ""
}
