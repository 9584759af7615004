package cli

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const handTrace = "../../analysis/waits/testdata/hand/traces.otf2"

// TestWaitsOfRegions checks the waits in visits of some regions. The expected figures, in microseconds, are those of
// Scalasca's analyser.
func TestWaitsOfRegions(t *testing.T) {
	for _, x := range []struct {
		args []string
		want map[string]int
	}{
		{[]string{"--region", "MPI_Recv"}, map[string]int{"late-sender": 600}},
		{[]string{"--region", "MPI_Barrier,MPI_Recv"}, map[string]int{"late-sender": 600, "wait-at-barrier": 300}},
		{[]string{"--region", "MPI_Allre*"}, map[string]int{"wait-at-nxn": 250}},
		{[]string{"--region", "work"}, map[string]int{}},
	} {
		args := append(append([]string{"waits", "-q", "--csv"}, x.args...), handTrace)
		rows, err := csv.NewReader(strings.NewReader(weft(t, exitGood, args...))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, row := range rows[1:] {
			seconds, err := strconv.ParseFloat(row[4], 64)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(row[0], "-completion") {
				found[row[0]] += int(seconds*1e6 + 0.5)
			}
		}
		for name, n := range x.want {
			if found[name] != n {
				t.Errorf("%v: found %d µs of %s, expected %d", x.args, found[name], name, n)
			}
		}
		if len(found) != len(x.want) {
			t.Errorf("%v: found %v, expected %v", x.args, found, x.want)
		}
	}
	for _, flag := range []string{"--causes", "--cube=x.cubex"} {
		weft(t, exitUsage, "waits", "--region", "MPI_Recv", flag, handTrace)
	}
}

// TestAnalysesOfParts checks that path, efficiency and explain can be limited to a window, and to some locations.
func TestAnalysesOfParts(t *testing.T) {
	length := func(args ...string) (n int64) {
		var x struct{ Length json.Number }
		if err := json.Unmarshal([]byte(weft(t, exitGood, append(append([]string{"path", "-q", "--json"}, args...),
			handTrace)...)), &x); err != nil {
			t.Fatal(err)
		}
		n, err := x.Length.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// The whole has a length of 1730 µs (the analyser's critical_path), and its path stays within both halves.
	if whole, first, second := length(), length("--window", "..50%"), length("--window", "50%.."); whole != 1730 ||
		first+second != whole {
		t.Errorf("found paths of %d, %d and %d µs, expected 1730, and halves that add up to it", whole, first, second)
	}
	threads := func(command string, args ...string) int {
		var x struct {
			Threads int
			Ran     struct{ Threads int }
		}
		if err := json.Unmarshal([]byte(weft(t, exitGood, append(append([]string{command, "-q", "--json"}, args...),
			handTrace)...)), &x); err != nil {
			t.Fatal(err)
		}
		return max(x.Threads, x.Ran.Threads)
	}
	for _, command := range []string{"efficiency", "explain"} {
		list := []int{threads(command), threads(command, "--location", "0"), threads(command, "--location", "0,1"),
			threads(command, "--window", "20%..60%", "--location", "1")}
		if want := []int{3, 1, 2, 1}; !slices.Equal(list, want) {
			t.Errorf("%s: found %d threads, expected %d", command, list, want)
		}
	}
}
