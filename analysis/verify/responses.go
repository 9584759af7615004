package verify

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Responses compares a percentile of response times with a time. Without By, there is a response time for each
// state at which From holds. It ends at the first state at which To holds, beginning with this state itself.
// With By, there is a response time for each object. It lasts from the first state at which From holds to the
// last state at which To holds.
type Responses struct {
	Percent  string // as written in the specification; above 0 and at most 100
	From, To *Proposition
	By       string // the attribute that names objects, or ""
	Op       string // "<" or "<="
	Limit    Duration

	millionths int64 // the percentage in millionths of a percent
}

// allMillionths stands for 100 %.
const allMillionths = 100_000_000

// String returns the comparison in the syntax of a specification.
func (r *Responses) String() string {
	by := ""
	if r.By != "" {
		by = " by " + quote(r.By)
	}
	return fmt.Sprintf("percentile %s from %s to %s%s %s %s", r.Percent, r.From, r.To, by, r.Op, r.Limit)
}

// responsesNode is a parsed comparison of a percentile, in which names are not resolved.
type responsesNode struct {
	Responses
	from, to *propositionNode
	by       []token
}

// parsePercentile reads the comparison of a percentile.
func (p *parser) parsePercentile() *node {
	p.next()
	t := p.next()
	n := &responsesNode{Responses: Responses{Percent: t.text}}
	percent := exactNumber(t.text)
	if percent == nil || len(t.text) > 10 || percent.Sign() <= 0 || percent.Cmp(big.NewRat(100, 1)) > 0 {
		panic(p.fail(t, "a percentage above 0 and at most 100"))
	}
	if percent.Mul(percent, big.NewRat(1_000_000, 1)); !percent.IsInt() {
		panic(p.fail(t, "a percentage with at most 6 decimals"))
	}
	n.millionths = percent.Num().Int64()
	for _, x := range []struct {
		word  string
		event **propositionNode
	}{{"from", &n.from}, {"to", &n.to}} {
		p.expect(x.word)
		e := &propositionNode{}
		if p.accept("start") {
			e.event = StartEvent
		} else if p.accept("end") {
			e.event = EndEvent
		} else if !p.currentIs("{") {
			panic(p.fail(p.rest[0], `start, end, or "{" and attributes, as in {'name' = 'A'}`, "start", "end"))
		}
		e.pairs = p.parseAttributes()
		*x.event = e
	}
	if p.accept("by") {
		if p.rest[0].kind != text {
			panic(p.fail(p.rest[0], "the attribute that names objects, in quotes"))
		}
		n.by = []token{p.next()}
	}
	if !p.currentIs("<") && !p.currentIs("<=") {
		panic(p.fail(p.rest[0], "by, < or <=", "by"))
	}
	n.Op = p.next().text
	if n.Limit = p.parseDuration(); n.Limit.Unit == "" {
		n.Limit.Unit = p.parseLastUnit("the end of the formula", afterFormula...)
	}
	return &node{op: Percentile, times: n}
}

// buildResponses converts a node to a Responses.
func (b *builder) buildResponses(n *responsesNode, env *environment) (*Responses, error) {
	r := n.Responses
	var err error
	if r.From, err = b.buildProposition(n.from, env); err != nil {
		return nil, err
	}
	if r.To, err = b.buildProposition(n.to, env); err != nil {
		return nil, err
	}
	if len(n.by) > 0 {
		if r.By = n.by[0].text; r.By == "" {
			return nil, b.fail(n.by[0], "the name of an attribute")
		}
	}
	return &r, nil
}

// latencyDeclaration returns the declaration of a bound on a percentile of response times.
func latencyDeclaration(check, property string) (string, error) {
	failed := func() (string, error) {
		return "", fmt.Errorf("found %q, expected A..B p99 < 2ms, or A..B by id p99 < 2ms", strings.TrimSpace(property))
	}
	a, rest, ok := cutOutside(property, "..", strings.Index)
	if !ok {
		return failed()
	}
	rest, limit, ok := cutOutside(rest, "<", strings.Index)
	if !ok {
		return failed()
	}
	b, percent, ok := cutOutside(rest, " p", strings.LastIndex)
	if !ok {
		return failed()
	}
	op := "<"
	if strings.HasPrefix(limit, "=") {
		op, limit = "<=", limit[1:]
	}
	by := ""
	if event, name, ok := cutOutside(b+" ", " by ", strings.LastIndex); ok {
		if strings.TrimSpace(name) == "" {
			return "", errors.New(`found nothing after "by", expected an attribute, as in A..B by id p99 < 2ms`)
		}
		b, by = event, " by "+quote(unquote(name))
	} else if err := checkLastWord(b, []string{"by"}, func(rest string) bool {
		return !strings.Contains(hideNames(rest), " ")
	}); err != nil {
		return "", err
	}
	from, err := eventText(a)
	if err != nil {
		return "", err
	}
	to, err := eventText(b)
	if err != nil {
		return "", err
	}
	d, err := parseDuration(limit)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("check %s : percentile %s from %s to %s%s %s %s", check, strings.TrimSpace(percent), from, to,
		by, op, d), nil
}

// objectTimes holds, by object, the states between which a [Responses] measures.
type objectTimes struct {
	responses *Responses
	spans     map[string]stateSpan
}

// stateSpan holds the first state of an object at which From holds, and its last state at which To holds.
// States are counted from 1. 0 stands for no state.
type stateSpan struct{ from, to int }

// addObjects stores, for the objects of the event, that a proposition holds at the last state.
func (r *recorder) addObjects(p int32, objects []claimObject) {
	for _, t := range r.responses {
		if t.responses.From.index != int(p) && t.responses.To.index != int(p) {
			continue
		}
		for _, o := range objects {
			if o.record.attribute != t.responses.By {
				continue
			}
			s := t.spans[o.object]
			if t.responses.From.index == int(p) && s.from == 0 {
				s.from = r.states()
			}
			if t.responses.To.index == int(p) {
				s.to = r.states()
			}
			t.spans[o.object] = s
		}
	}
}

// response is a response time. If there is no answer, it lasts up to the last state.
type response struct {
	from, to int // numbers of states; to is -1 if there is no answer
	ticks    uint64
	object   string
}

// responseTimes holds the response times from which the percentile is computed. The longest one is
// first. The others are in the order of time.
type responseTimes struct {
	list []response
	// number of response times without an answer that do not count, because they are still within the limit
	open  int
	most  int64  // greatest number of ticks within the limit; negative if no number is within the limit
	value uint64 // the percentile in ticks; 0 if there are no response times
	holds bool
}

// responseTimes returns the response times of the trace.
func (e *evaluator) responseTimes(r *Responses) *responseTimes {
	x := &responseTimes{most: r.maxTicks(e.defs.Clock)}
	add := func(y response) {
		last := y.to
		if last < 0 {
			last = e.n - 1
		}
		y.ticks = uint64(e.time[last]) - uint64(e.time[y.from])
		if y.to < 0 && x.within(y.ticks) {
			x.open++
			return
		}
		x.list = append(x.list, y)
	}
	if r.By == "" {
		answers := e.matches[r.To.index]
		for _, i := range e.matches[r.From.index] {
			for len(answers) > 0 && answers[0] < i {
				answers = answers[1:]
			}
			y := response{from: int(i), to: -1}
			if len(answers) > 0 {
				y.to = int(answers[0])
			}
			add(y)
		}
	} else {
		for _, t := range e.recorder.responses {
			if t.responses != r {
				continue
			}
			for object, s := range t.spans {
				if s.from == 0 {
					continue
				}
				y := response{from: s.from - 1, to: s.to - 1, object: object}
				if y.to < y.from {
					y.to = -1
				}
				add(y)
			}
		}
	}
	slices.SortFunc(x.list, func(a, b response) int {
		return cmp.Or(cmp.Compare(b.ticks, a.ticks), cmp.Compare(a.from, b.from), cmp.Compare(a.object, b.object))
	})
	n := int64(len(x.list))
	if n == 0 {
		x.holds = true
		return x
	}
	x.value = x.list[n-durations.Rank(n, r.millionths, allMillionths)].ticks
	x.holds = x.within(x.value)
	return x
}

// within reports whether a response time is within the limit.
func (r *responseTimes) within(t uint64) bool { return r.most >= 0 && t <= uint64(r.most) }

// percentileStates returns the states at which a comparison of a percentile holds. The result has all states
// or no state. The value is decided only if all response times must be within the limit and one of them
// exceeds it.
func (e *evaluator) percentileStates(r *Responses) value {
	if e.growth != nil {
		holds, impossible := e.growth.responses[r].holds()
		switch {
		case impossible:
			return value{e.none, e.none, e.none}
		case holds:
			return value{e.none, e.all, e.all}
		}
		return value{e.none, e.none, e.all}
	}
	x := e.responseTimes(r)
	if x.holds {
		return value{e.none, e.all, e.all}
	}
	if r.millionths == allMillionths {
		return value{e.none, e.none, e.none}
	}
	return value{e.none, e.none, e.all}
}

// maxWorst is the greatest number of response times that an explanation lists.
const maxWorst = 5

// explainPercentile explains a percentile: by its value, and by the longest response times.
func (e *explainer) explainPercentile(f *Formula, holds bool, depth int) {
	r := f.Responses
	if e.growth != nil {
		e.explainGrown(f, e.growth.responses[r], holds, depth)
		return
	}
	t := e.responseTimes(r)
	if len(t.list) == 0 {
		text := fmt.Sprintf("there is no response time from %s to %s", r.From, r.To)
		if t.open > 0 {
			text += fmt.Sprintf(" yet; %d wait at the end of the trace", t.open)
		}
		e.add(depth, f, holds, 0, e.n-1, "%s", text)
		return
	}
	text := fmt.Sprintf("the %s %% percentile of %s from %s to %s is %s, expected %s %s", r.Percent,
		plural.Of(len(t.list), "response time"), r.From, r.To, e.durationText(t.value), r.Op, r.Limit)
	if t.open > 0 {
		text += fmt.Sprintf("; %d more wait at the end of the trace, within the limit", t.open)
	}
	e.add(depth, f, holds, 0, e.n-1, "%s", text)
	for i, y := range t.list {
		if len(e.list) >= maxReasons || i >= maxWorst || i > 0 && t.within(y.ticks) {
			return
		}
		object := ""
		if r.By != "" {
			object = fmt.Sprintf(" for %s = %s", quote(r.By), quote(y.object))
		}
		if y.to < 0 {
			e.add(depth+1, f, false, y.from, e.n-1, "%s has no answer%s, %s before the last event", e.stateText(y.from), object,
				e.durationText(y.ticks))
			continue
		}
		e.add(depth+1, f, t.within(y.ticks), y.from, y.to, "%s is answered by %s%s, %s later", e.stateText(y.from),
			e.stateText(y.to), object, e.durationText(y.ticks))
	}
}

// durationText formats a duration in ticks without rounding. A rounded duration that is slightly longer than a
// bound could look equal to the bound.
func (e *explainer) durationText(ticks uint64) string {
	c := e.defs.Clock
	text := c.FormatDuration(int64(min(ticks, math.MaxInt64)))
	_, unit, _ := strings.Cut(text, " ")
	length := units[strings.Replace(unit, "µ", "u", 1)]
	if length == nil || !c.Valid() {
		return text
	}
	v := new(big.Rat).SetFrac(new(big.Int).SetUint64(ticks), big.NewInt(1))
	v.Mul(v, big.NewRat(c.Den, c.Num)).Quo(v, length)
	return strings.TrimSuffix(strings.TrimRight(v.FloatString(12), "0"), ".") + " " + unit
}

// objectsOfEvent returns the objects of a row. It returns none if the specification does not need the objects
// of events.
func (r *recorder) objectsOfEvent(c *trace.Cursor) []claimObject {
	if len(r.responses) == 0 {
		return nil
	}
	return r.objectsOf(c)
}
