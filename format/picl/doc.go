// Package picl reads and writes PICL traces: the "new" format of P. H. Worley's report
// ORNL/TM-12125 (1992), with the additions of MPICL and the deviations of real writers. It also
// reads the old format of PICL 1.x.
//
// [Reader] and [Writer] read and write one [Record] per line and decode its data fields by their
// scanf descriptors. [Format] maps records to the common model. An entry and an exit of an event
// type become the enter and the leave of a region with the name of the type's label. Sends and
// receives also become messages.
//
// The package does not guess the layout of old-format records that no source describes (load,
// message).
package picl
