package web_test

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// scratch is the folder that the tests share: a copy of this folder with its packages, the program,
// and traces.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "weft-web-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	end := func(code int) {
		endDriver()
		os.RemoveAll(scratch)
		os.Exit(code)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		end(1)
	}()
	end(m.Run())
}

// missingRequirement is the reason why a test cannot run on this machine.
type missingRequirement string

func (m missingRequirement) Error() string { return string(m) }

// failOrSkip ends the test if err is not nil: it skips the test for a missingRequirement, and fails it
// for other errors.
func failOrSkip(t *testing.T, err error) {
	t.Helper()
	if m := missingRequirement(""); errors.As(err, &m) {
		t.Skip(m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// margin is the time before the end of go test's deadline at which waiting tests give up.
const margin = 20 * time.Second

// waitDeadline returns the time at which a test must give up waiting, if there is one.
func waitDeadline(t *testing.T) (time.Time, bool) {
	d, ok := t.Deadline()
	return d.Add(-margin), ok
}

// waitMoment waits a moment before a test checks a condition again. It fails the test when the time of
// all tests is over.
func waitMoment(t *testing.T, what string) {
	t.Helper()
	if end, ok := waitDeadline(t); ok && time.Now().After(end) {
		t.Fatalf("the time of the tests is over; this one waits for %s", what)
	}
	select {
	case <-t.Context().Done():
	case <-time.After(10 * time.Millisecond):
	}
}
