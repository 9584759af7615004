package picl

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// allID is the id of the set of all processors and of the communicator with all processes.
const allID = "-1"

// jointSeparator separates the subset of processors and the subset of processes in the id of a barrier's set.
const jointSeparator = ","

// readOperations holds the decoder's tables of collective operations and communicators.
type readOperations struct {
	regions  map[uint32]uint64       // operations by region; nil if the trace has no operations
	subsets  map[string]uint32       // communicators by the id of their subset; -202 comes before -201
	all      uint32                  // the set of all processors
	sets     int                     // number of sets that may have communicators
	barriers []barrierScope          // in the order of the file
	joined   map[barrierScope]uint32 // communicators of barriers with two subsets
	counted  [3]int                  // numbers of barriers, subsets and processes for which joined has the members
}

// barrierScope holds the subset of processors and the subset of processes in the entry of a barrier that has both.
type barrierScope struct{ processors, processes int64 }

// barrierEntry is the entry of a barrier as the file has it.
type barrierEntry struct {
	processor, process, fields int64
	data                       string // descriptor and data
}

// placedBarrier is the first of several equal entries of barriers.
type placedBarrier struct {
	barrierEntry
	line int64
}

// scanBarrier notes the entry of a barrier with data. Its subsets depend on the records of type -6 before it, which
// may be in another chunk.
func (r *scanResult) scanBarrier(h *head, l []byte, number int64) {
	if h.f[0] != TypeEntry || h.f[5] == 0 {
		return
	}
	i, _, skip := parseLine(l, h)
	if skip || r.seenBarriers[barrierEntry{h.f[3], h.f[4], h.f[5], string(l[i:])}] {
		return
	}
	x := barrierEntry{h.f[3], h.f[4], h.f[5], string(l[i:])}
	if r.seenBarriers == nil {
		r.seenBarriers = map[barrierEntry]bool{}
	}
	r.seenBarriers[x] = true
	r.barriers = append(r.barriers, placedBarrier{x, number})
}

// addBarriers adds the subsets of barriers that are new. defs has the records of type -6.
func (o *readOperations) addBarriers(list []placedBarrier, defs *definitions) {
	for i := range list {
		b := &list[i]
		h := head{f: [6]int64{TypeEntry, barrierEvent, 0, b.processor, b.process, b.fields}}
		var rec Record
		rec.setHead(&h, b.line)
		rec.decodeData([]byte(b.data), &h, &descriptorResolver{defs: defs})
		if len(rec.Values) < 2 {
			continue
		}
		processors, ok1 := rec.Values[0].Whole()
		processes, ok2 := rec.Values[1].Whole()
		x := barrierScope{processors, processes}
		if _, known := o.joined[x]; known || !ok1 || !ok2 || processors == -1 || processes == -1 {
			continue
		}
		if o.joined == nil {
			o.joined = map[barrierScope]uint32{}
		}
		o.joined[x] = trace.NoRef
		o.barriers = append(o.barriers, x)
	}
}

// communicator returns the communicator of an operation from the subsets in its entry; -1 stands for a missing one.
func (o *readOperations) communicator(processors, processes int64) (communicator uint32, ok bool) {
	if processors != -1 && processes != -1 {
		communicator, ok = o.joined[barrierScope{processors, processes}]
		return communicator, ok && communicator != trace.NoRef
	}
	if processes == -1 {
		processes = processors
	}
	communicator, ok = o.subsets[strconv.FormatInt(processes, 10)]
	return communicator, ok
}

// defineOperations defines a communicator for each subset of processes or processors, for both subsets of a barrier,
// and for all processes, if the trace has collective operations. A later call adds what is new.
func (d *decoder) defineOperations() {
	o, m := &d.operations, d.Model
	for k, region := range d.regions {
		if operation, ok := operationOf(k.event); ok {
			if o.regions == nil {
				o.regions, o.subsets = map[uint32]uint64{}, map[string]uint32{}
			}
			o.regions[region] = operation
		}
	}
	if o.regions == nil {
		return
	}
	add := func(id, name string, set uint32) {
		o.subsets[id] = m.Communicator.Add(trace.Communicator{ID: id, Name: name, Set: set, Parent: trace.NoRef})
	}
	if len(o.subsets) == 0 {
		o.all = m.Sets.Add(trace.Set{ID: allID, Kind: setName(TypeProcessorSet)})
		add(allID, "all processes", o.all)
	}
	var all []procKey
	for _, l := range m.Locations.All() {
		if k, ok := parseLocationID(l.ID); ok && l.Kind == trace.ProcessLocation {
			all = append(all, k)
		}
	}
	m.Sets.At(o.all).Members = nil
	for _, k := range all {
		m.Sets.At(o.all).Members = append(m.Sets.At(o.all).Members, k.processor)
	}
	slices.Sort(m.Sets.At(o.all).Members)
	for ; o.sets < m.Sets.Len(); o.sets++ {
		s := m.Sets.At(uint32(o.sets))
		if _, known := o.subsets[s.ID]; s.Kind == setName(TypeProcessSet) || s.Kind == setName(TypeProcessorSet) && !known {
			add(s.ID, "subset "+s.ID, uint32(o.sets))
		}
	}
	d.joinSubsets(all)
}

// maxJoined limits the sum of the sizes of the subsets that make up the sets of barriers. maxMembers limits the sum of
// the sizes of these sets, in addition to a member for each record of the trace. Barriers beyond them have no
// communicator.
const maxJoined, maxMembers = 1 << 22, 1 << 16

// joinSubsets defines a communicator for each pair of subsets in the entry of a barrier. Its members are the processes,
// among all processes, that belong to both subsets. If a record does not define one of the subsets, the communicator
// stays undefined. A later call updates the members.
func (d *decoder) joinSubsets(all []procKey) {
	o, m := &d.operations, d.Model
	counted := [3]int{len(o.barriers), len(d.defs.sets), len(all)}
	if len(o.barriers) == 0 || counted == o.counted {
		return
	}
	o.counted = counted
	byProcessor, known := map[int64][]procKey{}, map[int64]bool{}
	for _, k := range all {
		byProcessor[k.processor] = append(byProcessor[k.processor], k)
		known[k.process] = true
	}
	size, members := 0, int64(0)
	for _, x := range o.barriers {
		nodes, ranks := setKey{TypeProcessorSet, x.processors}, setKey{TypeProcessSet, x.processes}
		processors, processes := d.defs.members(nodes), d.defs.members(ranks)
		if size += len(processors) + len(processes); !d.defs.hasSubset(nodes) || !d.defs.hasSubset(ranks) ||
			size > maxJoined {
			continue
		}
		// If some member of the subset of processes is no process, its members are processors.
		areProcessors, inSubset := false, map[int64]bool{}
		for _, q := range processes {
			areProcessors = areProcessors || !known[q] && !known[-1]
			inSubset[q] = true
		}
		var both []procKey
		seen := map[int64]bool{}
		for _, p := range processors {
			if seen[p] {
				continue
			}
			seen[p] = true
			for _, k := range byProcessor[p] {
				if areProcessors && inSubset[p] || !areProcessors && (inSubset[k.process] || k.process == -1) {
					both = append(both, k)
				}
			}
		}
		if members += int64(len(both)); members > d.nrec+maxMembers {
			continue
		}
		if o.joined[x] == trace.NoRef {
			id := strconv.FormatInt(x.processors, 10) + jointSeparator + strconv.FormatInt(x.processes, 10)
			set := m.Sets.Add(trace.Set{ID: id})
			o.sets = m.Sets.Len() // the set is no subset of its own
			o.joined[x] = m.Communicator.Add(trace.Communicator{ID: id, Name: "subsets " + id, Set: set, Parent: trace.NoRef})
		}
		s := m.Sets.At(m.Communicator.At(o.joined[x]).Set)
		s.Kind, s.Members = d.setOf(both)
	}
}

// setOf returns the kind and the members of a set of processes: the numbers of their processors or, if a processor has
// several processes, the numbers of the processes.
func (d *decoder) setOf(list []procKey) (kind string, members []int64) {
	kind = setName(TypeProcessorSet)
	for _, k := range list {
		if _, alone := d.onlyLocation[k.processor]; !alone {
			kind = setName(TypeProcessSet)
		}
	}
	for _, k := range list {
		if kind == setName(TypeProcessSet) {
			members = append(members, k.process)
		} else {
			members = append(members, k.processor)
		}
	}
	return kind, members
}
