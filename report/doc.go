// Package report writes the results of analyses of a trace as one self-contained HTML page. The page has no
// scripts, loads nothing from other hosts, and is readable in light and dark mode and on paper. The same
// results always produce the same bytes.
package report
