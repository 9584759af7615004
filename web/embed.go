// Package web contains the page of the trace viewer, built by `npm run build` in this folder. The
// built files are kept in the repository, so that go build alone makes a complete program.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files returns the page: index.html, app.js, app.css and the icon, at the root. They refer to
// nothing else but the server's api/.
func Files() fs.FS {
	f, err := fs.Sub(dist, "dist")
	if err != nil {
		// cannot happen: the folder is embedded
		panic(err)
	}
	return f
}
