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
	// Late returns the number of ticks of a clock by which a line may be late: the time of an earlier line
	// may be later by so much. Each line is held for this time. Nil means that times never decrease.
	Late func(c trace.Clock) (int64, error)
	// TooLate is called for a line that is later than Late allows, or, if Late is nil, whose time decreases.
	// The line is skipped. t is the time of the line, and least is the least time that was allowed, both in
	// ticks.
	TooLate func(line, t, least int64) error
}

// Following delivers the events of a text that grows. It is not safe for concurrent use.
type Following interface {
	// Defs returns the definitions, which grow. A definition is added before the events that use it are
	// delivered, if its line comes before theirs.
	Defs() *trace.Definitions
	// Add adds text and delivers the events that are now complete, in global time order. It holds back a last
	// line without a line end. The error is that of the text, or of the sink.
	Add(text []byte, sink FollowSink) error
	// Finish delivers the events that remain when there is no more text.
	Finish(sink FollowSink) error
}

// FollowSink receives the events of a text that grows.
type FollowSink interface {
	Sink
	// Finer is called between events when the clock of the definitions gets factor times as many ticks. All
	// times that were delivered must be multiplied by factor.
	Finer(factor int64)
}

// FollowError is the error for a text that can only be read as a whole.
type FollowError struct{ Text string }

// Error returns the place, what was found and what was expected.
func (e *FollowError) Error() string { return e.Text }
