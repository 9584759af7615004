// Package serve implements the HTTP server of the trace viewer. It delivers the page and the JSON
// and binary answers that the page requests.
//
// Most answers come from the index of a trace (package timeline/index). The index is built in the
// background when a trace is requested for the first time, and kept in a cache (package
// serve/cache). Data that the index does not have, such as the attributes of an event, is read from
// the trace itself. A limited number of analyses that read the whole trace run at a time. Requests
// for the same analysis share one run, which is cancelled when no request waits for it any more.
//
// The server restricts access: each request needs a secret and must name a known host, requests
// from pages of other sites are refused, and only the given traces can be read.
package serve
