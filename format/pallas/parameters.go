package pallas

import "fmt"

// The versions of the format (ABI) that are read.
const (
	MinABI = 16
	MaxABI = 20
)

// Compression is how blocks of values are compressed.
type Compression uint32

// The compressions. Histogram, ZFP and ZSTDHistogram lose digits; SZ is not supported.
const (
	NoCompression Compression = iota
	ZSTD
	Histogram
	SZ
	ZFP
	ZSTDHistogram
)

var compressions = [...]string{"None", "ZSTD", "Histogram", "SZ", "ZFP", "ZSTD_Histogram"}

// String is Pallas' name of it.
func (c Compression) String() string { return name(compressions[:], uint32(c)) }

// Lossy tells whether values change.
func (c Compression) Lossy() bool { return c == Histogram || c == ZFP || c == ZSTDHistogram || c == SZ }

// Encoding is how values are written before they are compressed.
type Encoding uint32

// The encodings. Nobody writes LeadingZeroes.
const (
	NoEncoding Encoding = iota
	Masking
	LeadingZeroes
)

var encodings = [...]string{"None", "Masking", "LeadingZeroes"}

// String is Pallas' name of it.
func (e Encoding) String() string { return name(encodings[:], uint32(e)) }

// LoopFinding is how the writer looked for repetitions.
type LoopFinding uint32

// The ways to look for repetitions: within the last MaxLoopLength tokens, in all, or
// not at all.
const (
	NoLoops LoopFinding = iota
	BasicLoops
	BasicTruncated
)

var loopFindings = [...]string{"None", "Basic", "BasicTruncated"}

// String is Pallas' name of it.
func (l LoopFinding) String() string { return name(loopFindings[:], uint32(l)) }

// TimestampStorage is a setting that nothing depends on.
type TimestampStorage uint32

const maxStorage TimestampStorage = 2

var storages = [...]string{"None", "Delta", "Timestamp"}

// String is Pallas' name of it.
func (t TimestampStorage) String() string { return name(storages[:], uint32(t)) }

func name(names []string, i uint32) string {
	if i < uint32(len(names)) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}

// Parameters are the settings of a trace, which hold for all its threads
// (docs/formats/pallas.md, "Main file").
type Parameters struct {
	ABI              uint8
	Compression      Compression
	Encoding         Encoding // what the file says; a lossy compression has none
	ZSTDLevel        uint64
	LoopFinding      LoopFinding
	MaxLoopLength    uint64
	TimestampStorage TimestampStorage

	stored Encoding // that the file says; nothing is encoded where the compression is lossy
}

// parameters reads them and refuses what cannot be read.
func (s *source) parameters() Parameters {
	p := Parameters{ABI: s.u8()}
	if s.err == nil && (p.ABI < MinABI || p.ABI > MaxABI) {
		s.bad(0, fmt.Sprintf("%d to %d; other versions have another layout", MinABI, MaxABI), "a Pallas trace of ABI %d", p.ABI)
	}
	p.Compression = Compression(s.u32())
	if c := p.Compression; s.err == nil && (c == SZ || c > ZSTDHistogram) {
		s.bad(1, "None, ZSTD, Histogram, ZFP or ZSTD_Histogram", "the compression %s", c)
	}
	p.Encoding = Encoding(s.u32())
	if e := p.Encoding; s.err == nil && e > Masking {
		s.bad(5, "None or Masking", "the encoding %s", e)
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
