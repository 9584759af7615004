// Package effort defines how much work tests do. There are four kinds of runs: the default run; the
// quick run with -short; the run under the race detector, which is slow and only finds data races;
// and the long run of make soak.
package effort

import (
	"os"
	"testing"
)

// SoakVariable is the environment variable that requests long runs if it is not empty.
const SoakVariable = "WEFT_SOAK"

// soakFactor is the number of rounds in a long run, as a multiple of the rounds in the default run.
const soakFactor = 20

// Soak reports whether this is the long run of make soak.
func Soak() bool { return os.Getenv(SoakVariable) != "" }

// Rounds returns the number of rounds of a loop with random input. n is the number in the default
// run; under -short it is a fifth of n, and in a long run twenty times n.
func Rounds(n int) int {
	switch {
	case Soak():
		return soakFactor * n
	case testing.Short():
		return max(1, n/5)
	}
	return n
}

// Step returns the distance between the positions that a loop over size positions tries. With this distance,
// the loop tries about Rounds(n) positions. In a long run, it tries all positions.
func Step(size, n int) int {
	if Soak() {
		return 1
	}
	return max(1, size/Rounds(n))
}

// Long skips a test under -short, because it runs many programs, or processes much data, to find
// rare defects.
func Long(t testing.TB) {
	if testing.Short() {
		t.Helper()
		t.Skip("-short: takes long")
	}
}

// Sequential skips a test under the race detector. A test with a single goroutine cannot have a data race, and
// would take ten times as long under the detector.
func Sequential(t testing.TB) {
	if Race {
		t.Helper()
		t.Skip("one goroutine: the race detector has nothing to find")
	}
}
