// Package otf reads and writes traces of the Open Trace Format, version 1 (docs/formats/otf.md),
// record by record. [Open] and [Reader.Cursor] read a trace. [Create] and [Writer.Write] write a
// trace, and a [StreamWriter] writes one stream of it.
package otf
