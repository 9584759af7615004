// Package clocks computes from the messages and collective operations of a trace how far the clocks of its
// locations differ. It also computes a correction that makes the clocks agree.
//
// Clocks of machines differ by an offset. Because clocks run at different speeds, they also differ by a drift.
// The constraint on a correction is causality: no message is received before it is sent. Therefore the
// corrected time of a receive must not be before the corrected time of its send. Likewise, no member of a
// collective operation may leave the operation before all members for which it waits have entered it.
//
// The first step finds one offset and one drift for each clock. Of all messages between two clocks only the
// corners of a convex hull count (Duda, Harrus, Haddad, Bernard: "Estimating global time in distributed
// systems", 1987; Moon, Skelly, Towsley: "Estimation and removal of clock skew from network delay
// measurements", 1999). For given drifts, the offsets are potentials of a graph whose edges are pairs of
// clocks. The least slack of all messages is the slack of the cycle with the least mean. Howard's algorithm
// finds this cycle (Dasdan: "Experimental analysis of the fastest optimum cycle ratio and mean algorithms",
// 2004). The offsets give every message at least this slack, and lie in the middle of the possible range. If
// offsets alone meet all constraints, operations in which all members wait for all others determine an offset in this
// range. Their members leave at nearly the same time, so the median of the differences between their ends is the
// difference of the clocks, even if one member always comes long before the others.
//
// Drifts are 0 unless the constraints cannot be met without drifts. A drift is at most 0.2 %. If drifts would
// remove less than three quarters of the violations, the violations have another cause, and all drifts are 0.
// Otherwise each pair of clocks determines a range for its drift. The drifts of clocks are a least squares fit
// to the middles of these ranges. Then each clock in turn gets the line with the most room among all clocks
// that share constraints with it. As long as the worst cycle is violated, the drifts move towards the values
// that this cycle requires (the relaxation of Agmon and Motzkin).
//
// The second step corrects errors that no linear correction can remove, such as a clock that was set while the
// program ran. It uses the controlled logical clock with forward and backward amortisation (Rabenseifner: "The
// controlled logical clock – a global time for trace based software monitoring of parallel applications in
// workstation clusters", 1997; Becker, Rabenseifner, Wolf, Linford: "Scalable timestamp synchronization for
// event traces of message-passing applications", Parallel Computing 35, 2009). An early receive is moved to a
// time after its send. After the receive, the clock runs slower by 1 % until it agrees with its linear
// correction again. Before the receive, it runs faster by 1 %. The step uses integers, so that no violation
// remains, not even of one tick.
//
// Some traces contain constraints that no clock can meet: a message that was matched wrongly because a record
// is missing can seem to depend on its own answer. Such constraints are counted as contradictions and ignored.
// Every correction violates them, so that the package searches for contradictions only if violations remain. A
// constraint that only follows contradictory constraints is not a contradiction: each strongly connected set
// of nodes is resolved separately, in the order of causes.
//
// The memory does not depend on the length of the trace. [Solve] scans the trace once. It packs the events of
// messages and collective operations, the first 32 MiB in memory and the rest in a temporary file, and then
// reads them location by location. A location that is ahead of the others waits. As a result, only about 2^17
// ends of messages and calls of operations wait for their partners at a time, however far the clocks are
// apart. More can wait only if messages are in transit or never arrive. Non-blocking operations are numbered
// by their requests. The operations after a request that never completes wait until the end of the trace. The
// messages and operations are written to a log, of which 8 MiB are in memory. Each later step reads the log
// once, to count violations and to add points to the hulls, whose corners are exact.
//
// The second step sorts the times of messages and operations by their linear correction, plus a shift where a
// clock was set. A time that comes before one of its causes waits for the cause. The waiting times lie within
// about 1/16000 of the length of the trace, since a clock that was set by more gets a shift. Only
// contradictions can make more times wait. The step searches for contradictions when 2^14 times wait, and
// again each time that this number has doubled. It writes the moved times to a temporary file. The backward
// amortisation reads this file from its end and writes another file, to which the curves are fitted.
//
// The result needs 16 bytes for each point of a curve. Amortisation makes up to one point for each moved time.
// Therefore the memory grows with the length of a trace in which most messages are violated after the linear
// correction. The corners need about 200 bytes for each pair of clocks with messages, regardless of the number
// of messages.
//
// Messages are matched as in package messages, without comparing times of different locations. The n-th
// collective operations of all members of a communicator form one operation. The type of the operation
// determines which members wait for which: in barriers and all-to-all operations all wait for all members, in
// broadcasts and scatters all wait for the root, and in gathers and reductions the root waits for all members.
// In variants with a length for each member, only members that moved bytes count. Prefix reductions,
// all-to-all operations with a length for each pair, and operations on handles and memory do not constrain
// clocks. OTF traces define their own numbers for operations. Their operations constrain clocks if their names are
// those of MPI functions.
package clocks
