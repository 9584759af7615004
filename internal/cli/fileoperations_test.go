package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestIOInOTF converts an archive with all events of I/O to OTF. The expected operations follow from the definition of
// OTF's codes and flags. Two operations that are open at the same time have the same number in OTF2, where numbers
// belong to handles; in OTF they must have different ones. In the way back, otf2-print must print the same events.
func TestIOInOTF(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in", "traces.otf2")
	out, err := exec.Command(pythonOTF2(t), "testdata/programs/iorecords.py", filepath.Dir(path)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	there, back := filepath.Join(t.TempDir(), "a.otf"), filepath.Join(t.TempDir(), "back.otf2")
	weft(t, 0, "convert", "-q", path, there)
	weft(t, 0, "convert", "-q", there, back)
	printed, _ := runTool(t, there, "otfprint")
	if printed == nil {
		t.Skip("otfprint is not installed")
	}
	rest := regexp.MustCompile(`\(#\d+\) \t|process 1, |, source 0.*|, stream 0|, group 0| ID`)
	var found []string
	for _, line := range strings.Split(string(printed), "\n") {
		if strings.Contains(line, "File") {
			found = append(found, rest.ReplaceAllString(line, ""))
		}
	}
	want := `DefFile: /etc/a, token 1
DefFile: /etc/b, token 2
DefFile: stdout, token 4026531841
1020 FileOperation: file 1, handle 0, operation OPEN, flags EMPTY, bytes 0, duration 0
1030 BeginFileOperation: matching 7
1040 EndFileOperation: file 1, matching 7, handle 0, operation WRITE, flags EMPTY, bytes 96
1050 BeginFileOperation: matching 8
1060 BeginFileOperation: matching 4294967297
1080 EndFileOperation: file 4026531841, matching 4294967297, handle 1, operation WRITE, flags COLL, bytes 50
1100 EndFileOperation: file 1, matching 8, handle 0, operation READ, flags ASYNC, bytes 150
1110 BeginFileOperation: matching 9
1120 EndFileOperation: file 1, matching 9, handle 0, operation SYNC, flags IOFAILED, bytes 0
1130 FileOperation: file 1, handle 0, operation SEEK, flags EMPTY, bytes 0, duration 0
1140 FileOperation: file 1, handle 0, operation LOCK, flags ISREADLOCK, bytes 0, duration 0
1150 FileOperation: file 1, handle 0, operation LOCK, flags IOFAILED, bytes 0, duration 0
1160 FileOperation: file 1, handle 0, operation UNLOCK, flags ISREADLOCK, bytes 0, duration 0
1180 FileOperation: file 1, handle 0, operation CLOSE, flags EMPTY, bytes 0, duration 0
1190 FileOperation: file 2, handle 0, operation UNLINK, flags EMPTY, bytes 0, duration 0`
	if got := strings.Join(found, "\n"); got != want {
		t.Errorf("otfprint prints\n%s\nexpected\n%s", got, want)
	}
	if out, _ := runTool(t, path, "otf2-print"); out == nil {
		t.Skip("otf2-print is not installed")
	}
	more, fewer := differences(toolLines(t, path, "otf2-print"), toolLines(t, back, "otf2-print"))
	if len(more)+len(fewer) > 0 {
		t.Errorf("otf2-print prints anew:\n%sand no longer:\n%s", strings.Join(more, ""), strings.Join(fewer, ""))
	}
}

// TestFileOperationsInOTF2 converts an OTF trace with operations on files to OTF2. OTF2 states the handle and the mode
// with the begin of an operation, OTF with its end. An operation with a duration has a begin and an end there. OTF2 has
// no record for a seek without a position. In the way back, otfprint must print the same.
func TestFileOperationsInOTF2(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf":   "1:1\n",
		".0.def": "DTR3b9aca00\nDP1NM\"p\"\nDF1G0NM\"main\"\nDFL1NM\"/etc/a\"G0\nDFL2NM\"/etc/b\"G0\n",
		".1.events": "3e8\n*1\nE1\n3f2\nFA1\n3fc\nFF1MI1H5OP0B0\n406\nFA2\n410\nFA3\n41a\nFF1MI3H5OP42B4d\n424\n" +
			"FF2MI2H6OP83B58\n42e\nFA4\n438\nFF1MI4H5OP4B0\n442\nFF1MI5H5OP29B0\n44c\nF1H5OP3B21Df\n456\nF1H5OP5B0Df\n460\n" +
			"F2H5OP2B22Df\n46a\nFF1MI6H5OP1B0\n474\nFA7\n47e\nFF1MI8H5OP409B0\n488\nFF1MI9H5OP40aB0\n492\nL1\n"})
	there, back := filepath.Join(t.TempDir(), "a.otf2"), filepath.Join(t.TempDir(), "back.otf")
	weft(t, 0, "convert", "-q", path, there)
	weft(t, 0, "convert", "-q", there, back)
	printed, _ := runTool(t, there, "otf2-print")
	if printed == nil {
		t.Skip("otf2-print is not installed")
	}
	spaces := regexp.MustCompile(` +`)
	var found []string
	for _, line := range strings.Split(string(printed), "\n") {
		if strings.HasPrefix(line, "IO_") {
			line = strings.NewReplacer("IO_OPERATION_", "", "Creation Flags: NONE, ", "",
				"Operation Flags", "Flags", " Matching Id: ", " ").Replace(line)
			found = append(found, spaces.ReplaceAllString(line, " "))
		}
	}
	want := `IO_CREATE_HANDLE 0 1020 Handle: "handle 5" <0>, Access Mode: READ_WRITE, Status Flags: NONE
BEGIN 0 1030 Handle: "handle 6" <1>, Mode: WRITE, Flags: {COLLECTIVE}, Bytes Request: 88, 2
BEGIN 0 1040 Handle: "handle 5" <0>, Mode: READ, Flags: {NON_BLOCKING}, Bytes Request: 77, 3
COMPLETE 0 1050 Handle: "handle 5" <0>, Bytes Result: 77, 3
COMPLETE 0 1060 Handle: "handle 6" <1>, Bytes Result: 88, 2
IO_TRY_LOCK 0 1090 Handle: "handle 5" <0>, Type: EXCLUSIVE
BEGIN 0 1100 Handle: "handle 5" <0>, Mode: WRITE, Flags: NONE, Bytes Request: 33, 4294967297
IO_DELETE_FILE 0 1110 I/O Paradigm: "POSIX I/O" <0>, File: "file:///etc/a" <0>
COMPLETE 0 1115 Handle: "handle 5" <0>, Bytes Result: 33, 4294967297
BEGIN 0 1120 Handle: "handle 5" <2>, Mode: READ, Flags: NONE, Bytes Request: 34, 4294967298
IO_DESTROY_HANDLE 0 1130 Handle: "handle 5" <0>
COMPLETE 0 1135 Handle: "handle 5" <2>, Bytes Result: 34, 4294967298
IO_ACQUIRE_LOCK 0 1150 Handle: "handle 5" <0>, Type: SHARED
IO_RELEASE_LOCK 0 1160 Handle: "handle 5" <0>, Type: SHARED`
	if got := strings.Join(found, "\n"); got != want {
		t.Errorf("otf2-print prints\n%s\nexpected\n%s", got, want)
	}
	if out, _ := runTool(t, path, "otfprint"); out == nil {
		t.Skip("otfprint is not installed")
	}
	number := regexp.MustCompile(`^\(#\d+\) \t`)
	lines := func(path string) map[string]int {
		m := map[string]int{}
		for line, n := range toolLines(t, path, "otfprint") {
			if line = number.ReplaceAllString(line, ""); !strings.HasPrefix(line, "Def") {
				m[line] += n
			}
		}
		return m
	}
	if more, fewer := differences(lines(path), lines(back)); len(more)+len(fewer) > 0 {
		t.Errorf("otfprint prints anew:\n%sand no longer:\n%s", strings.Join(more, ""), strings.Join(fewer, ""))
	}
}
