// Package await lets tests wait for other goroutines and programs. A wait has no time limit of its
// own: it ends with the event, or fails shortly before the deadline of the test run, and then
// reports what it waited for.
package await

import (
	"context"
	"testing"
	"time"
)

// pause is the time between two checks of a condition.
const pause = 2 * time.Millisecond

// margin is the time before the deadline of the test run at which a wait fails, so that the test
// can report the reason before the run is killed.
const margin = 5 * time.Second

// Until calls done until it returns true. It fails the test at the deadline of the test run. what
// describes what the test waits for.
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

// Receive returns the next value of a channel. It fails the test at the deadline of the test run.
// what describes what the test waits for.
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

// Send sends a value on a channel. It fails the test at the deadline of the test run. what
// describes what the test waits for.
func Send[T any](t *testing.T, what string, c chan<- T, v T) {
	t.Helper()
	select {
	case c <- v:
	case <-Context(t).Done():
		t.Fatalf("the time of the test run is over; the test still waits until %s", what)
	}
}

// Context returns a context that ends shortly before the deadline of the test run, or with the
// test. Tests pass it to programs that they run, so that none outlives the test.
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
