// Package waits finds wait states: times in which a location cannot leave a call because another location is
// late. The definitions follow the definitions of Scalasca. docs/analyses/waits.md has the formulas, and lists
// the differences from Scalasca.
//
// A wait is never longer than its call, and never negative. Calls are visits of regions that communicate or
// synchronise. An event outside of such a region takes no time, so that its wait cannot be judged. Messages
// match by source, destination, communicator and tag, in the order in which messages are sent and receives are
// posted. Up to 256 receives of a location may complete before one that was posted earlier. The n-th
// collective operations of all members of a communicator form one operation. A barrier of threads belongs to
// the team that the trace records or, without a record, to the process.
//
// [Find] reads a trace once. It uses about 200 bytes per pending message, 60 bytes per member of an incomplete
// collective operation, and 100 bytes for each call path at a location with waits of a pattern. The log of
// package synclog keeps 32 MiB in memory and the rest in a temporary file.
package waits
