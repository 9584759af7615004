package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestOccurrenceNumberTooLarge checks that a number of --occurrence or --event that exceeds an int is
// reported as a number, not as a part of a name.
func TestOccurrenceNumberTooLarge(t *testing.T) {
	t.Setenv("WEFT_CACHE", t.TempDir())
	t.Chdir(t.TempDir())
	weft(t, exitGood, "generate", "--workload", "ring", "--locations", "2", "--events", "100", "in.otf2")
	for _, flag := range []string{"--occurrence=MPI_Recv", "--event=send"} {
		for _, n := range []string{"99999999999999999999", "-99999999999999999999"} {
			var out, errs bytes.Buffer
			args := []string{"cut", "--margin=1ms", flag + "#" + n, "in.otf2", "out.otf2"}
			if code := Main(args, strings.NewReader(""), &out, &errs); code != exitUsage {
				t.Errorf("%s#%s: exit code %d, want %d", flag, n, code, exitUsage)
			}
			if want := "found number " + n + ", expected 1 to 9223372036854775807"; !strings.Contains(errs.String(), want) {
				t.Errorf("%s#%s: found %q, expected %q", flag, n, &errs, want)
			}
		}
	}
}
