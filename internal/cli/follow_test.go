package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/internal/written"
)

// randomPieces delivers a text in pieces of random length.
type randomPieces struct {
	r    *rand.Rand
	text []byte
}

func (p *randomPieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+p.r.IntN(5000))], p.text)
	p.text = p.text[n:]
	return n, nil
}

// TestFollowAgrees checks that --follow has the verdicts of the whole trace, for suggested properties, which hold, and
// for those with shorter times, which do not.
func TestFollowAgrees(t *testing.T) {
	dir := t.TempDir()
	times := regexp.MustCompile(`\[0, ([0-9.]+)\]`)
	verdicts := map[string]int{}
	cps := filepath.Join(dir, "cps.etf")
	if code, _, errs := runWeft(t, "generate", "--workload", "cps", "--events", "500", cps); code != 0 {
		t.Fatal(errs)
	}
	for i, x := range []struct{ in, by, late string }{
		{cps, "id", "1s"}, // the events come after the claims
		{cps, "", "1s"},
		{"../../examples/odse.etf", "id", "1s"},
		{"../../format/picl/testdata/ok/conceptual-ring8.trf", "", ""},
	} {
		in := x.in
		suggest := []string{"verify", "--suggest", "--most", "12", in}
		if x.by != "" {
			suggest = append(suggest, "--by", x.by)
		}
		code, spec, errs := runWeft(t, suggest...)
		if code != 0 {
			t.Fatalf("%v: %s", suggest, errs)
		}
		shorter := times.ReplaceAllStringFunc(spec, func(s string) string {
			high, _ := strconv.ParseFloat(times.FindStringSubmatch(s)[1], 64)
			return fmt.Sprintf("[0, %g]", 0.4*high)
		})
		for _, s := range semantics {
			for name, text := range map[string]string{"suggested": spec, "shorter": shorter} {
				path := filepath.Join(dir, name+".etl")
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				code, out, errs := runWeft(t, "verify", "-q", "--json", "--semantics", s, path, in)
				var whole traceVerdicts
				if err := json.Unmarshal([]byte(out), &whole); err != nil {
					t.Fatalf("exit %d: %v: %s", code, err, errs)
				}
				trace, err := os.ReadFile(in)
				if err != nil {
					t.Fatal(err)
				}
				var o, e bytes.Buffer
				args := []string{"verify", "-q", "--json", "--follow", "--semantics", s, path, "-"}
				if x.late != "" {
					args = append(args, "--late", x.late)
				}
				followed := Main(args, &randomPieces{rand.New(rand.NewPCG(uint64(i), 2)), trace}, &o, &e)
				got := map[string]followedVerdict{}
				for line := range strings.Lines(o.String()) {
					var v followedVerdict
					if err := json.Unmarshal([]byte(line), &v); err != nil {
						t.Fatal(err)
					}
					got[v.Name] = v
				}
				if followed != code || len(got) != len(whole.Checks) {
					t.Errorf("%s, %s: exit %d with %d verdicts, expected %d with %d: %s", in, name, followed, len(got), code,
						len(whole.Checks), e.String())
				}
				for _, c := range whole.Checks {
					verdicts[string(c.Verdict)]++
					if v := got[c.Name]; v.Verdict != c.Verdict || v.Holds != c.Holds || v.Decided != c.Decided {
						t.Errorf("%s, %s: %s is %s, in the whole trace %s", in, name, c.Name, v.Verdict, c.Verdict)
					}
				}
			}
		}
	}
	for _, v := range []string{"bad", "non-informative", "true", "false", "FALSE", "STILL_TRUE"} {
		if verdicts[v] < 5 {
			t.Errorf("%d verdicts are %s, expected at least 5", verdicts[v], v)
		}
	}
}

// followToEnd follows a file with a check that no mark C occurs, which must end with the answer "no" or an error and
// without an interrupt. It returns the messages.
func followToEnd(t *testing.T, path string) string {
	t.Helper()
	ctx, interrupt := context.WithTimeout(t.Context(), 20*time.Second)
	defer interrupt()
	var out, errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &errs, formats: all.Formats(), garbage: new(gcTuning),
		ownFiles: new(written.List)}
	root := a.root()
	root.SetArgs([]string{"verify", "--follow", "--never", "C", path})
	if c := a.exitCode(ctx, root.ExecuteContext(ctx)); c != exitDefects || ctx.Err() != nil {
		t.Errorf("exit %d, %v, expected %d without an interrupt: %s%s", c, ctx.Err(), exitDefects, &out, &errs)
	}
	return errs.String()
}

// TestFollowEndsWhenDecided checks that following a file ends when all checks are decided, although the file does
// not grow any more.
func TestFollowEndsWhenDecided(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.etf")
	if err := os.WriteFile(path, []byte("TU SECONDS\nE 0 0 ; name=A\nE 1 1 ; name=C\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	followToEnd(t, path)
}

// TestFollowNamesCompression checks that weft verify --follow names the compression of a short file, instead of waiting
// for more of it. The file is an empty one that gzip 1.12 has compressed with -n.
func TestFollowNamesCompression(t *testing.T) {
	path := textFile(t, "a.etf.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	if errs := followToEnd(t, path); !strings.Contains(errs, "found a file of gzip") {
		t.Errorf("found %q, expected the name of the compression", errs)
	}
}

// TestFollowGrowingFile checks that verdicts on a file that grows are printed as soon as they are decided, and
// that an interrupt prints the others.
func TestFollowGrowingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.etf")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write := func(s string) {
		t.Helper()
		if _, err := file.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	r, w := io.Pipe()
	var errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: w, err: &errs, formats: all.Formats(), garbage: new(gcTuning),
		ownFiles: new(written.List)}
	root := a.root()
	root.SetArgs([]string{"verify", "--follow", "--never", "C", "--response", "A -> B within 5ms",
		"--always", "{'x'='1'}", path})
	code := make(chan int, 1)
	go func() {
		err := root.ExecuteContext(ctx)
		w.Close()
		code <- a.exitCode(ctx, err)
	}()
	printed := make(chan string, 100)
	go func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			printed <- s.Text()
		}
		close(printed)
	}()
	expect := func(want string) {
		t.Helper()
		for !strings.Contains(await.Receive(t, want, printed), want) {
		}
	}
	write("TU MILLISECONDS\nE 0 0 ; name=A, x=1\nE 1 4 ; name=B, x=1\nE 2 10 ; name=")
	write("A, x=1\n")
	write("E 3 16 ; name=D, x=1\n")
	expect("response is bad: ")
	expect("{'name' = 'B'} does not hold at the only event from 0.01 s within [0, 5 ms], nor up to 0.016 s")
	write("E 4 17 ; name=D\n")
	expect("always is bad: ")
	interrupt()
	expect("never is non-informative: globally not {'name' = 'C'}")
	if c := await.Receive(t, "the exit code", code); c != exitDefects {
		t.Errorf("exit %d, expected %d: %s", c, exitDefects, errs.String())
	}
}

// TestFollowOtherText checks that following a file ends with an error if the file is no longer the same text: it
// has been truncated, written again, or replaced by another file.
func TestFollowOtherText(t *testing.T) {
	const text = "TU SECONDS\nE 0 0 ; name=A\nE 1 1 ; name=A\n"
	for name, change := range map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(path, 11) },
		"written again": func(path string) error {
			return os.WriteFile(path, []byte(strings.ReplaceAll(text, "=A", "=X")+text[11:]), 0o644)
		},
		"replaced": func(path string) error {
			if err := os.WriteFile(path+"2", []byte(text+"E 2 2 ; name=X\n"), 0o644); err != nil {
				return err
			}
			return os.Rename(path+"2", path)
		},
	} {
		path := textFile(t, "a.etf", text)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		x := growingFile{File: f}
		b := make([]byte, 1000)
		n, err := x.Read(b)
		for ; n > 0 && err == nil; n, err = x.Read(b) {
		}
		if n != 0 || err != io.EOF {
			t.Fatalf("found %d bytes, %v, expected the end of the file", n, err)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if n, err := x.Read(b); n != 0 || err == nil || err == io.EOF {
			t.Errorf("%s: found %d bytes, %v, expected an error", name, n, err)
		} else if codeOf(err) != exitIO {
			t.Errorf("%s: found the exit code %d, expected %d", name, codeOf(err), exitIO)
		}
	}
}

// TestFollowEndsAtOtherText checks that weft verify --follow ends with the error of a truncated file.
func TestFollowEndsAtOtherText(t *testing.T) {
	path := textFile(t, "a.etf", "TU SECONDS\nE 0 0 ; name=A\nE 1 1 ; name=C\n")
	r, w := io.Pipe()
	var errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: w, err: &errs, formats: all.Formats(), garbage: new(gcTuning),
		ownFiles: new(written.List)}
	root := a.root()
	root.SetArgs([]string{"verify", "--follow", "--never", "C", "--never", "X", path})
	code := make(chan int, 1)
	go func() { code <- a.exitCode(t.Context(), root.ExecuteContext(t.Context())) }()
	b := make([]byte, 1000)
	if n, err := r.Read(b); !strings.Contains(string(b[:n]), "never1 is bad") { // weft has read the file
		t.Fatalf("found %q, %v, expected a verdict", b[:n], err)
	}
	go io.Copy(io.Discard, r)
	if err := os.Truncate(path, 11); err != nil {
		t.Fatal(err)
	}
	if c := await.Receive(t, "the exit code", code); c != exitIO {
		t.Errorf("exit %d, expected %d: %s", c, exitIO, errs.String())
	}
}
