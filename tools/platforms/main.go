// Platforms checks that the packages in its arguments and their tests have no type errors on any
// platform for which weft is built. It type-checks everything from source, which takes less time
// than cross builds. In the standard library, it checks only declarations and no function bodies.
//
//	go run ./platforms -C .. ./...
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// targets lists the platforms for which weft is built and on which the tests do not run.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

func main() {
	dir := flag.String("C", ".", "folder to look for the packages in")
	host := flag.String("but", "", "platform to leave out, as GOOS/GOARCH")
	flag.Parse()
	failed := false
	for _, target := range targets {
		if target == *host {
			continue
		}
		errs, err := check(*dir, target, flag.Args())
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
			os.Exit(2)
		}
		for _, e := range errs {
			failed = true
			fmt.Printf("%s: %s\n", target, e)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check type-checks the packages that match patterns, and everything that they import, for a
// platform. It returns the errors.
func check(dir, target string, patterns []string) (errs []string, err error) {
	goos, goarch, _ := strings.Cut(target, "/")
	env := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src") + string(filepath.Separator)
	loaded, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Dir:   dir,
		Env:   env,
		Tests: true,
		ParseFile: func(set *token.FileSet, name string, text []byte) (*ast.File, error) {
			f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
			if err == nil && strings.HasPrefix(name, root) {
				stripBodies(f)
			}
			return f, err
		},
	}, patterns...)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if len(p.GoFiles) > 0 && strings.HasPrefix(p.GoFiles[0], root) {
			return // without bodies, imports are unused; these errors do not count
		}
		for _, e := range p.Errors {
			if !seen[e.Error()] {
				seen[e.Error()] = true
				errs = append(errs, e.Error())
			}
		}
	})
	return errs, nil
}

// stripBodies replaces the body of each function by an endless loop, which compiles with any result types.
func stripBodies(f *ast.File) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			d.Body.List = []ast.Stmt{&ast.ForStmt{For: d.Body.Lbrace,
				Body: &ast.BlockStmt{Lbrace: d.Body.Lbrace, Rbrace: d.Body.Rbrace}}}
		}
	}
}
