// Package index keeps the intervals of a trace so that any part of it can be drawn and
// summed up at a cost that depends on the picture, not on the trace.
//
// Regions with the same name, file and line are one, the first of them, as [trace.Rows] has it.
//
// A trace has tracks: a location with the visits of regions; a resource with claims in
// lanes, and the amount in use; a counter, series or signal of a location; a communicator
// with its collective operations. For each track the index has
//
//   - its spans (visits, claims, operations) in the order of their ends, in blocks of 4096
//     with what is open behind each, so that the spans of a window are in few blocks;
//   - the sums of each block by region, so that the profile of a window is the sums of the
//     blocks in it, less what is before and behind at its two ends;
//   - its instants, and the values of its curve, in blocks;
//   - levels of buckets of equal length, each for some 4 of the level below it: the region
//     that was open longest at each depth, and which part of the bucket it, and all regions
//     at that depth, were; how many instants; what the curve was between.
//
// Links (messages, the n-th send of a channel with its n-th receive; stored dependencies;
// forks and joins of threads) are in blocks too, and in levels where those of the same tracks and about
// the same time are one bundle.
//
// # File
//
// All numbers are little-endian; "varint" is an unsigned LEB128 number, a "zigzag" one of
// a signed number. The file is "weftidxB", then blocks, then the directory, then 24 bytes:
// offset and length of the directory (8 bytes each), its CRC-32C (4 bytes), "xdi6". A
// block is the CRC-32C of what follows (4 bytes), how it is packed (1 byte: 0 not at all, 1
// zstd), and columns of numbers; those of spans are packed one by one. Blocks stand in the
// order of their tables, so that a trace has one index. Their places and lengths
// are in the directory, which is a zstd frame: JSON behind its length as a varint, the tables
// of blocks of links as varints, and each track with its tables. Readers refuse what has another beginning
// or end, or a wrong checksum.
package index
