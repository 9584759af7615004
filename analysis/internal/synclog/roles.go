package synclog

import "github.com/weft-trace/weft/trace"

// regionRole holds what the name of a region says of it.
type regionRole struct {
	known        bool
	communicates bool
	role         trace.Role
}

// findRoles sets roles. A trace may have millions of paths, but it has few regions.
func (l *Log) findRoles() {
	l.roles = make([]regionRole, l.Defs.Regions.Len())
	for _, p := range l.Paths {
		if l.Defs.Regions.Has(p.Region) && !l.roles[p.Region].known {
			l.roles[p.Region] = regionRole{true, l.Defs.Communicates(p.Region), l.Defs.RoleOf(p.Region)}
		}
	}
}

// regionRole returns the role of the region in which a path ends.
func (l *Log) regionRole(path uint32) regionRole {
	if path < uint32(len(l.Paths)) && int64(l.Paths[path].Region) < int64(len(l.roles)) {
		return l.roles[l.Paths[path].Region]
	}
	return regionRole{}
}

// Role returns the role of the region in which a path ends. It returns [trace.UnknownRole] outside of all regions.
func (l *Log) Role(path uint32) trace.Role { return l.regionRole(path).role }

// Communicates reports whether a path ends in a call of a communication library, as [trace.Definitions.Communicates]
// does for a region.
func (l *Log) Communicates(path uint32) bool { return l.regionRole(path).communicates }
