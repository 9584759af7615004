package waitstate

import (
	"slices"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// windowLocation identifies a window and a location.
type windowLocation struct {
	window   uint64
	location uint32
}

// windowPair identifies a window, a location that accesses memory through the window, and the location
// that owns the memory.
type windowPair struct {
	window         uint64
	origin, target uint32
}

// groups has the incomplete epochs of windows that groups of locations synchronise: targets post their
// memory, origins start and complete their accesses, and the targets wait for them. The n-th epoch of an
// origin with a target in its group matches the n-th epoch of the target with the origin in its group.
type groups struct {
	started map[windowLocation]*originEpoch // epochs that have not been completed
	exposed map[windowLocation]*targetEpoch // epochs for whose end the target does not wait yet
	pairs   map[windowPair]*pairEpochs
	// origins and targets are all epochs that have not been judged.
	origins map[*originEpoch]bool
	targets map[*targetEpoch]bool
}

func newGroups() groups {
	return groups{started: map[windowLocation]*originEpoch{}, exposed: map[windowLocation]*targetEpoch{},
		pairs: map[windowPair]*pairEpochs{}, origins: map[*originEpoch]bool{}, targets: map[*targetEpoch]bool{}}
}

// pairEpochs has, for an origin and a target, the posts and completions of one side for which the other
// side has no epoch yet, and the epochs that need one, each in order.
type pairEpochs struct {
	posts       []access
	completions []completion
	origins     []*originEpoch
	targets     []*targetEpoch
}

// completion is the call that completes the accesses of an origin. accessed is the end in ticks of its last
// access to the target, or of the call that starts the accesses if there is none.
type completion struct {
	access
	accessed int64
}

// originEpoch is the time in which an origin accesses the memory of a group.
type originEpoch struct {
	window          uint64
	targets         []uint32 // ascending
	posts           []access // indexed by index of targets
	known           []bool   // indexed by index of targets: the post has come
	accessed        []int64  // indexed by index of targets: end of the last access in ticks
	missing         int      // number of posts that have not come
	last            *access  // the latest of posts
	start, complete access
	completed       bool
	// recent holds the last accesses, which may end before the target's call that posts. waited is the access that
	// was the last to wait. It is valid if any is set.
	recent [4]recentAccess
	number int
	waited Place
	any    bool
}

// recentAccess is an access to the memory of the target with an index.
type recentAccess struct {
	access
	target int
}

// targetEpoch is the time in which a group accesses the memory of a target.
type targetEpoch struct {
	window      uint64
	missing     int      // number of completions that have not come
	completions []access // those that have come
	accessed    int64    // end of the last access in ticks
	post, wait  access
	ended       bool // wait is valid
	test        bool // wait is the result of a test
}

// pair returns the epochs of an origin and a target.
func (g *groups) pair(window uint64, origin, target uint32) *pairEpochs {
	k := windowPair{window, origin, target}
	p := g.pairs[k]
	if p == nil {
		p = &pairEpochs{}
		g.pairs[k] = p
	}
	return p
}

// processWindowGroup processes a synchronisation of a location with the set of a group.
func (e *engine) processWindowGroup(c *synclog.Call, at Place, window, set uint64) {
	g := &e.windows.groups
	own := windowLocation{window, c.Location}
	a := accessOf(c, at)
	group := e.group(set)
	switch {
	case c.Window == synclog.WindowStart && len(group) > 0:
		e.start(own, group, &a)
	case c.Window == synclog.WindowPost && len(group) > 0:
		e.expose(own, group, &a)
	case c.Window == synclog.WindowComplete && g.started[own] != nil:
		x := g.started[own]
		delete(g.started, own)
		x.complete, x.completed = a, true
		for i, target := range x.targets {
			p := g.pair(window, c.Location, target)
			done := completion{a, x.accessed[i]}
			if len(p.targets) > 0 {
				y := p.targets[0]
				p.targets = p.targets[1:]
				e.originCompleted(y, &done)
			} else {
				p.completions = append(p.completions, done)
			}
		}
		e.judgeOrigin(x)
	case (c.Window == synclog.WindowWait || c.Window == synclog.WindowTest) && g.exposed[own] != nil:
		x := g.exposed[own]
		delete(g.exposed, own)
		x.wait, x.ended, x.test = a, true, c.Window == synclog.WindowTest
		e.judgeTarget(x)
	default:
		e.countUnmatchedWindow(&a)
	}
}

// start begins the epoch of an origin.
func (e *engine) start(own windowLocation, targets []uint32, a *access) {
	g := &e.windows.groups
	n := len(targets)
	x := &originEpoch{window: own.window, targets: targets, posts: make([]access, n), known: make([]bool, n),
		accessed: make([]int64, n), missing: n, start: *a}
	g.started[own], g.origins[x] = x, true // an epoch that was not completed stays unmatched
	for i, target := range targets {
		x.accessed[i] = a.leave
		p := g.pair(own.window, own.location, target)
		if len(p.posts) == 0 {
			p.origins = append(p.origins, x)
			continue
		}
		post := p.posts[0]
		p.posts = p.posts[1:]
		e.targetPosted(x, target, &post)
	}
}

// expose begins the epoch of a target.
func (e *engine) expose(own windowLocation, origins []uint32, a *access) {
	g := &e.windows.groups
	x := &targetEpoch{window: own.window, missing: len(origins), post: *a, accessed: a.leave}
	g.exposed[own], g.targets[x] = x, true
	for _, origin := range origins {
		p := g.pair(own.window, origin, own.location)
		if len(p.origins) > 0 {
			y := p.origins[0]
			p.origins = p.origins[1:]
			e.targetPosted(y, own.location, a)
		} else {
			p.posts = append(p.posts, *a)
		}
		if len(p.completions) > 0 {
			done := p.completions[0]
			p.completions = p.completions[1:]
			e.originCompleted(x, &done)
		} else {
			p.targets = append(p.targets, x)
		}
	}
}

// targetPosted processes the post of a target for the epoch of an origin.
func (e *engine) targetPosted(x *originEpoch, target uint32, post *access) {
	i, _ := slices.BinarySearch(x.targets, target)
	x.posts[i], x.known[i] = *post, true
	x.missing--
	if x.last == nil || post.enter > x.last.enter {
		x.last = &x.posts[i]
	}
	for k := range min(x.number, len(x.recent)) {
		if r := &x.recent[k]; r.target == i {
			e.reportAccessWait(x, &r.access, post)
		}
	}
	e.judgeOrigin(x)
}

// groupAccess processes an access in an epoch of an origin.
func (e *engine) groupAccess(window uint64, target uint32, a *access) {
	x := e.windows.groups.started[windowLocation{window, a.place.Location}]
	if x == nil {
		return
	}
	i, ok := slices.BinarySearch(x.targets, target)
	if !ok {
		return
	}
	x.accessed[i] = max(x.accessed[i], a.leave)
	if x.known[i] {
		e.reportAccessWait(x, a, &x.posts[i])
		return
	}
	x.recent[x.number%len(x.recent)] = recentAccess{*a, i}
	x.number++
}

// reportAccessWait reports the wait of an access for the post of its target, if that begins meanwhile.
func (e *engine) reportAccessWait(x *originEpoch, a, post *access) {
	if a.contains(post.enter) && !(x.any && x.waited == a.place) {
		x.waited, x.any = a.place, true
		e.reportLatePost(x, a, post)
		e.reportDependence(a.place, post)
	}
}

// reportLatePost reports the wait of a call of an origin for the post of a target.
func (e *engine) reportLatePost(x *originEpoch, a, post *access) {
	c := e.windowCommunicator(x.window)
	e.reportWait(Wait{LatePost, a.place, a.path, between(a.enter, post.enter), post.place, post.enter, c,
		c != trace.Undefined})
}

// judgeOrigin reports the waits of the calls that start and complete an epoch of an origin, once it is
// complete. A call has waited for the last post if that begins during the call.
func (e *engine) judgeOrigin(x *originEpoch) {
	if !x.completed || x.missing > 0 {
		return
	}
	delete(e.windows.groups.origins, x)
	for _, a := range [...]*access{&x.start, &x.complete} {
		if e.counts(a.enter) {
			e.Judged++
		}
		if a.contains(x.last.enter) {
			e.reportLatePost(x, a, x.last)
		}
	}
	needs := &x.complete // the call that needs all posts
	if x.start.contains(x.last.enter) {
		needs = &x.start
	}
	for i := range x.posts {
		if p := &x.posts[i]; p.enter <= needs.leave {
			e.reportDependence(needs.place, p)
		}
	}
}

// originCompleted processes the completion of an origin for the epoch of a target.
func (e *engine) originCompleted(x *targetEpoch, done *completion) {
	x.missing--
	x.accessed = max(x.accessed, done.accessed)
	x.completions = append(x.completions, done.access)
	e.judgeTarget(x)
}

// judgeTarget reports the wait of a target for the completions of the origins, once all are known.
func (e *engine) judgeTarget(x *targetEpoch) {
	if !x.ended || x.missing > 0 {
		return
	}
	delete(e.windows.groups.targets, x)
	m := &x.wait
	if e.counts(m.enter) {
		e.Judged++
	}
	last := &x.completions[0]
	for i := range x.completions {
		c := &x.completions[i]
		if c.enter > last.enter {
			last = c
		}
		if c.enter <= m.leave {
			e.reportDependence(m.place, c)
		}
	}
	e.countViolation(&e.Violations.Calls, last.enter-m.leave, m.enter)
	if x.test {
		return
	}
	end := min(last.enter, m.leave)
	c := e.windowCommunicator(x.window)
	w := Wait{EarlyWait, m.place, m.path, between(m.enter, end), last.place, last.enter, c, c != trace.Undefined}
	e.reportWait(w)
	w.Pattern, w.Begin = LateComplete, max(m.enter, x.accessed)
	w.Length = end - w.Begin
	e.reportWait(w)
}

// countUnmatchedWindow counts a call of a synchronisation without other sides.
func (e *engine) countUnmatchedWindow(a *access) {
	if e.counts(a.enter) {
		e.Unjudged[UnmatchedWindow]++
		e.UnjudgedTime[UnmatchedWindow].Add(e.hooks.Window.Clip(a.leave) - a.enter)
	}
}

// countUnfinishedGroups counts the calls of incomplete epochs as unjudged.
func (e *engine) countUnfinishedGroups() {
	for x := range e.windows.groups.origins {
		e.countUnmatchedWindow(&x.start)
		if x.completed {
			e.countUnmatchedWindow(&x.complete)
		}
	}
	for x := range e.windows.groups.targets {
		if x.ended {
			e.countUnmatchedWindow(&x.wait)
		}
	}
}
