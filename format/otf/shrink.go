package otf

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
)

// Process is a process of a trace.
type Process struct {
	ID      uint32
	Name    string // of its definition, empty without one
	Defined bool
	Stream  uint32 // that the master file names, NoStream for none
}

// Processes lists the processes that the definitions or the master file name, by
// their numbers.
func (r *Reader) Processes(ctx context.Context) ([]Process, error) {
	all := map[uint32]Process{}
	for _, id := range r.master.Streams() {
		for _, p := range r.master.Processes(id) {
			all[p] = Process{ID: p, Stream: id}
		}
	}
	err := r.definitions(ctx, func(x *Record) {
		if x.Type != DefProcess {
			return
		}
		id := uint32(x.Token)
		p, known := all[id]
		if p.Defined {
			return
		}
		if !known {
			p = Process{ID: id, Stream: NoStream}
		}
		p.Name, p.Defined = strings.Clone(x.Name), true
		all[id] = p
	})
	out := make([]Process, 0, len(all))
	for _, id := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[id])
	}
	return out, err
}

// definitions reads all definitions, without reporting defects.
func (r *Reader) definitions(ctx context.Context, f func(*Record)) error {
	c, err := r.quiet().Cursor(ctx, Definitions)
	if err != nil {
		return err
	}
	defer c.Close()
	for c.Next() {
		f(c.Record())
	}
	return c.Err()
}

// Shrink copies a trace with only the processes that keep wants, as a trace of its
// own: their definitions, events, snapshots, statistics and markers, and all other
// definitions. Groups and lists of processes lose the others, and are left out when
// none remain. Streams keep their numbers; those without a process that is kept
// vanish. None at all is an error. The trace appears when out is committed. The
// format's writing options hold but for otf.streams.
func Shrink(ctx context.Context, src format.Source, ro *format.ReadOptions, keep func(process uint64) bool, out *format.Output, wo *format.WriteOptions) error {
	r, err := Open(ctx, src, &Options{Read: ro, Processes: keep})
	if err != nil {
		return err
	}
	opt, streams, err := r.copyOptions(wo)
	if err != nil {
		return err
	}
	if streams >= 0 {
		return &format.OptionError{Option: "otf.streams", Value: wo.Value("otf.streams", ""), Expected: "keep, where processes are left out"}
	}
	s := &shrinker{keep: keep, groups: map[scopedToken]bool{}}
	for _, id := range r.master.Streams() {
		for _, p := range r.master.Processes(id) {
			if keep(uint64(p)) {
				s.master.Assign(p, id)
			}
		}
		if len(s.master.Processes(id)) == 0 { // else the copy reports it
			if err := r.there(id, Events); err != nil {
				return err
			}
		}
	}
	if s.master.Len() == 0 {
		return fmt.Errorf("%s: found none of the chosen processes, expected one at least", src.Path)
	}
	if err := r.definitions(ctx, s.note); err != nil {
		return err
	}
	c := &copier{r: r, ctx: ctx, stub: strings.TrimSuffix(out.Path, ".otf"), opt: opt, writers: map[uint32]*StreamWriter{}, master: &s.master, edit: s.edit}
	c.into(out)
	if err := c.keep(ro); err != nil {
		return err
	}
	for _, id := range s.master.Streams() {
		if err := s.begin(c.writer(id), id); err != nil {
			return err
		}
	}
	for _, w := range c.writers {
		if err := w.finish(); err != nil {
			return err
		}
	}
	_, err = s.master.WriteTo(out)
	return err
}

// shrinker leaves processes out of records.
type shrinker struct {
	keep   func(process uint64) bool
	master MasterControl
	groups map[scopedToken]bool // whether a group is kept
}

// note takes note of the groups that will be left: all but those that lose their
// last member.
func (s *shrinker) note(r *Record) {
	if r.Type == DefProcessGroup {
		s.groups[scopedToken{groups, r.Stream, r.Token}] = len(r.Members) == 0 || slices.ContainsFunc(r.Members, s.member)
	}
}

func (s *shrinker) member(process uint32) bool { return s.keep(uint64(process)) }

// processOrGroup tells whether what a stream's token names is kept.
func (s *shrinker) processOrGroup(stream uint32, token uint64) bool {
	kept, local := s.groups[scopedToken{groups, stream, token}]
	if !local {
		kept = s.groups[scopedToken{groups, 0, token}]
	}
	return kept || s.keep(token)
}

// edit takes processes that are not kept out of a record; false leaves it out.
func (s *shrinker) edit(r *Record) bool {
	switch r.Type {
	case DefUniqueID:
		r.UniqueID = s.uniqueID(r.UniqueID)
	case DefProcess:
		if !s.keep(r.Parent) {
			r.Parent = 0
		}
		return s.keep(r.Token)
	case DefProcessGroup:
		return cut(r, s.member)
	case DefProcessOrGroupAttributes:
		return s.processOrGroup(r.Stream, r.Token)
	case DefProcessSubstitutes:
		return s.keep(r.Token) && cut(r, s.member)
	case DefCounterAssignments:
		return cut(r, func(m uint32) bool { return s.processOrGroup(r.Stream, uint64(m)) })
	case Marker:
		return r.Process == 0 || s.processOrGroup(r.Stream, r.Process) // 0 is the whole trace
	}
	return true
}

// cut leaves the wanted members and reports whether there are any, or never were.
func cut(r *Record, wanted func(uint32) bool) bool {
	if len(r.Members) == 0 {
		return true
	}
	r.Members = slices.DeleteFunc(r.Members, func(m uint32) bool { return !wanted(m) })
	return len(r.Members) > 0
}

// uniqueID is that of the part of a trace: always the same for the same processes.
func (s *shrinker) uniqueID(whole uint64) uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, whole))
	h.Write(s.master.AppendTo(nil))
	return h.Sum64()
}

// begin writes a time and a process to the events of a stream that has none left:
// without them libotf reads no stream at all.
func (s *shrinker) begin(w *StreamWriter, stream uint32) error {
	p := w.parts[Events]
	if p == nil || p.process <= unset {
		return nil
	}
	return p.state(0, uint64(s.master.Processes(stream)[0]), NoOp)
}
