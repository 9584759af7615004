package otf

import (
	"fmt"

	"github.com/weft-trace/weft/trace"
)

// missingKeyword is the rule of a marker without the keyword of a field.
const missingKeyword = "otf.missing-keyword"

// parseBare parses the fields of a marker or its definition from the one whose keyword is missing on, as libotf does:
// numbers before the text are 0, and what follows has no keywords.
func (r *Record) parseBare(s *scanner, list []fieldSpec) problem {
	start := *s
	for k := range list {
		switch f := &list[k]; {
		case f.bits == 0:
			v, bad := s.text()
			if bad.rule != "" {
				if bad.expected != noQuote {
					bad.expected = list[0].long + "; weft skips the record"
				}
				bad.found = fmt.Sprintf("%s: %s", specs[r.Type].name, start.rest())
				return bad
			}
			*r.text(f.f) = stringOf(v)
		case k+1 < len(list):
			*r.number(f.f) = 0
		default:
			// the type of a marker, which may be missing altogether
			bare := scanner{l: s.l, i: s.i}
			bare.skip()
			from := bare.i
			v := bare.hex()
			if *r.number(f.f) = v & (^uint64(0) >> (64 - f.bits)); bare.i > from {
				s.i = bare.i
			} else if k == 0 {
				return s.ignored(specs[r.Type].name)
			}
		}
	}
	return problem{missingKeyword, specs[r.Type].name + ": " + start.rest(),
		list[0].long + "; weft and libotf read on without it", trace.Warning}
}
