package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMissingFile checks that a missing file of a trace is reported once on standard error and that
// the exit code is 1, for every command and output. The trace without the file is otherwise
// complete.
func TestMissingFile(t *testing.T) {
	t.Setenv("WEFT_CACHE", t.TempDir())
	answers := []string{"profile", "profile --json", "profile --csv", "profile --tree", "profile --folded",
		"messages --json", "states --json", "structure --json", "comm --json", "print --json", "align --json",
		"index -o OUT.weftidx",
		"index --json", "index --json", "plot --index -o OUT.svg", "plot -o OUT.svg", "convert IN OUT.etf --json",
		"report -o OUT.html", "convert --to null IN -"}
	copies := []string{"info", "info --json", "usage --json", "messages --list --json", "print --raw", "print --limit 1",
		"sort --check", "sort IN OUT.otf", "sort --json IN OUT.otf", "convert IN OUT.otf", "convert --json IN OUT.otf",
		"convert --strict IN OUT.otf", "convert --option otf.streams=1 IN OUT.otf",
		"convert --option otf.unify-tokens=true IN OUT.otf", "otf shrink --processes 1 IN OUT.otf",
		"otf shrink --json --processes 1,2 IN OUT.otf", "cut --window 1ms..2ms IN OUT.otf",
		"filter --location 1 IN OUT.otf", "repair --json IN OUT.otf", "merge IN OUT.otf", "anonymize IN OUT.otf",
		"otf summary --process 1 --json", "otf compress --keep", "otf compress --keep --json"}
	var otf2 []string
	for _, command := range copies {
		if first, _, _ := strings.Cut(command, " "); first == "sort" || first == "otf" || strings.Contains(command, "otf.") ||
			command == "print --raw" {
			continue
		}
		otf2 = append(otf2, strings.ReplaceAll(strings.ReplaceAll(command, "OUT.otf", "OUT.otf2"), "1ms..2ms", "10%..20%"))
	}
	otf2 = append(otf2, "print --compat", "align IN OUT.otf2", "convert --option otf2.order=sort IN OUT.otf2",
		"cut --to 100% IN OUT.otf2")
	for i, command := range otf2 {
		if strings.Contains(command, "--location 1") {
			otf2[i] = strings.Replace(command, "--location 1", "--location 0,1", 1)
		}
	}
	events := map[string]string{
		"t.otf": "1:1\n2:2\n", "t.0.def": "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDFG1NM\"app\"\nDF1G1NM\"main\"\n",
		"t.1.events": "1\n*1\nE1\n3\n*1\nL1\n", "t.2.events": "2\n*2\nE1\n4\n*2\nL1\n",
	}
	archives := map[string]string{"main.pallas": "../../format/pallas/testdata/ok/nested/trace",
		"traces.otf2": "../../format/otf2/testdata/ok/heat2d-mt"}
	for _, x := range []struct {
		file     string // the missing file
		trace    string // the trace that the test writes
		commands []string
	}{
		{"t.2.events", "t.otf", append(copies, answers...)},
		{"t.0.def", "t.otf", append(copies, answers...)},
		{"archive_0/thread_0/event_durations.dat", "main.pallas",
			append(answers, "info", "info --details", "info --json")},
		{"traces/1.evt", "traces.otf2", append(otf2, answers...)},
		{"traces/1.def", "traces.otf2", append(otf2, answers...)},
	} {
		for _, command := range x.commands {
			t.Run(x.file+" "+command, func(t *testing.T) {
				dir := t.TempDir()
				if of, ok := archives[x.trace]; !ok {
					for name, text := range events {
						writeText(t, filepath.Join(dir, name), text)
					}
				} else if err := os.CopyFS(dir, os.DirFS(of)); err != nil {
					t.Fatal(err)
				}
				in := filepath.Join(dir, x.trace)
				args := strings.Fields(command)
				for i, arg := range args {
					if arg == "IN" {
						args[i] = in
					}
					if rest, ok := strings.CutPrefix(arg, "OUT"); ok {
						args[i] = filepath.Join(dir, "out") + rest
					}
				}
				if !slices.Contains(args, in) {
					args = append(args, in)
				}
				var out, errs bytes.Buffer
				if code := Main(args, strings.NewReader(""), &out, &errs); code != exitGood {
					t.Fatalf("of the whole trace: found exit code %d, expected 0: %s", code, errs.String())
				}
				os.Remove(filepath.Join(dir, x.file+".z")) // the output of otf compress
				if err := os.Remove(filepath.Join(dir, x.file)); err != nil {
					t.Fatal(err)
				}
				errs.Reset()
				code := Main(args, strings.NewReader(""), &out, &errs)
				named := strings.Count(errs.String(), x.file+": error: ")
				if code != exitDefects || named != 1 {
					t.Errorf("found exit code %d and the file named %d times, expected 1 and once:\n%s", code, named, errs.String())
				}
				if strings.Contains(command, "--strict") {
					return
				}
				errs.Reset()
				if quiet := append(args, "-q"); !strings.HasPrefix(command, "otf compress") {
					code := Main(quiet, strings.NewReader(""), &out, &errs)
					if code != exitDefects || strings.Contains(errs.String(), x.file) {
						t.Errorf("with -q: found exit code %d, expected 1: %s", code, errs.String())
					}
				}
			})
		}
	}
}

// TestTraceWithoutEvents checks that otfprint reads a trace of another format of which a window without events was
// written as OTF. otfprint aborts if no stream has a process.
func TestTraceWithoutEvents(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "in.trf"), filepath.Join(dir, "out.otf")
	text := "-3 1 0.1 0 0 0\n-4 1 0.2 0 0 0\n-3 1 0.8 0 0 0\n-4 1 0.9 0 0 0\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--plain", "--allow-loss"}} {
		weft(t, 0, append([]string{"cut", "-q", "--from", "0.3s", "--to", "0.4s", path, out}, flags...)...)
		runTool(t, out, "otfprint") // fails the test if otfprint aborts
		weft(t, 0, "check", out)
	}
}

// TestTracesWithoutLocations checks that otfprint reads traces without a location that were written as OTF. weft reads
// no location from traces of other formats, except with --plain.
func TestTracesWithoutLocations(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "in.etf")
	if err := os.WriteFile(path, []byte("#\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	otf := func(args ...string) (info string) {
		out := filepath.Join(t.TempDir(), "out.otf")
		weft(t, 0, append(args, out)...)
		runTool(t, out, "otfprint") // fails the test if otfprint aborts
		weft(t, 0, "check", out)
		return weft(t, 0, "info", "--json", out)
	}
	for _, name := range []string{"x.etf", "x.trf", "x.pallas", "x.otf2"} {
		other := filepath.Join(dir, name)
		weft(t, 0, "convert", "-q", path, other)
		if info := otf("convert", "-q", other); !strings.Contains(info, `"locations": []`) {
			t.Errorf("%s: found locations in %s", name, info)
		}
		otf("convert", "-q", "--plain", "--allow-loss", other)
	}
	otf("filter", "-q", "--not-location", "*", "--prune", "../../format/otf/testdata/ok/mpi4/mpi4.otf")
	// Process 0 stands for the whole trace, to which a marker belongs.
	otf("filter", "-q", "--location", "0", "--prune", "../../format/otf/testdata/ok/all_short/all_short.otf")
}
