package serve

import (
	"fmt"
	"net/url"
	"slices"
	"time"
)

// colorMark stands in the id of a trace in other colours between that of the trace and the
// name of the attribute, which is escaped as in a path.
const colorMark = "~"

// Limits of colours.
const (
	maxColors    = 8    // of a trace at a time; another one takes the place of one not used for longest
	maxColorName = 1000 // bytes
)

// in is the trace in the colours of an attribute, of regions if that is "". It has an index
// of its own, and so is a trace of its own that no list shows.
func (e *entry) in(color string) (*entry, error) {
	if e.base != nil {
		return e.base.in(color)
	}
	if color == e.color {
		return e, nil
	}
	if len(color) > maxColorName {
		return nil, badRequest(fmt.Sprintf("color: found %d bytes, expected the name of an attribute", len(color)))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.colors[color]
	if x == nil {
		if e.state == stateReady && color != "" && !slices.Contains(e.shown.facts.Attributes, color) {
			return nil, notFound("visits and claims of " + e.path + " have no attribute " + quote(color))
		}
		if len(e.colors) >= maxColors && !e.dropColor() {
			return nil, unavailable("too many colours of " + e.path + " are being indexed")
		}
		x = &entry{s: e.s, id: e.id + colorMark + url.PathEscape(color), name: e.name, path: e.path, given: e.given, color: color, base: e, decoders: e.decoders, state: stateNew, format: e.format, bytes: e.bytes}
		x.given.Index = "" // that is of other colours
		if e.colors == nil {
			e.colors = map[string]*entry{}
		}
		e.colors[color] = x
	}
	x.used = time.Now()
	return x, nil
}

// dropColor forgets the colours that were not asked for for longest; e.mu is held. It
// reports whether there were any that are not being indexed.
func (e *entry) dropColor() bool {
	var oldest *entry
	for _, x := range e.colors {
		x.mu.Lock()
		busy := x.state == stateIndexing
		x.mu.Unlock()
		if !busy && (oldest == nil || x.used.Before(oldest.used)) {
			oldest = x
		}
	}
	if oldest == nil {
		return false
	}
	delete(e.colors, oldest.color)
	e.s.shelf.drop(oldest)
	return true
}

// reading says how the trace is read.
func (e *entry) reading() *Reading {
	r := e.s.opt.Reading
	r.Color = e.color
	return &r
}
