// Package pallas reads and writes traces in the Pallas format (docs/formats/pallas.md).
//
// A [Trace] (in Pallas: GlobalArchive) has an [Archive] for each process, and that a
// [Thread] for each location, which are loaded when they are asked for. A thread is a
// grammar: [Token]s name an [Event], which is a record with the times of all its
// occurrences, a [Sequence] of tokens, or a [Loop], which repeats a sequence. A
// [Reader] goes through the grammar. The times lie in [Vector]s, whose blocks are
// summed up beside the grammar and loaded when they are needed.
//
// A [Writer], from [Create], writes a trace, with a [Recorder] for each thread that finds
// what repeats while it records.
package pallas
