package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModules checks that the bill of materials and the file of licences list each module that go
// version -m finds in the program. The expected licences were read on the web pages of the modules.
func TestModules(t *testing.T) {
	dir := unpackedFolder(t)
	data, err := os.ReadFile(onlyFile(t, "*.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BOMFormat, SpecVersion string
		Metadata               struct {
			Component struct{ Name, Version string }
		}
		Components []struct {
			Name, Version, Purl string
			Licenses            []struct {
				License    struct{ ID string }
				Expression string
			}
		}
	}
	if err := json.Unmarshal(data, &bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; bom.BOMFormat != "CycloneDX" || c.Name != mainModule || c.Version != "v"+testVersion {
		t.Errorf("the bill is about %s %s, in %s", c.Name, c.Version, bom.BOMFormat)
	}
	found := map[string]string{}
	licences := map[string]string{}
	for _, c := range bom.Components {
		found[c.Name] = c.Version
		for _, l := range c.Licenses {
			licences[c.Name] += l.License.ID + l.Expression
		}
	}
	texts, err := os.ReadFile(filepath.Join(dir, thirdPartyName))
	if err != nil {
		t.Fatal(err)
	}
	n := 1 // 1 is the standard library
	for line := range strings.Lines(mustRun(t, exec.Command("go", "version", "-m", filepath.Join(dir, "bin", "weft")))) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "dep" {
			continue
		}
		n++
		if found[f[1]] != f[2] {
			t.Errorf("%s %s: the bill has version %q", f[1], f[2], found[f[1]])
		}
		if !strings.Contains(string(texts), "\n"+f[1]+" "+f[2]+", file ") {
			t.Errorf("%s %s: %s lacks its licence", f[1], f[2], thirdPartyName)
		}
	}
	if n < 10 || len(bom.Components) != n {
		t.Errorf("the bill has %d components, expected %d", len(bom.Components), n)
	}
	for name, want := range map[string]string{
		standardLibrary:                "BSD-3-Clause",
		"github.com/spf13/cobra":       "Apache-2.0",
		"github.com/spf13/pflag":       "BSD-3-Clause",
		"github.com/rivo/uniseg":       "MIT",
		"github.com/vbauerster/mpb/v8": "Unlicense",
		// The package zstd in this module has its own licence.
		"github.com/klauspost/compress": "Apache-2.0 AND BSD-3-Clause AND MIT",
	} {
		if licences[name] != want {
			t.Errorf("%s: the bill names the licence %s, expected %s", name, licences[name], want)
		}
	}
	if !strings.Contains(string(texts), "file PATENTS") {
		t.Errorf("%s lacks the grants of patents", thirdPartyName)
	}
}
