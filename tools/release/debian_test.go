package main

import (
	"bufio"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDebian installs the Debian package in an empty system, uses the installed files, and removes
// the package. No file of it may remain.
func TestDebian(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("dpkg is not installed")
	}
	if !runs() {
		t.Skipf("programs for %s do not run here", testPlatform)
	}
	asRoot := func(args ...string) *exec.Cmd { return exec.Command(args[0], args[1:]...) }
	if os.Getuid() != 0 {
		asRoot = func(args ...string) *exec.Cmd { return exec.Command("unshare", append([]string{"-r"}, args...)...) }
		if err := asRoot("true").Run(); err != nil {
			t.Skip("dpkg needs root, or unshare with user namespaces")
		}
	}
	system := emptySystem(t)
	before := installedPaths(t, system)
	// Some systems are configured to leave out documentation; path-include takes precedence over
	// that.
	dpkg := func(args ...string) {
		t.Helper()
		mustRun(t, asRoot(append([]string{"dpkg", "--root=" + system, "--path-include=*"}, args...)...))
	}
	dpkg("--install", onlyFile(t, "*.deb"))
	if t.Failed() {
		return
	}
	const trace = "../../format/otf2/testdata/ok/heat2d-mt"
	t.Run("info", func(t *testing.T) {
		if err := os.CopyFS(filepath.Join(system, "trace"), os.DirFS(trace)); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(filepath.Join(system, "trace"))
		// The system has no other program than weft, which shows that weft needs none.
		c := asRoot("chroot", system, "/usr/bin/weft", "info", "/trace/traces.otf2")
		enters := regexp.MustCompile(`(?m)^enter +1836 *$`) // print.txt.gz has this number of ENTER lines
		if got := mustRun(t, c); !enters.MatchString(got) {
			t.Errorf("weft info prints\n%s\nexpected 1836 events of kind enter", got)
		}
	})
	program := filepath.Join(system, "usr/bin/weft")
	t.Run("view", func(t *testing.T) { viewPage(t, program, filepath.Join(trace, "traces.otf2")) })
	t.Run("manual", func(t *testing.T) { readManual(t, filepath.Join(system, "usr/share/man")) })
	t.Run("bash", func(t *testing.T) {
		completeBash(t, filepath.Join(system, "usr/share/bash-completion/completions/weft"), filepath.Dir(program))
	})
	t.Run("zsh", func(t *testing.T) {
		if _, err := exec.LookPath("zsh"); err != nil {
			t.Skip("zsh is not installed")
		}
		mustRun(t, exec.Command("zsh", "-n", filepath.Join(system, "usr/share/zsh/vendor-completions/_weft")))
	})
	t.Run("fish", func(t *testing.T) {
		if _, err := exec.LookPath("fish"); err != nil {
			t.Skip("fish is not installed")
		}
		script := filepath.Join(system, "usr/share/fish/vendor_completions.d/weft.fish")
		c := exec.Command("fish", "--no-config", "-c", "source "+script+"; complete --do-complete 'weft inf'")
		c.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
		if got := mustRun(t, c); got != "info\tShow what is in a trace\n" {
			t.Errorf("fish completes weft inf to %q", got)
		}
	})
	t.Run("copyright", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(system, "usr/share/doc/weft/copyright"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"/usr/share/common-licenses/Apache-2.0", "github.com/spf13/pflag"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("copyright lacks %s", want)
			}
		}
	})
	dpkg("--remove", "weft")
	if after := installedPaths(t, system); !slices.Equal(before, after) {
		t.Errorf("dpkg --remove leaves %v, expected %v", after, before)
	}
}

// emptySystem returns the root folder of a system without packages.
func emptySystem(t *testing.T) string {
	t.Helper()
	system := t.TempDir()
	for _, dir := range []string{"updates", "info", "triggers"} {
		if err := os.MkdirAll(filepath.Join(system, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(system, "var/lib/dpkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return system
}

// installedPaths returns the files and folders of a system, except dpkg's own records.
func installedPaths(t *testing.T, system string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(system, func(path string, d os.DirEntry, err error) error {
		rel := strings.TrimPrefix(path, system)
		if rel == "/var" {
			return filepath.SkipDir
		}
		list = append(list, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// viewPage starts weft view and requests the page at the address that the command prints.
func viewPage(t *testing.T, program, trace string) {
	c := exec.CommandContext(t.Context(), program, "view", "--no-open", trace)
	c.Env = append(os.Environ(), "WEFT_CACHE="+t.TempDir())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	// The address contains a secret, for which the server sets a cookie.
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&http.Client{Jar: jar}).Get(strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK || !strings.Contains(string(page), "app.js") {
		t.Errorf("%s: %s\n%s", address, r.Status, page)
	}
}

// readManual renders the page weft-info(1) with the command that users run.
func readManual(t *testing.T, folder string) {
	name := filepath.Join(folder, "man1/weft-info.1.gz")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("%s has the name %q and the time %s in its header", name, z.Name, z.ModTime)
	}
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("man is not installed")
	}
	c := exec.Command("man", "-M", folder, "weft-info")
	c.Env = append(os.Environ(), "MANPAGER=cat", "MANWIDTH=80", "LC_ALL=C", "MANROFFSEQ=", "TERM=dumb")
	got := mustRun(t, c)
	for _, want := range []string{"weft info TRACE [flags]", "weft info --json trace.trf"} {
		if !strings.Contains(got, want) {
			t.Errorf("man weft-info lacks %q; it prints\n%s", want, got)
		}
	}
}

// completeBash completes "weft inf" in bash, as the tabulator key does.
func completeBash(t *testing.T, script, folder string) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	// The function belongs to the package bash-completion, which may not be installed.
	const session = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${words[cword]} prev=${words[cword-1]}; }
source "$1"
complete -p weft
COMP_WORDS=(weft inf) COMP_CWORD=1 COMP_LINE='weft inf' COMP_POINT=8 COMP_TYPE=9 COMP_KEY=9
__start_weft 2>/dev/null
printf '<%s>' "${COMPREPLY[@]}"`
	c := exec.Command("bash", "--norc", "--noprofile", "-c", session, "bash", script)
	c.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	if got := mustRun(t, c); !regexp.MustCompile(`^complete .*\n<info ?>$`).MatchString(got) {
		t.Errorf("bash completes weft inf to\n%s\nexpected <info>", got)
	}
}
