package trace

// Polynomial is the function C + B·u + A·u² of a fragment of a signal. u is the time since the
// begin of the fragment, in the unit of the clock ([Clock.UnitTicks]).
type Polynomial struct{ C, B, A float64 }

// At returns the value at u.
func (p Polynomial) At(u float64) float64 { return p.C + u*(p.B+u*p.A) }

// Between returns the smallest and the largest value from u0 to u1.
func (p Polynomial) Between(u0, u1 float64) (low, high float64) {
	v0, v1 := p.At(u0), p.At(u1)
	low, high = min(v0, v1), max(v0, v1)
	if vertex := -p.B / (2 * p.A); p.A != 0 && vertex > u0 && vertex < u1 {
		v := p.At(vertex)
		low, high = min(low, v), max(high, v)
	}
	return low, high
}
