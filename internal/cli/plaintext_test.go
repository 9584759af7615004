package cli

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// writeTraceWithNames writes a trace in which all names end with the same text.
func writeTraceWithNames(t *testing.T, end string) string {
	t.Helper()
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("a"+end), r.Location("b"+end)
	outer, inner := r.Region("outer"+end), r.Region("inner"+end)
	note := trace.Attr{Key: "key" + end, Value: trace.StringValue("value" + end)}
	r.Enter(a, 0, outer, note)
	r.Enter(b, 0, outer)
	r.Enter(a, 2, inner)
	r.Event(a, 3, trace.Send, trace.NoRef, []uint64{uint64(b), trace.Undefined, 7, 64}, note)
	r.Event(b, 5, trace.Recv, trace.NoRef, []uint64{uint64(a), trace.Undefined, 7, 64})
	r.Leave(a, 6, inner)
	r.Leave(a, 9, outer)
	r.Leave(b, 9, outer)
	r.Defs().Properties.Add(trace.Attr{Key: "property" + end, Value: trace.StringValue("text" + end)})
	path := filepath.Join(t.TempDir(), "named.otf2")
	f, _ := format.ByExtension(all.Formats(), path)
	if err := format.Save(context.Background(), path, f, r); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestControls checks that control characters in names neither move the cursor of a terminal nor begin a line. The
// output must have as many lines as that for a trace with harmless names.
func TestControls(t *testing.T) {
	const evil = "\n\x1b[2J\r\t\u009b1m\u202e!"
	bad, good := writeTraceWithNames(t, evil), writeTraceWithNames(t, "!")
	for _, args := range [][]string{
		{"info"}, {"info", "--definitions"}, {"comm"}, {"messages"}, {"messages", "--list"}, {"print"}, {"structure"},
		{"usage"}, {"states"},
		{"profile"}, {"profile", "--by", "location"}, {"profile", "--tree"}, {"profile", "--tree", "--by", "location"},
		{"profile", "--folded", "--by", "location"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			got, want := weft(t, 0, append(args, "-q", bad)...), weft(t, 0, append(args, "-q", good)...)
			for _, c := range got {
				if unicode.IsControl(c) && c != '\n' || unicode.Is(unicode.Bidi_Control, c) {
					t.Errorf("found %U in %q", c, got)
					break
				}
			}
			if n, m := strings.Count(got, "\n"), strings.Count(want, "\n"); n != m {
				t.Errorf("found %d lines, want %d:\n%s", n, m, got)
			}
			if strings.Contains(want, "outer!") && !strings.Contains(got, `outer\n\x1b[2J\r\t\u009b1m\u202e!`) {
				t.Errorf("found no escaped name in\n%s", got)
			}
		})
	}
}

// TestPlain checks that harmless text of any script stays unchanged.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "main": "main", `C:\path "x"`: `C:\path "x"`,
		"größe 测量 µs – ∞": "größe 测量 µs – ∞", "a\u202fb": "a\u202fb",
		"\ufffd": "\ufffd",
		"a\nb":   `a\nb`, "\x1b]0;x\x07": `\x1b]0;x\a`, "\x00\x7f": `\x00\x7f`, "\u0085": `\u0085`, "x\xffy": `x\xffy`,
		"\u2067rtl\u2069": `\u2067rtl\u2069`,
	} {
		if got := plain(in); got != want {
			t.Errorf("%q: found %q, want %q", in, got, want)
		}
		if got := string(plainTail([]byte("\n"+in), 1)); got != "\n"+want {
			t.Errorf("after another line, %q: found %q, want %q", in, got, want)
		}
	}
	if got := plainLines("one\x1b\ntwo"); got != "one\\x1b\ntwo" {
		t.Errorf("found %q", got)
	}
}

// TestIsPlain checks, for random texts, that exactly the texts that appendPlain does not change are plain.
func TestIsPlain(t *testing.T) {
	parts := []string{"a", "main", "~", " ", "·", "测", "µ", "\u05ff", "\u061c", "\u0627", "\u200e", "\u202f", "\u2066",
		"\u206a", "\ufffd", "\U0001f9f5", "\x7f", "\x1f", "\u009f", "\u00a0", "\xff", "\xe6\xb5", "0123456789"}
	random := rand.New(rand.NewPCG(1, 4))
	for range 20000 {
		text := ""
		for range random.IntN(9) {
			text += parts[random.IntN(len(parts))]
		}
		if got, want := isPlain([]byte(text)), string(appendPlain(nil, []byte(text))) == text; got != want {
			t.Fatalf("%q: found %t, expected %t", text, got, want)
		}
	}
}
