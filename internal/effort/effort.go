// Package effort defines how much tests try. The same tests serve four runs: the default one; the
// inner loop, which is short; the race detector, which is slow and looks only for data races; and
// make soak, which is long.
package effort

import (
	"os"
	"testing"
)

// SoakVariable is the environment variable that requests long runs if it is not empty.
const SoakVariable = "WEFT_SOAK"

// soakFactor is the factor by which a long run has more rounds.
const soakFactor = 20

// Soak reports whether this is a long run.
func Soak() bool { return os.Getenv(SoakVariable) != "" }

// Rounds returns the number of rounds of a random loop that has n in the default run: a fifth under
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

// Step returns the distance of the positions that a loop over size positions tries, so that it
// tries about Rounds(n) of them, and in a long run all.
func Step(size, n int) int {
	if Soak() {
		return 1
	}
	return max(1, size/Rounds(n))
}

// Long skips a test under -short. Such a test runs many programs, or much data, to find rare
// defects.
func Long(t testing.TB) {
	if testing.Short() {
		t.Helper()
		t.Skip("-short: takes long")
	}
}

// Sequential skips a test under the race detector. Such a test uses one goroutine, and would take
// ten times as long without finding a race.
func Sequential(t testing.TB) {
	if Race {
		t.Helper()
		t.Skip("one goroutine: the race detector has nothing to find")
	}
}
