package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// Format is one trace format. Formats are values: nothing is registered.
type Format struct {
	Name       string   // short, lower case: "etf"
	Title      string   // for people: "Eclipse TRACE4CPS (TRACE)"
	Extensions []string // with the dot, most usual first
	// SingleText is set when a trace is one text, so that it can come from
	// standard input and go to standard output.
	SingleText bool
	// Reads, Writes and Seeks say in a few words what is supported; empty
	// means not at all.
	Reads, Writes, Seeks string
	Options              []Option

	// Probe tells how sure the format is that a file is its own: 0 not at all,
	// 50 the name alone fits, 100 certain. head is the beginning of the file.
	Probe func(name string, head []byte) int
	// Open opens a trace for reading.
	Open func(ctx context.Context, src Source, opt *ReadOptions) (Decoder, error)
	// Create makes an encoder that writes to dst.
	Create func(dst *Output, opt *WriteOptions) (Encoder, error)
	// Copy writes the trace src in the same format, record by record, without
	// going through the model; nil if the format does not offer it. It does not
	// commit dst.
	Copy func(ctx context.Context, src Source, ro *ReadOptions, dst *Output, wo *WriteOptions) (*Loss, error)
	// Raw prints the format's own records as text, which for texts is the file
	// as it is; nil if it does not offer it.
	Raw func(ctx context.Context, src Source, opt *ReadOptions, w io.Writer) error
	// Compat prints the text that the format's own tool prints of the trace, with
	// its defects; nil if there is no such tool. Of sel it looks at times and
	// locations.
	Compat func(ctx context.Context, src Source, opt *ReadOptions, sel trace.Selection, w io.Writer) error
	// Rules are the ids of the defects that reading and checking can report.
	Rules []Rule
	// NewChecker makes a checker for defects that show only when records are
	// held against each other; nil if opening and scanning report all.
	NewChecker func(d Decoder, src Source, opt *ReadOptions) Checker
}

// Rule is something that a trace can get wrong.
type Rule struct {
	ID       string // stable, such as "etf.unknown-resource"
	Severity trace.Severity
	Doc      string // one sentence for users
	Example  string // what breaks it: a record, or a situation in a few words
	// Stays is set for what reading takes as it stands: nothing of it is mended.
	Stays bool
}

// Checker looks at the events of one scan, location by location, and reports
// defects. Finish is called after the scan.
type Checker interface {
	Sink
	Finish(ctx context.Context) error
}

// Option is a setting of a format, given as --option name=value.
type Option struct {
	Name    string // with the format's name: "etf.activity"
	Default string
	Doc     string // one sentence
	Write   bool   // concerns writing; otherwise reading
	Values  []string
}

// Source is a trace's main file in a file system.
type Source struct {
	FS   fs.FS
	Name string // path within FS
	Path string // as the user wrote it, for messages
}

// FileSource is a trace in the machine's own file system.
func FileSource(path string) Source {
	return Source{FS: newFolder(filepath.Dir(path)), Name: filepath.Base(path), Path: path}
}

// Open opens the main file, which must offer random access; files of file
// systems that do not are copied to a temporary file.
func (s Source) Open() (File, int64, error) {
	return s.OpenName(s.Name)
}

// OpenName opens another file of the trace. The main file alone may be a pipe.
func (s Source) OpenName(name string) (File, int64, error) {
	open := s.FS.Open
	if name != s.Name {
		open = func(name string) (fs.File, error) { return OpenRegular(s.FS, name) }
	}
	f, err := open(name)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, 0, fmt.Errorf("%s: %w", s.Path, err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("%s: %w", s.Path, err)
	}
	if st.IsDir() {
		f.Close()
		return nil, 0, fmt.Errorf("%s: found a directory, expected a trace file", s.Path)
	}
	if r, ok := f.(File); ok && st.Mode().IsRegular() {
		return r, st.Size(), nil
	}
	defer f.Close()
	return Spill(f)
}

// CopyText writes the main file of a trace that is one text to w, byte for
// byte.
func CopyText(ctx context.Context, src Source, w io.Writer) error {
	f, _, err := src.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Read(buf)
		if _, e := w.Write(buf[:n]); e != nil {
			return e
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", src.Path, err)
		}
	}
}

// File is an open file with random access.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// Spill copies a stream into a temporary file that vanishes when it is closed.
func Spill(r io.Reader) (File, int64, error) {
	f, err := os.CreateTemp("", "weft-in-*")
	if err != nil {
		return nil, 0, fmt.Errorf("cannot make a temporary file: %w", err)
	}
	os.Remove(f.Name())
	n, err := io.Copy(f, r)
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, 0, err
	}
	return &spilled{f}, n, nil
}

type spilled struct{ *os.File }

// Close removes the file.
func (s *spilled) Close() error {
	err := s.File.Close()
	os.Remove(s.File.Name()) // where an open file could not be removed
	return err
}

// ReadOptions are the settings of a reader. The zero value is lenient, uses all
// cores and drops defects.
type ReadOptions struct {
	Strict  bool    // stop at the first error or warning
	Report  *Report // where defects go; may be nil
	Values  map[string]string
	Workers int // number of cores; 0 means all
	// Memory bounds what external sorting keeps in memory, in bytes; 0 is 64 MiB.
	Memory   int
	Progress func(done, total int64)
}

// OptionError is an option with a value that makes no sense.
type OptionError struct{ Option, Value, Expected string }

// Error says option, value and what was expected.
func (e *OptionError) Error() string {
	return fmt.Sprintf("option %s: found %q, expected %s", e.Option, e.Value, e.Expected)
}

// Cores is the number of workers to use.
func (o *ReadOptions) Cores() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// SortMemory is the memory that external sorting may use.
func (o *ReadOptions) SortMemory() int {
	if o.Memory > 0 {
		return o.Memory
	}
	return 64 << 20
}

// Value is the setting of an option, or def.
func (o *ReadOptions) Value(name, def string) string { return value(o.Values, name, def) }

// Int is the setting of a numeric option with an optional suffix k, M or G.
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
		return 0, &OptionError{name, s, "a number of bytes such as 16M"}
	}
	return n * mult, nil
}

func value(m map[string]string, name, def string) string {
	if v, ok := m[name]; ok {
		return v
	}
	return def
}

// Defect reports a defect. It returns an error only in strict mode, and then
// for warnings and errors: reading is to stop with it.
func (o *ReadOptions) Defect(d *trace.Defect) error {
	if o.Report != nil {
		o.Report.Add(d)
	}
	if o.Strict && d.Severity >= trace.Warning {
		return d
	}
	return nil
}

// Pass begins another look at the events; decoders call it at the begin of a scan.
func (o *ReadOptions) Pass() {
	if o.Report != nil {
		o.Report.Pass()
	}
}

// WriteOptions are the settings of a writer.
type WriteOptions struct {
	Values  map[string]string
	Workers int
}

// Value is the setting of an option, or def.
func (o *WriteOptions) Value(name, def string) string { return value(o.Values, name, def) }

// Bool is the setting of a yes-or-no option.
func (o *WriteOptions) Bool(name string) (bool, error) {
	s := o.Value(name, "false")
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, &OptionError{name, s, "true or false"}
	}
	return b, nil
}

// Decoder is one opened trace.
type Decoder interface {
	// Defs are the trace's definitions: complete after Open, or grown during a
	// scan, always before the first batch that needs the entry.
	Defs() *trace.Definitions
	// Scan delivers the events location by location: the batches of one location
	// come one after another, in time order, to one sink. sink is called once a
	// worker before anything is delivered to it; a format that delivers from one
	// goroutine calls it with 0 only. Links go to sink 0, after all events.
	Scan(ctx context.Context, sel trace.Selection, sink func(worker int) Sink) error
	// ScanOrdered delivers mixed batches in global time order.
	ScanOrdered(ctx context.Context, sel trace.Selection, sink Sink) error
	// Close frees the trace's files.
	Close() error
}

// Sink consumes events. Batches are only valid during the call.
type Sink interface {
	Batch(b *trace.Batch) error
	// Links gets stored links after the events of both ends.
	Links(l []trace.Link) error
}

// Ender is a sink that wants to know when it has got all events of a location: what it holds
// of them it need not hold any longer. Decoders that know call End from the goroutine that
// delivered the events; others, and for what has no events, need not.
type Ender interface {
	End(location uint32) error
}

// End tells a sink that it has got all events of a location, if it wants to know.
func End(s Sink, location uint32) error {
	if e, ok := s.(Ender); ok {
		return e.End(location)
	}
	return nil
}

// Stream delivers one sorted sequence of events in batches, nil at the end. A
// batch is valid until the next call of Next.
type Stream interface {
	Next(ctx context.Context) (*trace.Batch, error)
}

// Counter is a decoder that knows how many records it will deliver, for
// progress bars.
type Counter interface {
	Count() (records int64, ok bool)
}

// Extent is a decoder that knows the times of its first and last event without
// a scan; ok is false when the trace has no events.
type Extent interface {
	Extent() (first, last int64, ok bool)
}

// Preparer is a decoder that has to look through the trace before Scan or
// ScanOrdered deliver events. They do so if nobody has called Prepare, which does
// nothing the second time; what [Extent] and [Counter] tell, and some definitions,
// are known only afterwards.
type Preparer interface {
	Prepare(ctx context.Context) error
}

// Prepare prepares a decoder if it needs that.
func Prepare(ctx context.Context, d Decoder) error {
	if p, ok := d.(Preparer); ok {
		return p.Prepare(ctx)
	}
	return nil
}

// Trier is a decoder that can try to deliver events before it is prepared. Try is
// like Scan, but may find that the trace must be looked through first: ok is false
// then, and what the sinks got is void.
type Trier interface {
	Try(ctx context.Context, sel trace.Selection, sink func(worker int) Sink) (ok bool, err error)
}

// Resumer is a decoder that can know what is open at some time inside the trace.
// Resume delivers, of each location, enters of the regions that are open at a time
// not after sel.From, at the times when they were entered, and then its events from
// that time to the end of the trace; the rest of sel is not looked at. ok is false if
// the trace does not tell, or must be looked through first; what the sinks got is
// void then.
type Resumer interface {
	Resume(ctx context.Context, sel trace.Selection, sink func(worker int) Sink) (ok bool, err error)
}

// Streamer is a decoder that can deliver parts of a trace side by side. Merged by
// [Merge] the streams are what ScanOrdered delivers, but for the links, which Links
// delivers. closeAll frees what the streams hold, and is to be called in any case.
type Streamer interface {
	Streams(ctx context.Context, sel trace.Selection) (list []Stream, closeAll func(), err error)
	Links(ctx context.Context, sel trace.Selection, sink Sink) error
}

// ScanStreams is the ScanOrdered of a [Streamer].
func ScanStreams(ctx context.Context, s Streamer, sel trace.Selection, sink Sink) error {
	list, closeAll, err := s.Streams(ctx, sel)
	defer closeAll()
	if err != nil {
		return err
	}
	if err := Merge(ctx, list, sink); err != nil {
		return err
	}
	return s.Links(ctx, sel, sink)
}

// LinkCounter is a decoder that knows how many links it will deliver.
type LinkCounter interface{ LinkCount() (links int64, ok bool) }

// Order is what an encoder needs of the order of events.
type Order int

// The orders.
const (
	PerLocation Order = iota // each location in time order
	GlobalOrder              // all events in time order
)

// Encoder writes one trace to an Output. Close writes what is left; Abort frees
// what the encoder holds instead. Neither commits the Output.
type Encoder interface {
	Sink
	Order() Order
	// Begin is called once with the definitions, before the first batch. The
	// tables may grow until Close.
	Begin(d *trace.Definitions) error
	Close() error
	Abort()
	// Loss is what could not be kept so far.
	Loss() *Loss
}

// Report collects defects: for each rule how many there were and the first
// few places. It is safe for concurrent use, and what it holds does not depend
// on the order in which defects arrive. Its size is bounded by the number of
// rules.
type Report struct {
	// Keep is how many places are kept for each rule; 0 means 10.
	Keep   int
	mu     sync.Mutex
	rules  map[string]*ruleDefects
	passes int
}

type ruleDefects struct {
	before int64 // found ahead of the first pass
	pass   int64 // found in this pass
	most   int64 // found in a pass at most
	first  []*trace.Defect
}

// count is how many different defects there are at least.
func (x *ruleDefects) count() int64 { return max(x.before+x.most, int64(len(x.first))) }

// NewReport makes an empty report.
func NewReport() *Report {
	return &Report{rules: map[string]*ruleDefects{}}
}

// Pass begins a look at the events, which finds what others have found before: the same
// defect counts once.
func (r *Report) Pass() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passes++
	for _, x := range r.rules {
		if r.passes == 1 {
			x.before = x.pass
			x.most = 0
		}
		x.pass = 0
	}
}

// Add adds a defect.
func (r *Report) Add(d *trace.Defect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keep := r.Keep
	if keep == 0 {
		keep = 10
	}
	x := r.rules[d.Rule]
	if x == nil {
		x = &ruleDefects{}
		r.rules[d.Rule] = x
	}
	x.pass += max(1, d.Count)
	x.most = max(x.most, x.pass)
	i, _ := slices.BinarySearchFunc(x.first, d, comparePlaces)
	// Equal places keep their order of arrival.
	for i < len(x.first) && comparePlaces(x.first[i], d) == 0 {
		if r.passes > 1 && *x.first[i] == *d {
			return
		}
		i++
	}
	if i >= keep {
		return
	}
	x.first = slices.Insert(x.first, i, d)
	if len(x.first) > keep {
		x.first = x.first[:keep]
	}
}

func comparePlaces(a, b *trace.Defect) int {
	return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Offset, b.Position.Offset), cmp.Compare(a.Record, b.Record), cmp.Compare(a.Found, b.Found))
}

// RuleCount is a rule with how often it was broken and the first places.
type RuleCount struct {
	Rule     string
	Severity trace.Severity
	Count    int64
	First    []*trace.Defect
}

// Rules lists what was found, graver rules first, then by name.
func (r *Report) Rules() []RuleCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []RuleCount
	for name, x := range r.rules {
		sev := trace.Note
		for _, d := range x.first {
			sev = max(sev, d.Severity)
		}
		out = append(out, RuleCount{name, sev, x.count(), slices.Clone(x.first)})
	}
	slices.SortFunc(out, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// Worst is the gravest severity reported; ok is false when nothing was.
func (r *Report) Worst() (s trace.Severity, ok bool) {
	for _, x := range r.Rules() {
		return x.Severity, true
	}
	return 0, false
}
