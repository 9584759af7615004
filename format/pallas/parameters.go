package pallas

import "fmt"

// MinABI and MaxABI are the first and the last version of the format (ABI) that weft reads.
const (
	MinABI = 16
	MaxABI = 20
)

// Compression is the method by which blocks of values are compressed.
type Compression uint32

// The compressions. Histogram, ZFP and ZSTDHistogram are lossy. Weft does not support SZ.
const (
	NoCompression Compression = iota
	ZSTD
	Histogram
	SZ
	ZFP
	ZSTDHistogram
)

var compressions = [...]string{"None", "ZSTD", "Histogram", "SZ", "ZFP", "ZSTD_Histogram"}

// String returns Pallas' name of the compression.
func (c Compression) String() string { return nameOrNumber(compressions[:], uint32(c)) }

// Lossy reports whether the compression changes values.
func (c Compression) Lossy() bool { return c == Histogram || c == ZFP || c == ZSTDHistogram || c == SZ }

// Encoding is the method by which values are encoded before they are compressed.
type Encoding uint32

// The encodings. No writer uses LeadingZeroes.
const (
	NoEncoding Encoding = iota
	Masking
	LeadingZeroes
)

var encodings = [...]string{"None", "Masking", "LeadingZeroes"}

// String returns Pallas' name of the encoding.
func (e Encoding) String() string { return nameOrNumber(encodings[:], uint32(e)) }

// LoopFinding is the method by which the writer looked for repetitions.
type LoopFinding uint32

// The methods: none, search in all tokens, or search in the last MaxLoopLength tokens.
const (
	NoLoops LoopFinding = iota
	BasicLoops
	BasicTruncated
)

var loopFindings = [...]string{"None", "Basic", "BasicTruncated"}

// String returns Pallas' name of the method.
func (l LoopFinding) String() string { return nameOrNumber(loopFindings[:], uint32(l)) }

// TimestampStorage is a setting of the main file without an effect on the rest of the trace.
type TimestampStorage uint32

const maxStorage TimestampStorage = 2

var storages = [...]string{"None", "Delta", "Timestamp"}

// String returns Pallas' name of the setting.
func (t TimestampStorage) String() string { return nameOrNumber(storages[:], uint32(t)) }

func nameOrNumber(names []string, i uint32) string {
	if i < uint32(len(names)) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}

// Parameters holds the settings of a trace, which apply to all of its threads (docs/formats/pallas.md,
// "Main file").
type Parameters struct {
	ABI              uint8
	Compression      Compression
	Encoding         Encoding // NoEncoding if the compression is lossy
	ZSTDLevel        uint64
	LoopFinding      LoopFinding
	MaxLoopLength    uint64
	TimestampStorage TimestampStorage

	stored Encoding // the encoding that the file states, even if the compression is lossy
}

// encodingOffset is the offset of the encoding in a main file. Reading does not depend on the settings behind it.
const encodingOffset = 5

// parameters reads the settings. It reports an error for a version, compression or encoding that
// weft cannot read.
func (s *source) parameters() Parameters {
	p := Parameters{ABI: s.u8()}
	if s.err == nil && (p.ABI < MinABI || p.ABI > MaxABI) {
		s.fail(0, fmt.Sprintf("%d to %d; other versions have another layout", MinABI, MaxABI), "a Pallas trace of ABI %d",
			p.ABI)
	}
	p.Compression = Compression(s.u32())
	if c := p.Compression; s.err == nil && (c == SZ || c > ZSTDHistogram) {
		s.fail(1, "None, ZSTD, Histogram, ZFP or ZSTD_Histogram", "the compression %s", c)
	}
	p.Encoding = Encoding(s.u32())
	if e := p.Encoding; s.err == nil && e > Masking && !p.Compression.Lossy() {
		s.fail(encodingOffset, "None or Masking", "the encoding %s", e)
	}
	p.ZSTDLevel = s.u64()
	p.LoopFinding = LoopFinding(s.u32())
	p.MaxLoopLength = s.u64()
	p.TimestampStorage = TimestampStorage(s.u32())
	if p.stored = p.Encoding; p.Compression.Lossy() {
		p.Encoding = NoEncoding
	}
	return p
}
