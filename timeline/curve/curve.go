// Package curve plots the values of counters, series and signals: the range of values in each
// pixel column. Its memory depends on the number of columns, not on the number of values.
package curve

// Kind is the way in which values between recorded ones are drawn.
type Kind uint8

// The kinds of curves.
const (
	Smooth Kind = iota // polynomials: defined everywhere
	Steps              // a value holds until the next one
	Points             // samples: undefined between them
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
