// Platforms checks that the packages named by its arguments, and their tests, have no type
// errors on any platform that weft is built for. It type-checks everything from source, the
// standard library included, in a tenth of the time that cross builds take.
//
//	go run ./platforms -C .. ./...
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

// targets are the platforms that weft is built for, but for the one that the tests run on.
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

// check returns the errors of the packages that match patterns, and of all that they import,
// on a platform.
func check(dir, target string, patterns []string) (errs []string, err error) {
	goos, goarch, _ := strings.Cut(target, "/")
	loaded, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Dir:   dir,
		Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
		Tests: true,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if !seen[e.Error()] {
				seen[e.Error()] = true
				errs = append(errs, e.Error())
			}
		}
	})
	return errs, nil
}
