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
	// The locations 0, 1 and 2 are the processes 1, 2 and 3.
	for _, want := range []string{"name \"between\", procs 1, 3, 2\n", "SendMessage: sender 1, receiver 3, group 1,"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("otfprint: found\n%s\nexpected %q", text, want)
		}
	}
}
