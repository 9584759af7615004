package main

import (
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/internal/cli"
)

// sharedFiles returns the files that all platforms share: documents, manual pages and completion
// scripts.
func sharedFiles(src *source) ([]file, error) {
	var files []file
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(src.root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: name, data: data, mode: 0o644})
	}
	root := cli.Command()
	scripts, err := completionScripts(root)
	if err != nil {
		return nil, err
	}
	files = append(files, scripts...)
	return append(files, manualPages(root, src.version, src.time)...), nil
}
