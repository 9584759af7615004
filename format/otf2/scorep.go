package otf2

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// likeOption is the name of the option for the layout of archives that are encoded as a whole. Its values are
// likeWeft and likeScoreP.
const (
	likeOption = "otf2.like"
	likeWeft   = "weft"
	likeScoreP = "scorep"
)

// scorep holds the layout of an archive that resembles the archives of Score-P. Scalasca's analyser expects
// this layout (docs/formats/otf2.md, "Archives like those of Score-P"). Each process has a location group of
// kind process, which begins with the master thread. The master threads are the communicating locations of
// MPI. The roles of regions follow from their names.
type scorep struct {
	process []int          // process of each location; -1 if a location belongs to no process
	master  []bool         // whether a location is a master thread; indexed by location
	groups  []uint32       // group in the model of each process; trace.NoRef if the process has no group
	ofGroup map[uint32]int // process of each group of kind process
	ranked  int            // number of locations whose master threads are among the communicating locations of MPI
}

// extend adds the locations that a trace has defined since the last call. Some formats define locations among the
// events.
func (s *scorep) extend(d *trace.Definitions) {
	if s.ofGroup == nil {
		s.ofGroup = map[uint32]int{}
	}
	for i := len(s.process); i < d.Locations.Len(); i++ {
		l := d.Locations.At(uint32(i))
		process, first := -1, true
		switch l.Kind {
		case trace.ProcessLocation, trace.ThreadLocation, trace.StreamLocation, "":
			group, known := l.Group, false
			whole := d.Groups.Has(group) && d.Groups.At(group).Kind == "process"
			if whole {
				process, known = s.ofGroup[group]
				first = !known && l.Kind != trace.StreamLocation
			}
			if !known {
				process = len(s.groups)
				if whole {
					s.ofGroup[group] = process
					group = d.Groups.At(group).Parent
				}
				s.groups = append(s.groups, group)
			}
		default:
			first = false
		}
		s.process, s.master = append(s.process, process), append(s.master, first)
	}
}

// writeTree writes the system tree, the location groups and the locations. The function node writes the node
// of a group and the nodes above it, and returns the id of the group's node.
func (s *scorep) writeTree(e *encoder, put func(id uint8, v ...uint64), name func(string) uint64,
	node func(g uint32) uint64) {
	s.extend(e.defs)
	for i, g := range s.groups {
		put(defLocationGroup, uint64(i), name(fmt.Sprintf("MPI Rank %d", i)), 1, node(g), undefined32)
	}
	others := false
	for i, l := range e.defs.Locations.All() {
		text, kind, group := l.Label(), uint64(1), s.group(uint32(i))
		if s.process[i] < 0 && !others {
			others = true
			put(defLocationGroup, group, name("others"), 0, node(trace.NoRef), undefined32)
		}
		if s.master[i] {
			text = "Master thread"
		}
		if l.Kind == trace.StreamLocation {
			kind = 2
		}
		put(defLocation, uint64(i), name(text), kind, e.location(uint32(i)).Count, group)
	}
	e.defineLanes(put, name, s.group)
}

// group returns the id of a location's location group. Locations of no process share the group after the processes.
func (s *scorep) group(loc uint32) uint64 {
	if p := s.process[loc]; p >= 0 {
		return uint64(p)
	}
	return uint64(len(s.groups))
}

// scorepRoles maps weft's roles of regions to OTF2's roles.
var scorepRoles = map[trace.Role]string{trace.SendRole: "POINT2POINT", trace.ReceiveRole: "POINT2POINT",
	trace.ProbeRole: "POINT2POINT", trace.ImmediateSendRole: "POINT2POINT", trace.ImmediateReceiveRole: "POINT2POINT",
	trace.CompletionRole: "POINT2POINT", trace.TestRole: "POINT2POINT", trace.MessageRole: "POINT2POINT",
	trace.RemoteMemoryRole: "RMA", trace.BarrierRole: "BARRIER", trace.ImplicitBarrierRole: "IMPLICIT_BARRIER",
	trace.BroadcastRole: "COLL_ONE2ALL", trace.ScatterRole: "COLL_ONE2ALL", trace.GatherRole: "COLL_ALL2ONE",
	trace.ReduceRole: "COLL_ALL2ONE", trace.AllGatherRole: "COLL_ALL2ALL", trace.AllToAllRole: "COLL_ALL2ALL",
	trace.AllReduceRole: "COLL_ALL2ALL", trace.ReduceScatterRole: "COLL_ALL2ALL", trace.ScanRole: "COLL_OTHER",
	trace.CollectiveRole: "COLL_OTHER", trace.ForkRole: "PARALLEL", trace.WorksharingRole: "WORKSHARE",
	trace.TaskRole: "TASK", trace.TaskCreateRole: "TASK_CREATE", trace.TaskWaitRole: "TASK_WAIT",
	trace.LockRole: "CRITICAL", trace.IORole: "FILE_IO", trace.MemoryRole: "ALLOCATE", trace.RuntimeRole: "ARTIFICIAL"}

// openMPRoles lists prefixes of the names that Score-P gives to constructs of OpenMP, without "!$omp ", and their
// roles. The first matching prefix determines the role.
var openMPRoles = [][2]string{{"critical sblock", "CRITICAL_SBLOCK"}, {"ordered sblock", "ORDERED_SBLOCK"},
	{"ordered", "ORDERED"}, {"single sblock", "SINGLE_SBLOCK"}, {"single", "SINGLE"}, {"atomic", "ATOMIC"},
	{"for", "LOOP"}, {"do", "LOOP"}, {"sections", "SECTIONS"}, {"section", "SECTION"}, {"master", "MASTER"},
	{"flush", "FLUSH"}}

// scorepRole returns OTF2's role of a region. It is the role that the trace records, unless that only states that the
// region is a function. Otherwise it follows from the name.
func scorepRole(d *trace.Definitions, r *trace.Region) string {
	if d.RegionParadigm(r) != "" {
		switch role := strings.ToUpper(r.Role); role {
		case "UNKNOWN", "FUNCTION", "WRAPPER", "CODE":
		default:
			if slices.Contains(regionRoles, role) {
				return role
			}
		}
	}
	if construct, ok := strings.CutPrefix(strings.ToLower(r.Name), "!$omp "); ok {
		for _, x := range openMPRoles {
			if strings.HasPrefix(construct, x[0]) {
				return x[1]
			}
		}
	}
	return cmp.Or(scorepRoles[d.RegionRole(r)], r.Role)
}

// scorepParadigms maps weft's paradigms of regions to OTF2's paradigms.
var scorepParadigms = map[trace.Paradigm]string{trace.MPI: "MPI", trace.SHMEM: "SHMEM", trace.OpenMP: "OPENMP",
	trace.Pthread: "PTHREAD", trace.CUDA: "CUDA", trace.HIP: "HIP"}
