package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLikeScoreP checks archives that are written with Score-P's layout. otf2-print must find a process with one
// master thread for each rank, MPI's regions with their paradigm and role, and the same messages. OTF2's Python
// bindings must be able to read the archives.
func TestLikeScoreP(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	dir := t.TempDir()
	generated := filepath.Join(dir, "generated.otf2")
	weft(t, 0, "generate", "--workload", "stencil", "--events", "3000", "--locations", "4", generated)
	recorded := filepath.Join(dir, "recorded.otf2")
	const eztrace = "../../format/otf2/testdata/ok/ring/eztrace_log.otf2"
	weft(t, 0, "convert", "-q", "--option", "otf2.like=scorep", eztrace, recorded)
	group := regexp.MustCompile(`(?m)^LOCATION_GROUP +(\d+)  Name: "MPI Rank (\d+)" <\d+>, Type: PROCESS`)
	master := regexp.MustCompile(`(?m)^LOCATION +\d+  Name: "Master thread" <\d+>, Type: CPU_THREAD, ` +
		`# Events: \d+, Group: "MPI Rank (\d+)"`)
	for _, x := range []struct {
		path, regions string // lines that the output must have for regions
	}{{generated, "MPI_Isend POINT2POINT, MPI_Waitall POINT2POINT, MPI_Allreduce COLL_ALL2ALL"},
		{recorded, "MPI_Recv POINT2POINT, MPI_Barrier BARRIER, MPI_Bcast COLL_ONE2ALL"}} {
		out, _ := runTool(t, x.path, "otf2-print", "-G")
		groups, masters := "", ""
		for _, m := range group.FindAllSubmatch(out, -1) {
			groups += fmt.Sprintf("%s=%s ", m[1], m[2])
		}
		for _, m := range master.FindAllSubmatch(out, -1) {
			masters += string(m[1]) + " "
		}
		if groups != "0=0 1=1 2=2 3=3 " || masters != "0 1 2 3 " {
			t.Errorf("%s: found the processes %q with the master threads %q, expected 4 with one each", x.path, groups, masters)
		}
		for want := range strings.SplitSeq(x.regions, ", ") {
			name, role, _ := strings.Cut(want, " ")
			line := regexp.MustCompile(`(?m)^REGION +\d+  Name: "` + name + `".* Role: ` + role + `, Paradigm: "MPI"`)
			if !line.Match(out) {
				t.Errorf("%s: otf2-print finds no region %s with the role %s", x.path, name, role)
			}
		}
		if _, err := exec.LookPath("/usr/bin/python3"); err == nil {
			c := exec.Command("/usr/bin/python3", "-c",
				"import otf2, sys\nwith otf2.reader.open(sys.argv[1]) as t: print(len(list(t.events)))", x.path)
			if out, err := c.CombinedOutput(); err != nil && !strings.Contains(string(out), "No module named 'otf2'") {
				t.Errorf("%s: the Python bindings fail: %s", x.path, out)
			}
		}
	}
	threads := filepath.Join(dir, "threads.otf2")
	weft(t, 0, "convert", "-q", "--option", "otf2.like=scorep", "../../analysis/waits/testdata/omp/traces.otf2", threads)
	out, _ := runTool(t, threads, "otf2-print", "-G")
	for _, want := range []string{`Type: COMM_LOCATIONS, Paradigm: "MPI" <4>, Flags: NONE, 1 Member: "Master thread" <0>`,
		`Type: COMM_LOCATIONS, Paradigm: "OPENMP" <3>, Flags: NONE, 3 Members: "Master thread" <0>, `,
		`Type: COMM_GROUP, Paradigm: "OPENMP" <3>, Flags: NONE, 3 Members: 0 `} {
		if !strings.Contains(string(out), want) {
			t.Errorf("otf2-print prints no %q for a team of threads", want)
		}
	}
	_, want, _ := runWeft(t, "waits", "--json", eztrace)
	_, got, _ := runWeft(t, "waits", "--json", recorded)
	total := regexp.MustCompile(`"time": (\d+)`)
	if a, b := total.FindString(want), total.FindString(got); a == "" || a != b {
		t.Errorf("found waits of %s, expected %s", b, a)
	}
}

// TestScorePRoles checks the roles of OpenMP's regions in the layout of Score-P, with which the archive in testdata was
// made (make_omp.py), also if they follow from the names, because OTF has no roles.
func TestScorePRoles(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	dir := t.TempDir()
	const omp = "../../analysis/waits/testdata/omp/traces.otf2"
	otf, again := filepath.Join(dir, "plain.otf"), filepath.Join(dir, "again.otf2")
	weft(t, 0, "convert", "-q", "--plain", "--allow-loss", omp, otf)
	weft(t, 0, "convert", "-q", "--option", "otf2.like=scorep", omp, again)
	fromNames, generated := filepath.Join(dir, "names.otf2"), filepath.Join(dir, "generated.otf2")
	weft(t, 0, "convert", "-q", "--plain", "--allow-loss", "--option", "otf2.like=scorep", otf, fromNames)
	weft(t, 0, "generate", "--workload", "phases", "--threads", "2", "--lock", "1ms", "--events", "500", generated)
	for _, path := range []string{again, fromNames, generated} {
		out, _ := runTool(t, path, "otf2-print", "-G")
		for name, role := range map[string]string{"parallel": "PARALLEL", "critical": "CRITICAL",
			"critical sblock": "CRITICAL_SBLOCK", "implicit barrier": "IMPLICIT_BARRIER"} {
			line := `(?m)^REGION +\d+  Name: "!\$omp ` + name + `( @a.c:\d)?".* Role: ` + role + `, Paradigm: "?OPENMP`
			if !regexp.MustCompile(line).Match(out) {
				t.Errorf("%s: otf2-print finds no region %s with the role %s", path, name, role)
			}
		}
	}
}

// TestScorePLayoutStays checks that commands that change no event keep the layout of an archive that weft generate has
// written, with the processes and master threads of Score-P. otf2-print must show the same for both archives.
func TestScorePLayoutStays(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	printed := func(path string) string {
		out, _ := runTool(t, path, "otf2-print", "-A")
		return strings.ReplaceAll(string(out), path, "ARCHIVE")
	}
	path := filepath.Join(t.TempDir(), "x.otf2")
	weft(t, 0, "generate", "--workload", "stencil", "--events", "3000", "--locations", "4", path)
	expected := printed(path)
	if !strings.Contains(expected, `"Master thread"`) {
		t.Fatalf("otf2-print found no master thread in %s", expected)
	}
	for _, command := range []string{"filter", "convert", "merge"} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, command, "-q", path, out)
		if found := printed(out); found != expected {
			t.Errorf("%s: otf2-print found another archive", command)
		}
	}
}

// TestKeepLikeScoreP checks that commands which build new definitions keep the layout of Score-P: otf2-print must find
// master threads in processes, and the role of MPI_Bcast. A trace that is merged from archives of both layouts
// has the usual one.
func TestKeepLikeScoreP(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name+".otf2") }
	generate := []string{"generate", "--workload", "phases", "--events", "4000", "--locations", "4"}
	weft(t, 0, append(generate, path("like"))...)
	weft(t, 0, append(generate, "--option", "otf2.like=weft", path("usual"))...)
	master := regexp.MustCompile(`(?m)^LOCATION .*"Master thread" .*Group: "MPI Rank \d+"`)
	role := regexp.MustCompile(`(?m)^REGION .*Name: "MPI_Bcast" .*Role: COLL_ONE2ALL`)
	for _, x := range []struct {
		name    string
		masters int
		command []string
	}{
		{"piece", 4, []string{"cut", "-q", "--window", "30%..60%", "--prune", path("like")}},
		{"kept", 4, []string{"filter", "-q", "--kind", "enter,message,collective", "--prune", path("like")}},
		{"anonymous", 4, []string{"anonymize", "-q", path("like")}},
		{"merged", 8, []string{"merge", "-q", path("like"), path("like")}},
		{"mixed", 0, []string{"merge", "-q", path("like"), path("usual")}},
		{"weft", 0, []string{"cut", "-q", "--window", "30%..60%", "--prune", path("usual")}},
	} {
		weft(t, 0, append(x.command, path(x.name))...)
		out, _ := runTool(t, path(x.name), "otf2-print", "-G")
		masters, roles := len(master.FindAll(out, -1)), len(role.FindAll(out, -1))
		if masters != x.masters || roles != min(masters, 1) {
			t.Errorf("%s: found %d master threads and %d roles of MPI_Bcast, expected %d and %d", x.name, masters, roles,
				x.masters, min(x.masters, 1))
		}
	}
}

// TestScorePLateLocations checks the layout of Score-P for a trace that defines locations among its events: node 6 is
// recorded, and the nodes 0, 5 and 7 are only named as the other sides of its messages. otf2-print must find them all.
func TestScorePLateLocations(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	path := filepath.Join(t.TempDir(), "late.otf2")
	weft(t, 0, "convert", "-q", "--option", "otf2.like=scorep", "../../analysis/testdata/worley-table20.trf", path)
	out, _ := runTool(t, path, "otf2-print", "-G")
	if n := len(regexp.MustCompile(`(?m)^LOCATION `).FindAll(out, -1)); n != 4 {
		t.Errorf("found %d locations, expected 4", n)
	}
	want := `Type: COMM_LOCATIONS, Paradigm: "MPI" <4>, Flags: NONE, 4 Members: "Master thread" <0>, `
	if !strings.Contains(string(out), want) {
		t.Errorf("otf2-print prints no %q", want)
	}
}
