// Package web holds the page of the trace viewer, built by `npm run build` in
// this folder. The built files are kept in the repository, so that Go alone
// makes a complete program.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files is the page: index.html, app.js, app.css and the icon, at the root.
// They name nothing outside of themselves but the server's own api/.
func Files() fs.FS {
	f, err := fs.Sub(dist, "dist")
	if err != nil {
		// the folder is part of the program
		panic(err)
	}
	return f
}
