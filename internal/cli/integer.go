package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// integerValue is the value of a flag for an integer in a range.
type integerValue[T int | int64] struct {
	to    *T
	least int64
	most  int64 // 0 for no upper bound
}

// newInteger returns the value of a flag that sets *to to an integer from least to most. It first sets
// *to to value. If most is 0, there is no upper bound.
func newInteger[T int | int64](to *T, value T, least, most int64) pflag.Value {
	*to = value
	return &integerValue[T]{to, least, most}
}

// Set sets the number. It returns an error if s is not an integer in the range.
func (n *integerValue[T]) Set(s string) error {
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

// String returns the number.
func (n *integerValue[T]) String() string { return fmt.Sprint(*n.to) }

// Type returns the name of the type for the help text.
func (n *integerValue[T]) Type() string { return "int" }

// valueError returns the error for an invalid value of a flag.
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
