// Package otf2 reads OTF2 archives: what Score-P, EZTrace and TAU write
// (docs/formats/otf2.md has the format to the byte).
//
// [Open] opens an archive by its anchor file. Its face are records: definitions by
// [Archive.Definitions], events of a location by [Archive.Events], and its snapshots by
// [Archive.Snapshots]; markers and thumbnails by [Archive.Markers] and
// [Archive.Thumbnail]. A record is what its row of the table of records says: numbers in
// the order of its fields. [Format] is the archive through the common model.
package otf2
