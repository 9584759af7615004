package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// overlappingClaims is a trace with claims one after the other on CPU, and with up to three claims at once on MEM.
const overlappingClaims = "TU MICROSECONDS\nR 0 1 false ; name=CPU\nR 1 9 true ; name=MEM\n" +
	"C 0 1 5 0 1 ; name=A\nC 1 5 7 0 1 ; name=B\n" +
	"C 2 1 6 1 0 3 ; name=M\nC 3 2 7 1 3 3 ; name=N\nC 4 3 4 1 6 3 ; name=M\nC 5 8 9 1 0 3 ; name=N\n"

// TestClaimsInOTF2 converts a TRACE file to OTF2. The claims must be visits for otf2-print: those that overlap with
// others of a resource are visits on further locations. This must hold with --plain, too. weft restores the claims.
func TestClaimsInOTF2(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "in.etf")
	if err := os.WriteFile(path, []byte(overlappingClaims), 0o666); err != nil {
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

// TestClaimsInPallas converts the same claims to Pallas. The events that pallas_print would show must be the same
// visits. In addition, the thread of MEM has an event without a visit for each claim on an extra lane.
func TestClaimsInPallas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "in.etf")
	if err := os.WriteFile(path, []byte(overlappingClaims), 0o666); err != nil {
		t.Fatal(err)
	}
	cpu := "1 Enter 0 (A), 5 Leave 0 (A), 5 Enter 1 (B), 7 Leave 1 (B)"
	mem := "1 Enter 2 (M), 6 Leave 2 (M), 8 Enter 3 (N), 9 Leave 3 (N)"
	carried := "1 Enter 2 (M), 2 claim-begin N, 3 claim-begin M, 4 claim-end M, 6 Leave 2 (M), 7 claim-end N, " +
		"8 Enter 3 (N), 9 Leave 3 (N)"
	lane2, lane3 := "2 Enter 3 (N), 7 Leave 3 (N)", "3 Enter 2 (M), 4 Leave 2 (M)"
	event := regexp.MustCompile(`^0\.00000(\d)000 +(.*)$`)
	for _, plain := range []bool{false, true} {
		want := []string{cpu, carried, lane2, lane3}
		if plain {
			want[1] = mem
		}
		archive := filepath.Join(dir, fmt.Sprint(plain), "x.pallas")
		if err := os.Mkdir(filepath.Dir(archive), 0o777); err != nil {
			t.Fatal(err)
		}
		weft(t, 0, "convert", "-q", "--allow-loss", fmt.Sprintf("--plain=%v", plain), path, archive)
		var found []string
		for thread := range strings.SplitSeq(weft(t, 0, "print", "--compat", archive), "Timestamp\n") {
			var list []string
			for line := range strings.Lines(thread) {
				if m := event.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
					list = append(list, m[1]+" "+m[2])
				}
			}
			if len(list) > 0 {
				found = append(found, strings.Join(list, ", "))
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("plain %v: the threads have\n%s\nexpected\n%s", plain, strings.Join(found, "\n"), strings.Join(want, "\n"))
		}
		if plain {
			continue
		}
		if a, b := weft(t, 0, "print", "-q", path), weft(t, 0, "print", "-q", archive); a != b {
			t.Errorf("weft print shows\n%s\nexpected\n%s", b, a)
		}
		weft(t, 0, "check", "-q", archive)
		copied := filepath.Join(dir, "copy.pallas")
		weft(t, 0, "convert", "-q", archive, copied)
		if a, b := weft(t, 0, "print", "--compat", archive), weft(t, 0, "print", "--compat", copied); a != b {
			t.Errorf("the copy has\n%s\nexpected\n%s", b, a)
		}
	}
}

// TestMissingFilesOfClaims checks that weft check reports a missing or damaged file of events of a location that weft
// has added for overlapping claims. weft does not read these files, but otf2-print stops at them.
func TestMissingFilesOfClaims(t *testing.T) {
	dir := t.TempDir()
	path, archive := filepath.Join(dir, "in.etf"), filepath.Join(dir, "out.otf2")
	writeText(t, path, overlappingClaims)
	weft(t, 0, "convert", "-q", path, archive)
	const second, third = "out/4294967297.evt", "out/8589934593.evt"
	if err := os.Remove(filepath.Join(dir, second)); err != nil {
		t.Fatal(err)
	}
	text := readText(t, filepath.Join(dir, third))
	writeText(t, filepath.Join(dir, third), text[:len(text)/2])
	out := weft(t, 1, "check", archive)
	for _, want := range []string{second + ": error: otf2.missing-file", third + ":0x"} {
		if !strings.Contains(out, want) {
			t.Errorf("check prints %q, expected %q in it", out, want)
		}
	}
}

// TestGeneratedClaims checks that otf2-print prints an enter and a leave for each claim of a generated trace, which has
// the layout of Score-P.
func TestGeneratedClaims(t *testing.T) {
	dir := t.TempDir()
	text, path := filepath.Join(dir, "x.etf"), filepath.Join(dir, "x.otf2")
	for _, out := range []string{text, path} {
		weft(t, 0, "generate", "--workload", "cps", "--events", "3000", out)
	}
	b, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	claims := len(regexp.MustCompile(`(?m)^C `).FindAll(b, -1))
	out, errs := runTool(t, path, "otf2-print")
	if out == nil {
		t.Skip("otf2-print is not installed")
	}
	for _, kind := range []string{"ENTER", "LEAVE"} {
		if n := len(regexp.MustCompile(`(?m)^`+kind+` `).FindAll(out, -1)); n != claims || n == 0 || len(errs) > 0 {
			t.Errorf("otf2-print prints %d × %s for %d claims (%s)", n, kind, claims, errs)
		}
	}
	weft(t, 0, "check", path)
}
