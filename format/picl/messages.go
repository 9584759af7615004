package picl

import (
	"slices"

	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// messageOfRecord returns the kind and the fields of the message that a record describes: length, tag, processor and
// process. A field that is not known is -1. ok is false if the record has no information about a message.
func messageOfRecord(typ int64, spec *eventSpec, vals []trace.Value, markMessages bool) (kind trace.Kind,
	field [4]int64, ok bool) {
	if typ != TypeEntry && typ != TypeExit && (typ != TypeMark || !markMessages) {
		return 0, field, false
	}
	switch {
	case typ == TypeExit && (spec.send == sendBlock || spec.send == sendPost):
		return 0, field, false
	case spec.send == sendBlock:
		kind = trace.Send
	case spec.send == sendPost:
		kind = trace.SendBegin
	case spec.send == recvBlock:
		kind = trace.Recv
	case spec.send == recvDone:
		kind = trace.RecvComplete
	default:
		return 0, field, false
	}
	if typ != TypeExit && kind.IsRecv() {
		vals = vals[min(len(spec.entry), len(vals)):]
	}
	field = [4]int64{-1, -1, -1, -1}
	for i := range min(len(vals), len(field)) {
		if v, ok := vals[i].Whole(); ok {
			field[i] = v
		}
	}
	return kind, field, field != [4]int64{-1, -1, -1, -1}
}

// addMessage adds the send or receive that a record describes (docs/formats/picl.md, "Messages"). A send
// occurs at the entry. A receive occurs at the exit, or at the entry if the entry has all fields.
func (p *blockParser) addMessage(b *trace.Batch, loc uint32, t, typ int64, spec *eventSpec, line int64) {
	vals := p.vals
	kind, field, ok := messageOfRecord(typ, spec, vals, p.d.markMessages)
	if !ok {
		return
	}
	add := func(other uint64) {
		b.Add(loc, t, kind, trace.NoRef)
		// a negative length means that it is unknown
		b.AddOps(other, trace.Undefined, uint64(field[1]), uint64(max(-1, field[0])))
		p.appendAddedAttributes(b)
		b.MarkDerived()
		b.Pos = append(b.Pos, line)
	}
	// A record without a destination has an unknown destination; -1 stands for all processes.
	if kind.IsSend() && len(vals) > destinationField && (field[2] < 0 || p.d.maySendToSeveral(field[2], field[3])) {
		if to := p.d.destinations(field[2], field[3], loc); len(to) > 0 && len(to) <= maxDestinations {
			for _, l := range to {
				add(uint64(l))
			}
			return
		}
	}
	if m, ok := p.d.sources.found[line]; ok && kind.IsRecv() {
		field[0], field[1] = m.length, m.tag
		if field[2] < 0 && m.from != trace.NoRef {
			add(uint64(m.from))
			return
		}
	}
	if field[2] >= 0 {
		add(uint64(p.peer(field[2], field[3])))
		return
	}
	add(trace.Undefined)
}

// maxDestinations limits the number of messages, or of further gaps, that one record produces.
const maxDestinations = 256

// maySendToSeveral reports whether a message to a processor may go to several of its processes, because the
// process is unknown or a subset.
func (d *decoder) maySendToSeveral(processor, process int64) bool {
	if process >= 0 || processor == Host {
		return false
	}
	_, alone := d.onlyLocation[processor]
	_, itself := d.locationOfRecord(procKey{processor, process})
	return !itself && (process < -1 || !alone)
}

// processes holds a processor and a process from a record. Together they may stand for several processes; with
// host set, also for processes of the host.
type processes struct {
	procKey
	host bool
}

// tooMany stands for more locations than a record can have as destinations.
var tooMany = make([]uint32, maxDestinations+2)

// locationsOf returns the locations of all processes with records for which k stands. If they are too many, it
// returns tooMany.
func (d *decoder) locationsOf(k processes) []uint32 {
	x := &d.scopes
	x.Lock()
	defer x.Unlock()
	all, ok := x.locations[k]
	if ok {
		return all
	}
	if x.byProcessor == nil {
		x.byProcessor, x.byProcess = map[int64][]procKey{}, map[int64][]procKey{}
		for to := range d.locations {
			x.byProcessor[to.processor] = append(x.byProcessor[to.processor], to)
			x.byProcess[to.process] = append(x.byProcess[to.process], to)
		}
	}
	sort := func() {
		slices.Sort(all)
		all = slices.Compact(all)
	}
	d.eachCandidate(k.procKey, func(to procKey) bool {
		if to.processor >= 0 && (k.host || to.processor != Host) && d.defs.covers(k.procKey, to) {
			if all = append(all, d.locations[to]); len(all) > 2*maxDestinations {
				sort()
			}
		}
		return len(all) <= 2*maxDestinations
	})
	if sort(); len(all) >= len(tooMany) {
		all = tooMany
	}
	x.locations[k] = slices.Clip(all)
	return all
}

// eachCandidate calls f with keys of processes until it returns false. They include all processes with records for
// which k stands. It looks them up by the number of the processor or of the process, whichever fewer of them may have.
func (d *decoder) eachCandidate(k procKey, f func(procKey) bool) {
	x := &d.scopes
	each := func(by map[int64][]procKey, numbers ...int64) bool {
		for _, n := range numbers {
			for _, to := range by[n] {
				if !f(to) {
					return false
				}
			}
		}
		return true
	}
	processors := d.defs.members(setKey{TypeProcessorSet, k.processor})
	processes := d.defs.members(setKey{TypeProcessSet, k.process})
	switch {
	case k.process != -1 && (k.processor == -1 || len(processes)+len(x.byProcess[-1]) <= len(processors)):
		// A location whose process is not known stands for every process.
		_ = each(x.byProcess, k.process, -1) && each(x.byProcess, processes...)
	case k.processor != -1:
		_ = each(x.byProcessor, k.processor) && each(x.byProcessor, processors...)
	default:
		for to := range d.locations {
			if !f(to) {
				return
			}
		}
	}
}

// covers reports whether the fields processor and process of a record, k, include the process to. Each field of k may
// be a number, a subset, or -1 for all. If the process of to is -1, it is not known, and k includes it.
func (d *definitions) covers(k, to procKey) bool {
	return (k.processor == -1 || k.processor == to.processor || d.inSet(TypeProcessorSet, k.processor, to.processor)) &&
		(k.process == -1 || k.process == to.process || to.process == -1 || d.inSet(TypeProcessSet, k.process, to.process))
}

// addGaps adds a gap at a location, and at the locations of the processes for which its processor and
// process stand (2.2).
func (p *blockParser) addGaps(loc uint32, key procKey, t, line int64) {
	add := func(loc uint32) {
		b := p.batch(loc)
		b.Add(loc, t, trace.Gap, trace.NoRef)
		b.MarkDerived()
		b.Pos = append(b.Pos, line)
	}
	add(loc)
	if key.processor >= 0 && key.process >= 0 {
		return
	}
	all := p.d.locationsOf(processes{key, true})
	if len(all) > maxDestinations {
		return
	}
	for _, other := range all {
		if other != loc {
			add(other)
		}
	}
}

// destinations returns the locations to which a message goes if its destination is a processor, all processors
// or a subset of them. These are the locations of all processes there that have records, without the sender.
func (d *decoder) destinations(processor, process int64, from uint32) []uint32 {
	all := d.locationsOf(processes{procKey{processor, process}, false})
	if i, own := slices.BinarySearch(all, from); own {
		return append(slices.Clone(all[:i]), all[i+1:]...)
	}
	return all
}

// peer returns the location of the process at the other side of a message. That process may have no
// records.
func (p *blockParser) peer(processor, process int64) uint32 {
	d := p.d
	key := procKey{processor, process}
	if loc, ok := d.locationOfRecord(key); ok {
		return loc
	}
	if loc, ok := d.onlyLocation[processor]; ok && process == -1 {
		return loc
	}
	loc, _ := linetrace.Define(&d.Text, p.place, d.peerLocations, key,
		func() (uint32, error) { return d.location(key, trace.PeerLocation), nil })
	return loc
}
