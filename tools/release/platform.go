package main

import (
	"fmt"
	"slices"
	"strings"
)

// platform is an operating system and a processor architecture, with Go's names.
type platform struct{ os, arch string }

// platforms lists the platforms for which a release is built.
var platforms = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
}

// String returns the platform in Go's notation, such as linux/amd64.
func (p platform) String() string { return p.os + "/" + p.arch }

// program returns the file name of the program on the platform.
func (p platform) program() string {
	if p.os == "windows" {
		return "weft.exe"
	}
	return "weft"
}

// parsePlatforms reads a comma-separated list of platforms. An empty list stands for all platforms.
func parsePlatforms(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var out []platform
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("%w: -platforms: found %q, expected some of %v", errUsage, name, platforms)
		}
		out = append(out, platforms[i])
	}
	return out, nil
}
