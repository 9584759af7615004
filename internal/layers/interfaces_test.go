package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// mostInterfaces is the largest number of interfaces in package format. A wrapper must forward each
// interface that the wrapped value implements, so each additional interface is another way to lose
// data.
const mostInterfaces = 10

// TestFewInterfaces counts the interfaces of package format, including those without a name.
func TestFewInterfaces(t *testing.T) {
	set := token.NewFileSet()
	var found []string
	files(t, func(name string) {
		if path.Dir(name) != "format" {
			return
		}
		f, err := parser.ParseFile(set, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if _, ok := n.(*ast.InterfaceType); ok {
				found = append(found, set.Position(n.Pos()).String())
			}
			return true
		})
	})
	if len(found) == 0 || len(found) > mostInterfaces {
		t.Errorf("found %d interfaces in package format, expected 1 to %d:\n%s", len(found), mostInterfaces,
			strings.Join(found, "\n"))
	}
}
