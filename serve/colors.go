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

// Limits of the attributes that take the place of regions.
const (
	maxColors    = 8    // per trace; a new one evicts the least recently used one
	maxColorName = 1000 // bytes
)

// inColor returns the entry of the trace in which spans are named by an attribute, or by regions if
// color is "". Such an entry has its own index, and catalogues do not list it.
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
		x.given.Index = "" // the given index names spans in another way
		if e.colors == nil {
			e.colors = map[string]*entry{}
		}
		e.colors[color] = x
	}
	x.used = time.Now()
	return x, nil
}

// evictColor removes the entry of another attribute that was used least recently and is not being
// indexed. It reports whether it has removed one. The caller must hold e.mu.
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

// readSettings returns the settings with which the trace is read.
func (e *entry) readSettings() *ReadSettings {
	r := e.s.opt.Reading
	r.Color = e.color
	return &r
}
