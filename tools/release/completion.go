package main

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"
)

// completionScripts returns scripts that complete command lines, with the paths at which the shells
// look for them.
func completionScripts(root *cobra.Command) ([]file, error) {
	var files []file
	for _, s := range []struct {
		path string
		gen  func(io.Writer) error
	}{
		{"share/bash-completion/completions/weft", func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{zshFolder + "_weft", root.GenZshCompletion},
		{"share/fish/vendor_completions.d/weft.fish", func(w io.Writer) error { return root.GenFishCompletion(w, true) }},
	} {
		var b bytes.Buffer
		if err := s.gen(&b); err != nil {
			return nil, err
		}
		files = append(files, file{path: s.path, data: b.Bytes(), mode: 0o644})
	}
	return files, nil
}

// zshFolder is the folder of zsh's completion functions.
const zshFolder = "share/zsh/site-functions/"
