// Package picl reads and writes PICL traces: the "new" format of P. H. Worley's
// report ORNL/TM-12125 (1992) with the additions of MPICL and the deviations of
// real writers, and, for reading only, the old format of PICL 1.x.
//
// The face of the format is [Record], [Reader] and [Writer]: one record a line,
// with its data fields decoded by their scanf descriptors. [Format] is built on
// it and maps records to the common model: entry and exit of an event type
// become enter and leave of a region named by its label, sends and receives
// become messages as well.
//
// What it cannot do: it does not guess the layout of old-format records that no
// source describes (load, message).
package picl
