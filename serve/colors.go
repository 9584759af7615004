package serve

import (
	"fmt"
	"net/url"
	"slices"
	"time"
)

// colorSeparator separates the trace id from the attribute name in the id of a trace that is
// coloured by an attribute. The name is escaped as a path segment.
const colorSeparator = "~"

// Limits of colours.
const (
	maxColors    = 8    // per trace; a new one evicts the least recently used one
	maxColorName = 1000 // bytes
)

// inColor returns the entry of the trace coloured by an attribute, or by regions if color is "".
// Such an entry has an index of its own and is not listed.
func (e *entry) inColor(color string) (*entry, error) {
	if e.base != nil {
		return e.base.inColor(color)
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
		if e.state == stateReady && color != "" && !slices.Contains(e.view.facts.Attributes, color) {
			return nil, notFound("visits and claims of " + e.path + " have no attribute " + quote(color))
		}
		if len(e.colors) >= maxColors && !e.evictColor() {
			return nil, unavailable("too many colours of " + e.path + " are being indexed")
		}
		x = &entry{s: e.s, id: e.id + colorSeparator + url.PathEscape(color), name: e.name, path: e.path, given: e.given,
			color: color, base: e, readers: e.readers, state: stateNew, format: e.format, bytes: e.bytes}
		x.given.Index = "" // that index has another colour
		if e.colors == nil {
			e.colors = map[string]*entry{}
		}
		e.colors[color] = x
	}
	x.used = time.Now()
	return x, nil
}

// evictColor removes the least recently used entry of another colour that is not being indexed. It
// reports whether there was one. e.mu must be held.
func (e *entry) evictColor() bool {
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
	e.s.open.drop(oldest)
	return true
}

// readSettings returns how to read the trace.
func (e *entry) readSettings() *ReadSettings {
	r := e.s.opt.Reading
	r.Color = e.color
	return &r
}
