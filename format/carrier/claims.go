package carrier

import "github.com/weft-trace/weft/trace"

// claimKey identifies the claims with an id at a location.
type claimKey struct {
	location uint32
	id       uint64
}

// noteClaim counts the begin of a claim that repeats the id of an open one. Rows of other kinds have no effect.
func (p *Rows) noteClaim(c *trace.Cursor) {
	k := c.Kind()
	if k != trace.ClaimBegin && k != trace.ClaimEnd || len(c.Ops()) == 0 {
		return
	}
	at := claimKey{c.Location(), c.Op(0)}
	n := p.open[at]
	switch {
	case k == trace.ClaimBegin:
		if p.open == nil {
			p.open = map[claimKey]int{}
		}
		if p.open[at] = n + 1; n > 0 {
			p.repeated++
		}
	case n > 1:
		p.open[at] = n - 1
	default:
		delete(p.open, at)
	}
}
