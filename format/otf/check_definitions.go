package otf

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// maxKnownDefinitions is the maximum number of definitions whose contents are compared.
const maxKnownDefinitions = 1 << 18

// definitionScope identifies what a definition defines: a token of a type in a file, or a process, whose token means
// the same in all files.
type definitionScope struct {
	typ    Type
	stream uint32
	token  uint64
}

// checkDefinitions reads the definitions again, to find different definitions of a token, time ranges that end before
// they begin, bytes 0, a missing resolution, and defects of key-value pairs. Opening the trace has reported all other
// defects.
func (c *checker) checkDefinitions(ctx context.Context) error {
	r := c.d.r.withoutReport()
	pairs := c.newPairReport()
	r.opt.Read.Report = pairs
	seed, sums := maphash.MakeSeed(), map[definitionScope]uint64{}
	var line []byte
	definitions, hasResolution := 0, false
	for _, part := range []Part{Definitions, Markers} {
		l, err := r.Cursor(ctx, part)
		if err != nil {
			return err
		}
		for err == nil && l.Next() {
			x := l.Record()
			at := l.cur.position(l.cur.t.base + int64(l.cur.t.at))
			definitions++
			hasResolution = hasResolution || x.Type == DefTimerResolution && isResolution(x.TicksPerSecond)
			if x.Type == DefTimeRange && x.MaxTime < x.MinTime {
				err = c.opt.Defect(&trace.Defect{Rule: "otf.reversed-range", Severity: trace.Warning, Position: at,
					Found:    fmt.Sprintf("a time range from %d to %d", x.MinTime, x.MaxTime),
					Expected: "an end that is not before the begin"})
			}
			line = x.appendLine(line[:0], false)
			if zero := findZero(line); zero.rule != "" && err == nil {
				err = c.opt.Defect(&trace.Defect{Rule: zero.rule, Severity: zero.severity, Position: at, Found: zero.found,
					Expected: zero.expected})
			}
			scope, ok := scopeOf(x)
			if err != nil || !ok {
				continue
			}
			sum := maphash.Bytes(seed, line)
			before, known := sums[scope]
			if known && before != sum {
				err = c.opt.Defect(&trace.Defect{Rule: "otf.duplicate", Severity: trace.Note, Position: at,
					Found:    fmt.Sprintf("another %s: %.60q", x.Type, line),
					Expected: "one definition; the last one counts"})
			}
			if known || len(sums) < maxKnownDefinitions {
				sums[scope] = sum
			}
		}
		l.Close()
		if err == nil {
			err = l.Err()
		}
		if err != nil {
			return err
		}
	}
	if c.opt.Report != nil {
		c.opt.Report.Merge(pairs)
	}
	if hasResolution || definitions == 0 { // a missing file of definitions has been reported
		return nil
	}
	return c.opt.Defect(&trace.Defect{Rule: "otf.resolution", Severity: trace.Note,
		Position: trace.Position{File: fileName(r.stub, 0, Definitions)}, Found: "no DefTimerResolution above 0",
		Expected: fmt.Sprintf("the ticks of a second; weft assumes %d", defaultResolution)})
}

// findZero returns the problem of a line with a byte 0. It returns no problem for other lines.
func findZero(line []byte) problem {
	if bytes.IndexByte(line, 0) < 0 {
		return problem{}
	}
	return problem{"otf.zero-byte", fmt.Sprintf("%.60q with a byte 0", line), "text; for libotf, it ends there",
		trace.Warning}
}

// newPairReport returns a report that takes only the defects of key-value pairs that [pairChecker] finds.
func (c *checker) newPairReport() *format.Report {
	out := format.NewReport()
	only := func(*trace.Defect) bool { return true }
	if to := c.opt.Report; to != nil {
		if out.Keep = to.Keep; to.Only != nil {
			only = to.Only
		}
	}
	out.Only = func(d *trace.Defect) bool {
		return slices.Contains([]string{repeatedKey, arrayLength, unusedPair}, d.Rule) && only(d)
	}
	return out
}

// scopeOf returns what a record defines. ok is false if other records may add to what it states.
func scopeOf(r *Record) (scope definitionScope, ok bool) {
	switch r.Type {
	case DefProcess:
		return definitionScope{r.Type, 0, r.Token}, true
	case DefTimerResolution:
		return definitionScope{typ: r.Type}, true
	case DefProcessGroup, DefAttributeList, DefFunctionGroup, DefFunction, DefCollectiveOperation, DefCounterGroup,
		DefCounter, DefSCLFile, DefSCL, DefFileGroup, DefFile, DefKeyValue, DefMarker:
		return definitionScope{r.Type, r.Stream, r.Token}, true
	}
	return scope, false
}

// isResolution reports whether a clock can have this number of ticks a second.
func isResolution(ticks uint64) bool { return ticks > 0 && ticks < 1<<62 }
