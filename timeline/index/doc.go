// Package index keeps the intervals of a trace so that any part of it can be drawn and
// summed up at a cost that depends on the picture, not on the trace.
//
// For each location (a track) it has
//
//   - the visits of regions (spans) in the order of their ends, in blocks of 4096, with
//     the sums of each block by region, and what is open behind it. So the spans of a
//     window are in few blocks, and the profile of a window is the sums of the blocks in
//     it, less what is before and behind at its two ends;
//   - levels of buckets of equal length, each for some 8 of the level below it: the
//     region that was open longest at each depth, and which part of the bucket it, and all
//     regions at that depth, were.
//
// # File
//
// All numbers are little-endian; "varint" is an unsigned LEB128 number, a "zigzag" one of
// a signed number. The file is "weftidx1", then blocks, then the directory, then 24 bytes:
// offset and length of the directory (8 bytes each), its CRC-32C (4 bytes), "xdi1". A
// block is a zstd frame behind its CRC-32C (4 bytes); its place and length are in the
// directory, which is JSON in a zstd frame. Readers refuse what has another beginning or
// end, or a wrong checksum.
package index
