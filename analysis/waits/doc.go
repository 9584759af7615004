// Package waits finds wait states: times in which a location sits in a call because another location
// is late. The definitions follow Scalasca's, of which docs/analyses/waits.md lists the formulas and
// the differences.
//
// A wait is never longer than its call, and never negative. Calls are visits of regions that
// communicate or synchronise; an event outside of such a region takes no time, so that its waits
// cannot be judged. Messages match by source, destination, communicator and tag, in the order in which
// they are sent and receives are posted; up to 256 receives of a location may complete before one that
// was posted earlier. The n-th collective operations of all members of a communicator are one
// operation. Barriers of threads belong to the team that the trace tells, or else to the process.
//
// [Find] reads a trace once. It holds what waits for its other side: about 200 bytes per pending
// message and 60 bytes per member of an incomplete collective operation, 100 bytes for each pair of
// call path and location with waits of a pattern, and the log of package synclog, which keeps 32 MiB
// in memory and the rest in a temporary file.
package waits
