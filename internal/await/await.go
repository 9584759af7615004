// Package await lets tests wait for other goroutines and programs. A wait ends when the event occurs. If it
// does not occur until shortly before the deadline of the test run, the wait fails the test with a message
// that names the event.
package await

import (
	"context"
	"testing"
	"time"
)

// pause is the time between two checks of a condition.
const pause = 2 * time.Millisecond

// margin is the time before the deadline of the test run at which a wait fails. The test can then
// report the reason before the run is killed.
const margin = 5 * time.Second

// Until calls done repeatedly until it returns true. If done has not returned true shortly before the deadline
// of the test run, Until fails the test. what names the event, for the message.
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

// Receive returns the next value from a channel. If no value has arrived shortly before the deadline of the
// test run, Receive fails the test. what names the value, for the message.
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

// Send sends a value to a channel. If no goroutine has received the value shortly before the deadline of the
// test run, Send fails the test. what names the value, for the message.
func Send[T any](t *testing.T, what string, c chan<- T, v T) {
	t.Helper()
	select {
	case c <- v:
	case <-Context(t).Done():
		t.Fatalf("the time of the test run is over; the test still waits until %s", what)
	}
}

// Context returns a context that ends with the test, or shortly before the deadline of the test
// run. A test passes it to the programs that it runs, so that they end before the test does.
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
