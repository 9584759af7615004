// Package suggest finds properties that hold in traces that are known to be good. A response states that an
// event follows another one within a time. A precedence states that an event does not come before another one.
// A period states that an event is periodic.
//
// A [Miner] reads the traces. [Miner.Properties] returns the properties, with the best property first. Events
// have the same names and the same order as in package verify; docs/analyses/verify.md has the formulas.
package suggest

import (
	"cmp"
	"math"
	"math/big"
	"slices"
)

// Kind is the kind of a property.
type Kind string

// The kinds of properties.
const (
	Response   Kind = "response"   // each A is followed by a B within the time Max
	Precedence Kind = "precedence" // there is no B before the first A
	// each A except for the last one is followed by the next A after a time from Min to Max
	Period Kind = "period"
)

// Property is a property that holds in all traces, within each object.
type Property struct {
	Kind Kind
	A, B Name // B equals A in a Period
	// Support is the number of observations. For a Response, it is the number of answered events A; for a
	// Precedence, the number of events B; for a Period, the number of distances.
	Support int64
	// Undecided is the number of events A of a Response that have no B. The trace ends within the time Max
	// after each of these events.
	Undecided int64
	Objects   int64    // number of objects of all traces that have an event B
	Min, Max  *big.Rat // in seconds; nil in a Precedence
	Mean      float64  // in seconds
	score     float64
}

// MostAnswered is the greatest mean number of events A that one event B answers in a [Response].
const MostAnswered = 8

// Jitter is the greatest relative deviation of the distances in a [Period] from the middle of their range.
const Jitter = 0.2

// Properties returns properties that have at least the number of observations in least. most is the greatest
// number of properties in the result. Properties with many observations and tight bounds come first. For a
// chain of events, the result has the responses between neighbours, and the response between the first and the
// last event. The time is proportional to the cube of the number of names.
func (m *Miner) Properties(least int64, most int) []Property {
	n := len(m.symbols)
	if n > 0 {
		m.pair(n-1, 0)
	}
	for a := range n {
		m.pair(a, n-1)
	}
	usable := make([]bool, n)
	for i, s := range m.symbols {
		usable[i] = s.count >= least && (s.Event != Plain || !m.claims[s.Name.Name])
	}
	list := slices.Concat(m.responses(usable, least), m.precedences(usable), m.periods(usable, least))
	for i := range list {
		p := &list[i]
		ratio := 2.0 // a precedence has a lower rank, because each object has only one observation of it
		if p.Kind != Precedence {
			high, _ := p.Max.Float64()
			ratio = 1
			if p.Mean > 0 {
				ratio = max(1, high/p.Mean)
			}
		}
		p.score = math.Log2(1+float64(p.Support)) / ratio
	}
	slices.SortStableFunc(list, func(a, b Property) int { return cmp.Compare(b.score, a.score) })
	return list[:min(most, len(list))]
}

// matrix holds a value for each pair of names.
type matrix [][]bool

func newMatrix(n int) matrix {
	x := make(matrix, n)
	for i := range x {
		x[i] = make([]bool, n)
	}
	return x
}

func (d *delays) mean() float64 { return d.sum / float64(d.count) }

// ordered reports whether no b comes before the first a, in any object.
func (m *Miner) ordered(a, b int) bool {
	return m.symbols[b].objects > 0 && m.pairs[a][b].ordered == m.symbols[b].objects
}

// follows returns a matrix with x[a][b] set if b follows a. If two names follow each other, only one of the
// two elements is set: the one whose a comes first in all objects or, if there is none, the one with the
// shorter delay.
func (m *Miner) follows(usable []bool, least int64) matrix {
	n := len(m.symbols)
	x := newMatrix(n)
	for a := range n {
		for b := range n {
			p := &m.pairs[a][b]
			if a == b || !usable[a] || !usable[b] || p.count < least || p.count > MostAnswered*p.answers ||
				p.count+p.undecided != m.symbols[a].count || p.undecided > 0 && p.wait.Cmp(p.max) > 0 {
				continue
			}
			// A name b with many events follows every event. Such a pair counts only if b comes sooner
			// than its usual distance.
			s := &m.symbols[b]
			high, _ := p.max.Float64()
			x[a][b] = s.gaps.count <= s.objects || high <= s.gaps.mean()
		}
	}
	for a := range n {
		for b := range a {
			if !x[a][b] || !x[b][a] {
				continue
			}
			forward, back := m.ordered(a, b), m.ordered(b, a)
			if forward == back {
				forward = m.pairs[a][b].mean() < m.pairs[b][a].mean()
			}
			x[a][b], x[b][a] = forward, !forward
		}
	}
	return x
}

// responses returns the responses between neighbours, and between the ends of chains.
func (m *Miner) responses(usable []bool, least int64) (list []Property) {
	x := m.follows(usable, least)
	n := len(x)
	isFirst := func(a int) bool {
		return !slices.ContainsFunc(x, func(row []bool) bool { return row[a] })
	}
	var first, last []bool
	for a := range n {
		first = append(first, isFirst(a))
		last = append(last, !slices.Contains(x[a], true))
	}
	// A name b is between a and c if the mean delays from a to b and from b to c add up to the delay from a to
	// c, or if the bounds of the two parts imply the bound of the whole.
	between := func(a, c int) bool {
		whole := &m.pairs[a][c]
		for b := range n {
			if !x[a][b] || !x[b][c] {
				continue
			}
			first, second := &m.pairs[a][b], &m.pairs[b][c]
			if first.mean()+second.mean() <= whole.mean()*1.001 ||
				new(big.Rat).Add(first.max, second.max).Cmp(whole.max) <= 0 {
				return true
			}
		}
		return false
	}
	for a := range n {
		for b := range n {
			if !x[a][b] || !(first[a] && last[b]) && between(a, b) {
				continue
			}
			p := &m.pairs[a][b]
			list = append(list, Property{Kind: Response, A: m.symbols[a].Name, B: m.symbols[b].Name, Support: p.count,
				Undecided: p.undecided, Objects: m.symbols[b].objects, Min: p.min, Max: p.max, Mean: p.mean()})
		}
	}
	return list
}

// precedences returns the precedences that do not follow from other precedences, or from the order of begin
// and end of a claim.
func (m *Miner) precedences(usable []bool) (list []Property) {
	n := len(m.symbols)
	x := newMatrix(n)
	for a := range n {
		for b := range n {
			x[a][b] = a != b && usable[a] && usable[b] && m.ordered(a, b)
		}
	}
	for a := range n {
		for c := range n {
			from, to := m.symbols[a].Name, m.symbols[c].Name
			if !x[a][c] || from.Event == Start && to == (Name{End, from.Name}) {
				continue
			}
			follows := false
			for b := 0; b < n && !follows; b++ {
				follows = x[a][b] && x[b][c] && !x[b][a] && !x[c][b]
			}
			if !follows {
				list = append(list, Property{Kind: Precedence, A: from, B: to, Support: m.symbols[c].count,
					Objects: m.symbols[c].objects})
			}
		}
	}
	return list
}

// periods returns a property for each periodic name. If both the start and the end of the same claims are
// periodic, it returns only the property with the smaller jitter.
func (m *Miner) periods(usable []bool, least int64) (list []Property) {
	jitter := func(d *delays) float64 {
		low, _ := d.min.Float64()
		high, _ := d.max.Float64()
		return (high - low) / (high + low)
	}
	periodic := func(s int32) bool {
		g := &m.symbols[s].gaps
		return usable[s] && g.count >= least && jitter(g) <= Jitter
	}
	for i := range m.symbols {
		s := &m.symbols[i]
		if !periodic(int32(i)) {
			continue
		}
		if s.Event != Plain {
			other, ok := m.names[Name{Start + End - s.Event, s.Name.Name}]
			if ok && other >= 0 && periodic(other) {
				if c := cmp.Compare(jitter(&m.symbols[other].gaps), jitter(&s.gaps)); c < 0 || c == 0 && s.Event == End {
					continue
				}
			}
		}
		list = append(list, Property{Kind: Period, A: s.Name, B: s.Name, Support: s.gaps.count, Objects: s.objects,
			Min: s.gaps.min, Max: s.gaps.max, Mean: s.gaps.mean()})
	}
	return list
}
