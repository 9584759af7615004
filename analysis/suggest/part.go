package suggest

import (
	"math/big"
	"slices"
)

// appendNew appends the index of a name, unless the name is left out or already in the list.
func appendNew(list []int32, i int32) []int32 {
	if i < 0 || slices.Contains(list, i) {
		return list
	}
	return append(list, i)
}

// since returns the time from the begin of the trace to t.
func (p *part) since(t int64) float64 { return float64(uint64(t) - uint64(p.base)) }

// nameIndex returns the index of a name in an object. isNew reports whether the object did not have the
// name before.
func (p *part) nameIndex(o *object, s int32) (i int, isNew bool) {
	for int(s) >= len(o.at) {
		o.at = append(o.at, 0)
		if len(o.at)%indexesPerPair == 0 {
			p.held++
		}
	}
	if i := o.at[s]; i > 0 {
		return int(i) - 1, false
	}
	n := len(o.names) + 1
	if o.open != nil {
		for a := range o.names {
			x := &o.names[a]
			o.open[a] = append(o.open[a], pending{x.count, x.first, x.sum})
		}
		o.open = append(o.open, make([]pending, n))
		p.held += 2*n - 1
	}
	o.names = append(o.names, occurrences{symbol: s})
	o.at[s] = int32(n)
	p.held += namePairs
	return n - 1, true
}

// pending returns the events A that come after the last B, without counting the current B. Without the table open,
// it computes them: there are none, only the last A, or all of them.
func (p *part) pending(o *object, a, b int) pending {
	if o.open != nil {
		return o.open[a][b]
	}
	x, answered := &o.names[a], o.names[b].answered
	switch {
	case answered < x.begin:
		return pending{x.count, x.first, x.sum}
	case answered >= x.at:
		return pending{}
	}
	return pending{1, x.last, p.since(x.last)}
}

// prepare creates open if another event with the name A needs it. This is the case if, for some B, at least
// two events A, but not all of them, would be after the last B.
func (p *part) prepare(o *object, a int) {
	x := &o.names[a]
	needs := func(y occurrences) bool { return x.begin <= y.answered && y.answered < x.at }
	if o.open != nil || !slices.ContainsFunc(o.names, needs) {
		return
	}
	open := make([][]pending, len(o.names))
	for a := range open {
		open[a] = make([]pending, len(o.names))
		for b := range open[a] {
			open[a][b] = p.pending(o, a, b)
		}
	}
	o.open = open
	p.held += len(open) * len(open)
}

// pair returns the observations of two names in this trace.
func (p *part) pair(a, b int32) *tickPair {
	for int(a) >= len(p.ticks) {
		p.ticks = append(p.ticks, nil)
	}
	if int(b) >= len(p.ticks[a]) {
		p.ticks[a] = append(p.ticks[a], make([]tickPair, len(p.symbols)-len(p.ticks[a]))...)
	}
	return &p.ticks[a][b]
}

// occur processes an event of an object. names are the names of the event.
func (p *part) occur(o *object, names []int32, t int64) {
	p.current = p.current[:0]
	o.events++
	for _, s := range names {
		for int(s) >= len(p.counts) {
			p.counts, p.gaps = append(p.counts, 0), append(p.gaps, tickDelays{})
		}
		p.counts[s]++
		a, isNew := p.nameIndex(o, s)
		if !isNew {
			p.prepare(o, a)
		}
		x := &o.names[a]
		if isNew {
			p.current = append(p.current, s)
			x.first, x.begin = t, o.events
		} else if gap := uint64(t) - uint64(x.last); gap > 0 {
			p.gaps[s].add(1, gap, gap, float64(gap))
		}
		x.count++
		x.last = t
		x.sum += p.since(t)
		x.at = o.events
		if o.open == nil {
			continue
		}
		row := o.open[a]
		for b := range row {
			w := &row[b]
			if w.count == 0 {
				w.oldest = t
			}
			w.count++
			w.sum += p.since(t)
		}
	}
	for _, s := range names {
		b := int(o.at[s]) - 1
		for a := range o.names {
			w := p.pending(o, a, b)
			if w.count == 0 {
				continue
			}
			x := &o.names[a]
			y := p.pair(x.symbol, s)
			y.answers++
			y.add(w.count, uint64(t)-uint64(x.last), uint64(t)-uint64(w.oldest),
				float64(w.count)*p.since(t)-w.sum)
			if o.open != nil {
				o.open[a][b] = pending{}
			}
		}
	}
	for _, s := range names {
		o.names[o.at[s]-1].answered = o.events
	}
	for _, s := range p.current {
		for a := range o.names {
			p.pair(o.names[a].symbol, s).ordered++
		}
	}
}

// finish counts the events without an answer at the end of the trace.
func (p *part) finish() {
	for _, o := range p.objects {
		for a := range o.names {
			x := &o.names[a]
			p.symbols[x.symbol].objects++
			for s := range int32(len(p.symbols)) {
				w := pending{x.count, x.first, x.sum}
				if int(s) < len(o.at) && o.at[s] > 0 {
					w = p.pending(o, a, int(o.at[s])-1)
				}
				if w.count > 0 {
					y := p.pair(x.symbol, s)
					y.undecided += w.count
					y.wait = max(y.wait, uint64(p.last)-uint64(w.oldest))
				}
			}
		}
	}
}

// merge adds the observations of the trace to the observations of the other traces.
func (p *part) merge() {
	m := p.Miner
	second := big.NewRat(p.defs.Clock.Den, p.defs.Clock.Num)
	factor, _ := second.Float64()
	seconds := func(ticks uint64) *big.Rat {
		r := new(big.Rat).SetInt(new(big.Int).SetUint64(ticks))
		return r.Mul(r, second)
	}
	merge := func(to *delays, x *tickDelays) {
		if x.count == 0 {
			return
		}
		if least := seconds(x.min); to.count == 0 || least.Cmp(to.min) < 0 {
			to.min = least
		}
		if greatest := seconds(x.max); to.count == 0 || greatest.Cmp(to.max) > 0 {
			to.max = greatest
		}
		to.count += x.count
		to.sum += x.sum * factor
	}
	for s, n := range p.counts {
		m.symbols[s].count += n
		merge(&m.symbols[s].gaps, &p.gaps[s])
	}
	for a, row := range p.ticks {
		for b := range row {
			x := &row[b]
			if x.count == 0 && x.undecided == 0 && x.ordered == 0 {
				continue
			}
			y := m.pair(a, b)
			merge(&y.delays, &x.tickDelays)
			y.undecided += x.undecided
			y.answers += x.answers
			y.ordered += x.ordered
			if x.undecided > 0 {
				if w := seconds(x.wait); y.wait == nil || w.Cmp(y.wait) > 0 {
					y.wait = w
				}
			}
		}
	}
}

// pair returns the sums of two names over all traces.
func (m *Miner) pair(a, b int) *pair {
	for a >= len(m.pairs) {
		m.pairs = append(m.pairs, nil)
	}
	if b >= len(m.pairs[a]) {
		m.pairs[a] = append(m.pairs[a], make([]pair, len(m.symbols)-len(m.pairs[a]))...)
	}
	return &m.pairs[a][b]
}
