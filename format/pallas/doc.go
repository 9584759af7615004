// Package pallas reads and writes traces in the Pallas format (docs/formats/pallas.md).
//
// A [Trace] (in Pallas: GlobalArchive) has an [Archive] for each process, and an archive has a
// [Thread] for each location. Archives and threads are loaded on demand. A thread is a grammar: a
// [Token] names an [Event], a [Sequence] or a [Loop]. An event is a record with the times of all
// its occurrences, a sequence is a list of tokens, and a loop repeats a sequence. A [Reader] steps
// through the grammar. Times are stored in [Vector]s, which are divided into blocks. The grammar
// stores a summary of each block, and the values of a block are loaded on demand.
//
// [Create] returns a [Writer], which writes a trace. A writer has a [Recorder] for each thread;
// the recorder finds repetitions while it records.
package pallas
