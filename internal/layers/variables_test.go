package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoVariables checks that packages export no variables, which importers could change. Variables
// that hold errors are allowed.
func TestNoVariables(t *testing.T) {
	set := token.NewFileSet()
	errors := 0
	files(t, func(path string) {
		f, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, name := range s.(*ast.ValueSpec).Names {
					switch {
					case !name.IsExported():
					case strings.HasPrefix(name.Name, "Err"):
						errors++
					default:
						t.Errorf("%s: found the exported variable %s, expected a constant or a function", set.Position(name.Pos()),
							name.Name)
					}
				}
			}
		}
	})
	if errors == 0 {
		t.Error("found no exported errors, expected some")
	}
}
