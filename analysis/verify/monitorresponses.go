package verify

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/trace"
)

// grownResponses counts the response times of a trace that grows. The number of response times above the limit
// determines whether a percentile is within the limit. Therefore grownResponses stores only the open response
// times and the longest ones.
type grownResponses struct {
	responses *Responses
	total     int64
	exceeding int64           // number of response times above the limit
	longest   []grownResponse // the longest response times, with the longest first
	// waiting holds the begins without an answer whose response time may stay within the limit. Without
	// objects, they are in the order of time. late holds the first few begins since the last answer whose
	// response time exceeds the limit.
	waiting, late []grownState

	spans map[string]grownSpan // indexed by object; used if By is set
	// the begins of objects, in the order of time; used if By is set and all response times must be within the
	// limit
	begins  []grownBegin
	exceeds bool // the response time of some object certainly exceeds the limit
}

// grownState is a state with the index of its label in names.
type grownState struct {
	t      int64
	label  uint32
	object string
}

// grownResponse is a response time. Without an answer, it lasts up to the last state.
type grownResponse struct {
	from, to grownState
	answered bool
}

// grownSpan holds the first begin of an object, and the last answer after this begin.
type grownSpan struct {
	grownResponse
	begun bool
}

// grownBegin is the begin of an object.
type grownBegin struct {
	object string
	t      int64
}

// maxTicks returns the greatest number of ticks within the limit. It is negative if no number of ticks is
// within the limit.
func (r *Responses) maxTicks(c trace.Clock) int64 {
	most, exact := floor(inTicks(r.Limit, c))
	if exact && r.Op == "<" {
		most.Sub(most, big.NewInt(1))
	}
	if !most.IsInt64() {
		return math.MaxInt64
	}
	return most.Int64()
}

// within reports whether at most most ticks pass from one state to another.
func within(from, to, most int64) bool { return most >= 0 && uint64(to)-uint64(from) <= uint64(most) }

// addState adds a state, given the propositions that hold there and the objects of the event.
func (g *grownResponses) addState(r *recorder, list []int32, objects []claimObject) {
	from := slices.Contains(list, int32(g.responses.From.index))
	to := slices.Contains(list, int32(g.responses.To.index))
	if !from && !to {
		return
	}
	s := grownState{t: r.now, label: r.labels[len(r.labels)-1]}
	most := g.responses.maxTicks(r.defs.Clock)
	if g.responses.By == "" {
		if from {
			g.waiting = append(g.waiting, s)
		}
		if to {
			g.addAnswer(s, most)
		}
		return
	}
	for _, o := range objects {
		if o.record.attribute != g.responses.By {
			continue
		}
		y := g.spans[o.object]
		if s.object = o.object; from && !y.begun {
			y = grownSpan{grownResponse{from: s}, true}
			if g.responses.millionths == allMillionths {
				g.begins = append(g.begins, grownBegin{o.object, s.t})
			}
		}
		if to && y.begun {
			y.to, y.answered = s, true
			if g.responses.millionths == allMillionths && !within(y.from.t, s.t, most) {
				g.recordExceeding(y.grownResponse, s.t)
			}
		}
		if y.begun {
			g.spans[o.object] = y
		}
	}
}

// addAnswer adds the response times of all states that wait for an answer.
func (g *grownResponses) addAnswer(to grownState, most int64) {
	for _, from := range g.waiting {
		g.add(grownResponse{from, to, true}, to.t, most)
	}
	for _, from := range g.late {
		g.addToLongest(grownResponse{from, to, true}, to.t)
	}
	g.waiting, g.late = g.waiting[:0], g.late[:0]
}

// add counts a response time. last is the time of the last state.
func (g *grownResponses) add(y grownResponse, last, most int64) {
	g.total++
	if !within(y.from.t, y.end(last), most) {
		g.exceeding++
	}
	if !g.exceeds { // if exceeds is set, the response time may already be in the list
		g.addToLongest(y, last)
	}
}

// end returns the end of a response time. last is the time of the last state.
func (g *grownResponse) end(last int64) int64 {
	if g.answered {
		return g.to.t
	}
	return last
}

// addToLongest adds a response time to the longest ones.
func (g *grownResponses) addToLongest(y grownResponse, last int64) {
	order := func(a, b grownResponse) int {
		return cmp.Or(cmp.Compare(uint64(b.end(last))-uint64(b.from.t), uint64(a.end(last))-uint64(a.from.t)),
			cmp.Compare(a.from.t, b.from.t), cmp.Compare(a.from.object, b.from.object))
	}
	i, _ := slices.BinarySearchFunc(g.longest, y, order)
	if g.longest = slices.Insert(g.longest, i, y); len(g.longest) > maxWorst {
		g.longest = g.longest[:maxWorst]
	}
}

// countExceeding counts the states whose response time now exceeds the limit.
func (g *grownResponses) countExceeding(r *recorder) {
	most := g.responses.maxTicks(r.defs.Clock)
	tooLong := func(s grownState) bool { return !within(s.t, r.latest, most) }
	count := func(s grownState) {
		g.total++
		g.exceeding++
		if len(g.late) < maxWorst {
			g.late = append(g.late, s)
		}
	}
	if g.responses.By != "" {
		g.waiting = slices.DeleteFunc(g.waiting, func(s grownState) bool {
			if tooLong(s) {
				count(s)
			}
			return tooLong(s)
		})
	}
	n := 0
	for n < len(g.waiting) && tooLong(g.waiting[n]) {
		count(g.waiting[n])
		n++
	}
	g.waiting = slices.Delete(g.waiting, 0, n)
	for len(g.begins) > 0 {
		y := g.spans[g.begins[0].object]
		if y.begun && !y.answered && y.from.t == g.begins[0].t { // else the object has left
			if within(y.from.t, r.latest, most) {
				return
			}
			g.recordExceeding(y.grownResponse, r.latest)
		}
		g.begins = g.begins[1:]
	}
}

// recordExceeding stores that the response time of an object certainly exceeds the limit.
func (g *grownResponses) recordExceeding(y grownResponse, last int64) {
	if !g.exceeds {
		g.addToLongest(y, last)
	}
	g.exceeds = true
}

// removeDeparted counts the response time of an object that has left the system.
func (g *grownResponses) removeDeparted(r *recorder, object string) {
	y := g.spans[object]
	delete(g.spans, object)
	switch {
	case !y.begun:
	case y.answered:
		g.add(y.grownResponse, y.to.t, g.responses.maxTicks(r.defs.Clock))
	default:
		g.waiting = append(g.waiting, y.from)
	}
}

// holds reports whether the percentile is within the limit, and whether it exceeds the limit for every
// continuation of the trace.
func (g *grownResponses) holds() (holds, impossible bool) {
	if g.responses.millionths == allMillionths && (g.exceeds || g.exceeding > 0) {
		return false, true
	}
	return g.total == 0 || g.exceeding <= g.maxExceeding(), false
}

// maxExceeding returns the number of response times that may exceed the limit.
func (g *grownResponses) maxExceeding() int64 {
	return g.total - durations.Rank(g.total, g.responses.millionths, allMillionths)
}

// scaleTimes multiplies all times by a factor.
func (g *grownResponses) scaleTimes(factor int64) {
	for _, list := range [][]grownState{g.waiting, g.late} {
		for i := range list {
			list[i].t *= factor
		}
	}
	for i := range g.longest {
		g.longest[i].scaleTimes(factor)
	}
	for object, y := range g.spans {
		y.scaleTimes(factor)
		g.spans[object] = y
	}
	for i := range g.begins {
		g.begins[i].t *= factor
	}
}

func (g *grownResponse) scaleTimes(factor int64) { g.from.t, g.to.t = g.from.t*factor, g.to.t*factor }

// explainGrown explains a percentile of a trace that grows: by the number of response times above the
// limit, and by the longest ones.
func (e *explainer) explainGrown(f *Formula, g *grownResponses, holds bool, depth int) {
	r := f.Responses
	last := e.latest
	for _, s := range g.late { // the states in late have no answer yet
		g.addToLongest(grownResponse{from: s}, last)
	}
	g.late = nil
	if len(g.longest) == 0 {
		text := fmt.Sprintf("there is no response time from %s to %s", r.From, r.To)
		if n := len(g.waiting); n > 0 {
			text += fmt.Sprintf(" yet; %d wait at the end of the trace", n)
		}
		e.addAt(depth, f, holds, e.recorder.first, last, "%s", text)
		return
	}
	text := fmt.Sprintf("a response time from %s to %s is not %s %s", r.From, r.To, r.Op, r.Limit)
	if !g.exceeds {
		text = fmt.Sprintf("%d of %d response times from %s to %s are not %s %s; the %s %% percentile allows %d",
			g.exceeding, g.total, r.From, r.To, r.Op, r.Limit, r.Percent, g.maxExceeding())
	}
	e.addAt(depth, f, holds, e.recorder.first, last, "%s", text)
	at := func(s grownState) string {
		return e.names[s.label] + " at " + e.defs.Clock.FormatSeconds(s.t) + " s"
	}
	most := r.maxTicks(e.defs.Clock)
	for i, y := range g.longest {
		ok := within(y.from.t, y.end(last), most)
		if len(e.list) >= maxReasons || i > 0 && ok {
			return
		}
		object := ""
		if r.By != "" {
			object = fmt.Sprintf(" for %s = %s", quote(r.By), quote(y.from.object))
		}
		long := e.durationText(uint64(y.end(last)) - uint64(y.from.t))
		if !y.answered {
			e.addAt(depth+1, f, false, y.from.t, last, "%s has no answer%s, %s before the last event", at(y.from), object, long)
			continue
		}
		e.addAt(depth+1, f, ok, y.from.t, y.to.t, "%s is answered by %s%s, %s later", at(y.from), at(y.to), object, long)
	}
}
