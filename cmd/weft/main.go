// Command weft reads, writes, converts, checks, analyses and draws execution
// traces.
package main

import (
	"os"

	"github.com/weft-trace/weft/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
