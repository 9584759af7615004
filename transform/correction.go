package transform

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sort"

	"github.com/weft-trace/weft/trace"
)

// Correction maps the times of each location to a common clock. Locations without a curve keep their times.
type Correction struct {
	// Clock is the clock of all times, before and after the correction. Only its number of ticks per second
	// has a meaning.
	Clock trace.Clock
	// Locations maps the ids of locations in the file to their curves.
	Locations map[string]Curve
}

// Curve maps recorded times to corrected times, in ticks, by straight lines between its points. Before the
// first and after the last point, the difference between both times is constant. A curve without points
// changes no times.
type Curve []Point

// Point maps a recorded time to the corrected time, both in ticks.
type Point struct{ Read, True int64 }

// Check returns an error if the curve is invalid. The recorded times must increase from point to
// point, and the corrected times must not decrease.
func (c Curve) Check() error {
	for i := 1; i < len(c); i++ {
		if c[i].Read <= c[i-1].Read || c[i].True < c[i-1].True {
			return fmt.Errorf("found the point %d -> %d after %d -> %d, expected a later time read, and a true one that is "+
				"not before", c[i].Read, c[i].True, c[i-1].Read, c[i-1].True)
		}
	}
	return nil
}

// At returns the corrected time of t, rounded down to a tick. The result never decreases when t
// increases. Times beyond the range of int64 are clamped.
func (c Curve) At(t int64) int64 {
	if len(c) == 0 {
		return t
	}
	i := sort.Search(len(c), func(i int) bool { return c[i].Read > t })
	switch {
	case i == 0:
		return shift(t, c[0])
	case i == len(c):
		return shift(t, c[i-1])
	}
	a, b := c[i-1], c[i]
	hi, lo := bits.Mul64(uint64(t)-uint64(a.Read), uint64(b.True)-uint64(a.True))
	// Because t is before b, the quotient is less than the difference of the corrected times.
	q, _ := bits.Div64(hi, lo, uint64(b.Read)-uint64(a.Read))
	return int64(uint64(a.True) + q)
}

// shift returns t, moved by the distance by which the curve moves the point p.
func shift(t int64, p Point) int64 {
	d := p.True - p.Read
	if (d > 0) != (p.True > p.Read) && d != 0 {
		return p.True // the distance exceeds the range of int64
	}
	return trace.Add(t, d)
}

// correctionFile is the JSON form of a correction.
type correctionFile struct {
	Type      string               `json:"type"`
	Version   int                  `json:"version"`
	Num       int64                `json:"ticks"`
	Den       int64                `json:"perSeconds"`
	Locations []correctionLocation `json:"locations"`
}

// correctionLocation is the curve of a location.
type correctionLocation struct {
	ID     string     `json:"id"`
	Points [][2]int64 `json:"points"` // pairs of the time that the clock showed and the corrected time
}

// correctionType is the value of the field Type in a file with a correction.
const correctionType = "weft clock correction"

// Write writes the correction as JSON for [ReadCorrection]. Equal corrections result in equal bytes.
func (c *Correction) Write(w io.Writer) error {
	f := correctionFile{Type: correctionType, Version: 1, Num: c.Clock.Num, Den: c.Clock.Den,
		Locations: []correctionLocation{}}
	for id, curve := range c.Locations {
		l := correctionLocation{ID: id, Points: [][2]int64{}}
		for _, p := range curve {
			l.Points = append(l.Points, [2]int64{p.Read, p.True})
		}
		f.Locations = append(f.Locations, l)
	}
	slices.SortFunc(f.Locations, func(a, b correctionLocation) int {
		// Ids that are numbers are in ascending order.
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(&f)
}

// ReadCorrection reads a correction that [Correction.Write] has written. Error messages contain name as the
// name of the file.
func ReadCorrection(r io.Reader, name string) (*Correction, error) {
	var f correctionFile
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			// Report the message without the names of Go types.
			err = fmt.Errorf("found a %s at byte %d", kind.Value, kind.Offset)
		}
		return nil, fmt.Errorf("%s: expected a clock correction in JSON: %w", name, err)
	}
	if f.Type != correctionType || f.Version != 1 {
		return nil, fmt.Errorf("%s: found type %q, version %d; expected %q, version 1", name, f.Type, f.Version,
			correctionType)
	}
	c := &Correction{Clock: trace.Clock{Num: f.Num, Den: f.Den}, Locations: map[string]Curve{}}
	if !c.Clock.Valid() {
		return nil, fmt.Errorf("%s: found %d ticks in %d seconds, expected positive numbers", name, f.Num, f.Den)
	}
	for _, l := range f.Locations {
		if _, twice := c.Locations[l.ID]; twice {
			return nil, fmt.Errorf("%s: found location %q twice", name, l.ID)
		}
		curve := make(Curve, 0, len(l.Points))
		for _, p := range l.Points {
			curve = append(curve, Point{p[0], p[1]})
		}
		if err := curve.Check(); err != nil {
			return nil, fmt.Errorf("%s: location %q: %w", name, l.ID, err)
		}
		c.Locations[l.ID] = curve
	}
	return c, nil
}
