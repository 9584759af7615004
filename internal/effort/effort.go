// Package effort tells tests how much to try. The same tests serve four runs: the usual one;
// the inner loop, which is short; the race detector, which is slow and looks for nothing but
// goroutines that meet; and make soak, which takes its time.
package effort

import (
	"os"
	"testing"
)

// SoakVariable is the environment variable that, if it is not empty, asks for long runs.
const SoakVariable = "WEFT_SOAK"

// soakFactor is how many times as many rounds a long run has.
const soakFactor = 20

// Soak reports whether this is a long run.
func Soak() bool { return os.Getenv(SoakVariable) != "" }

// Rounds returns how many rounds a random loop runs that has n in the usual run: a fifth under
// -short, twenty times as many in a long run.
func Rounds(n int) int {
	switch {
	case Soak():
		return soakFactor * n
	case testing.Short():
		return max(1, n/5)
	}
	return n
}

// Step returns the distance of the places that a loop over size places tries, so that it tries
// about as many as Rounds(n) says; in a long run it tries all.
func Step(size, n int) int {
	if Soak() {
		return 1
	}
	return max(1, size/Rounds(n))
}

// Long skips a test under -short: it runs many programs, or much data, to find what others find
// rarely.
func Long(t testing.TB) {
	if testing.Short() {
		t.Helper()
		t.Skip("-short: takes long")
	}
}

// Sequential skips a test under the race detector: all that it tests runs in one goroutine, and
// would take ten times as long to find nothing.
func Sequential(t testing.TB) {
	if Race {
		t.Helper()
		t.Skip("one goroutine: the race detector has nothing to find")
	}
}
