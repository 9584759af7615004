package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// whole is the value of a flag that takes a whole number in a range.
type whole[T int | int64] struct {
	to    *T
	least int64
	most  int64 // 0 for none
}

// newWhole is the value of a flag that sets a number, which is value without the flag, to one from least to most; 0 as
// most is no bound.
func newWhole[T int | int64](to *T, value T, least, most int64) pflag.Value {
	*to = value
	return &whole[T]{to, least, most}
}

// Set sets the number, if it is in the range.
func (n *whole[T]) Set(s string) error {
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil || v < n.least || n.most > 0 && v > n.most || int64(T(v)) != v {
		if n.most > 0 {
			return fmt.Errorf("expected %d to %d", n.least, n.most)
		}
		return fmt.Errorf("expected %d or more", n.least)
	}
	*n.to = T(v)
	return nil
}

// String is the number.
func (n *whole[T]) String() string { return fmt.Sprint(*n.to) }

// Type is the word for such values in helps.
func (n *whole[T]) Type() string { return "int" }

// valueError is the error for a value that a flag does not take.
func valueError(e *pflag.InvalidValueError) error {
	cause := e.Unwrap()
	if errors.Is(cause, strconv.ErrSyntax) || errors.Is(cause, strconv.ErrRange) {
		switch e.GetFlag().Value.Type() {
		case "bool":
			cause = errors.New("expected true or false")
		case "uint64":
			cause = errors.New("expected 0 or more")
		default:
			cause = errors.New("expected a number")
		}
	}
	return usageError("--%s %s: %w", e.GetFlag().Name, e.GetValue(), cause)
}
