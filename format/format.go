package format

import (
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/trace"
)

// Format is one trace format. Formats are values without a state: nothing is registered, and
// nothing of one can be changed.
type Format interface {
	// About says what the format is.
	About() About
	// Probe tells how sure the format is that a file is its own: 0 not at all,
	// 50 the name alone fits, 100 certain. head is the beginning of the file.
	Probe(name string, head []byte) int
	// Open opens a trace for reading.
	Open(ctx context.Context, src Source, opt *ReadOptions) (File, error)
	// Create makes an encoder that writes to dst.
	Create(dst *Output, opt *WriteOptions) (Encoder, error)
	// Copy writes the trace src in the same format, record by record, without
	// going through the model. It does not commit dst.
	Copy(ctx context.Context, src Source, ro *ReadOptions, dst *Output, wo *WriteOptions) (*Loss, error)
	// Raw prints the format's own records as text, which for texts is the file
	// as it is.
	Raw(ctx context.Context, src Source, opt *ReadOptions, w io.Writer) error
	// Compat prints the text that the format's own tool prints of the trace, with
	// its defects.
	Compat(ctx context.Context, src Source, opt *ReadOptions, p Printing, w io.Writer) error
}

// Printing says what [Format.Compat] prints.
type Printing struct {
	// Selection chooses events by their times, locations and kinds; its other fields do not
	// count. Kinds that a trace declares itself are not there.
	trace.Selection
	// Limit is how many events are printed at most; behind them printing ends. 0 is all.
	Limit int64
	// File is the trace, if it is open already; it need not be read again then.
	File File
	// Tool has what else the format's own tool can be told, in a type of the format's own
	// package; nil is nothing. A format that does not know it fails with [ErrUnsupported].
	Tool any
}

// ErrUnsupported is the error of what a format does not offer.
var ErrUnsupported = errors.New("the format does not offer this")

// Unsupported is embedded by a [Format] that does not offer everything: what it does not define
// fails with [ErrUnsupported].
type Unsupported struct{}

// Create is not offered.
func (Unsupported) Create(*Output, *WriteOptions) (Encoder, error) { return nil, ErrUnsupported }

// Copy is not offered.
func (Unsupported) Copy(context.Context, Source, *ReadOptions, *Output, *WriteOptions) (*Loss, error) {
	return nil, ErrUnsupported
}

// Raw is not offered.
func (Unsupported) Raw(context.Context, Source, *ReadOptions, io.Writer) error { return ErrUnsupported }

// Compat is not offered.
func (Unsupported) Compat(context.Context, Source, *ReadOptions, Printing, io.Writer) error {
	return ErrUnsupported
}

// About describes a format, to people and to commands.
type About struct {
	Name       string   // short, lower case: "etf"
	Title      string   // for people: "Eclipse TRACE4CPS (TRACE)"
	Extensions []string // with the dot, most usual first
	// SingleText is set when a trace is one text, so that it can come from
	// standard input and go to standard output.
	SingleText bool
	// EmptyMain is set when the main file of a trace may be empty, because others hold what there
	// is. A trace of another format whose main file is empty is none ([EmptyError]).
	EmptyMain bool
	// Reads, Writes and Seeks say in a few words what is supported; empty
	// means not at all.
	Reads, Writes, Seeks string
	Options              []Option
	// Rules are the defects that reading and checking can report.
	Rules []Rule
	// Mapping says what becomes of each subject when it is written.
	Mapping func(s Subject) Mapped
	// Place says where the main file of a trace belongs that is to be written to path, which may be
	// a folder. Nil for formats whose traces may stand beside others under any name.
	Place func(path string) string
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

// Option is a setting of a format, given as --option name=value.
type Option struct {
	Name    string // with the format's name: "etf.activity"
	Default string
	Doc     string // one sentence
	Write   bool   // concerns writing; otherwise reading
	Values  []string
}
