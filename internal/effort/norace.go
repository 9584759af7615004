//go:build !race

package effort

// Race reports that the tests run under the race detector.
const Race = false
