package main

import (
	"fmt"
	"slices"
	"strings"
)

// platform is an operating system and a processor, by Go's names.
type platform struct{ os, arch string }

// platforms lists the platforms that a release is built for.
var platforms = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
}

// String returns the platform as Go writes it, such as linux/amd64.
func (p platform) String() string { return p.os + "/" + p.arch }

// program returns the file name of the program.
func (p platform) program() string {
	if p.os == "windows" {
		return "weft.exe"
	}
	return "weft"
}

// parsePlatforms reads a list of platforms that are separated by commas. An empty list means all.
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
