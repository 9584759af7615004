package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/cli"
)

// pages returns the texts of all manual pages, by file name.
func pages() map[string]string {
	m := map[string]string{}
	for _, f := range manualPages(cli.Command(), testVersion, time.Unix(testSeconds, 0).UTC()) {
		m[strings.TrimPrefix(f.path, manualFolder)] = string(f.data)
	}
	return m
}

// TestPagesRender checks that groff prints no warnings about any page.
func TestPagesRender(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not installed")
	}
	for name, text := range pages() {
		c := exec.Command("groff", "-man", "-ww", "-z")
		c.Stdin = strings.NewReader(text)
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestPages checks that each command that weft's help lists has a page. A page must have all
// sections and the examples of the command, with the text of the help.
func TestPages(t *testing.T) {
	all := pages()
	// The commands are found through the help, in the form in which users see it.
	root := cli.Command()
	var help bytes.Buffer
	root.SetOut(&help)
	root.SetArgs([]string{"--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`^  [a-z]+ +\S`)
	commands := 0
	for line := range strings.Lines(help.String()) {
		f := strings.Fields(line)
		if !listed.MatchString(line) || f[0] == "weft" || f[0] == "help" {
			continue
		}
		commands++
		if all["weft-"+f[0]+".1"] == "" {
			t.Errorf("weft %s has no page", f[0])
		}
	}
	if commands < 25 {
		t.Errorf("found %d commands", commands)
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not installed")
	}
	c := exec.Command("groff", "-man", "-Tascii", "-P-cbou", "-rLL=100n")
	c.Stdin = strings.NewReader(all["weft-otf-summary.1"])
	got := strings.Join(strings.Fields(mustRun(t, c)), " ")
	for _, want := range []string{
		"WEFT-OTF-SUMMARY(1) weft manual WEFT-OTF-SUMMARY(1)",
		"NAME weft-otf-summary - Sum up what a process of an OTF 1 trace did in an interval",
		"SYNOPSIS weft otf summary TRACE [flags]",
		"-h, --help help for summary",
		"--process string the process, by name, or by its number in the files, as otfprint shows it",
		"GLOBAL OPTIONS -j, --jobs int number of cores to use (default: all)",
		"EXIT STATUS 0 The command succeeded.",
		`EXAMPLES weft otf summary --process 1 trace.otf weft otf summary --process "rank 0" --from 10% --to 1.5s`,
		"SEE ALSO weft-otf(1), weft-otf-compress(1)",
		"weft " + testVersion + " 2023-11-14",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("weft-otf-summary(1) lacks %q; it is\n%s", want, got)
		}
	}
}

// TestPagesAnywhere checks that pages do not depend on the number of cores of the machine.
func TestPagesAnywhere(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := pages()
	runtime.GOMAXPROCS(3)
	for name, text := range pages() {
		if text != one[name] {
			t.Errorf("%s depends on the number of cores", name)
		}
	}
}

// TestEscape checks that roff prints every escaped character unchanged.
func TestEscape(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not installed")
	}
	const text = `.a\b -x 'y' "z" ~^` + "`… ü"
	c := exec.Command("groff", "-man", "-ww", "-Tutf8", "-P-cbou")
	c.Stdin = strings.NewReader(".TH A 1\n" + escapeLine(text) + "\n")
	if got := mustRun(t, c); !strings.Contains(got, text) {
		t.Errorf("roff prints\n%s\nexpected\n%s", got, text)
	}
}
