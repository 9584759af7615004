//go:build !race

package effort

// Race says that the tests run under the race detector.
const Race = false
