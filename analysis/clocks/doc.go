// Package clocks finds how far the clocks of a trace's locations are apart, from its
// messages and collective operations, and the correction that puts them right.
//
// Clocks of machines differ by an offset, and by a drift: they do not run at the same
// speed. What shows it is that nothing is received before it is sent. Each message says
// that the time of its receive, on a clock that all share, is not before that of its send;
// each collective operation that nobody leaves it before all that it waits for have come.
//
// The first step finds one offset and one drift for each clock. Of all messages between
// two clocks only the corners of a convex hull count (Duda, Harrus, Haddad, Bernard:
// "Estimating global time in distributed systems", 1987; Moon, Skelly, Towsley:
// "Estimation and removal of clock skew from network delay measurements", 1999). For given
// drifts the offsets are potentials of a graph whose edges are pairs of clocks, and the
// least slack of all messages is that of the cycle with the least mean, which Howard's
// algorithm finds (Dasdan: "Experimental analysis of the fastest optimum cycle ratio and
// mean algorithms", 2004). The offsets leave every message that slack and are in the
// middle of what is still possible. Drifts are 0 unless the messages cannot be put right
// without them, and are 0.2 % at most; if they would not remove three quarters of what is
// violated, it is not drifts that are the matter. Each pair of clocks tells in what range
// its drift must be; drifts of clocks are those of least squares over the middles. Then
// each clock in turn gets the line with the most room among all that it is tied to, and as
// long as the worst cycle is still violated drifts move towards what it asks for (the
// relaxation of Agmon and Motzkin).
//
// The second step mends what no straight line can, such as a clock that was set while the
// program ran: the controlled logical clock with forward and backward amortisation
// (Rabenseifner: "The controlled logical clock – a global time for trace based software
// monitoring of parallel applications in workstation clusters", 1997; Becker,
// Rabenseifner, Wolf, Linford: "Scalable timestamp synchronization for event traces of
// message-passing applications", Parallel Computing 35, 2009). A receive that is early
// moves behind its send; the times behind it run slower until the clock is where it was,
// and those before it faster, by 1 % each. It is done on integers, so that no violation
// remains, not even of a tick.
//
// Some traces say what no clock can put right: a message that was matched wrongly because
// a record is missing can seem to depend on its own answer. Such messages are counted as
// contradictions and not used.
//
// Message matching is that of package messages: it does not look at times of different
// locations. Of collective operations, the n-th of each member of a communicator are one.
// What they wait for follows from the operation: barriers, and all-to-all operations, wait
// for everyone; broadcasts and scatters for their root; the root of gathers and reductions
// for everyone. Variants with a length for each member count only where bytes were
// moved. Prefix reductions, all-to-all with a length for each pair, and operations on
// handles and memory, say nothing. OTF 1 gives operations its own numbers, so that its
// collective operations say nothing either.
package clocks
