package format

import (
	"github.com/weft-trace/weft/trace"
)

// FollowOptions are the settings for a text that grows.
type FollowOptions struct {
	*ReadOptions
	Name string // of the text, for messages
	// Begin is called once, before the first piece of the text is read. It returns the sink of the events. The
	// definitions grow: each is added before the events that use it are delivered, if its line comes before
	// theirs.
	Begin func(d *trace.Definitions) (Sink, error)
	// Finer is called between events when the clock of the definitions gets factor times as many ticks. All
	// times that were delivered must be multiplied by factor.
	Finer func(factor int64)
	// Late returns the number of ticks of a clock by which a line may be late: the time of an earlier line
	// may be later by so much. Each line is held for this time. Nil means that times never decrease.
	Late func(c trace.Clock) (int64, error)
	// TooLate is called for a line that is later than Late allows, or, if Late is nil, whose time decreases.
	// The line is skipped. t is the time of the line, and least is the least time that was allowed, both in
	// ticks.
	TooLate func(line, t, least int64) error
}

// FollowError is the error for a text that can only be read as a whole.
type FollowError struct{ Text string }

// Error returns the place, what was found and what was expected.
func (e *FollowError) Error() string { return e.Text }
