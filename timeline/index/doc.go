// Package index stores the intervals of a trace so that any part of it can be drawn and summed up at a cost
// that depends on the size of the picture, not on the length of the trace.
//
// Regions with the same name, file and line are merged into the first of them, as [trace.Rows] does.
//
// An index has tracks. A track is a location with the visits of its regions; a resource with its claims in
// lanes and the amount in use; a counter, series or signal of a location; or a communicator with its
// collective operations. For each track the index stores
//
//   - its spans (visits, claims or operations) in the order of their ends, in blocks of 4096.
//     Each block also lists the spans that are open at its end, so that the spans of a window
//     are in few blocks;
//   - the sums of each block by region. The profile of a window is the sum over the blocks in
//     it, minus the parts before and after the window in the blocks at its two ends;
//   - its instants, and the values of its curve, in blocks;
//   - levels of buckets of equal length, each of which combines 4 buckets of the level below.
//     For spans, a bucket holds for each depth the region that was open longest, the share of
//     the bucket in which it was open, and the share in which any region was open. For
//     instants it holds their number, and for curves the range of values.
//
// Links are messages (the n-th send of a channel with its n-th receive), stored dependencies, and forks and
// joins of threads. Links are also stored in blocks, and in levels of bundles: a bundle combines the links
// between the same tracks at about the same time.
//
// # File
//
// All numbers are little-endian. A varint is an unsigned LEB128 number, and a zigzag number encodes a signed
// number as a varint. The file consists of "weftidxB", the blocks, the directory, and 24 bytes: offset and
// length of the directory (8 bytes each), its CRC-32C (4 bytes), and "xdi6". A block is the CRC-32C of the
// bytes that follow (4 bytes), the packing (1 byte: 0 for none, 1 for zstd), and columns of numbers; the
// columns of spans are packed individually. The blocks are in the order of their tables, so that a trace
// always has the same index. The directory, which is a zstd frame, lists the offsets and lengths of the
// blocks: it holds JSON with its length as a varint before it, the tables of the blocks of links as varints,
// and each track with its tables. Readers reject files with another beginning or end, or with a wrong
// checksum.
package index
