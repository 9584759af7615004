package serve

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/internal/wildcard"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// configuration states which attributes take the place of the spans and rows of a trace. Each configuration
// has an index of its own. If a field is empty, the regions, names or rows of the trace itself are used.
type configuration struct {
	color string // attribute whose values take the place of regions
	label string // attribute whose values name spans
	rows  string // attribute whose values are the rows, in place of locations and resources
	// only has the form NAME=VALUE,…. Visits, claims and marks are left out if they have none of these values
	// for the attribute NAME. Values may contain * for any text and ? for any character. Commas within
	// brackets do not separate values.
	only string
}

// The separators in the id of a trace with a configuration: ID~COLOR;label=LABEL;rows=ROWS;only=ONLY. Names
// are escaped as path segments, which contain no semicolon.
const (
	configSeparator = "~"
	labelSeparator  = ";label="
	rowsSeparator   = ";rows="
	onlySeparator   = ";only="
)

// These limits bound the memory that the configurations of clients take.
const (
	// for each trace; a new configuration replaces the one that has not been used for the longest time
	maxConfigurations = 8
	maxAttributeName  = 1000 // largest length of a name in bytes
	maxValues         = 4000 // largest total length of the values of configuration.only in bytes
)

// String returns the part of a trace's id that describes the configuration, without the first
// separator.
func (c configuration) String() string {
	s := url.PathEscape(c.color)
	if c.label != "" {
		s += labelSeparator + url.PathEscape(c.label)
	}
	if c.rows != "" {
		s += rowsSeparator + url.PathEscape(c.rows)
	}
	if c.only != "" {
		s += onlySeparator + url.PathEscape(c.only)
	}
	return s
}

// parseConfiguration reads the text that [configuration.String] returns.
func parseConfiguration(s string) (c configuration, ok bool) {
	s, only, _ := strings.Cut(s, onlySeparator)
	s, rows, _ := strings.Cut(s, rowsSeparator)
	color, label, _ := strings.Cut(s, labelSeparator)
	var errs [4]error
	c.color, errs[0] = url.PathUnescape(color)
	c.label, errs[1] = url.PathUnescape(label)
	c.rows, errs[2] = url.PathUnescape(rows)
	c.only, errs[3] = url.PathUnescape(only)
	return c, errs == [4]error{}
}

// renames reports whether attributes take the place of regions.
func (c configuration) renames() bool { return c.color != "" || c.label != "" }

// spanName returns the name of the span that an event begins. ok is false if the span has no name.
func (c configuration) spanName(defs *trace.Definitions, x *trace.Cursor) (name string, ok bool) {
	attribute := c.color
	if c.label != "" {
		attribute = c.label
	}
	keys, values := x.Attrs()
	i := slices.IndexFunc(keys, func(k uint32) bool { return defs.Attributes.At(k).Name == attribute })
	switch {
	case i >= 0:
		return values[i].String(), true
	case c.label != "" && defs.Regions.Has(x.Ref()):
		return defs.Regions.At(x.Ref()).Name, true
	}
	return "", c.label != ""
}

// arrangeEvents returns the events that the configuration shows, at the locations that are its rows.
func (c configuration) arrangeEvents(d format.Events) format.Events {
	if name, values, ok := strings.Cut(c.only, "="); ok {
		patterns, _ := wildcard.SplitNames(values) // check found no error
		d = transform.Filter(d, transform.FilterOptions{Row: transform.HasAttribute(d.Defs(), name,
			func(v string) bool { return wildcard.MatchAny(patterns, v) })})
	}
	if c.rows != "" {
		d = transform.ByAttribute(d, c.rows)
	}
	return d
}

// check returns an error for a configuration with names that are too long, or without the form NAME=VALUE.
// known contains the attributes of the trace that can be chosen; if it is nil, any attribute can be chosen.
func (c configuration) check(known []string, path string) error {
	only, values, ok := strings.Cut(c.only, "=")
	if c.only != "" && (!ok || only == "" || len(values) > maxValues) {
		return badRequest(fmt.Sprintf("only: found %s, expected NAME=VALUE with at most %d bytes of values",
			quote(c.only), maxValues))
	}
	patterns, err := wildcard.SplitNames(values)
	if err != nil {
		return badRequest("only: " + err.Error())
	}
	for _, p := range patterns {
		if err := wildcard.Check(p); err != nil {
			return badRequest(fmt.Sprintf("only: %q: %v", p, err))
		}
	}
	for _, p := range []struct{ name, value string }{{"color", c.color}, {"label", c.label}, {"rows", c.rows},
		{"only", only}} {
		if len(p.value) > maxAttributeName {
			return badRequest(fmt.Sprintf("%s: found %s, expected the name of an attribute", p.name, plural.Of(len(p.value),
				"byte")))
		}
		if known != nil && p.value != "" && !slices.Contains(known, p.value) {
			return notFound("visits and claims of " + path + " have no attribute " + quote(p.value))
		}
	}
	return nil
}

// withConfiguration returns the entry of the trace with a configuration. Such an entry has its own index,
// and catalogues do not list it.
func (e *entry) withConfiguration(c configuration) (*entry, error) {
	if e.base != nil {
		return e.base.withConfiguration(c)
	}
	if c == e.config {
		return e, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var known []string
	if e.state == stateReady {
		known = e.view.facts.Attributes
	}
	if err := c.check(known, e.path); err != nil {
		return nil, err
	}
	x := e.others[c]
	if x == nil {
		if len(e.others) >= maxConfigurations && !e.evictConfiguration() {
			return nil, unavailable("too many views of " + e.path + " are being indexed")
		}
		x = &entry{s: e.s, id: e.id + configSeparator + c.String(), name: e.name, path: e.path, given: e.given,
			config: c, base: e, readers: e.readers, arranged: e.readers, state: stateNew, format: e.format, bytes: e.bytes}
		if c.rows != "" || c.only != "" { // arrangeEvents changes the events
			x.arranged = &readerPool{e: x, free: make(chan struct{}, maxReaders)}
		}
		x.given.Index = "" // the index that was given has other names, rows and spans
		if e.others == nil {
			e.others = map[configuration]*entry{}
		}
		e.others[c] = x
	}
	x.used = time.Now()
	return x, nil
}

// evictConfiguration removes the entry of a configuration. Of the entries that are not being indexed, it
// chooses the one that has not been used for the longest time. It reports whether it has removed an entry. The
// caller must hold e.mu.
func (e *entry) evictConfiguration() bool {
	var oldest *entry
	for _, x := range e.others {
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
	delete(e.others, oldest.config)
	e.s.open.drop(oldest)
	if oldest.arranged != e.readers {
		oldest.arranged.close()
	}
	return true
}

// closeReaders closes the readers of the trace and of its configurations.
func (e *entry) closeReaders() {
	e.mu.Lock()
	pools := []*readerPool{e.readers, e.arranged}
	for _, x := range e.others {
		pools = append(pools, x.arranged)
	}
	e.mu.Unlock()
	for _, p := range pools {
		p.close()
	}
}

// readSettings returns the settings with which the trace is read.
func (e *entry) readSettings() *ReadSettings {
	r := e.s.opt.Reading
	r.Color, r.label, r.rows, r.only = e.config.color, e.config.label, e.config.rows, e.config.only
	return &r
}
