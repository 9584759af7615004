package messages

import "github.com/weft-trace/weft/analysis/internal/matching"

// none is the index that stands for no moment.
const none = -1

// pair is a pair of locations between which messages are sent.
type pair struct{ source, destination uint32 }

// channel is the key of sends and receives that can match.
type channel = matching.Channel

// conversation is a channel with the ends that wait.
type conversation = matching.Conversation[sums]

// sums holds the sums of the pair of locations of a channel.
type sums struct {
	sent    *cell     // element of Part.matrix; nil until something was sent in the window
	latency *transfer // element of Part.latencies; nil until a latency is known
}

// pairOf returns the locations of a channel.
func pairOf(c channel) pair { return pair{c.Source, c.Destination} }

// end is a send or receive. Times are in ticks.
type end struct {
	time, tag int64
	bytes     uint64
	moment    int32        // its moment in Part.pending, or none
	unsized   bool         // the number of bytes is unknown
	wanted    bool         // in a visit of one of the wanted regions
	message   *openMessage // nil unless messages are listed
}
