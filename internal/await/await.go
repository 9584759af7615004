// Package await lets tests wait for what other goroutines and programs do. A wait has no
// limit of its own: it ends with the event, or shortly before the deadline of the test run,
// and then says what it waited for.
package await

import (
	"context"
	"testing"
	"time"
)

// pause is the time between two looks at a condition.
const pause = 2 * time.Millisecond

// margin is the time before the deadline of the test run at which a wait gives up, so that
// the test can say why before the run is ended.
const margin = 5 * time.Second

// Until calls done until it returns true. It fails the test at the deadline of the test run;
// what says what the test waits for.
func Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx := Context(t)
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("the time of the test run is over; the test still waits until %s", what)
		case <-time.After(pause):
		}
	}
}

// Receive returns the next value of a channel. It fails the test at the deadline of the test
// run; what says what the test waits for.
func Receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-Context(t).Done():
		t.Fatalf("the time of the test run is over; the test still waits until %s", what)
		panic("unreachable")
	}
}

// Send sends a value on a channel. It fails the test at the deadline of the test run; what says
// what the test waits for.
func Send[T any](t *testing.T, what string, c chan<- T, v T) {
	t.Helper()
	select {
	case c <- v:
	case <-Context(t).Done():
		t.Fatalf("the time of the test run is over; the test still waits until %s", what)
	}
}

// Context returns a context that ends shortly before the deadline of the test run, or with
// the test. Programs that a test runs are given it, so that none outlives the test.
func Context(t *testing.T) context.Context {
	t.Helper()
	end, ok := t.Deadline()
	if !ok {
		return t.Context()
	}
	ctx, cancel := context.WithDeadline(t.Context(), end.Add(-margin))
	t.Cleanup(cancel)
	return ctx
}
