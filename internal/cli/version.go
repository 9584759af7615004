package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the version of the next release.
const Version = "0.1.0-dev"

// The linker sets these variables in a release (see tools/release). They are empty in other builds.
var (
	releaseVersion string // for example 0.1.0
	releaseCommit  string // the full hash of the commit
	releaseDate    string // time of the commit in the format of RFC 3339
)

// buildVersion describes the source that this program was built from.
type buildVersion struct {
	Commit   string `json:"commit"`
	Date     string `json:"date"` // time of the commit, in RFC 3339
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Version  string `json:"version"`
}

// readBuildVersion returns the version that the linker set. If it set none, the version of the module
// and the commit come from the build information, if that has them.
func readBuildVersion() buildVersion {
	v := buildVersion{
		Version: releaseVersion, Commit: releaseCommit, Date: releaseDate,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok && v.Version == "" {
		if m := info.Main.Version; m != "(devel)" {
			v.Version = m
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.time":
				v.Date = s.Value
			}
		}
	}
	v.Version = cmp.Or(v.Version, Version)
	return v
}

// String returns the version as a line of text.
func (v buildVersion) String() string {
	return fmt.Sprintf("weft %s (%s, %s)", v.Version, v.Go, v.Platform)
}

// versionCommand returns the command weft version.
func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  weft version\n  weft version --json",
		Args:    exactArgs(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			v := readBuildVersion()
			if asJSON {
				return a.writeJSON(a.out, v)
			}
			_, err := fmt.Fprintln(a.out, v)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
