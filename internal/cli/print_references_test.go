package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// referencesProgram writes an archive with attributes that refer to definitions, and with samples. The ids of the
// definitions differ from their positions among those of weft's model: a group of locations precedes the node.
const referencesProgram = `
import sys, otf2
from otf2.enums import *
with otf2.writer.open(sys.argv[1], timer_resolution=1000) as t:
    d = t.definitions
    node = d.system_tree_node("node A")
    process = d.location_group("process A", system_tree_parent=node)
    location = d.location("thread A", group=process)
    locations = d.group("locations", GroupType.COMM_LOCATIONS, Paradigm.MPI, GroupFlag.NONE, [location])
    members = d.group("members", GroupType.COMM_GROUP, Paradigm.MPI, GroupFlag.NONE, [location])
    comm = d.comm("world", members)
    region = d.region("work")
    context = d.calling_context(region, None, None)
    d.interrupt_generator("cycles", InterruptGeneratorMode.COUNT, Base.BINARY, 20, 1)
    timer = d.interrupt_generator("timer 10ms", InterruptGeneratorMode.TIME, Base.DECIMAL, -3, 10)
    window = d.rma_win("window A", comm)
    values = {d.attribute("to " + str(kind), type=kind): value for kind, value in [(Type.LOCATION, location),
        (Type.REGION, region), (Type.GROUP, members), (Type.COMM, comm), (Type.RMA_WIN, window),
        (Type.CALLING_CONTEXT, context), (Type.INTERRUPT_GENERATOR, timer), (Type.LOCATION_GROUP, process)]}
    w = t.event_writer_from_location(location)
    for i, (a, v) in enumerate(values.items()):
        w.enter(2 * i, region, attributes={a: v})
        w.leave(2 * i + 1, region)
    w.calling_context_sample(100, context, 1, timer)
    posix = d.io_paradigm("POSIX", "POSIX I/O", IoParadigmClass.SERIAL, IoParadigmFlag.NONE)
    file = d.io_regular_file("/data", node)
    handles = [d.io_handle(name, file, posix, IoHandleFlag.NONE, None) for name in ("log", "copied log")]
    w.io_duplicate_handle(110, handles[0], handles[1], IoStatusFlag.APPEND)
    w.rma_group_sync(120, RmaSyncLevel.PROCESS, window, members)
`

// TestPrintReferences checks that print shows names where attributes refer to definitions, and names of interrupt
// generators, duplicated handles and groups.
// The official bindings of OTF2 write the archive with these names.
func TestPrintReferences(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	out, err := exec.Command("/usr/bin/python3", "-c", referencesProgram, dir).CombinedOutput()
	if err != nil {
		t.Skipf("python3-otf2 is not installed: %s", out)
	}
	path := filepath.Join(dir, "traces.otf2")
	text, json := weft(t, exitGood, "print", "-q", path), weft(t, exitGood, "print", "-q", "--json", path)
	for _, name := range []string{"thread A", "work", "members", "world", "window A", "work", "timer 10ms", "process A"} {
		quoted := name
		if strings.Contains(name, " ") {
			quoted = fmt.Sprintf("%q", name)
		}
		if !strings.Contains(text, "="+quoted+"\n") {
			t.Errorf("no attribute is %s in\n%s", name, text)
		}
		if name != "thread A" && !strings.Contains(json, fmt.Sprintf("%q}}", name)) {
			t.Errorf("no attribute is %s in\n%s", name, json)
		}
	}
	if !strings.Contains(text, "generator=timer 10ms") ||
		!strings.Contains(json, `"generator":1,"generatorName":"timer 10ms"`) {
		t.Errorf("the sample has no name of the interrupt generator in\n%s%s", text, json)
	}
	for _, end := range []string{"io-handle-duplicate  log  copy=copied log  status=append\n",
		"rma-group-sync  window A  level=process  group=members\n"} {
		if !strings.Contains(text, end) {
			t.Errorf("no event ends in %q in\n%s", end, text)
		}
	}
	edited := filepath.Join(t.TempDir(), "edited.otf2")
	weft(t, exitGood, "filter", "-q", "--not-kind", "context-sample", path, edited)
	if printed, _ := runTool(t, edited, "otf2-print"); printed != nil &&
		!strings.Contains(string(printed), `INTERRUPT_GENERATOR; "timer 10ms" <1>`) {
		t.Errorf("after filter, otf2-print prints no attribute of an interrupt generator:\n%s", printed)
	}
}
