package otf2

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestMetricWithoutValues checks an event of a metric that has no values. The model has no row for the event, so it is
// reported, also by commands other than check.
func TestMetricWithoutValues(t *testing.T) {
	definitions := append(letterDefinitions(),
		letterRecord(defMetricMember, letterNumbers(0, 1, 0), []byte{0, 0, typeUint64, 0}, letterNumbers(0, 0)),
		letterRecord(defMetricClass, letterNumbers(0), []byte{1}, letterNumbers(0), []byte{0, 2}))
	m := letterArchive(definitions...)
	m["t/0.evt"].Data = append(letterChunk(1, 3, letterTime(10), []byte{enter, 0},
		letterRecord(metricEvent, letterNumbers(0), []byte{0}), letterTime(40), []byte{leave, 0}), letterEnd...)
	n, rules, _ := scanned(t, format.Source{FS: m, Name: "t.otf2", Path: "t.otf2"}, nil)
	if n["metric"] != 0 || n["enter"] != 3 || rules != "otf2.value 1 " {
		t.Errorf("found %v and the rules %q, expected a value", n, rules)
	}
	// check, too, counts each of the two events once.
	m["t/0.evt"].Data = append(letterChunk(1, 4, letterTime(10), []byte{enter, 0},
		letterRecord(metricEvent, letterNumbers(0), []byte{0}), letterRecord(metricEvent, letterNumbers(0), []byte{0}),
		letterTime(40), []byte{leave, 0}), letterEnd...)
	_, defects := letterRead(t, m)
	if n := strings.Count(strings.Join(defects, "\n"), "otf2.value"); n != 2 {
		t.Errorf("found the defects %q, expected 2 of otf2.value", defects)
	}
}
