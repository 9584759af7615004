package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// lossRow is a row of the loss table that a conversion prints.
type lossRow struct {
	Kind, Field, How string
	Count            int
}

// convertedLoss converts a trace and returns the rows of the loss table with a field.
func convertedLoss(t *testing.T, field string, args ...string) (rows []lossRow) {
	t.Helper()
	text := weft(t, 0, append([]string{"convert", "-q", "--json", "--allow-loss"}, args...)...)
	var all []lossRow
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Field == field {
			rows = append(rows, r)
		}
	}
	return rows
}

// TestLossOfMissingCommunicator checks that the loss table of OTF2 counts messages that get a communicator. otfprint
// shows one message without a process group, and otf2-print shows this message in a communicator.
func TestLossOfMissingCommunicator(t *testing.T) {
	path := "../../format/otf/testdata/ok/all_short/all_short.otf"
	text, _ := runTool(t, path, "otfprint")
	if text != nil && strings.Count(string(text), "Message: receiver 1, sender 2, group 0,") != 1 {
		t.Fatal("otfprint does not show one message without a group")
	}
	for how, flags := range map[string][]string{"weft only": nil, "degraded": {"--plain"}} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		rows := convertedLoss(t, "communicator", append(flags, path, out)...)
		if len(rows) != 1 || rows[0] != (lossRow{"recv", "communicator", how, 1}) {
			t.Errorf("found %v, expected one receive, %s", rows, how)
		}
		text, _ := runTool(t, out, "otf2-print")
		if text != nil && strings.Count(string(text), `Communicator: "all locations" <0>, Tag: 0, Length: 0`) != 1 {
			t.Error("otf2-print does not show the receive in a communicator")
		}
	}
}

// TestLossOfSilentLocations checks that the loss table of Pallas counts locations without events. Pallas' tools abort
// at a thread without events, so the trace has no thread for these. otfprint shows two processes, one without events.
func TestLossOfSilentLocations(t *testing.T) {
	path := "../../format/otf/testdata/ok/hand_both_z/hand_both_z.otf"
	text, _ := runTool(t, path, "otfprint")
	s := string(text)
	if text != nil && (strings.Count(s, "DefProcess:") != 2 || strings.Contains(s, "process 2, source")) {
		t.Fatal("otfprint does not show one process without events")
	}
	for how, flags := range map[string][]string{"weft only": nil, "lost": {"--plain"}} {
		out := filepath.Join(t.TempDir(), "x.pallas")
		rows := convertedLoss(t, "without events", append(flags, path, out)...)
		if len(rows) != 1 || rows[0] != (lossRow{"location and its name", "without events", how, 1}) {
			t.Errorf("found %v, expected one location, %s", rows, how)
		}
		if threads, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "archive_*", "thread_*")); len(threads) != 1 {
			t.Errorf("found threads %q, expected one", threads)
		}
	}
}
