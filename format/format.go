package format

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/weft-trace/weft/trace"
)

// Format is a trace format. The implementations have no state. A program passes the formats that it
// uses in lists; there is no registry.
type Format interface {
	// About describes the format.
	About() About
	// Probe returns the confidence that a file is of this format: 0 for none, 50 if only the file name fits,
	// 100 if the format is certain. head is the beginning of the file.
	Probe(name string, head []byte) int
	// Open opens a trace for reading.
	Open(ctx context.Context, src Source, opt *ReadOptions) (File, error)
	// Create returns an encoder that writes to dst.
	Create(dst *Output, opt *WriteOptions) (Encoder, error)
	// Copy writes the trace src in the same format, record by record, without conversion to the
	// model. It does not commit dst.
	Copy(ctx context.Context, src Source, ro *ReadOptions, dst *Output, wo *WriteOptions) (*Loss, error)
	// Raw prints the format's own records as text. For a text format, Raw prints the file unchanged.
	Raw(ctx context.Context, src Source, opt *ReadOptions, w io.Writer) error
	// Compat prints the same text as the format's own tool prints for the trace, including the
	// tool's errors.
	Compat(ctx context.Context, src Source, opt *ReadOptions, p Printing, w io.Writer) error
	// Follow reads a text that grows, piece by piece, and delivers the events that each piece completes, in
	// global time order, before it asks for the next piece. It holds back a last line without a line end. The
	// text ends when pieces ends. If pieces yields an error, Follow returns that error. Follow does not change
	// a piece, and does not use it after it has asked for the next one.
	Follow(pieces iter.Seq2[[]byte, error], opt *FollowOptions) error
}

// Printing are the settings of [Format.Compat].
type Printing struct {
	// Selection selects events by their times, locations and kinds. Its other fields have no effect.
	// Its function Kind is not called for kinds that the trace itself declares.
	trace.Selection
	// Limit is the maximum number of events to print. 0 means all.
	Limit int64
	// File is the trace, if it is already open. Otherwise it is nil, and Compat opens the trace.
	File File
	// Tool holds further options of the format's own tool, in a type of the format's own package, or
	// nil. A format that does not support the type fails with [ErrUnsupported].
	Tool any
}

// ErrUnsupported is the error of functions that a format does not implement.
var ErrUnsupported = errors.New("the format does not support this")

// Unsupported is embedded by a [Format] that does not implement all functions. It implements them
// all by returning [ErrUnsupported].
type Unsupported struct{}

// Create returns [ErrUnsupported].
func (Unsupported) Create(*Output, *WriteOptions) (Encoder, error) { return nil, ErrUnsupported }

// Copy returns [ErrUnsupported].
func (Unsupported) Copy(context.Context, Source, *ReadOptions, *Output, *WriteOptions) (*Loss, error) {
	return nil, ErrUnsupported
}

// Raw returns [ErrUnsupported].
func (Unsupported) Raw(context.Context, Source, *ReadOptions, io.Writer) error { return ErrUnsupported }

// Compat returns [ErrUnsupported].
func (Unsupported) Compat(context.Context, Source, *ReadOptions, Printing, io.Writer) error {
	return ErrUnsupported
}

// Follow returns [ErrUnsupported].
func (Unsupported) Follow(iter.Seq2[[]byte, error], *FollowOptions) error { return ErrUnsupported }

// About describes a format to users and commands.
type About struct {
	Name       string   // short, lower case: "etf"
	Title      string   // for display: "Eclipse TRACE4CPS (TRACE)"
	Extensions []string // with the dot, most common first
	// SingleText is set if a trace is a single text, so that it can be read from standard input and
	// written to standard output.
	SingleText bool
	// Follows is set if the format implements [Format.Follow].
	Follows bool
	// FilesEach is the number of files that a trace has for each location with events or, in some
	// formats, for each location. It is 0 if the number of files does not depend on the locations.
	FilesEach int64
	// EmptyMain is set if the main file of a trace can be empty because other files hold the content.
	// In other formats, an empty file is not a trace ([EmptyError]).
	EmptyMain bool
	// Reads, Writes and Seeks describe in a few words what the format supports. An empty text means that the
	// format does not support the operation.
	Reads, Writes, Seeks string
	Options              []Option
	// Rules holds the rules of the format. Readers and checks report violations as defects.
	Rules []Rule
	// Mapping returns how the format keeps a subject.
	Mapping func(s Subject) Mapped
	// Place returns the path of the main file of a trace that is written to path, which can be a folder. Place
	// is nil for formats whose traces can have any name in any folder. [WithExtension] is for formats whose
	// readers find a trace only by the extension of its main file.
	Place func(path string) string
}

// Rule is a rule of a format. A violation of it is a defect.
type Rule struct {
	ID       string // stable, such as "etf.unknown-resource"
	Severity trace.Severity
	Doc      string // one sentence for users
	Example  string // an example of a violation: a record or a short description
	// Stays is set if reading does not repair violations of the rule.
	Stays bool
}

// Option is a setting of a format, given as --option name=value.
type Option struct {
	Name    string // with the format's name: "etf.activity"
	Default string
	Doc     string // one sentence
	Write   bool   // for writing; otherwise for reading
	// Values are the allowed values; nil allows all.
	Values []string
	// Generated is the value for generated traces, or "" for the default.
	Generated string
}
