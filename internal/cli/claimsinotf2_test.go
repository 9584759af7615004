package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestClaimsInOTF2 converts a TRACE file to OTF2. The claims must be visits for otf2-print: those that overlap with
// others of a resource are visits on further locations. This must hold with --plain, too. weft restores the claims.
func TestClaimsInOTF2(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "in.etf")
	text := "TU MICROSECONDS\nR 0 1 false ; name=CPU\nR 1 9 true ; name=MEM\n" +
		"C 0 1 5 0 1 ; name=A\nC 1 5 7 0 1 ; name=B\n" +
		"C 2 1 6 1 0 3 ; name=M\nC 3 2 7 1 3 3 ; name=N\nC 4 3 4 1 6 3 ; name=M\nC 5 8 9 1 0 3 ; name=N\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	want := `CPU 1 ENTER A
CPU 5 LEAVE A
CPU 5 ENTER B
CPU 7 LEAVE B
MEM 1 ENTER M
MEM 6 LEAVE M
MEM 8 ENTER N
MEM 9 LEAVE N
MEM (2) 2 ENTER N
MEM (2) 7 LEAVE N
MEM (3) 3 ENTER M
MEM (3) 4 LEAVE M`
	event := regexp.MustCompile(`(?m)^(ENTER|LEAVE) +(\d+) +(\d+) +Region: "(\w)"`)
	location := regexp.MustCompile(`(?m)^LOCATION +(\d+) +Name: "(.*?)" <\d+>, Type: CPU_THREAD, # Events: (\d+)`)
	for _, plain := range []bool{false, true} {
		archive := filepath.Join(dir, fmt.Sprintf("plain-%v.otf2", plain))
		weft(t, 0, "convert", "-q", "--allow-loss", fmt.Sprintf("--plain=%v", plain), path, archive)
		printed, _ := runTool(t, archive, "otf2-print")
		definitions, _ := runTool(t, archive, "otf2-print", "-G")
		if printed == nil {
			t.Skip("otf2-print is not installed")
		}
		var found []string
		for _, l := range location.FindAllStringSubmatch(string(definitions), -1) {
			for _, m := range event.FindAllStringSubmatch(string(printed), -1) {
				if m[2] == l[1] {
					found = append(found, strings.Join([]string{l[2], m[3], m[1], m[4]}, " "))
				}
			}
		}
		if got := strings.Join(found, "\n"); got != want {
			t.Errorf("plain %v: otf2-print shows\n%s\nexpected\n%s", plain, got, want)
		}
		if plain {
			continue
		}
		if a, b := weft(t, 0, "print", "-q", path), weft(t, 0, "print", "-q", archive); a != b {
			t.Errorf("weft print shows\n%s\nexpected\n%s", b, a)
		}
		weft(t, 0, "check", "-q", archive)
	}
}

// TestManyClaimsInOTF2 checks that claims that overlap do not make an archive of many files: of 1000 claims at once,
// otf2-print shows 1 at the resource and 256 on other locations. weft restores all of them.
func TestManyClaimsInOTF2(t *testing.T) {
	path := hostileTrace(t, t.TempDir(), "claims at once", 1000)
	archive := filepath.Join(t.TempDir(), "out.otf2")
	weft(t, 0, "convert", "-q", path, archive)
	if a, b := weft(t, 0, "print", "-q", path), weft(t, 0, "print", "-q", archive); a != b {
		t.Error("weft print shows other events")
	}
	printed, _ := runTool(t, archive, "otf2-print")
	if printed == nil {
		t.Skip("otf2-print is not installed")
	}
	if n := len(regexp.MustCompile(`(?m)^ENTER `).FindAll(printed, -1)); n != 257 {
		t.Errorf("otf2-print shows %d visits, expected 257", n)
	}
}
