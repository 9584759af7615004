package pallas

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestPartInsteadOfMainFile checks the error for the file of an archive or thread in place of the main file. The file
// of thread 17 begins as a main file of ABI 17 does.
func TestPartInsteadOfMainFile(t *testing.T) {
	m := handMade{[]Record{Enter}, [][][]uint64{{{1}}}, [][]Token{{MakeToken(EventToken, 0)}}, nil,
		[]LocationGroup{{0, NoRef, NoRef}}, nil}.files()
	m["archive_0/thread_17/thread.pallas"] = m["archive_0/thread_0/thread.pallas"]
	b := append([]byte{17}, m["archive_0/thread_17/thread.pallas"].Data[1:]...)
	m["archive_0/thread_17/thread.pallas"].Data = b
	for name, want := range map[string]string{"archive_0/archive.pallas": "the file of an archive",
		"archive_0/thread_17/thread.pallas": "the file of a thread"} {
		_, err := Open(format.Source{FS: m, Name: name, Path: "x/" + name})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "main file") {
			t.Errorf("%s: found %v, expected %q", name, err, want)
		}
	}
	m["archive.pallas"] = m["main.pallas"]
	if _, err := Open(format.Source{FS: m, Name: "archive.pallas", Path: "archive.pallas"}); err != nil {
		t.Errorf("a main file of this name: %v", err)
	}
}
