package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// pieceFlags holds the flags that select a piece of a trace.
type pieceFlags struct {
	from, to, window, percent string
	around, event, occurrence string
	// name of the flag that has set event or occurrence, unless it is --event or --occurrence itself
	flag    string
	each    bool
	margin  string
	borders string
	running bool // the piece is for an analysis of the whole time of processes and threads
	// emptyWindow is the message for a window between two ticks of the clock. times sets it.
	emptyWindow string
}

// borders lists the values of --borders.
var borders = []string{"reopen", "bare"}

// selectsPiece reports whether the flags select a piece.
func (p *pieceFlags) selectsPiece() bool {
	return p.from+p.to+p.window+p.percent+p.around+p.event+p.occurrence != ""
}

// times returns the window of the piece.
func (p *pieceFlags) times(ctx context.Context, d format.Events) (w trace.Window, err error) {
	w = trace.Window{From: math.MinInt64, To: math.MaxInt64}
	ends := selectionFlags{from: p.from, to: p.to, window: p.window}
	if err := ends.splitWindow(); err != nil {
		return w, err
	}
	ways := 0
	for _, s := range []string{ends.from + ends.to, p.percent, p.around, p.event, p.occurrence} {
		if s != "" {
			ways++
		}
	}
	if ways > 1 {
		return w, usageError("found several of --window, --from and --to, --percent, --around, --event, --occurrence; " +
			"expected one")
	}
	if p.percent != "" {
		a, b, ok := strings.Cut(strings.TrimSuffix(p.percent, "%"), "-")
		ends.both = "--percent"
		if ends.from, ends.to = strings.TrimSuffix(a, "%")+"%", b+"%"; !ok {
			return w, usageError("--percent %s: expected two numbers, such as 40-60", p.percent)
		}
	}
	if p.each && p.occurrence == "" {
		return w, usageError("--each: expected --occurrence with it")
	}
	clock := d.Defs().Clock
	margin := int64(0)
	if p.margin != "" {
		if p.around+p.event+p.occurrence == "" {
			return w, usageError("--margin: expected --around, --event or --occurrence with it")
		}
		if margin, err = clock.ParseDuration(p.margin); err != nil {
			return w, usageError("--margin: %w", err)
		}
		if margin < 0 {
			return w, usageError("--margin %s: expected a length that is not negative", p.margin)
		}
	} else if p.around+p.event != "" {
		return w, usageError("--around and --event: expected --margin with it, the length of time before and after")
	}
	switch {
	case p.event != "" || p.occurrence != "":
		if w, err = p.find(ctx, d); err != nil {
			return w, err
		}
	default:
		around := timeFlag{"--around", p.around, &w.From}
		if p.emptyWindow, err = ends.times(ctx, d, &w.From, &w.To, around); err != nil {
			return w, err
		}
		if p.around != "" {
			w.To = w.From
		}
	}
	if w.From > math.MinInt64+margin {
		w.From -= margin
	}
	if w.To < math.MaxInt64-margin {
		w.To += margin
	}
	return w, nil
}

// find returns the window of --event or --occurrence.
func (p *pieceFlags) find(ctx context.Context, d format.Events) (w trace.Window, err error) {
	flag, text := "--event", p.event
	if p.occurrence != "" {
		flag, text = "--occurrence", p.occurrence
	}
	flag = cmp.Or(p.flag, flag)
	name, n := text, 1
	defs := d.Defs()
	if i := strings.LastIndexByte(text, '#'); i >= 0 {
		switch v, err := strconv.Atoi(text[i+1:]); {
		case errors.Is(err, strconv.ErrRange) && !p.isName(defs, text):
			return w, usageError("%s %s: found number %s, expected 1 to %d", flag, text, text[i+1:], math.MaxInt)
		case err != nil:
		case v > 0:
			name, n = text[:i], v
		case !p.isName(defs, text):
			return w, usageError("%s %s: found number %d, expected 1 or more: the first one is %s#1", flag, text, v, text[:i])
		}
	}
	found, one, many := 0, "event", "events"
	if p.event != "" {
		var kind func(trace.Kind) bool
		if kind, err = chooseKinds(defs, flag, []string{name}); err != nil {
			return w, err
		}
		w, found, err = transform.FindEvent(ctx, d, kind, n)
	} else {
		var region func(uint32) bool
		if region, err = choose(defs, aRegion, []string{name}); err != nil {
			return w, err
		}
		w, found, err = transform.FindOccurrence(ctx, d, transform.Occurrence{Region: region, N: n, Each: p.each})
		if one, many = "visit or claim", "visits or claims"; p.each {
			one, many = one+" at the location with the most", many+" at the location with the most"
		}
	}
	if err != nil || found >= n {
		return w, err
	}
	if name != text && p.isName(defs, text) { // the number belongs to the name
		whole := *p
		if p.event != "" {
			whole.event += "#1"
		} else {
			whole.occurrence += "#1"
		}
		return whole.find(ctx, d)
	}
	why := fmt.Sprintf("found %s, expected %d or more", plural.Of(found, one, many), n)
	if near, missing := aRegion.isMissing(defs, name); p.occurrence != "" && missing {
		why = "the trace has no such region; " + near
	}
	return w, &exitError{exitDefects, fmt.Errorf("%s %s: %s", flag, text, why)}
}

// isName reports whether a region or a kind of events has a name that ends with a number sign and a
// number.
func (p *pieceFlags) isName(d *trace.Definitions, name string) bool {
	if p.event != "" {
		return len(kindsNamed(d, name)) > 0
	}
	_, missing := aRegion.isMissing(d, name)
	return !missing
}
