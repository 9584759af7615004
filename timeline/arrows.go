package timeline

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// mix is a hash of two numbers (splitmix64).
func mix(h, x uint64) uint64 {
	h += x + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// point is an end of an arrow under construction.
type point struct {
	row   *row
	time  int64
	level float64
	claim *claim // knows the level once it is placed
}

type arrow struct {
	hash     uint64
	kind     ArrowKind
	src, dst point
	label    string
}

// sampler keeps a sample of arrows that does not depend on the order in which
// they come: those with the smallest hashes, in a heap with the greatest on top.
type sampler struct {
	keep  int
	list  []arrow
	count [2]ArrowCount
}

func (s *sampler) Len() int           { return len(s.list) }
func (s *sampler) Less(i, j int) bool { return s.list[i].hash > s.list[j].hash }
func (s *sampler) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }
func (s *sampler) Push(x any)         { s.list = append(s.list, x.(arrow)) }
func (s *sampler) Pop() any {
	x := s.list[len(s.list)-1]
	s.list = s.list[:len(s.list)-1]
	return x
}

// add takes an arrow if it touches the window; who tells it from others.
func (s *sampler) add(sc *scale, a arrow, who ...uint64) {
	lo, hi := min(a.src.time, a.dst.time), max(a.src.time, a.dst.time)
	if hi < sc.from || lo > sc.to {
		return
	}
	s.count[a.kind].Total++
	if a.src.row == nil || a.dst.row == nil || a.src.row.dead || a.dst.row.dead || s.keep == 0 {
		return
	}
	h := mix(mix(uint64(a.kind), uint64(a.src.time)), uint64(a.dst.time))
	for _, x := range who {
		h = mix(h, x)
	}
	a.hash = h
	if len(s.list) < s.keep {
		heap.Push(s, a)
	} else if h < s.list[0].hash {
		s.list[0] = a
		heap.Fix(s, 0)
	}
}

// arrows lists the sample, number giving the index of a row or -1.
func (s *sampler) arrows(number func(*row) int) []Arrow {
	var out []Arrow
	for _, a := range s.list {
		src, dst := number(a.src.row), number(a.dst.row)
		if src < 0 || dst < 0 {
			continue
		}
		s.count[a.kind].Drawn++
		out = append(out, Arrow{a.kind, ArrowEnd{src, a.src.time, a.src.level}, ArrowEnd{dst, a.dst.time, a.dst.level}, a.label})
	}
	slices.SortFunc(out, func(a, b Arrow) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Src.Time, b.Src.Time), cmp.Compare(a.Dst.Time, b.Dst.Time),
			cmp.Compare(a.Src.Row, b.Src.Row), cmp.Compare(a.Dst.Row, b.Dst.Row), cmp.Compare(a.Src.Level, b.Src.Level),
			cmp.Compare(a.Dst.Level, b.Dst.Level), cmp.Compare(a.Label, b.Label))
	})
	return out
}

// endKey names a claim or an event that links may lead to.
type endKey struct {
	event bool
	loc   uint32
	id    int64
}

func (k endKey) hash() uint64 {
	h := mix(uint64(k.loc), uint64(k.id))
	if k.event {
		h = mix(h, 1)
	}
	return h
}

// maxPlaced bounds the claims and events whose place is remembered for links.
const maxPlaced = 1 << 17

// places remembers where claims and events are drawn. When there are too many
// it keeps those with small hashes, so that what it keeps does not depend on
// the order in which they come.
type places struct {
	at    map[endKey]point
	limit uint64 // hashes from here on are not kept
	cut   bool
}

func (p *places) put(k endKey, at point) {
	if p.at == nil {
		p.at, p.limit = map[endKey]point{}, ^uint64(0)
	}
	if k.hash() > p.limit {
		return
	}
	if _, twice := p.at[k]; twice {
		return // the first one counts
	}
	p.at[k] = at
	for len(p.at) > maxPlaced {
		p.cut, p.limit = true, p.limit/2
		for k := range p.at {
			if k.hash() > p.limit {
				delete(p.at, k)
			}
		}
	}
}

// maxHalves bounds the sends and receives that wait for their other side.
const maxHalves = 1 << 20

// channel is a sequence of messages that arrive in the order of sending.
type channel struct {
	src, dst uint32
	tag      uint64
}

type waiting struct{ sends, recvs []point }

// matcher pairs sends with receives. It sees events in global time order, so
// that it holds only messages under way.
type matcher struct {
	open   map[channel]*waiting
	held   int
	failed bool // too many were under way
}

// send and recv return the other side, if it has come already.
func (m *matcher) send(c channel, p point) (point, bool) { return m.meet(c, p, true) }
func (m *matcher) recv(c channel, p point) (point, bool) { return m.meet(c, p, false) }

func (m *matcher) meet(c channel, p point, sent bool) (other point, ok bool) {
	if m.failed {
		return point{}, false
	}
	w := m.open[c]
	if w == nil {
		if m.open == nil {
			m.open = map[channel]*waiting{}
		}
		w = &waiting{}
		m.open[c] = w
	}
	mine, theirs := &w.recvs, &w.sends
	if sent {
		mine, theirs = theirs, mine
	}
	if len(*theirs) == 0 {
		*mine = append(*mine, p)
		if m.held++; m.held > maxHalves {
			// To forget a few would pair the wrong ones from here on.
			m.failed, m.open = true, nil
		}
		return point{}, false
	}
	other = (*theirs)[0]
	*theirs = (*theirs)[1:]
	m.held--
	if len(*theirs) == 0 {
		delete(m.open, c)
	}
	return other, true
}

// linkLabel is the text of a dependency.
func linkLabel(attrs []trace.Attr) string {
	for _, key := range []string{"type", "name"} {
		for _, a := range attrs {
			if a.Key == key {
				return a.Value.String()
			}
		}
	}
	return ""
}
