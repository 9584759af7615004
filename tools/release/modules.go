package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is a module in a program. Go's standard library counts as one.
type module struct {
	path     string
	version  string
	sum      string // checksum as in go.sum; "" for the standard library
	licences []licenceText
}

// licenceText is a file with a licence, or with a notice that the licence requires to be passed on.
type licenceText struct {
	name string
	text string
}

// standardLibrary is the path of the entry for Go's standard library.
const standardLibrary = "std"

// licenceName matches the names of files with licences, notices and patent grants.
var licenceName = regexp.MustCompile(`(?i)^((UN)?LICEN[CS]E|COPYING|NOTICE|PATENTS)(\.txt|\.md)?$`)

// linkedModules returns the modules that the build information of a program lists: the standard
// library first, and the others sorted by path. Licences are read from the folders of the linked
// packages, and from the folders above these up to the root of the module.
func (src *source) linkedModules(ctx context.Context, p platform, program []byte) ([]module, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	goroot, err := output(src.goCommand(ctx, p, "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	std := module{path: standardLibrary, version: info.GoVersion}
	if std.licences, err = readLicences(strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	list := []module{std}
	folders, err := src.licenceFolders(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, d := range info.Deps {
		path, version, sum := d.Path, d.Version, d.Sum
		if d.Replace != nil {
			version, sum = d.Replace.Version, d.Replace.Sum
		}
		m := module{path: path, version: version, sum: sum}
		for _, dir := range folders[path] {
			texts, err := readLicences(dir)
			if err != nil {
				return nil, err
			}
			m.licences = append(m.licences, texts...)
		}
		list = append(list, m)
	}
	for _, m := range list {
		if len(m.identifiers()) == 0 {
			return nil, fmt.Errorf("%s %s: found %d licence files of unknown content, expected a licence that licence.go knows",
				m.path, m.version, len(m.licences))
		}
	}
	return list, nil
}

// licenceFolders returns the folders in which the licences of each needed module may be, sorted:
// those of its packages and those above them.
func (src *source) licenceFolders(ctx context.Context, p platform) (map[string][]string, error) {
	out, err := output(src.goCommand(ctx, p, "list", "-deps", "-json=Dir,Module", "./cmd/weft"))
	if err != nil {
		return nil, err
	}
	sets := map[string]map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			Dir    string
			Module *struct{ Path, Dir string }
		}
		if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if pkg.Module == nil || pkg.Module.Path == mainModule {
			continue
		}
		set := sets[pkg.Module.Path]
		if set == nil {
			set = map[string]bool{}
			sets[pkg.Module.Path] = set
		}
		for dir := pkg.Dir; len(dir) >= len(pkg.Module.Dir); dir = filepath.Dir(dir) {
			set[dir] = true
		}
	}
	folders := map[string][]string{}
	for path, set := range sets {
		folders[path] = slices.Sorted(maps.Keys(set))
	}
	return folders, nil
}

// readLicences returns the licence files in a folder, sorted by name.
func readLicences(dir string) ([]licenceText, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []licenceText
	for _, e := range entries {
		if e.IsDir() || !licenceName.MatchString(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, licenceText{e.Name(), strings.ReplaceAll(string(data), "\r\n", "\n")})
	}
	return list, nil
}
