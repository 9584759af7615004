// Package clocks computes how far the clocks of a trace's locations differ, from its messages and
// collective operations, and the correction that makes them agree.
//
// Clocks of machines differ by an offset, and by a drift, as they do not run at the same speed. The
// constraint is causality: nothing is received before it is sent. For each message, the time of its
// receive on a common clock is not before that of its send. For each collective operation, no
// member leaves it before all members that it waits for have entered it.
//
// The first step finds one offset and one drift for each clock. Of all messages between two clocks
// only the corners of a convex hull count (Duda, Harrus, Haddad, Bernard: "Estimating global time
// in distributed systems", 1987; Moon, Skelly, Towsley: "Estimation and removal of clock skew from
// network delay measurements", 1999). For given drifts the offsets are potentials of a graph whose
// edges are pairs of clocks. The least slack of all messages is that of the cycle with the least
// mean, which Howard's algorithm finds (Dasdan: "Experimental analysis of the fastest optimum cycle
// ratio and mean algorithms", 2004). The offsets give every message that slack, and lie in the
// middle of the possible range. Drifts are 0 unless the constraints cannot be met without them, and
// at most 0.2 %. If drifts would not remove three quarters of the violations, the cause is
// something else and no drifts are used. Each pair of clocks determines a range for its drift. The
// drifts of clocks are a least squares fit to the middles of these ranges. Then each clock in turn
// gets the line with the most room among all clocks that it is tied to. As long as the worst cycle
// is still violated, drifts move towards what it requires (the relaxation of Agmon and Motzkin).
//
// The second step repairs what no straight line can, such as a clock that was set while the program
// ran: the controlled logical clock with forward and backward amortisation (Rabenseifner: "The
// controlled logical clock – a global time for trace based software monitoring of parallel
// applications in workstation clusters", 1997; Becker, Rabenseifner, Wolf, Linford: "Scalable
// timestamp synchronization for event traces of message-passing applications", Parallel Computing
// 35, 2009). An early receive moves after its send. Later times run slower by 1 % until the clock
// is where it was, and earlier times faster by 1 %. The step uses integers, so that no violation
// remains, not even of one tick.
//
// Some traces contain constraints that no clock can meet: a message that was matched wrongly
// because a record is missing can seem to depend on its own answer. Such messages are counted as
// contradictions and ignored. They are violated by every correction, so that they are looked for
// only if violations remain. A constraint that merely comes after contradictory ones is none: the
// strongly connected sets of nodes are resolved one by one, in the order of causes.
//
// The memory does not depend on the length of the trace. [Solve] scans it once. It packs the events
// of messages and collective operations into 32 MiB, and more into a temporary file, and then reads
// them location by location. A location that is ahead of the others waits, so that about 2^17 ends
// of messages and parts of operations wait for their partners at a time, however far clocks are
// apart. More can wait only if messages are in transit, or do not arrive. Non-blocking operations
// are numbered by their requests: those after a request that is never complete wait for the end of
// the trace. Messages and operations are written to a log, of which 8 MiB are in memory. Each later
// step reads it once: it counts violations, and adds points to the hulls, whose corners are exact.
//
// The second step sorts the times of messages and operations by their linear correction, plus a
// shift where a clock was set, and keeps those that come before their causes until these have come.
// The times that wait lie within about 1/16000 of the length of the trace, since a clock that was set
// by more is shifted. Only constraints that contradict each other can make more wait: those are
// searched once 2^14 times wait, and again each time that their number has doubled. Moved times go
// to a temporary file, which is read from its end for the backward amortisation. That writes another
// one, to which the curves are fitted.
//
// Memory is needed for the result: 16 bytes for each point of a curve. Amortisation makes up to one
// point for each moved time, so that a trace in which most messages are violated after the linear
// correction needs more memory if it is longer. The corners between two clocks need about 200 bytes
// for each pair of clocks with messages, whatever the number of messages.
//
// Message matching is that of package messages, which does not compare times of different
// locations. The n-th collective operations of all members of a communicator are one operation. The
// members that it waits for follow from its type: barriers and all-to-all operations wait for all
// members, broadcasts and scatters for their root, and the root of gathers and reductions for all
// members. Variants with a length for each member count only where bytes were moved. Prefix
// reductions, all-to-all with a length for each pair, and operations on handles and memory do not
// constrain clocks. OTF 1 numbers operations itself, so that its collective operations do not
// constrain clocks either.
package clocks
