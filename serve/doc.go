// Package serve implements the HTTP server of the trace viewer. It delivers the page and the JSON and binary
// answers that the page requests.
//
// Most answers come from the index of a trace (package timeline/index). The server builds the index in the
// background when the trace is requested for the first time, and keeps it in a cache (package serve/cache).
// Data that the index lacks, such as the attributes of an event, comes from the trace itself. Only a limited
// number of analyses of whole traces run at a time; requests for the same analysis share one run. The server
// cancels the run when no request waits for it any more.
//
// The server restricts access: each request needs a secret and must name a known host, requests from pages of
// other sites are refused, and only the given traces can be read.
package serve
