package transform

import "github.com/weft-trace/weft/trace"

// barriers counts the barriers of threads that a location has left in its innermost team. Only barriers in teams
// count.
type barriers struct {
	teams []teamBarriers // the open visits of teams, innermost last
	isOne []int8         // by region: 1 for barriers, -1 for other regions, 0 if it is not known yet
}

// teamBarriers counts the barriers in an open visit of a team.
type teamBarriers struct {
	team uint64
	left int64
	last int64 // time of the end of the latest one
}

// update processes a row that begins or ends the work in a team, or ends a visit.
func (b *barriers) update(d *trace.Definitions, x *trace.Cursor) {
	n := len(b.teams)
	switch {
	case x.Kind() == trace.ThreadTeamBegin:
		b.teams = append(b.teams, teamBarriers{team: x.Op(0)})
	case n == 0:
	case x.Kind() == trace.ThreadTeamEnd:
		b.teams = b.teams[:n-1]
	case b.isBarrier(d, x.Ref()):
		b.teams[n-1].left++
		b.teams[n-1].last = x.Time()
	}
}

// isBarrier reports whether a region is a barrier.
func (b *barriers) isBarrier(d *trace.Definitions, region uint32) bool {
	if !d.Regions.Has(region) {
		return false
	}
	for int(region) >= len(b.isOne) {
		b.isOne = append(b.isOne, 0)
	}
	if b.isOne[region] == 0 {
		b.isOne[region] = -1
		if r := d.RoleOf(region); r == trace.BarrierRole || r == trace.ImplicitBarrierRole {
			b.isOne[region] = 1
		}
	}
	return b.isOne[region] > 0
}

// findBarriers finds the barriers that some threads of a team have left before the piece, while others are still in
// them. The n-th barriers of all threads in a team belong together. So the piece repeats these barriers at the threads
// that have left them.
func (c *cut) findBarriers(o *operations) {
	type visit struct {
		team   uint64
		number int64
	}
	type progress struct {
		left   int64
		region uint32 // the barrier in which the thread is
	}
	numberOf := func(loc int, team uint64) visit {
		return visit{team, o.ended[memberOf{uint32(loc), sequenceOf{team, trace.ThreadTeamEnd}}]}
	}
	least := map[visit]progress{}
	each := func(f func(loc int, l *openBegins, b *teamBarriers, v visit)) {
		for loc, l := range c.openBegins {
			if l == nil || len(l.barriers.teams) == 0 {
				continue
			}
			b := &l.barriers.teams[len(l.barriers.teams)-1]
			f(loc, l, b, numberOf(loc, b.team))
		}
	}
	each(func(_ int, l *openBegins, b *teamBarriers, v visit) {
		for i := range l.regions {
			region := l.regions[i].ref
			if l.among.Gap(i) || !l.barriers.isBarrier(c.Defs(), region) {
				continue
			}
			if x, ok := least[v]; !ok || b.left < x.left {
				least[v] = progress{b.left, region}
			}
		}
	})
	each(func(loc int, l *openBegins, b *teamBarriers, v visit) {
		x, ok := least[v]
		if !ok || b.left-x.left > mostAhead {
			return
		}
		for range b.left - x.left {
			l.operations = append(l.operations, endedOperation{loc: uint32(loc),
				begin: openRow{kind: trace.Enter, ref: x.region, time: b.last},
				end:   openRow{kind: trace.Leave, ref: x.region, time: b.last}})
		}
	})
}
