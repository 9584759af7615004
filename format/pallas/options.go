package pallas

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
)

// keepGrammar is the value of pallas.grammar for copies that keep the grammar of their source.
const keepGrammar = "keep"

// writeOptions returns the settings of a writer. own holds the settings of the Pallas trace that is copied, or
// is nil. Settings without an option are taken from own. If own has a lossy compression, the default is ZSTD
// instead. A copy that keeps the blocks also keeps their compression.
func writeOptions(opt *format.WriteOptions, own *Parameters) (*WriterOptions, error) {
	o := &WriterOptions{}
	if unify, err := opt.Bool(unifyOption); err != nil || unify && own == nil {
		return nil, cmp.Or(err, error(&format.OptionError{Option: unifyOption, Value: "true",
			Expected: "false, but for a copy of a Pallas trace"}))
	}
	usual := Parameters{Compression: ZSTD, ZSTDLevel: 1, LoopFinding: BasicTruncated, MaxLoopLength: 100}
	if own != nil {
		usual = *own
		if usual.Compression.Lossy() {
			usual.Compression, usual.Encoding = ZSTD, NoEncoding
		}
		usual.ZSTDLevel = min(max(usual.ZSTDLevel, 1), 22)
		usual.MaxLoopLength = min(max(usual.MaxLoopLength, 1), 10_000)
		if usual.LoopFinding > BasicTruncated { // a copy keeps the value; new grammars cannot be found by it
			usual.LoopFinding = BasicTruncated
		}
	}
	choose := func(name, usual string, values ...string) (int, error) {
		v := opt.Value(name, usual)
		i := slices.Index(values, v)
		if i < 0 {
			last := len(values) - 1
			return 0, &format.OptionError{Option: name, Value: v, Expected: strings.Join(values[:last], ", ") + " or " +
				values[last]}
		}
		return i, nil
	}
	compression, err := choose("pallas.compression", usual.Compression.String(), "None", "ZSTD")
	if err != nil {
		return nil, err
	}
	encoding, err := choose("pallas.encoding", usual.Encoding.String(), "None", "Masking")
	if err != nil {
		return nil, err
	}
	o.Plain, o.Encoding = compression == 0, Encoding(encoding)
	grammars := []string{"fast", "compatible"}
	preferred := "fast"
	if own != nil {
		grammars, preferred = append(grammars, keepGrammar), keepGrammar
	}
	grammar, err := choose("pallas.grammar", preferred, grammars...)
	if err != nil {
		return nil, err
	}
	o.Compatible = grammar == 1
	finding, err := choose("pallas.loop-finding", usual.LoopFinding.String(), loopFindings[:]...)
	if err != nil {
		return nil, err
	}
	f := LoopFinding(finding)
	o.LoopFinding = &f
	for _, x := range []struct {
		name  string
		usual uint64
		to    *int
		most  uint64
	}{{"pallas.level", usual.ZSTDLevel, &o.Level, 22}, {"pallas.loop-length", usual.MaxLoopLength, &o.MaxLoopLength,
		10_000}} {
		v := opt.Value(x.name, strconv.FormatUint(x.usual, 10))
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil || n == 0 || n > x.most {
			return nil, &format.OptionError{Option: x.name, Value: v, Expected: fmt.Sprintf("a number from 1 to %d", x.most)}
		}
		*x.to = int(n)
	}
	return o, nil
}
