package format

import (
	"github.com/weft-trace/weft/trace"
)

// FollowOptions are the settings for reading a text that another program is still writing.
type FollowOptions struct {
	*ReadOptions
	Name string // name of the text, for messages
	// Begin is called once, before the first piece of the text is read. It returns the sink of the
	// events. The definitions grow: a definition is added before the events that use it are delivered,
	// if its line comes before theirs.
	Begin func(d *trace.Definitions) (Sink, error)
	// ScaleTimes is called between events when the clock of the definitions gets factor times as many ticks. All
	// times that were delivered must be multiplied by factor.
	ScaleTimes func(factor int64)
	// Late returns by how many ticks of a clock a line may be late, compared with the greatest time of
	// an earlier line. Each line is held back for this time. Nil means that times never decrease.
	Late func(c trace.Clock) (int64, error)
	// TooLate is called for a line that is later than Late allows or, if Late is nil, whose time is
	// less than that of the line before. Such a line is skipped. t is the time of the line, and least
	// is the least time that was allowed. Both are in ticks.
	TooLate func(line, t, least int64) error
}

// FollowError reports a text that can only be read as a whole.
type FollowError struct{ Text string }

// Error returns the place, what was found and what was expected.
func (e *FollowError) Error() string { return e.Text }
