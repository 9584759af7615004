package serve

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// These are the maximum values of parameters of requests.
const (
	maxWidth      = 8192
	maxTileTracks = 4096
	maxDepths     = 256
	maxLinks      = 20_000
)

// params reads the parameters of a request about a trace. err holds the error about the first invalid
// parameter.
type params struct {
	values url.Values
	x      *traceView
	err    error
}

func (p *params) setError(name, expected string) {
	if p.err == nil {
		p.err = badRequest(fmt.Sprintf("%s: found %s, expected %s", name, quote(p.values.Get(name)), expected))
	}
}

// number reads a number from low to high. If the parameter is missing, it returns def.
func (p *params) number(name string, low, high, def int64) int64 {
	s := p.values.Get(name)
	if s == "" {
		return def
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < low || n > high {
		expected := fmt.Sprintf("a number from %d to %d", low, high)
		if high < low {
			expected = "none: the trace has nothing that could be meant"
		}
		p.setError(name, expected)
		return def
	}
	return n
}

// required is like number, for a parameter that must not be missing.
func (p *params) required(name string, low, high int64) int64 {
	if p.values.Get(name) == "" {
		p.setError(name, fmt.Sprintf("a number from %d to %d", low, high))
	}
	return p.number(name, low, high, low)
}

// time reads a parameter that is a time relative to the first event. It returns the time on the clock of the
// trace.
func (p *params) time(name string) int64 {
	return trace.Add(p.x.first, p.required(name, math.MinInt64, math.MaxInt64))
}

// window reads the parameters from and to as [params.between] does.
func (p *params) window() (from, to int64, whole bool) { return p.between("from", "to") }

// between reads the begin and the end of a window from two parameters. It returns their times on the
// clock of the trace. If both parameters are missing, it returns the window of the whole trace, and
// sets whole.
func (p *params) between(begin, end string) (from, to int64, whole bool) {
	from, to = p.x.first, trace.Add(p.x.last, 1)
	whole = p.values.Get(begin) == "" && p.values.Get(end) == ""
	if p.values.Get(begin) != "" {
		from = p.time(begin)
	}
	if s := p.values.Get(end); s != "" {
		// In a trace that covers the whole range of times, the end of a window may overflow.
		if n, err := strconv.ParseInt(s, 10, 64); errors.Is(err, strconv.ErrRange) && n > 0 {
			to = n // math.MaxInt64 stands for an open end (see [trace.Before])
		} else {
			to = p.time(end)
		}
	}
	if !trace.Before(from, to) {
		p.setError(end, "a time after "+begin)
	}
	return from, to, whole
}

// selectedWindow returns the window of a request, or nil if it covers the whole trace.
func (p *params) selectedWindow() *trace.Window { return p.selectedBetween("from", "to") }

// selectedBetween is like selectedWindow, for parameters with other names.
func (p *params) selectedBetween(begin, end string) *trace.Window {
	from, to, whole := p.between(begin, end)
	if whole || from <= p.x.first && trace.Before(p.x.last, to) {
		return nil
	}
	return &trace.Window{From: from, To: to}
}

// visibleColumns returns the columns of the part of the window that lies in the trace. Their times are in
// ticks since the first event. ok is false if no part of the window lies in the trace.
func (p *params) visibleColumns() (c columns, ok bool) {
	from, to, _ := p.window()
	c.width = int(p.number("width", 1, maxWidth, 1000))
	from, to = max(from, p.x.first), min(to, trace.Add(p.x.last, 1))
	c.from, c.to = int64(p.x.jsonTime(from)), int64(p.x.jsonTime(to))
	return c, from < to && p.err == nil
}

// excessTicks returns the number of ticks by which the end of the window exceeds math.MaxInt64. In that
// case, [params.window] returns math.MaxInt64 as the end.
func (p *params) excessTicks() uint64 {
	text := p.values.Get("to")
	to, ok := new(big.Int).SetString(text[:min(len(text), 40)], 10)
	if !ok {
		return 0
	}
	to.Add(to, big.NewInt(p.x.first)).Sub(to, big.NewInt(math.MaxInt64))
	if to.Sign() < 0 || !to.IsUint64() {
		return 0
	}
	return to.Uint64()
}

// track reads the number of a track.
func (p *params) track() int {
	return int(p.required("track", 0, int64(len(p.x.tracks))-1))
}

// tracks reads a list of up to `most` tracks, such as 0-63,70. It returns nil if the parameter is
// missing.
func (p *params) tracks(most int) []int {
	s := p.values.Get("tracks")
	if s == "" {
		return nil
	}
	const expected = "numbers and ranges of tracks such as 0-63,70"
	var out []int
	for f := range strings.SplitSeq(s, ",") {
		a, b, is := strings.Cut(f, "-")
		if !is {
			b = a
		}
		low, err1 := strconv.Atoi(a)
		high, err2 := strconv.Atoi(b)
		if err1 != nil || err2 != nil || low > high || low < 0 || high >= len(p.x.tracks) {
			p.setError("tracks", fmt.Sprintf("%s, below %d", expected, len(p.x.tracks)))
			return nil
		}
		if high-low >= most-len(out) {
			p.setError("tracks", fmt.Sprintf("at most %d tracks", most))
			return nil
		}
		for t := low; t <= high; t++ {
			out = append(out, t)
		}
	}
	return out
}

// selectedLocations returns a function that reports whether a location has one of the tracks of the parameter. It
// returns nil if the parameter is missing.
func (p *params) selectedLocations() func(location uint32) bool {
	given := p.tracks(len(p.x.tracks))
	if given == nil {
		return nil
	}
	wanted := map[uint32]bool{}
	for _, t := range given {
		wanted[p.x.tracks[t].Location] = true
	}
	return func(location uint32) bool { return wanted[location] }
}

// choice reads a parameter that must be one of the given words. If it is missing, the result is the
// first word.
func (p *params) choice(name string, words ...string) string {
	s := p.values.Get(name)
	if s == "" {
		return words[0]
	}
	if !slices.Contains(words, s) {
		p.setError(name, strings.Join(words, " or "))
		return words[0]
	}
	return s
}
