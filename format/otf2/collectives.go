package otf2

import "github.com/weft-trace/weft/trace"

// rankOf returns the rank of a process in a communicator. It returns trace.Undefined if the process
// is not a member.
func (e *encoder) rankOf(process, communicator uint64) uint64 {
	if communicator >= uint64(e.defs.Communicator.Len()) {
		return trace.Undefined
	}
	m := e.members(uint32(communicator))
	loc, ok := e.locationByNumber(int64(process))
	if !ok || m.all {
		return trace.Undefined
	}
	if m.self {
		return 0
	}
	if r, ok := m.places[loc]; ok {
		return r
	}
	if m.other != nil {
		if r, ok := m.other.places[loc]; ok {
			return r
		}
	}
	return trace.Undefined
}
