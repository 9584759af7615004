package cli

import (
	"io/fs"
	"testing/fstest"
)

// page is the viewer's page until there is package web.
func page() fs.FS {
	return fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>weft</title><p>weft\n")}}
}
