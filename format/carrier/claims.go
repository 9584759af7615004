package carrier

import "github.com/weft-trace/weft/trace"

// claimKey identifies the claims with an id at a location.
type claimKey struct {
	location uint32
	id       uint64
}

// noteClaim counts the begin of a claim that repeats the id of an open one. Rows of other kinds have no effect.
func (r *Rows) noteClaim(c *trace.Cursor) {
	if !HasClaim(c) {
		return
	}
	at := claimKey{c.Location(), c.Op(0)}
	n := r.open[at]
	switch {
	case c.Kind() == trace.ClaimBegin:
		if r.open == nil {
			r.open = map[claimKey]int{}
		}
		if r.open[at] = n + 1; n > 0 {
			r.repeated++
		}
	case n > 1:
		r.open[at] = n - 1
	default:
		delete(r.open, at)
	}
}
