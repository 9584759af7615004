package otf

import (
	"fmt"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// The rules of key-value pairs that readers and libotf pass over.
const (
	repeatedKey = "otf.repeated-key"
	arrayLength = "otf.array-length"
	unusedPair  = "otf.unused-pair"
)

// pairChecker finds defects of key-value pairs that readers and libotf pass over. A stream has one only while its trace
// is checked. Pairs that the fast paths read have none of these defects.
type pairChecker struct {
	key     uint32
	left    uint64 // number of bytes of the array with that key that are still missing
	arrayAt int64  // offset of the last line of that array
	first   int64  // offset of the first pair of the current record
}

// checkPair checks the line of a pair that has not been added to the current record yet.
func (s *stream) checkPair(l []byte, i int, off int64) error {
	p := s.pairs
	if len(s.rec.KeyValues) == 0 {
		p.first = off
	}
	x := scanner{l: l, i: i}
	x.word()
	key := uint32(x.hex())
	if !x.skipKeyword(&fieldSpec{short: "Y", long: "TYPE"}) {
		return nil // the reader reports the line
	}
	typ := ValueType(uint32(x.hex()))
	if typ > Bytes || !x.skipKeyword(&fieldSpec{short: "V", long: "VALUE"}) {
		return nil
	}
	known := s.rec.hasKey(key)
	goesOn := known && typ == Bytes && p.left > 0 && key == p.key
	if !goesOn {
		if err := s.checkArrayEnd(); err != nil {
			return err
		}
	}
	if known && !goesOn {
		if err := s.reportPassedOver(problem{repeatedKey, fmt.Sprintf("a second value for key %d", key),
			"one value for each key of a record; libotf uses the first", trace.Warning}, off); err != nil {
			return err
		}
	}
	if typ != Bytes {
		return nil
	}
	x.skip()
	n := uint64(0)
	for ; x.i+1 < len(l) && hexValue[l[x.i]] < 16 && hexValue[l[x.i+1]] < 16; x.i += 2 {
		n++
	}
	wanted := n // the number of bytes from this line on
	if x.skipKeyword(&fieldSpec{short: "L", long: "LEN"}) {
		wanted = x.hex()
	}
	if wanted < n || wanted > n && n < arrayLine || goesOn && wanted != p.left {
		p.left = 0
		expected := fmt.Sprintf("the length %d", n)
		if goesOn && n == arrayLine {
			expected = "the length of the line before less its bytes"
		}
		found := fmt.Sprintf("a byte array with the length %d and %s", wanted, plural.Of(n, "byte"))
		return s.reportArray(found, expected, off)
	}
	p.key, p.left, p.arrayAt = key, wanted-n, off
	return nil
}

// checkArrayEnd reports a byte array whose last lines are missing.
func (s *stream) checkArrayEnd() error {
	left := s.pairs.left
	if s.pairs.left = 0; left == 0 {
		return nil
	}
	return s.reportArray(fmt.Sprintf("a byte array without its last %s", plural.Of(left, "byte")),
		"as many bytes as its length states", s.pairs.arrayAt)
}

func (s *stream) reportArray(found, expected string, off int64) error {
	return s.reportPassedOver(problem{arrayLength, found,
		expected + "; weft uses the bytes that are there", trace.Warning}, off)
}

// checkPairsEnd reports pairs at the end of the file, and an array without its end.
func (s *stream) checkPairsEnd() error {
	if err := s.checkArrayEnd(); err != nil || len(s.rec.KeyValues) == 0 {
		return err
	}
	return s.reportPassedOver(problem{unusedPair,
		fmt.Sprintf("%s after the last record", plural.Of(len(s.rec.KeyValues), "key-value pair")),
		"a record after its pairs; weft and libotf leave the pairs out", trace.Warning}, s.pairs.first)
}
