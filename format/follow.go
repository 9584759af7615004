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
	// ScaleTimes is called between events when a tick of the clock in the definitions becomes factor times
	// shorter. All times delivered so far must be multiplied by factor.
	ScaleTimes func(factor int64)
	// Late returns by how many ticks of the clock c the time of a line may be less than the greatest time of
	// an earlier line. Follow holds each line back for this time. Nil means that times never decrease.
	Late func(c trace.Clock) (int64, error)
	// TooLate is called for a line that is later than Late allows or, if Late is nil, whose time is less than
	// that of the line before. Follow skips such a line. t is the time of the line, and least is the earliest
	// time allowed. Both are in ticks.
	TooLate func(line, t, least int64) error
}

// FollowError reports a text that can only be read as a whole.
type FollowError struct{ Text string }

// Error returns the text of the error: the line, what was found and what was expected.
func (e *FollowError) Error() string { return e.Text }
