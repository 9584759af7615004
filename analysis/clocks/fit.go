package clocks

import (
	"math/bits"

	"github.com/weft-trace/weft/transform"
)

// maxExtensions is the number of times that a piece of a curve is extended without finding a point at
// which it can end.
const maxExtensions = 64

// fitter finds a curve with few points that maps exactly the times from to the times to, which both
// ascend and come one after the other. It holds few of them.
type fitter struct {
	curve  transform.Curve
	differ bool            // the times are not all shifted by the same distance
	ahead  transform.Curve // times after the last point of the curve; the piece can end at the first
	next   int             // index of the time to examine
	lo, hi fraction        // least and greatest slope of a line through the last point that maps all times so far
}

// add adds a time.
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

// begin begins a piece.
func (f *fitter) begin() { f.next, f.lo, f.hi = 0, fraction{0, 1}, fraction{1, 0} }

// advance examines times, and ends pieces that cannot become longer.
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

// end ends a piece.
func (f *fitter) end() {
	f.curve = append(f.curve, f.ahead[0])
	f.ahead = append(f.ahead[:0], f.ahead[1:]...)
	f.begin()
}

// finish returns the curve.
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

// fraction is a / b. b may be 0.
type fraction struct{ a, b uint64 }

func (f fraction) less(g fraction) bool {
	h1, l1 := bits.Mul64(f.a, g.b)
	h2, l2 := bits.Mul64(g.a, f.b)
	return h1 < h2 || h1 == h2 && l1 < l2
}
