// Package curve plots counters, series and signals: for each pixel column, it computes the range of the
// curve's values in the column. The memory that a plot needs depends on the number of columns, not on the
// number of values.
package curve

// Kind is the way in which a curve continues between two recorded values.
type Kind uint8

// These kinds determine where a curve has a value between its samples.
const (
	Smooth Kind = iota // a signal: polynomials, which are defined everywhere
	Steps              // a counter: a value holds until the next one
	Points             // a series of samples, which is undefined between the samples
)

// Curve holds the values of a signal by pixel column. The four slices have one number for each
// column, which is NaN if the column has no value.
type Curve struct {
	Kind Kind
	Min  []float64
	Max  []float64
	// First and Last are the values at the beginning and the end of each column. Min and Max are the extremes.
	First, Last []float64
}
