package layers

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/weft-trace/weft/"

// layers returns the lines of the list of packages in ARCHITECTURE.md, from the top to the bottom.
func layers(t *testing.T) (list []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "```\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no list of layers")
	}
	for l := range strings.Lines(block) {
		if f := strings.Fields(l); len(f) > 0 && l[0] != ' ' {
			list = append(list, f[0])
		}
	}
	return list
}

// layerOf returns the number of the line for a package: the line with its path or, if there is
// none, the line for the innermost folder around it that is listed with "/...".
func layerOf(list []string, pkg string) int {
	if i := slices.Index(list, pkg); i >= 0 {
		return i
	}
	for dir := path.Dir(pkg); dir != "."; dir = path.Dir(dir) { // from the innermost folder to the outermost
		if i := slices.Index(list, dir+"/..."); i >= 0 {
			return i
		}
		if i := slices.Index(list, dir); i >= 0 && dir == "examples" {
			return i
		}
	}
	return -1
}

// TestImports checks that each package only imports packages on lower lines of the list in
// ARCHITECTURE.md.
func TestImports(t *testing.T) {
	list := layers(t)
	imports := map[string]map[string]bool{}
	files(t, func(name string) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		pkg := path.Dir(name)
		if imports[pkg] == nil {
			imports[pkg] = map[string]bool{}
		}
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			if x, ok := strings.CutPrefix(p, module); ok {
				imports[pkg][x] = true
			}
		}
	})
	if len(imports) < 40 {
		t.Fatalf("found %d packages", len(imports))
	}
	used := map[int]bool{}
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		from := layerOf(list, pkg)
		if used[from] = true; from < 0 {
			t.Errorf("%s: ARCHITECTURE.md does not list it", pkg)
			continue
		}
		for _, to := range slices.Sorted(maps.Keys(imports[pkg])) {
			n := layerOf(list, to)
			helper := list[from] == "internal/..." || strings.Contains(to, "/internal/")
			if n < from || n == from && !helper {
				t.Errorf("%s imports %s: the list of ARCHITECTURE.md has it above, or beside", pkg, to)
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(imports["trace"])) {
		names = append(names, "`"+name+"`")
	}
	if want := "`trace` imports only " + strings.Join(names, " and ") + "."; !strings.Contains(string(b), want) {
		t.Errorf("ARCHITECTURE.md lacks the sentence %s", want)
	}
	for i, l := range list {
		if !used[i] {
			t.Errorf("ARCHITECTURE.md lists %s, of which there is no package", l)
		}
	}
}
