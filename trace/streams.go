package trace

import (
	"maps"
	"slices"
)

// Streams finds the streams of devices that belong to the process of a location.
type Streams struct {
	defs *Definitions
	// byProcess has the streams of each process. Those whose process is unknown are streams of NoRef.
	byProcess map[uint32][]uint32
	creators  map[string]uint32 // the processes by the text of CreatorAttribute in the groups that they create
	processes int               // number of processes
}

// Streams returns the streams of all processes of a trace.
func (d *Definitions) Streams() *Streams {
	s := &Streams{defs: d, byProcess: map[uint32][]uint32{}, creators: map[string]uint32{}}
	for i, g := range d.Groups.All() {
		if g.Kind == "process" {
			s.processes++
			s.creators[`"`+g.Name+`" <`+g.ID+`>`] = uint32(i)
		}
	}
	for i, l := range d.Locations.All() {
		if l.Kind == StreamLocation {
			p := s.process(l.Group)
			s.byProcess[p] = append(s.byProcess[p], uint32(i))
		}
	}
	return s
}

// process returns a location group if it is a process, and otherwise the process that has created it, or NoRef.
func (s *Streams) process(group uint32) uint32 {
	if !s.defs.Groups.Has(group) {
		return NoRef
	}
	if s.defs.Groups.At(group).Kind == "process" {
		return group
	}
	for _, a := range s.defs.Groups.At(group).Attrs {
		if p, ok := s.creators[a.Value.String()]; ok && a.Key == CreatorAttribute {
			return p
		}
	}
	return NoRef
}

// Of returns the streams of the process of a location. Streams whose process is unknown belong to the only process of
// the trace. The result is nil if there are no streams.
func (s *Streams) Of(loc uint32) []uint32 {
	process := NoRef
	if s.defs.Locations.Has(loc) {
		process = s.process(s.defs.Locations.At(loc).Group)
	}
	if list := s.byProcess[process]; list != nil || s.processes > 1 {
		return list
	}
	return s.byProcess[NoRef]
}

// Lists returns the streams of each process. Streams whose process is unknown have a list of their own.
func (s *Streams) Lists() [][]uint32 {
	return slices.Collect(maps.Values(s.byProcess))
}

// IsStream reports whether a location is a stream of a device.
func (d *Definitions) IsStream(loc uint32) bool {
	return d.Locations.Has(loc) && d.Locations.At(loc).Kind == StreamLocation
}

// StreamOf returns the stream to which a value refers. ok is false if the value refers to none.
func (d *Definitions) StreamOf(v Value) (stream uint32, ok bool) {
	if v.Type != LocationRef || v.Num >= uint64(d.Locations.Len()) || !d.IsStream(uint32(v.Num)) {
		return NoRef, false
	}
	return uint32(v.Num), true
}
