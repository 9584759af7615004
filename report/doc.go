// Package report writes what analyses found in a trace as one page of HTML that stands for
// itself: no scripts, nothing from other hosts, readable in light and dark and on paper. The
// same findings give the same bytes.
package report
