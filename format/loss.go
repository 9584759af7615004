package format

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// How says what other tools, and weft itself, get of something that is written in a format.
type How string

// The ways, from best to worst.
const (
	Exact      How = "exact"      // the format's own tools see the same
	Recomputed How = "recomputed" // not written; follows from the events
	WeftOnly   How = "weft only"  // weft restores it, other tools do not see it
	Degraded   How = "degraded"   // its meaning is kept in another form
	Lost       How = "lost"       // it is gone
)

// ways are all of them, the worst first.
var ways = []How{Lost, Degraded, WeftOnly}

// LossRow counts what was lost of one field of one kind for one reason.
type LossRow struct {
	Kind   string `json:"kind"`
	Field  string `json:"field"`
	How    How    `json:"how"`
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// Loss counts what a conversion could not keep. It is safe for concurrent use.
type Loss struct {
	mu   sync.Mutex
	rows map[LossRow]int64
}

// Add counts n losses. An empty field means the record as a whole.
func (l *Loss) Add(kind, field string, how How, reason string, n int64) {
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

// TextTimes notes the times of events that are written as decimal text. Readers have
// the resolution of the text's digits only up to seven eighths of the range of times,
// and a quarter of it if there are times before 0.
type TextTimes struct {
	rows        int64
	least, most int64
}

// Add notes the times of a batch, which are in order.
func (t *TextTimes) Add(b *trace.Batch) {
	if n := b.Len(); n > 0 {
		t.rows += int64(n)
		t.least, t.most = min(t.least, b.Time[0]), max(t.most, b.Time[n-1])
	}
}

// Count adds the loss, if there is one: all times are read back rounded then, and
// events without what is carried.
func (t *TextTimes) Count(l *Loss) {
	if t.most > math.MaxInt64/8*7 || t.least < 0 && (t.most > math.MaxInt64/4 || t.least < -math.MaxInt64/4) {
		l.Add("event", "time", Lost, "times beyond 7/8 of the range, or 1/4 beside times before 0, are read back rounded", t.rows)
	}
}

// Rows lists the losses, the worst first.
func (l *Loss) Rows() []LossRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]LossRow, 0, len(l.rows))
	for r, n := range l.rows {
		r.Count = n
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b LossRow) int {
		return cmp.Or(cmp.Compare(slices.Index(ways, a.How), slices.Index(ways, b.How)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// Lost is how many things are gone.
func (l *Loss) Lost() (n int64) {
	for _, r := range l.Rows() {
		if r.How == Lost {
			n += r.Count
		}
	}
	return n
}
