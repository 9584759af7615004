//go:build !unix

package format

// noWait is unnecessary where pipes are not files.
const noWait = 0
