// Package otf2 reads and writes OTF2 archives, as Score-P, EZTrace and TAU write them.
// docs/formats/otf2.md describes the format to the byte.
//
// [Open] opens an archive by its anchor file. [Archive.Definitions] reads definitions,
// [Archive.Events] the events of a location, [Archive.Snapshots] its snapshots, [Archive.Markers]
// markers and [Archive.Thumbnail] thumbnails. All return records: a record holds numbers in the
// order of the fields that its row in the table of records lists. [Format] gives access to an
// archive through the common model.
package otf2
