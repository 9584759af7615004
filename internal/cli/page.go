package cli

import (
	"embed"
	"io/fs"
)

//go:embed placeholder
var placeholder embed.FS

// page is the viewer's page.
func page() fs.FS {
	f, err := fs.Sub(placeholder, "placeholder")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return f
}
