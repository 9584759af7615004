package format

import (
	"cmp"
	"slices"
	"sync"
)

// How something was not kept.
type How string

// The ways.
const (
	Degraded How = "degraded" // its meaning is kept in another form
	Dropped  How = "dropped"  // it is gone
)

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

// Merge adds the losses of another account, such as a reader's roundings.
func (l *Loss) Merge(o *Loss) {
	if o == nil {
		return
	}
	for _, r := range o.Rows() {
		l.Add(r.Kind, r.Field, r.How, r.Reason, r.Count)
	}
}

// Rows lists the losses, sorted.
func (l *Loss) Rows() []LossRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]LossRow, 0, len(l.rows))
	for r, n := range l.rows {
		r.Count = n
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b LossRow) int {
		return cmp.Or(-cmp.Compare(a.How, b.How), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// Dropped is how many things are gone.
func (l *Loss) Dropped() (n int64) {
	for _, r := range l.Rows() {
		if r.How == Dropped {
			n += r.Count
		}
	}
	return n
}
