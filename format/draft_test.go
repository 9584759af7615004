package format_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestDraft checks a file whose head is written first as a guess. For each guess, the file must have head,
// body and tail, and no other file may remain in the directory.
func TestDraft(t *testing.T) {
	for _, x := range []struct{ name, guess, head string }{
		{"none", "", "head\n"}, {"right", "head\n", "head\n"}, {"other", "hxxd\n", "head\n"},
		{"longer", "head\nhead\n", "head\n"}, {"shorter", "h", "head\n"},
	} {
		for _, insert := range []bool{false, true} {
			for _, stream := range []bool{false, true} {
				dir := t.TempDir()
				path := filepath.Join(dir, "out")
				var buf bytes.Buffer
				out := format.StreamOutput(&buf)
				if !stream {
					var err error
					if out, err = format.CreateFile(path); err != nil {
						t.Fatal(err)
					}
				}
				d := format.NewDraft(out)
				if x.name != "none" {
					if err := d.Guess([]byte(x.guess)); err != nil {
						t.Fatal(err)
					}
				}
				var want strings.Builder
				want.WriteString(x.head)
				for i := range 20000 {
					line := "line " + string(rune('a'+i%26)) + "\n"
					if i == 7 && insert {
						if err := d.Insert(d.Size(), []byte("inserted\n")); err != nil {
							t.Fatal(err)
						}
						want.WriteString("inserted\n")
					}
					d.Write([]byte(line))
					want.WriteString(line)
				}
				err := d.Finish([]byte(x.head))
				d.Close()
				if err == nil {
					_, err = out.Write([]byte("tail\n"))
				}
				if err == nil {
					err = out.Commit()
				}
				if err != nil {
					t.Fatal(err)
				}
				got := buf.Bytes()
				if !stream {
					got, _ = os.ReadFile(path)
					if l, _ := os.ReadDir(dir); len(l) != 1 {
						t.Errorf("%s: %d files", x.name, len(l))
					}
				}
				want.WriteString("tail\n")
				if string(got) != want.String() {
					t.Errorf("%s, insert %t, stream %t: %d bytes, want %d, or others", x.name, insert, stream, len(got), want.Len())
				}
			}
		}
	}
}
