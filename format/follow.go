package format

import (
	"github.com/weft-trace/weft/trace"
)

// Follower is a [Format] whose traces are texts that can be read while they grow.
type Follower interface {
	Format
	// Follow returns the events of a text that has no lines yet.
	Follow(opt *FollowOptions) (Following, error)
}

// FollowOptions are the settings for a text that grows.
type FollowOptions struct {
	*ReadOptions
	Name string // of the text, for messages
	// Late returns for how many ticks of a clock a line may come behind lines with later times. Lines are held until
	// their time lies back that long. Nil means that times never decrease.
	Late func(c trace.Clock) (int64, error)
	// TooLate is called for lines that come later, or, if Late is nil, whose times decrease. The text is read without
	// them. t is the time of the line, and least is the least time that it may have, both in ticks.
	TooLate func(line, t, least int64) error
}

// Following are the events of a text that grows. It is not safe for concurrent use.
type Following interface {
	// Defs returns the definitions, which grow. Those that lines define are there before the events that use them, if
	// they have been read.
	Defs() *trace.Definitions
	// Add takes more text and delivers the events that its lines decide, in global time order. It holds a last line without
	// line end. An error is one of the text, or of the sink.
	Add(text []byte, sink FollowSink) error
	// Finish delivers the events that remain when there is no more text.
	Finish(sink FollowSink) error
}

// FollowSink receives the events of a text that grows.
type FollowSink interface {
	Sink
	// Finer is called between events when the clock of the definitions has become finer: all times that were delivered
	// count factor times as many ticks.
	Finer(factor int64)
}

// FollowError is the error for a text that can be read as a whole alone.
type FollowError struct{ Text string }

// Error returns the place, what was found and what was expected.
func (e *FollowError) Error() string { return e.Text }
