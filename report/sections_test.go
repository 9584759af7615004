package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/trace"
)

// handReport returns the report of a trace of 100 ticks of 1 ms with the locations a, b and c.
func handReport() *Report {
	r := emptyReport()
	first, last := int64(1000), int64(1100)
	r.Info.First, r.Info.Last = &first, &last
	r.LocationName = func(loc uint32) string { return string(rune('a' + loc)) }
	return r
}

// lines returns the facts and the rows of the tables of a section, each as a line with a bar between the cells.
func lines(s section) (l []string) {
	join := func(cells []cell) string {
		texts := make([]string, len(cells))
		for i := range cells {
			texts[i] = cells[i].Text
		}
		return strings.Join(texts, " | ")
	}
	for _, f := range s.Facts {
		l = append(l, f.Name+": "+join(f.Values))
	}
	for _, t := range s.Tables {
		if t.Title != "" {
			l = append(l, "# "+t.Title)
		}
		for _, row := range t.Rows {
			l = append(l, join(row))
		}
		if t.More != "" {
			l = append(l, t.More)
		}
	}
	return l
}

// expectLines compares the lines of a section. In columns of numbers, all cells must be numbers.
func expectLines(t *testing.T, s section, want ...string) {
	t.Helper()
	for _, x := range s.Tables {
		for _, row := range x.Rows {
			for i, c := range row {
				if x.Head[i].Number && c.Text != "" && !c.Number {
					t.Errorf("found %q in a column of numbers", c.Text)
				}
			}
		}
	}
	if got := lines(s); !slices.Equal(got, want) {
		t.Errorf("found\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// duration returns n durations, given their sum, the least and the greatest one.
func duration(n, sum, least, most int64) collectives.Durations {
	return collectives.Durations{Count: n, Sum: trace.TicksOf(sum), Min: least, Max: most}
}

// TestMessagesSection checks the facts about messages, without those that are 0, and the pairs in the order of their
// bytes, and then of their messages.
func TestMessagesSection(t *testing.T) {
	r := handReport()
	latency := messages.Transfer{Count: 2, Sum: trace.TicksOf(5), Min: 1, Max: 4}
	r.Messages = &messages.Result{Sent: 6, SentBytes: 2000, Received: 4, ReceivedBytes: 1500, Matched: 3,
		MatchedBytes: 1, SendsUnmatched: 3, ReceivesUnmatched: 1, Early: 2,
		Latency: &messages.Latency{Transfer: latency, Median: 2, P99: 3},
		Matrix: []messages.Cell{{Source: 0, Destination: 1, Count: 1, Bytes: 500},
			{Source: 1, Destination: 2, Count: 2, Bytes: 500, Latency: &latency},
			{Source: 2, Destination: trace.NoRef, Count: 3, Bytes: 1000}}}
	s := r.messages()
	expectLines(t, s, "Sent: 6 | 2.0 KiB", "Received: 4 | 1.5 KiB", "Matched: 3 | 1 byte", "Sent, never received: 3",
		"Received, never sent: 1", "Received before sent: 2", "Least latency: 1 ms", "Median latency: 2 ms",
		"Mean latency: 2.5 ms", "99 % below: 3 ms", "Greatest latency: 4 ms", "# Pairs with most bytes",
		"c | not known | 3 | 1\u202f000 | 50.0 % | – | – | –", "b | c | 2 | 500 | 25.0 % | 1 ms | 2.5 ms | 4 ms",
		"a | b | 1 | 500 | 25.0 % | – | – | –")
	if !strings.Contains(s.Remark, "clocks differ") {
		t.Errorf("found the remark %q, expected that clocks differ", s.Remark)
	}
	r.Messages = &messages.Result{}
	if s := r.messages(); s.ID != "" {
		t.Errorf("found a section about no messages")
	}
}

// TestHeat checks the map of three locations. Names have room for 8 letters of 6 pixels, and a margin of 12: the cells
// of 24 pixels begin at 60. The row of location i is from 60+24i to 84+24i. The text begins 4 pixels below its middle.
func TestHeat(t *testing.T) {
	r := handReport()
	m := &messages.Result{Matrix: []messages.Cell{{Source: 0, Destination: 1, Bytes: 1, Count: 1},
		{Source: 1, Destination: 2, Bytes: 22, Count: 2}, {Source: 2, Destination: 0, Bytes: 500, Count: 3},
		{Source: 2, Destination: trace.NoRef, Bytes: 1 << 40}}}
	h := r.heat(m)
	if h.Left != 60 || h.Top != 60 || h.Cell != 24 || h.Size != 72 || h.Width != 60+72+10 || h.Height != 60+72+40 {
		t.Errorf("found %+v", h)
	}
	if want := []heatName{{54, 76, "a"}, {54, 100, "b"}, {54, 124, "c"}}; !slices.Equal(h.Rows, want) {
		t.Errorf("found the rows %v, expected %v", h.Rows, want)
	}
	if want := []heatName{{76, 54, "a"}, {100, 54, "b"}, {124, 54, "c"}}; !slices.Equal(h.Columns, want) {
		t.Errorf("found the columns %v, expected %v", h.Columns, want)
	}
	// 500 is more than 16 times 1: the levels are logarithmic. ln 22 / ln 500 is 0.4974: the third of six levels.
	want := []tip{{84, 60, 1, "a to b: 1 message, 1 byte"}, {108, 84, 3, "b to c: 2 messages, 22 bytes"},
		{60, 108, 6, "c to a: 3 messages, 500 bytes"}}
	if !slices.Equal(h.Tips, want) {
		t.Errorf("found the tips %v, expected %v", h.Tips, want)
	}
	if h.Hint != "1 byte to 500 bytes, by their logarithms" {
		t.Errorf("found the hint %q", h.Hint)
	}
	// 16 times is not more than 16 times: the levels are linear. 100/320 is 0.31: the second of six levels.
	m.Matrix[0].Bytes, m.Matrix[1].Bytes, m.Matrix[2].Bytes = 20, 100, 320
	h = r.heat(m)
	if h.Hint != "0 to 320 bytes" || h.Tips[0].Level != 1 || h.Tips[1].Level != 2 || h.Tips[2].Level != 6 {
		t.Errorf("found %q and %v", h.Hint, h.Tips)
	}
	if h := r.heat(&messages.Result{Matrix: m.Matrix[:1]}); h != nil {
		t.Error("found a map of two locations")
	}
	// Of 40 locations, the cells have 480/40 pixels, and no tips. With 60, each second name is next to the map.
	for n, names := range map[int]int{40: 40, 60: 30, 64: 32, 65: -1} {
		m := &messages.Result{}
		for i := range n {
			m.Matrix = append(m.Matrix, messages.Cell{Source: uint32(i), Destination: uint32((i + 1) % n), Bytes: 7})
		}
		h := r.heat(m)
		if h == nil || names < 0 {
			if h != nil || names > 0 {
				t.Errorf("%d locations: found %v", n, h)
			}
			continue
		}
		if len(h.Rows) != names || len(h.Tips) > 0 || h.Cell != 480/n || len(h.Shades) != 1 ||
			strings.Count(h.Shades[0].Path, "M") != n {
			t.Errorf("%d locations: found %d names, %d tips, cells of %d", n, len(h.Rows), len(h.Tips), h.Cell)
		}
	}
}

// TestPathsSection checks the call paths. With many paths, those with less than 0.5 % of the time are left out.
func TestPathsSection(t *testing.T) {
	r := handReport()
	node := func(depth int, name string, inclusive, exclusive, n int64) calltree.Node {
		return calltree.Node{Depth: depth, Name: name, Inclusive: trace.TicksOf(inclusive),
			Exclusive: trace.TicksOf(exclusive), Count: n, Min: 1, Max: inclusive}
	}
	r.Paths = []calltree.Node{node(0, "main", 60, 40, 1), node(1, "f", 20, 20, 8), node(0, "idle", 40, 40, 2)}
	expectLines(t, r.paths(), "main | 60 ms | 60.0 % | 40 ms | 1 | 1 ms | 60 ms | 60 ms",
		"f | 20 ms | 20.0 % | 20 ms | 8 | 1 ms | 2.5 ms | 20 ms",
		"idle | 40 ms | 40.0 % | 40 ms | 2 | 1 ms | 20 ms | 40 ms")
	if s := r.paths(); s.Tables[0].Rows[1][0].Depth != 1 {
		t.Errorf("found the depth %d, expected 1", s.Tables[0].Rows[1][0].Depth)
	}
	if r.Paths = r.Paths[:1]; r.paths().ID != "" {
		t.Error("found a section about paths without calls, which has the figures of the table of regions")
	}
	// of 21 paths, the one with 4 of 1000 ticks is left out
	r.Paths = []calltree.Node{node(0, "main", 1000, 0, 1)}
	for i := range 20 {
		r.Paths = append(r.Paths, node(1, fmt.Sprint("f", i), 5, 5, 1))
	}
	r.Paths[20].Inclusive = trace.TicksOf(4)
	s := r.paths()
	if n := len(s.Tables[0].Rows); n != 20 || s.Tables[0].More != "… and 1 more path with less time" {
		t.Errorf("found %d rows and %q", n, s.Tables[0].More)
	}
	r.Paths = r.Paths[:20]
	if n := len(r.paths().Tables[0].Rows); n != 20 {
		t.Errorf("found %d of 20 paths", n)
	}
	// at most 40 paths are shown, those with most time
	for i := range 40 {
		r.Paths = append(r.Paths, node(1, fmt.Sprint("g", i), int64(6+i), 1, 1))
	}
	s = r.paths()
	if n := len(s.Tables[0].Rows); n != 40 || s.Tables[0].More != "… and 20 more paths with less time" {
		t.Errorf("found %d rows and %q", n, s.Tables[0].More)
	}
}

// TestCollectivesSection checks the operations, those with most time first.
func TestCollectivesSection(t *testing.T) {
	r := handReport()
	r.Collectives = &collectives.Result{Operations: []collectives.Operation{
		{Label: "world", Name: "barrier", Members: 3, Calls: 6, Time: duration(4, 10, 1, 5), Early: 1},
		{Label: "row", Name: "allreduce", NonBlocking: true, Members: 2, Calls: 4, Sent: 64, Received: 32,
			Time: duration(4, 20, 2, 9), Waiting: duration(2, 6, 1, 5), Early: 2},
		{Label: "row", Name: "bcast", Members: 2, Calls: 1}}}
	s := r.collectives()
	expectLines(t, s, "row | allreduce (non-blocking) | 2 | 4 | 64 | 32 | 20 ms | 5 ms | 9 ms | 3 ms | 5 ms",
		"world | barrier | 3 | 6 | 0 | 0 | 10 ms | 2.5 ms | 5 ms | – | –",
		"row | bcast | 2 | 1 | 0 | 0 | – | – | – | – | –")
	if !strings.HasPrefix(s.Remark, "3 operations were left by a member before all had come") {
		t.Errorf("found the remark %q", s.Remark)
	}
}

// TestResourcesSection checks the use of resources in 100 ticks: 50 units × ticks of a capacity of 2 are 25 %.
func TestResourcesSection(t *testing.T) {
	r := handReport()
	r.Info.Resources = []profile.Resource{{ID: "1", Name: "CPU", Unit: "cores", Capacity: 2, Count: 3, Busy: 30,
		AmountTime: 50, MaxOpen: 2, MaxAmount: 1.5}, {ID: "2"}}
	r.Activities = []profile.Activity{{Name: "A", Count: 4, Time: trace.TicksOf(30), Min: 5, Max: 10}}
	expectLines(t, r.resources(), "CPU | 2 cores | 3 | 30 ms | 30.0 % | 25.0 % | 2 | 1.5",
		"2 | 0 | 0 | 0 s | 0.0 % | – | 0 | 0", "# Activities", "A | 4 | 30 ms | 5 ms | 7.5 ms | 10 ms")
}

// TestChecksSection checks the broken rules: errors first, then warnings, and the most frequent first among these.
func TestChecksSection(t *testing.T) {
	r := handReport()
	r.Errors, r.Warnings, r.Notes = 1, 2, 5
	r.Rules = []Rule{{Rule: "n", Severity: "note", Count: 5, Place: "p"},
		{Rule: "w1", Severity: "warning", Count: 1, Place: "line 3", Found: "x"},
		{Rule: "e", Severity: "error", Count: 1, Doc: "what e means", Place: "line 1", Found: "x", Expected: "y"},
		{Rule: "w2", Severity: "warning", Count: 2, Place: "line 2", Expected: "y"}}
	s := r.checks()
	expectLines(t, s, "e | 1 | what e means | line 1: found x, expected y", "w2 | 2 |  | line 2, expected y",
		"w1 | 1 |  | line 3: found x", "n | 5 |  | p")
	if s.Hint != "weft check finds 1 error, 2 warnings and 5 notes." {
		t.Errorf("found %q", s.Hint)
	}
}

// TestLocationsSection checks the work of locations: of the time in regions, neither the time in MPI_Recv counts nor
// the wait in the barrier of threads.
func TestLocationsSection(t *testing.T) {
	r := handReport()
	const recv, work, barrier = 0, 1, 2
	r.Waits = func(ref uint32) bool { return ref == recv }
	region := func(ref uint32, name string, exclusive int64) profile.Region {
		return profile.Region{Region: ref, Name: name, Exclusive: trace.TicksOf(exclusive)}
	}
	r.Locations = []profile.Location{
		{Location: 0, Covered: 80, Regions: []profile.Region{region(work, "work", 50), region(recv, "MPI_Recv", 30)}},
		{Location: 1, Covered: 40, Regions: []profile.Region{region(work, "work", 20), region(barrier, "barrier", 20)}},
		{Location: 2}}
	r.Regions = []profile.Region{region(work, "work", 70), region(recv, "MPI_Recv", 30), region(barrier, "barrier", 20)}
	r.Covered = trace.TicksOf(120)
	at := uint32(1)
	share := waits.Share{Path: []string{"barrier"}, Location: &at, Time: trace.TicksOf(10)}
	r.WaitStates = &waits.Result{Patterns: []waits.Pattern{{PathLocations: []waits.Share{share}},
		{PartOf: "another", PathLocations: []waits.Share{share}}}}
	// Work: 50 of a, and 20+20−10 of b. The mean is 40. a exceeds it by 25 %, which is over 10 %, and by 10 of 100 ticks.
	expectLines(t, r.locations(), "in regions | 40 ms | 60 ms | 80 ms | 75.0 %",
		"in regions, of the duration | 40.0 % | 60.0 % | 80.0 % | ", "work | 30 ms | 40 ms | 50 ms | 80.0 %",
		"# Stragglers", "a | 80 ms | 80.0 % | 50 ms | +25.0 % | ", "# All locations",
		"a | 80 ms | 80.0 % | 50 ms | +25.0 % | ", "b | 40 ms | 40.0 % | 30 ms | −25.0 % | ")
	parts := r.locations().Tables[2].Rows[0][5].Stack
	if len(parts) != 2 || parts[0].W != 625 || parts[1].X != 625 || parts[1].W != 375 {
		t.Errorf("found the parts %v, expected 50 and 30 of 80 ticks", parts)
	}
	// 30 of MPI_Recv and 10 of the wait in the barrier, of 120 ticks
	figures := r.figures()
	if f := figures[0]; f.Value != "100 ms" || f.Name != "duration" {
		t.Errorf("found %v", f)
	}
	if f := figures[1]; f.Value != "33.3 %" || f.Name != "communicating and waiting" {
		t.Errorf("found %v", f)
	}
	if f := figures[2]; f.Value != "80.0 %" || f.Name != "load balance" {
		t.Errorf("found %v", f)
	}
	// Of 33 locations, the 12 with most and the 12 with least work are shown.
	r.Locations = nil
	for i := range 33 {
		r.Locations = append(r.Locations, profile.Location{Covered: 100, Location: uint32(i),
			Regions: []profile.Region{region(work, "work", int64(i+1))}})
	}
	r.WaitStates = nil
	s := r.locations()
	all := s.Tables[len(s.Tables)-1]
	if len(all.Rows) != 24 || all.Rows[0][3].Text != "33 ms" || all.Rows[23][3].Text != "1 ms" ||
		all.More != "… and 9 more between them" {
		t.Errorf("found %d rows from %v to %v, %q", len(all.Rows), all.Rows[0], all.Rows[len(all.Rows)-1], all.More)
	}
}

// TestHead checks the line below the title, the window and the key numbers.
func TestHead(t *testing.T) {
	r := handReport()
	if f := r.figures(); len(f) != 2 {
		t.Errorf("found the key numbers %v, expected the duration and the number of errors", f)
	}
	to, from := int64(1040), int64(1010)
	for _, x := range []struct {
		from, to *int64
		want     string
	}{{nil, nil, "only rank 0"}, {nil, &to, "Window: its begin to 40 ms, only rank 0"},
		{&from, nil, "Window: 10 ms to its end, only rank 0"}, {&from, &to, "Window: 10 ms to 40 ms, only rank 0"}} {
		r.From, r.To, r.Restrictions = x.from, x.to, []string{"only rank 0"}
		if found := r.view().Window; found != x.want {
			t.Errorf("found %q, expected %q", found, x.want)
		}
	}
	// the part from 1010 to 1040 of the trace from 1000 to 1100
	if f := r.figures()[0]; f.Value != "30 ms" {
		t.Errorf("found the duration %s", f.Value)
	}
	r.Info.Events = 1
	if found := r.view().Lead; found != "f · 100 ms · 0 locations · 1 event" {
		t.Errorf("found %q", found)
	}
	r.Messages = &messages.Result{Sent: 1, SentBytes: 2048}
	r.Collectives = &collectives.Result{Operations: []collectives.Operation{{Calls: 3}, {Calls: 4}}}
	r.Activities = []profile.Activity{{Count: 2}, {Count: 3}}
	for _, x := range []struct {
		errors, warnings int64
		want             string
	}{{0, 0, "none errors"}, {0, 1, "1 warning"}, {2, 1, "2 errors"}} {
		r.Errors, r.Warnings = x.errors, x.warnings
		var found []string
		for _, f := range r.figures()[1:] {
			found = append(found, f.Value+" "+f.Name)
		}
		want := []string{"1 message, 2.0 KiB", "7 calls of collective operations", "5 claims", x.want}
		if !slices.Equal(found, want) {
			t.Errorf("found %q, expected %q", found, want)
		}
	}
}
