package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestCursorsOutsideFor checks that no for statement declares a cursor. Go copies a variable of a for statement for
// each iteration if something takes its address. For the cursor of a batch that costs more than moving to the next row.
func TestCursorsOutsideFor(t *testing.T) {
	set := token.NewFileSet()
	loops := 0
	files(t, func(path string) {
		f, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			loop, ok := n.(*ast.ForStmt)
			if !ok {
				return true
			}
			loops++
			init, _ := loop.Init.(*ast.AssignStmt)
			if init == nil || init.Tok != token.DEFINE {
				return true
			}
			for _, x := range init.Rhs {
				call, _ := x.(*ast.CallExpr)
				if call == nil {
					continue
				}
				if fun, _ := call.Fun.(*ast.SelectorExpr); fun != nil && fun.Sel.Name == "Cursor" {
					t.Errorf("%s: found a cursor that the for statement declares, expected its declaration before it",
						set.Position(loop.Pos()))
				}
			}
			return true
		})
	})
	if loops == 0 {
		t.Error("found no for statement, expected some")
	}
}
