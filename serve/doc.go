// Package serve is the HTTP server of the trace viewer: the page, and the JSON and binary
// answers that the page asks for.
//
// Most answers come from the index of a trace (package timeline/index), which is built in
// the background when a trace is asked for first, and kept in a cache (package
// serve/cache). What the index does not have, such as the attributes of an event, is read
// from the trace itself. Analyses that read the whole trace run a few at a time, once for
// all who wait for the same, and stop when nobody waits any more.
//
// The server guards what it shows: each request needs a secret, comes to a name that the
// server goes by and not from another site's page, and reaches nothing but the traces
// that it was given.
package serve
