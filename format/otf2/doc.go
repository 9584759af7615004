// Package otf2 reads and writes OTF2 archives, as Score-P, EZTrace and TAU write them.
// docs/formats/otf2.md describes the format to the byte.
//
// [Open] opens an archive by its anchor file. [Archive.Definitions] reads definitions, [Archive.Events]
// the events of a location, [Archive.Snapshots] its snapshots, [Archive.Markers] markers and
// [Archive.Thumbnail] thumbnails. All of them return records. A record holds numbers, one for each
// field; docs/formats/otf2.md lists the fields of each record in the same order. [Format] gives access
// to an archive through the common model.
package otf2
