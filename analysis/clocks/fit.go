package clocks

import (
	"math/bits"

	"github.com/weft-trace/weft/transform"
)

// maxExtensions limits how often a piece of a curve is extended in search of a point at which it can
// end.
const maxExtensions = 64

// fitter finds a curve with few points that maps a series of times exactly. The times must ascend, both before
// and after the mapping. The fitter keeps only a few of the times in memory.
type fitter struct {
	curve  transform.Curve
	differ bool // the shifts of the times are not all equal
	// times after the last point of the curve; the first of these is the best end of the piece so far
	ahead transform.Curve
	next  int // the next time to examine, as an index into ahead
	// lo and hi are the least and the greatest slope of a line that begins at the last point of the
	// curve and maps all examined times.
	lo, hi fraction
}

// add adds a time, in ticks, and the corrected time to which the curve must map it.
func (f *fitter) add(read, corrected int64) {
	p := transform.Point{Read: read, True: corrected}
	if len(f.curve) == 0 {
		f.curve = transform.Curve{p}
		f.begin()
		return
	}
	first := f.curve[0]
	f.differ = f.differ || p.True-p.Read != first.True-first.Read
	f.ahead = append(f.ahead, p)
	f.advance()
}

// begin begins a piece at the last point of the curve.
func (f *fitter) begin() { f.next, f.lo, f.hi = 0, fraction{0, 1}, fraction{1, 0} }

// advance examines the times in ahead that are new. It ends the piece if no line from the last point of the curve maps
// all examined times, or if the piece has no better end within maxExtensions times.
func (f *fitter) advance() {
	at := f.curve[len(f.curve)-1]
	for f.next < len(f.ahead) {
		good, p := 0, f.ahead[f.next]
		x, y := uint64(p.Read-at.Read), uint64(p.True-at.True)
		s := fraction{y, x}
		if !s.less(f.lo) && s.less(f.hi) {
			good = f.next
		}
		if f.lo.less(s) {
			f.lo = s
		}
		if s = (fraction{y + 1, x}); s.less(f.hi) {
			f.hi = s
		}
		f.next++
		if good > 0 {
			f.ahead = append(f.ahead[:0], f.ahead[good:]...)
			f.next -= good
		}
		if f.next > maxExtensions || !f.lo.less(f.hi) {
			f.end()
			at = f.curve[len(f.curve)-1]
		}
	}
}

// end ends the piece at the first time in ahead.
func (f *fitter) end() {
	f.curve = append(f.curve, f.ahead[0])
	f.ahead = append(f.ahead[:0], f.ahead[1:]...)
	f.begin()
}

// finish ends the remaining pieces after the last time, and returns the curve.
func (f *fitter) finish() transform.Curve {
	for len(f.ahead) > 0 {
		f.end()
		f.advance()
	}
	if len(f.curve) > 0 && !f.differ {
		if f.curve[0].Read == f.curve[0].True {
			return nil
		}
		return f.curve[:1]
	}
	return f.curve
}

// fraction is the number a / b. It is infinite if b is 0.
type fraction struct{ a, b uint64 }

func (f fraction) less(g fraction) bool {
	h1, l1 := bits.Mul64(f.a, g.b)
	h2, l2 := bits.Mul64(g.a, f.b)
	return h1 < h2 || h1 == h2 && l1 < l2
}
