//go:build !unix

package format

// noWait is not needed where pipes are no files.
const noWait = 0
