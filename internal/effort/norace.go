//go:build !race

package effort

// Race reports whether the tests run under the race detector.
const Race = false
