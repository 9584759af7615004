// Package web contains the page of the trace viewer, built by `npm run build` in this folder. The built
// files are in the repository, so that `go build` needs no other tools to build the complete program.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files returns the files of the page: index.html, app.js, app.css and the icon, at the root. The page
// requests all other data from the server, at api/.
func Files() fs.FS {
	f, err := fs.Sub(dist, "dist")
	if err != nil {
		// cannot happen: the folder is embedded
		panic(err)
	}
	return f
}
