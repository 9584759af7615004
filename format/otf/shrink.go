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
	Name    string // name in the definition of the process; empty if it has none
	Defined bool
	Stream  uint32 // stream to which the master file assigns the process; NoStream if it does not
}

// Processes lists the processes that the definitions or the master file name, in the order of their
// numbers.
func (r *Reader) Processes(ctx context.Context) ([]Process, error) {
	all := map[uint32]Process{}
	for _, id := range r.master.Streams() {
		for _, p := range r.master.Processes(id) {
			all[p] = Process{ID: p, Stream: id}
		}
	}
	err := r.eachDefinition(ctx, func(x *Record) {
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

// eachDefinition calls f with all definitions. It does not report defects.
func (r *Reader) eachDefinition(ctx context.Context, f func(*Record)) error {
	c, err := r.withoutReport().Cursor(ctx, Definitions)
	if err != nil {
		return err
	}
	defer c.Close()
	for c.Next() {
		f(c.Record())
	}
	return c.Err()
}

// Shrink copies a trace with only the processes for which keep returns true. The copy is a complete trace. It
// contains the definitions, events, snapshots, statistics and markers of the kept processes, and all
// definitions that are not about processes. Groups and lists of processes lose the other processes and are
// left out if none remain. Streams keep their numbers; streams without a kept process vanish. It is an error
// if no process is kept. The format's writing options apply, except otf.streams. The copy has the thumbnail of the
// trace only if all processes are kept. The trace appears when out is committed.
func Shrink(ctx context.Context, src format.Source, ro *format.ReadOptions, keep func(process uint64) bool,
	out *format.Output, wo *format.WriteOptions) (*format.Loss, error) {
	r, err := Open(ctx, src, &Options{Read: ro, Processes: keep})
	if err != nil {
		return nil, err
	}
	opt, streams, err := r.copyOptions(wo)
	if err != nil {
		return nil, err
	}
	if streams >= 0 {
		return nil, &format.OptionError{Option: "otf.streams", Value: wo.Value("otf.streams", ""),
			Expected: "keep, because processes are left out"}
	}
	s := &shrinker{keep: keep, groups: map[scopedToken]bool{}}
	for _, id := range r.master.Streams() {
		for _, p := range r.master.Processes(id) {
			if keep(uint64(p)) {
				s.master.Assign(p, id)
			}
		}
		if len(s.master.Processes(id)) == 0 { // if the stream has a kept process, the copy reports the missing file
			if err := r.checkExists(id, Events); err != nil {
				return nil, err
			}
		}
	}
	if s.master.Len() == 0 {
		return nil, fmt.Errorf("%s: found none of the chosen processes, expected at least one", src.Path)
	}
	if err := r.eachDefinition(ctx, s.noteGroup); err != nil {
		return nil, err
	}
	c := &copier{r: r, ctx: ctx, stub: strings.TrimSuffix(out.Path, ".otf"), opt: opt, writers: map[uint32]*StreamWriter{},
		master: &s.master, edit: s.edit, loss: &format.Loss{}}
	c.attach(out)
	if err := c.copyStreams(ro); err != nil {
		return nil, err
	}
	for _, id := range s.master.Streams() {
		if err := s.begin(c.writer(id), id); err != nil {
			return nil, err
		}
	}
	for _, w := range c.writers {
		if err := w.finish(); err != nil {
			return nil, err
		}
	}
	if all := slices.Equal(s.master.AppendTo(nil), r.master.AppendTo(nil)); all {
		err = c.copyThumbnail()
	} else if r.hasThumbnail() {
		c.loss.Add("trace", "thumbnail", format.Degraded, "it shows processes that are left out", 1)
	}
	if err == nil {
		_, err = s.master.WriteTo(out)
	}
	return c.loss, err
}

// shrinker removes the processes that a copy leaves out from definitions and other records.
type shrinker struct {
	keep   func(process uint64) bool
	master MasterControl
	groups map[scopedToken]bool // whether a group is kept; indexed by group
}

// noteGroup notes whether a group is kept. Groups that lose their last member are not kept.
func (s *shrinker) noteGroup(r *Record) {
	if r.Type == DefProcessGroup {
		s.groups[scopedToken{groups, r.Stream, r.Token}] = len(r.Members) == 0 || slices.ContainsFunc(r.Members, s.member)
	}
}

func (s *shrinker) member(process uint32) bool { return s.keep(uint64(process)) }

// processOrGroup reports whether the shrunk trace keeps the process or group that a token of a stream
// names.
func (s *shrinker) processOrGroup(stream uint32, token uint64) bool {
	kept, local := s.groups[scopedToken{groups, stream, token}]
	if !local {
		kept = s.groups[scopedToken{groups, 0, token}]
	}
	return kept || s.keep(token)
}

// edit removes processes that are not kept from a record. It returns false if the record is left out.
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
		return keepMembers(r, s.member)
	case DefProcessOrGroupAttributes:
		return s.processOrGroup(r.Stream, r.Token)
	case DefProcessSubstitutes:
		return s.keep(r.Token) && keepMembers(r, s.member)
	case DefCounterAssignments:
		return keepMembers(r, func(m uint32) bool { return s.processOrGroup(r.Stream, uint64(m)) })
	case Marker:
		return r.Process == 0 || s.processOrGroup(r.Stream, r.Process) // 0 means the whole trace
	}
	return true
}

// keepMembers removes from a record the members for which wanted returns false. It returns false if no
// member is left.
func keepMembers(r *Record, wanted func(uint32) bool) bool {
	if len(r.Members) == 0 {
		return true
	}
	r.Members = slices.DeleteFunc(r.Members, func(m uint32) bool { return !wanted(m) })
	return len(r.Members) > 0
}

// uniqueID returns a unique id that depends only on the id of the whole trace and the kept processes.
func (s *shrinker) uniqueID(whole uint64) uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, whole))
	h.Write(s.master.AppendTo(nil))
	return h.Sum64()
}

// begin writes a time line and a process line to a stream that has no events left. Without them, libotf
// would read no stream at all.
func (s *shrinker) begin(w *StreamWriter, stream uint32) error {
	p := w.parts[Events]
	if p == nil || p.process <= noProcess {
		return nil
	}
	return p.writeState(0, uint64(s.master.Processes(stream)[0]), NoOp)
}
