package clocks

// Level determines which locations share a clock.
type Level uint8

// The levels: which locations share a clock.
const (
	// ProcessClocks assigns one clock to the locations of a group that is a process.
	ProcessClocks Level = iota
	// NodeClocks assigns one clock to all processes of a group.
	NodeClocks
	// LocationClocks assigns each location its own clock.
	LocationClocks
)

// Model determines what a correction may consist of.
type Model uint8

// The models of the correction.
const (
	Full   Model = iota // offsets, drifts, and amortisation where these are not enough
	Linear              // offsets and drifts
	Offset              // offsets only
)

var modelNames = [...]string{"full", "linear", "offset"}

// String returns the model's name: "full", "linear" or "offset".
func (m Model) String() string { return modelNames[m] }

// MaxLatency is the greatest valid Options.Latency, in ticks.
const MaxLatency = 1 << 30

// Options are the settings of the analysis.
type Options struct {
	Level Level
	Model Model
	// Latency is the least time of a message from one clock to another, in ticks, from 0 to
	// MaxLatency.
	Latency int64
	// Reference is the index of a location whose clock keeps its times. Clocks that are not tied to it
	// refer to the first clock that they are tied to.
	Reference uint32
	// Always also corrects clocks that no message contradicts, to the middle of the possible range.
	Always bool
}

// end is an event at a location.
type end struct {
	loc  uint32
	time int64
}

// span holds the times of the first and last event of a location.
type span struct {
	first, last int64
	any         bool
}
