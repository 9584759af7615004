package clocks

// Level determines which locations share a clock.
type Level uint8

// The values of Level.
const (
	// ProcessClocks assigns one clock to all locations of each group that is a process.
	ProcessClocks Level = iota
	// NodeClocks assigns one clock to all processes in each group that contains processes, usually
	// a node.
	NodeClocks
	// LocationClocks assigns each location its own clock.
	LocationClocks
)

// Model determines what a correction consists of.
type Model uint8

// The values of Model.
const (
	Full   Model = iota // offsets and drifts, and amortisation if these are not enough
	Linear              // offsets and drifts
	Offset              // offsets only
)

// modelNames are the names of the models, by value.
var modelNames = [...]string{"full", "linear", "offset"}

// String returns the model's name: "full", "linear" or "offset".
func (m Model) String() string { return modelNames[m] }

// MaxLatency is the greatest value of Options.Latency, in ticks.
const MaxLatency = 1 << 30

// Options are the settings of the analysis.
type Options struct {
	Level Level
	Model Model
	// Latency is the shortest time that a message from one clock to another takes, in ticks, from 0 to
	// MaxLatency.
	Latency int64
	// Reference is the index of the location whose clock is not corrected. If no chain of messages or
	// operations connects a clock to the reference, another clock takes the place of the reference: the first
	// clock with such a chain.
	Reference uint32
	// Always also corrects clocks that violate no constraint.
	Always bool
}

// end is the event at one end of a message or operation: its location, and its time in ticks.
type end struct {
	loc  uint32
	time int64
}

// span holds the times of the first and last event of a location, in ticks. They are valid if any
// is set.
type span struct {
	first, last int64
	any         bool
}
