//go:build !unix

package format

// noWait is 0, since pipes are not files here and need no flag.
const noWait = 0
