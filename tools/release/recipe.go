package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// recipeFolder is the folder with the recipes for other package managers, both in the source tree
// and in a release.
const recipeFolder = "packaging"

// placeholder matches the placeholders of a recipe: @VERSION@, or the checksum of an archive such
// as @SHA256:weft-@VERSION@-linux-amd64.tar.gz@.
var placeholder = regexp.MustCompile(`@SHA256:([^@\s]+)@|@([A-Z0-9_:]+)@`)

// writeRecipes writes the recipes to d, with the version and the checksums of the release. It
// leaves out a recipe if the release does not have its archive.
func writeRecipes(src *source, d *folder, progress io.Writer) error {
	root := os.DirFS(filepath.Join(src.root, recipeFolder))
	return fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		text, missing, err := fillRecipe(string(data), src.version, d.sums)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", recipeFolder, name, err)
		}
		if missing != "" {
			fmt.Fprintf(progress, "%s/%s is left out: %s is not built\n", recipeFolder, name, missing)
			return nil
		}
		return d.write(path.Join(recipeFolder, strings.ReplaceAll(name, "VERSION", src.version)), []byte(text))
	})
}

// fillRecipe replaces the placeholders of a recipe. missing is the name of an archive without a
// checksum in sums, or "".
func fillRecipe(text, version string, sums map[string]string) (filled, missing string, err error) {
	text = strings.ReplaceAll(text, "@VERSION@", version)
	filled = placeholder.ReplaceAllStringFunc(text, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		switch sum := sums[m[1]]; {
		case m[1] == "":
			err = fmt.Errorf("found the placeholder %s, expected @VERSION@ or @SHA256:FILE@", found)
		case sum == "":
			missing = m[1]
		default:
			return sum
		}
		return found
	})
	return filled, missing, err
}
