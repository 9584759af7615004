package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// filledRecipes returns a folder with the recipes of a release for all platforms. The checksums in them
// are invented.
func filledRecipes(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dist")
	d, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms {
		d.sums[fmt.Sprintf("weft-%s-%s-%s.tar.gz", testVersion, p.os, p.arch)] = strings.Repeat("0123456789abcdef", 4)
	}
	var left strings.Builder
	if err := writeRecipes(&source{root: "../..", version: testVersion}, d, &left); err != nil || left.Len() > 0 {
		t.Fatal(err, left.String())
	}
	if err := d.commit(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, recipeFolder)
}

// TestRecipes checks that no placeholder remains in a recipe, and that each recipe is valid in its
// language.
func TestRecipes(t *testing.T) {
	dir := filledRecipes(t)
	for name, data := range contents(t, dir) {
		if text := string(data); placeholder.MatchString(text) {
			t.Errorf("%s has a placeholder left", name)
		} else if name != "README.md" && !strings.Contains(text, testVersion) {
			t.Errorf("%s does not name the version", name)
		}
	}
	t.Run("python", func(t *testing.T) {
		if _, err := exec.LookPath("python3"); err != nil {
			t.Skip("python3 is not installed")
		}
		const parse = "import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name).read(), name)"
		spack := filepath.Join(dir, "spack/package.py")
		easybuild := filepath.Join(dir, "easybuild/weft-"+testVersion+".eb")
		mustRun(t, exec.Command("python3", "-c", parse, spack, easybuild))
	})
	t.Run("lua", func(t *testing.T) {
		lua, err := exec.LookPath("lua")
		if err != nil {
			t.Skip("lua is not installed")
		}
		// These definitions replace Lmod's functions; prepend_path, append_path and execute print their arguments.
		const lmod = `
help, whatis = function() end, function() end
pathJoin = function(...) return table.concat({...}, "/") end
prepend_path = function(name, value) print(name, value) end
append_path = prepend_path
execute = function(x) print(x.modeA[1], x.cmd) end
myShellName = function() return "zsh" end
dofile(arg[1])`
		script := filepath.Join(t.TempDir(), "lmod.lua")
		if err := os.WriteFile(script, []byte(lmod), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(lua, script, filepath.Join(dir, "modulefile", testVersion+".lua"))
		c.Env = append(os.Environ(), "WEFT_PREFIX=/apps/weft", "XDG_DATA_DIRS=")
		// The defaults of XDG_DATA_DIRS and of zsh's fpath must remain (XDG Base Directory Specification; zshparam).
		want := strings.ReplaceAll(`PATH	ROOT/bin
MANPATH	ROOT/share/man
XDG_DATA_DIRS	/usr/local/share
XDG_DATA_DIRS	/usr/share
XDG_DATA_DIRS	ROOT/share
load	fpath+=('ROOT/share/zsh/site-functions')
unload	fpath=(${fpath:#ROOT/share/zsh/site-functions})
`, "ROOT", "/apps/weft/"+testVersion)
		if got := mustRun(t, c); got != want {
			t.Errorf("the module sets\n%s\nexpected\n%s", got, want)
		}
	})
	t.Run("conda", func(t *testing.T) {
		data, err := os.ReadFile(filepath.Join(dir, "conda/meta.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		// The replacements do what Jinja does with the template.
		text := strings.NewReplacer(
			`{% set version = "`+testVersion+`" %}`, "",
			"{{ version }}", testVersion,
			"{{ version | replace('-', '') }}", strings.ReplaceAll(testVersion, "-", ""),
		).Replace(string(data))
		var recipe struct {
			Package struct{ Version string }
			Source  []struct{ URL, SHA256 string }
		}
		if err := yaml.Unmarshal([]byte(text), &recipe); err != nil {
			t.Fatal(err)
		}
		archive := "../../weft-" + testVersion + "-linux-amd64.tar.gz"
		if recipe.Package.Version != "1.2.3rc.1" || len(recipe.Source) != 4 || recipe.Source[0].URL != archive {
			t.Errorf("found %+v", recipe)
		}
	})
}

// TestFillRecipe checks that a placeholder that cannot be filled in is an error, or leaves out the
// recipe.
func TestFillRecipe(t *testing.T) {
	if _, _, err := fillRecipe("a @NAME@", "1", nil); err == nil {
		t.Error("an unknown placeholder is no error")
	}
	if _, missing, err := fillRecipe("@SHA256:weft-@VERSION@.zip@", "1", nil); missing != "weft-1.zip" || err != nil {
		t.Errorf("an archive that is not there: got %q, %v", missing, err)
	}
	sums := map[string]string{"weft-1.zip": "ff"}
	if got, _, _ := fillRecipe("v@VERSION@ @SHA256:weft-@VERSION@.zip@ a@b.c", "1", sums); got != "v1 ff a@b.c" {
		t.Errorf("got %q", got)
	}
	// A release for a single platform has only the recipes for that platform.
	if testPlatform.arch == "amd64" {
		onlyFile(t, "packaging/easybuild/weft-"+testVersion+".eb")
	}
	if list, _ := filepath.Glob(filepath.Join(release(t), "packaging/conda/*")); len(list) > 0 {
		t.Errorf("found %v without the archives", list)
	}
}
