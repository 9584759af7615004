package picl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tables7To13 holds Tables 6 to 13 of the report: the data fields of the entry and of the exit of each event type
// for which PICL writes records. The names are weft's. An event type with a text has it as the only field of
// the entry.
var tables7To13 = []struct {
	event, entry, exit string
	text               bool
}{
	{"-1", "", "", false},
	{"-11", "", "", false},
	{"-12", "", "", false},
	{"-21", "length type destination destinationProcess", "", false},
	{"-27", "length type destination destinationProcess", "request", false},
	{"-28", "request", "", false},
	{"-30", "request", "", false},
	{"-31", "request", "", false},
	{"-51", "requestedType requestedProcessor requestedProcess", "length type source sourceProcess", false},
	{"-52", "requestedType requestedProcessor requestedProcess", "length type source sourceProcess", false},
	{"-56", "requestedType requestedProcessor requestedProcess", "length type source sourceProcess", false},
	{"-57", "requestedType requestedProcessor requestedProcess", "request", false},
	{"-58", "request", "length type source sourceProcess", false},
	{"-60", "request", "length type source sourceProcess", false},
	{"-61", "request", "length type source sourceProcess", false},
	{"-201", "name", "descriptor", true},
	{"-202", "descriptor", "", false},
	{"-221", "length descriptor", "", false},
	{"-251", "", "length descriptor", false},
	{"-401", "processorSubset processSubset", "", false},
	{"-402", "processorSubset processSubset", "", false},
	{"-501", "requested", "allocated", false},
	{"-502", "", "", false},
	{"-503", "name", "processor process", true},
	{"-601", "", "", false},
	{"-602", "", "", false},
	{"-603", "", "", false},
	{"-901", "", "", false},
	{"-902", "events", "", false},
	{"-903", "", "", false},
	{"-904", "piclLevel userLevel traceLevel", "", false},
	{"-911", "length", "", false},
	{"-912", "", "length", false},
	{"-913", "", "", false},
	{"-914", "", "", false},
}

// TestFields_2_3_3 checks the names of the data fields of entries, exits and marks. A mark has the fields of the
// entry followed by those of the exit, and fields at the end of a record may be missing.
func TestFields_2_3_3(t *testing.T) {
	for _, x := range tables7To13 {
		entry, exit := strings.Fields(x.entry), strings.Fields(x.exit)
		mark := slices.Concat(entry, exit)
		for typ, names := range map[string][]string{"-3": entry, "-4": exit, "-2": mark} {
			if x.text && typ != "-4" {
				checkFields(t, "-3 "+x.event+" 0.1 0 0 6 0 data.c\n", []string{`name:string="data.c"`})
				continue
			}
			for n := range len(names) + 1 {
				text, want := fmt.Sprintf("%s %s 0.1 0 0 %d", typ, x.event, n), []string(nil)
				for i, name := range names[:n] {
					if i == 0 {
						text += " 2"
					}
					text += fmt.Sprintf(" %d", 10+i)
					want = append(want, fmt.Sprintf(`%s:int32="%d"`, name, 10+i))
				}
				checkFields(t, text+"\n", want)
			}
		}
	}
}

// checkFields compares the attributes of a record with those that are wanted.
func checkFields(t *testing.T, text string, want []string) {
	t.Helper()
	_, rows, rules := opened(t, text, map[string]string{"picl.marks": "messages"})
	var got []string
	for _, r := range rows {
		if !strings.HasSuffix(r, " derived") {
			_, r, _ = strings.Cut(r, `"(`)
			got = append(got, strings.Fields(r)[1:]...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s%s", text, diff)
	}
	for _, r := range rules {
		if !strings.HasPrefix(r, "trace.") && !strings.HasPrefix(r, "picl.undefined") {
			t.Errorf("%sfound %s, expected no defect", text, r)
		}
	}
}

// TestSubsets_2_3_2 checks the event types of the predefined subsets (Table 5): the count of a subset includes a
// mark of its first and of its last event type, and none of their neighbours.
func TestSubsets_2_3_2(t *testing.T) {
	for _, x := range []struct {
		subset  string
		in, out []int
	}{
		{"-1001", []int{0, 1, 123456}, []int{-2, -11, -901, -1000}},
		{"-1002", []int{-2, -11, -901, -1000}, []int{0, 1}},
		{"-1011", []int{-11, -200}, []int{-10, -201}},
		{"-1012", []int{-21, -50}, []int{-20, -51}},
		{"-1013", []int{-51, -80}, []int{-50, -81}},
		{"-1014", []int{-31, -52, -56, -61}, []int{-30, -51, -55, -57, -60, -62}},
		{"-1201", []int{-201, -400}, []int{-200, -401}},
		{"-1401", []int{-401, -500}, []int{-400, -501}},
		{"-1501", []int{-501, -600}, []int{-500, -601}},
		{"-1601", []int{-601, -700}, []int{-600, -701}},
		{"-1901", []int{-901, -1000}, []int{-900, -1001}},
		{"-1902", []int{-911, -912}, []int{-910, -913}},
	} {
		for in, events := range map[bool][]int{true: x.in, false: x.out} {
			for _, event := range events {
				if event == -913 || event == -901 {
					continue // events of these types also determine which events have records
				}
				// The count 0 is too small for a mark that belongs to the subset. A greater count may include event types
				// without records.
				_, _, rules := opened(t, fmt.Sprintf("-2 %d 0.1 0 0 0\n-102 -1 0.2 0 0 1 \"%%d%%d\" %s 0\n", event, x.subset), nil)
				if got := slices.Contains(rules, "picl.statistics × 1"); got != in {
					t.Errorf("subset %s, event type %d: found %v, expected a defect: %v", x.subset, event, rules, in)
				}
			}
		}
	}
}

// TestVolumes_2_3_7 checks the event types that have a volume statistic: those with a length, and -503, whose
// volume is the number of processes.
func TestVolumes_2_3_7(t *testing.T) {
	for _, x := range []struct {
		event, entry, exit string
		volume             int
	}{
		{"-21", "3 2 40 1 1", "0", 40},
		{"-27", "3 2 40 1 1", "1 2 1", 40},
		{"-51", "1 2 1", "3 2 40 1 1", 40},
		{"-52", "1 2 1", "3 2 40 1 1", 40},
		{"-56", "1 2 1", "3 2 40 1 1", 40},
		{"-58", "1 2 1", "3 2 40 1 1", 40},
		{"-60", "1 2 1", "3 2 40 1 1", 40},
		{"-61", "1 2 1", "3 2 40 1 1", 40},
		{"-221", "2 2 40 3", "0", 40},
		{"-251", "0", "2 2 40 3", 40},
		{"-503", "5 0 a.out", "2 2 1 0", 1},
		{"-911", "1 2 40", "0", 40},
		{"-912", "0", "1 2 40", 40},
	} {
		for _, volume := range []int{x.volume, x.volume + 1, -1} {
			_, _, rules := opened(t, fmt.Sprintf("-3 %s 0.1 0 0 %s\n-4 %s 0.2 0 0 %s\n-103 -1 0.2 0 0 1 \"%%d%%d\" %s %d\n",
				x.event, x.entry, x.event, x.exit, x.event, volume), nil)
			// -1 is a volume that was not measured.
			want := volume != x.volume && volume != -1
			if got := slices.Contains(rules, "picl.statistics × 1"); got != want {
				t.Errorf("volume %d of %s: found %v, expected a defect: %v", volume, x.event, rules, want)
			}
		}
	}
}

// TestMessages_2_3_6 checks records of type -7. Their data are characters, and may be about no event type.
func TestMessages_2_3_6(t *testing.T) {
	for data, want := range map[string]string{
		"11 0 hello world": `text:string="hello world"`, `5 "%c" a b c`: `text:string="a b c"`,
		"3 0 a b c": `text:string="abc"`, "1 1 word": `text:string="word"`, "0": "",
	} {
		_, rows, rules := opened(t, "-7 -1 0.1 0 0 "+data+"\n", nil)
		if len(rows) != 1 || strings.TrimSpace(rows[0]) != strings.TrimSpace("1 0/0 comment "+want) || len(rules) > 0 {
			t.Errorf("%s: found %q, %v, expected %s", data, rows, rules, want)
		}
	}
}

// TestBytesOfOperationsWithoutSubset checks that operations have the number of bytes of their entries although no
// record defines the subset of their communicator: a broadcast of 8 bytes from processor 0 to processor 1, and a
// reduction of 5 bytes to processor 1.
func TestBytesOfOperationsWithoutSubset(t *testing.T) {
	_, rows, _ := opened(t, "-3 -785 0.1 0 0 3 2 8 0 9\n-3 -785 0.1 1 0 3 2 8 0 9\n-4 -785 0.2 0 0 0\n"+
		"-4 -785 0.2 1 0 0\n-3 -790 0.3 0 0 3 2 5 1 9\n-4 -790 0.4 0 0 0\n", nil)
	var got []string
	for _, r := range rows {
		if _, operands, ok := strings.Cut(r, "collective-end "); ok {
			got = append(got, operands)
		}
	}
	want := []string{"operation=1 communicator=-1 root=-1 sent=8 received=0 derived",
		"operation=1 communicator=-1 root=-1 sent=0 received=8 derived",
		"operation=12 communicator=-1 root=-1 sent=5 received=0 derived"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
