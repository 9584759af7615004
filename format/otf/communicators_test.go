package otf

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestIntercommunicator checks a communicator between two groups, as OTF2 defines it. The sender and the receiver
// of a message are in different groups. So the process group of the communicator has the processes of both groups.
func TestIntercommunicator(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	for _, name := range []string{"a", "b", "c"} {
		r.Location(name)
	}
	d := r.Defs()
	for i, members := range [][]int64{{0}, {2, 1}} {
		d.Sets.Add(trace.Set{ID: string(rune('5' + i)), Kind: "locations", Members: members})
	}
	d.Communicator.Add(trace.Communicator{ID: "1", Name: "between", Set: 0, Parent: trace.NoRef,
		Attrs: []trace.Attr{{Key: trace.OtherGroupAttribute, Value: trace.Value{Num: 1, Type: trace.GroupRef}}}})
	r.Event(0, 5, trace.Send, trace.NoRef, []uint64{2, 0, 1, 8})
	text := printed(t, r)
	// The locations 0, 1 and 2 are the processes 1, 2 and 3.
	for _, want := range []string{"name \"between\", procs 1, 3, 2\n", "SendMessage: sender 1, receiver 3, group 1,"} {
		if !strings.Contains(text, want) {
			t.Errorf("otfprint: found\n%s\nexpected %q", text, want)
		}
	}
}

// TestParentsOfThreads checks that the threads of a process refer to its first thread, because OTF has no other
// processes. So readers know which threads share memory.
func TestParentsOfThreads(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	machine := r.Machine("m")
	for _, name := range []string{"a", "b"} {
		process := r.Process(name, machine)
		r.Thread(name+"1", process)
		r.Thread(name+"2", process)
	}
	text := printed(t, r)
	// The four threads are the processes 1 to 4.
	for _, want := range []string{"process 1, name \"a1\", parent 0\n", "process 2, name \"a2\", parent 1\n",
		"process 3, name \"b1\", parent 0\n", "process 4, name \"b2\", parent 3\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("otfprint: found\n%s\nexpected %q", text, want)
		}
	}
}

// printed writes a trace as OTF, and returns what otfprint prints.
func printed(t *testing.T, r *trace.Recorder) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.otf")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := Format{}.Create(out, &format.WriteOptions{})
	if err == nil {
		err = format.Convert(t.Context(), format.Recorded(r), trace.Everything(), enc)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(tool(t, "otfprint"), path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
