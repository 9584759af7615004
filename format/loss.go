package format

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// Fidelity states how well a part of a trace is kept when it is written in a format.
type Fidelity string

// The values of Fidelity, from best to worst.
const (
	Exact      Fidelity = "exact"      // the format's own tools read it without change
	Recomputed Fidelity = "recomputed" // not written, but computed again from the events
	WeftOnly   Fidelity = "weft only"  // weft restores it, but other tools cannot read it
	Degraded   Fidelity = "degraded"   // kept in another form with the same meaning
	Lost       Fidelity = "lost"       // not in the written file
)

// lossesByRank lists the values of Fidelity that count as a loss, with the worst first.
var lossesByRank = []Fidelity{Lost, Degraded, WeftOnly, Recomputed}

// LossRow counts how often a field of a kind was lost, or degraded, for one reason.
type LossRow struct {
	Kind   string   `json:"kind"`
	Field  string   `json:"field"`
	How    Fidelity `json:"how"`
	Reason string   `json:"reason"`
	Count  int64    `json:"count"`
}

// Loss counts what a conversion could not keep. It is safe for concurrent use.
type Loss struct {
	mu   sync.Mutex
	rows map[LossRow]int64
}

// Add counts n losses. An empty field stands for the whole record.
func (l *Loss) Add(kind, field string, how Fidelity, reason string, n int64) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows == nil {
		l.rows = map[LossRow]int64{}
	}
	l.rows[LossRow{Kind: kind, Field: field, How: how, Reason: reason}] += n
}

// AddShift counts that all times were moved to a later time by the given number of ticks, because the
// format has no times before 0.
func (l *Loss) AddShift(c trace.Clock, ticks int64) {
	l.Add("trace", "time", Degraded, "shifted by "+c.FormatSeconds(ticks)+" s, since the format has no times before 0", 1)
}

// AddBase counts that times which nearly exceed int64, or exceed it, are written as times from the first one on.
func (l *Loss) AddBase(c trace.Clock) {
	if c.Base > 0 {
		l.Add("trace", "time", Degraded, fmt.Sprintf(
			"begins at 0 instead of tick %d, since times of 2⁶¹ ticks or more count from the first one", c.Base), 1)
	}
}

// Rows returns all losses, the worst first.
func (l *Loss) Rows() []LossRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]LossRow, 0, len(l.rows))
	for r, n := range l.rows {
		r.Count = n
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b LossRow) int {
		return cmp.Or(cmp.Compare(slices.Index(lossesByRank, a.How), slices.Index(lossesByRank, b.How)),
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// Lost returns the number of losses whose fidelity is [Lost].
func (l *Loss) Lost() (n int64) {
	for _, r := range l.Rows() {
		if r.How == Lost {
			n += r.Count
		}
	}
	return n
}
