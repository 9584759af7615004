// Release builds all files of a release of weft and writes them to one folder: an archive for each
// platform, Debian and RPM packages, recipes for other package managers, a software bill of
// materials (SBOM) for each program, and the checksums of all files.
//
//	go run -C tools/release . -o "$PWD/dist"    # make release
//
// The same commit, version and Go toolchain give the same bytes, wherever the folder is. The folder
// appears when it is complete, or not at all. The builder needs no network if the modules are in
// the module cache.
//
// The builder is a separate module, so that weft does not have its dependencies.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit codes.
const (
	exitGood  = 0
	exitError = 1
	exitUsage = 2
)

// errUsage is wrapped by errors in the flags.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run builds a release according to the flags in args, and returns the exit code.
func run(ctx context.Context, args []string, progress io.Writer) int {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(progress)
	out := flags.String("o", "../../dist", "folder to write; it is replaced if it holds a release")
	root := flags.String("root", "../..", "folder of weft's sources")
	version := flags.String("version", "", "version of the release (default: the constant in internal/cli/version.go)")
	only := flags.String("platforms", "", "platforms to build for, such as linux/amd64,windows/amd64 (default: all)")
	pgo := flags.String("pgo", "auto", "profile for the compiler, as go build -pgo takes it")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(progress, "release: found the argument %q, expected flags only\n", flags.Arg(0))
		return exitUsage
	}
	err := func() error {
		list, err := parsePlatforms(*only)
		if err != nil {
			return err
		}
		src, err := findSource(ctx, *root, *version)
		if err != nil {
			return err
		}
		src.pgo = *pgo
		return buildRelease(ctx, src, list, *out, progress)
	}()
	if err != nil {
		fmt.Fprintln(progress, "release:", strings.TrimSpace(err.Error()))
		if errors.Is(err, errUsage) {
			return exitUsage
		}
		return exitError
	}
	return exitGood
}

// buildRelease builds a release for some platforms and writes it to the folder out.
func buildRelease(ctx context.Context, src *source, list []platform, out string, progress io.Writer) error {
	d, err := newFolder(out)
	if err != nil {
		return err
	}
	defer d.discard()
	shared, err := sharedFiles(src)
	if err != nil {
		return err
	}
	for _, p := range list {
		fmt.Fprintf(progress, "weft %s for %s\n", src.version, p)
		if err := buildPlatform(ctx, src, p, shared, d); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := writeRecipes(src, d, progress); err != nil {
		return err
	}
	if err := cmp.Or(ctx.Err(), src.checkUnchanged(ctx)); err != nil {
		return err
	}
	return d.commit()
}

// buildPlatform adds to d the files of a release that belong to one platform.
func buildPlatform(ctx context.Context, src *source, p platform, shared []file, d *folder) error {
	program, err := src.build(ctx, p)
	if err != nil {
		return err
	}
	modules, err := src.linkedModules(ctx, p, program)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("weft-%s-%s-%s", src.version, p.os, p.arch)
	bom, err := encodeSBOM(src, p, program, modules)
	if err != nil {
		return err
	}
	if err := d.write(name+".cdx.json", bom); err != nil {
		return err
	}
	files := append([]file{
		{path: "bin/" + p.program(), data: program, mode: 0o755},
		{path: thirdPartyName, data: thirdPartyLicences(modules), mode: 0o644},
	}, shared...)
	archive, ext, err := encodeArchive(p, "weft-"+src.version, files, src.time)
	if err != nil {
		return err
	}
	if err := d.write(name+ext, archive); err != nil {
		return err
	}
	if p.os != "linux" {
		return nil
	}
	return writePackages(src, p, files, licenceExpression(modules), d)
}
