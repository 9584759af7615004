package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestPruneKeepsUndefinedCommunicators checks that filter --prune, which encodes a whole trace of Pallas, keeps the
// ranks and the communicators of events whose communicator the trace does not define. The program that wrote the trace
// used rank 1 and communicator 2 for all of them.
func TestPruneKeepsUndefinedCommunicators(t *testing.T) {
	path := "../../format/pallas/testdata/ok/allrecords/trace/main.pallas"
	out := filepath.Join(t.TempDir(), "out.pallas")
	again := filepath.Join(t.TempDir(), "again.pallas")
	weft(t, exitGood, "filter", "-q", "--prune", "--min-duration", "0", path, out)
	weft(t, exitGood, "filter", "-q", "--prune", "--min-duration", "0", out, again)
	message := regexp.MustCompile(`(MPI_\w+)\((?:dest=|src=|op=)1, comm=2,`)
	want := []string{"MPI_SEND", "MPI_ISEND", "MPI_RECV", "MPI_IRECV", "MPI_COLLECTIVE_END"}
	for _, p := range []string{path, out, again} {
		var got []string
		for _, m := range message.FindAllStringSubmatch(weft(t, exitGood, "print", "-q", "--compat", p), -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: rank 1 and communicator 2 in %q, expected %q", p, got, want)
		}
		if a, b := weft(t, exitGood, "print", "-q", path), weft(t, exitGood, "print", "-q", p); a != b {
			t.Errorf("%s: weft print shows\n%s\nexpected\n%s", p, b, a)
		}
	}
}
