// Package curve plots the values of counters, series and signals: for each column of pixels, what
// the values in it are between. Memory depends on the columns, never on the number of values.
package curve

// Kind says how the values between those recorded are to be drawn.
type Kind uint8

// The kinds of curves.
const (
	Smooth Kind = iota // polynomials: values are known everywhere
	Steps              // a value holds until the next
	Points             // samples: nothing is known between them
)

// Curve holds, for each pixel column, the values of a signal in it. Columns without a value are
// NaN in all four slices.
type Curve struct {
	Kind Kind
	Min  []float64
	Max  []float64
	// First and Last are the values at the column's beginning and end.
	First, Last []float64
}
