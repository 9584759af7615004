package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes the Debian and the RPM package for a platform.
func writePackages(src *source, p platform, list []file, licence string, d *folder) error {
	debian, err := debianFiles(list)
	if err != nil {
		return err
	}
	fedora, err := rpmFiles(list)
	if err != nil {
		return err
	}
	for _, x := range []struct {
		packager nfpm.Packager
		files    []file
		folders  []string // folders that the package owns, if the format does not add them itself
	}{
		{deb.Default, debian, nil},
		{rpm.DefaultRPM, fedora, []string{"/usr/share/doc/weft", "/usr/share/licenses/weft"}},
	} {
		name, data, err := encodePackage(src, p, x.packager, x.files, x.folders, licence)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := d.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

const (
	summary     = "reader, converter, checker and viewer for execution traces"
	description = `weft works with execution traces of parallel programs and embedded systems
in the formats OTF2, OTF, Pallas, PICL and Eclipse TRACE4CPS. It shows what
is in them, draws them in the browser, checks them, analyses them, and
converts them from one format to another.`
)

// encodePackage returns the content of a package, and the file name that is usual for it.
func encodePackage(
	src *source, p platform, packager nfpm.Packager, list []file, folders []string, licence string,
) (string, []byte, error) {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name:            "weft",
		Arch:            p.arch,
		Platform:        p.os,
		Version:         src.version,
		Release:         "1",
		Section:         "devel",
		Priority:        "optional",
		Maintainer:      "The weft authors",
		Vendor:          "The weft authors",
		Homepage:        "https://" + mainModule,
		License:         licence,
		DisableGlobbing: true,
		MTime:           src.time,
		Description:     description,
	})
	info.RPM.Group = "Development/Tools"
	info.RPM.Summary = summary
	if packager == nfpm.Packager(deb.Default) {
		info.Description = summary + "\n" + description // in Debian, the first line of the description is the summary
	}
	info.RPM.BuildHost = "localhost" // a fixed name, so that the name of this machine does not appear
	name := packager.ConventionalFileName(info)
	dir, err := os.MkdirTemp("", "weft-package-")
	if err != nil {
		return name, nil, err
	}
	defer os.RemoveAll(dir)
	for _, path := range folders {
		info.Contents = append(info.Contents, &files.Content{
			Destination: path, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: src.time},
		})
	}
	for i, f := range list {
		staged := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(staged, f.data, 0o600); err != nil {
			return name, nil, err
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: staged, Destination: f.path, Type: files.TypeFile,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: src.time},
		})
	}
	var b bytes.Buffer
	err = packager.Package(info, &b)
	return name, b.Bytes(), err
}

// ownCopyright is the beginning of Debian's copyright file.
const ownCopyright = `weft is licensed under the Apache License, Version 2.0. On Debian systems its text is in
/usr/share/common-licenses/Apache-2.0.

`

// debianFiles returns the files with the paths that Debian expects.
func debianFiles(list []file) ([]file, error) {
	var thirdParty []byte
	var out []file
	for _, f := range list {
		path := "/usr/" + f.path
		switch {
		case f.path == "LICENSE":
			continue // Debian itself contains this licence
		case f.path == thirdPartyName:
			thirdParty = f.data
			continue
		case f.path == "README.md":
			path = "/usr/share/doc/weft/" + f.path
		case f.path == "CHANGELOG.md":
			path = "/usr/share/doc/weft/changelog.gz"
		case strings.HasPrefix(f.path, zshFolder):
			path = "/usr/share/zsh/vendor-completions/" + strings.TrimPrefix(f.path, zshFolder)
		}
		installed, err := installedFile(f, path)
		if err != nil {
			return nil, err
		}
		out = append(out, installed)
	}
	copyright := append([]byte(ownCopyright), thirdParty...)
	return append(out, file{path: "/usr/share/doc/weft/copyright", data: copyright, mode: 0o644}), nil
}

// rpmFiles returns the files with the paths that distributions with RPM packages expect.
func rpmFiles(list []file) ([]file, error) {
	var out []file
	for _, f := range list {
		path := "/usr/" + f.path
		switch f.path {
		case "LICENSE", thirdPartyName:
			path = "/usr/share/licenses/weft/" + f.path
		case "README.md", "CHANGELOG.md":
			path = "/usr/share/doc/weft/" + f.path
		}
		installed, err := installedFile(f, path)
		if err != nil {
			return nil, err
		}
		out = append(out, installed)
	}
	return out, nil
}

// installedFile returns a file with another path. Manual pages are compressed, as is usual in
// distributions.
func installedFile(f file, path string) (file, error) {
	if strings.HasPrefix(f.path, manualFolder) {
		path += ".gz"
	}
	f.path = path
	if !strings.HasSuffix(path, ".gz") {
		return f, nil
	}
	var err error
	f.data, err = compress(f.data)
	return f, err
}
