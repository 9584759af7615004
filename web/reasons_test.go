package web_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestReasons checks the panels that explain why a run is slow, and the effects of clicks in them. The
// expected figures are calculated by hand in docs/analyses, for the trace hand.
func TestReasons(t *testing.T) {
	needBrowser(t)
	var out struct {
		Waits struct {
			Patterns, Worst, Pairs [][]string
			Selection, Cause       string
			Details                map[string]string
			Listed                 int
		}
		Findings struct {
			Verdict        string
			Rows           [][]string
			Places, Panels []string
		}
		Path struct {
			Regions, Pieces      [][]string
			Before, Drawn, After []string
			Clicked              string
			Selection            *string
		}
		Hatching   struct{ Before, On, After []float64 }
		Efficiency struct {
			Whole, Time, Visits [][]string
			Within              bool
			Kept                []string
			Loop                string
		}
		Second  []string
		Chosen  [][][]string
		Hidden  []string
		Address string
		Errors  []string
	}
	hand := servedTrace(t, "hand")
	runScript(t, "reasons", map[string]any{"url": hand.url,
		"finding": startServing(t, "view", "--no-open", "--quiet", "--finding", "1", hand.path)}, &out)
	for _, e := range out.Errors {
		t.Error(e)
	}
	const rank = "MPI Rank %d · Master thread"
	first, second := fmt.Sprintf(rank, 0), fmt.Sprintf(rank, 1)
	w, f, p := &out.Waits, &out.Findings, &out.Path
	const line = "#d1002f"
	if len(f.Rows) != 2 {
		t.Fatalf("found %d findings, expected that rank 0 is late, and that communication takes time", len(f.Rows))
	}
	for _, x := range []struct{ what, got, want string }{
		{"verdict", f.Verdict[:len("57 % of the time is useful.")], "57 % of the time is useful."},
		// Calls of MPI take 315 of 3 · 1820 ticks, without the waits.
		{"loss by communication", f.Rows[1][2], "5.77 %"},
		// Rank 0 is in work from 100 to 600, which is the longest visit of work. Communication has no place.
		{"places of findings", fmt.Sprint(f.Places), "[0.0.2.100 0.0.2.100]"},
		// Ranks 1 and 2 wait for a late sender once each. Rank 1 is outside of MPI for 10 + 200 + 60 + 180 + 80 + 30 + 185 +
		// 60 + 20 of 1820 ticks.
		{"waits of rank 1, of the rows shown, of all rows", fmt.Sprint(out.Chosen[0]),
			"[[late-sender 1 300 µs] [late-sender 2 600 µs] [late-sender 2 600 µs]]"},
		{"efficiency of rank 1, of the rows shown, of all rows", fmt.Sprint(out.Chosen[1]),
			"[[parallel efficiency 0.453 ] [parallel efficiency 0.574 ] [parallel efficiency 0.574 ]]"},
		{"findings about rank 1 alone", fmt.Sprint(out.Chosen[2][0]), "[]"},
		// Rank 1 works for 200 + 60 + 180 + 80 + 30 + 180 ticks.
		{"path of rank 1 alone", fmt.Sprint(out.Chosen[3][0][:2]), "[work 730 µs]"},
		{"path of the rows shown", fmt.Sprint(out.Chosen[3][1]), fmt.Sprint(out.Chosen[3][2])},
		{"findings about the rows shown", fmt.Sprint(out.Chosen[2][1]), fmt.Sprint(out.Chosen[2][2])},
		{"waits of the only row shown", fmt.Sprint(out.Hidden), "[late-sender 1 300 µs]"},
		{"place and panel of weft view --finding 1", fmt.Sprint(out.Second), "[0.0.2.100 Findings]"},
		{"its choice in the address later", fmt.Sprint(strings.Contains(out.Address, "findings.go")), "false"},
		{"panels of findings", fmt.Sprint(f.Panels), "[Waits Messages]"},
		{"factors", fmt.Sprint(out.Efficiency.Whole), "[" +
			"[parallel efficiency 0.574 ] [load balance 0.871 ] [communication 0.659 " +
			"] " +
			"[serialisation 0.784 ] [transfer 0.841 ]]"},
		// The second of 20 parts of 91 µs: all ranks are in MPI_Init until 100, and compute for the other 82 of 91 µs.
		{"factors over time", fmt.Sprint(out.Efficiency.Time[1]), "[2 91 µs 91 µs 0.901 1.000 0.901 1.000 0.901]"},
		{"a click shows the phase", fmt.Sprint(out.Efficiency.Within), "true"},
		{"first phase after a click", fmt.Sprint(out.Efficiency.Kept[:3]), "[1 0 s 91 µs]"},
		// rank 0 is in work from 100 to 600
		{"visits", fmt.Sprint(len(out.Efficiency.Visits), out.Efficiency.Visits[0][:3]), "6 [1 100 µs 501 µs]"},
		{"loop", out.Efficiency.Loop,
			"There is no efficiency: found no calls or events that repeat in succession, expected a loop."},
		{"regions of the path", fmt.Sprint(len(p.Regions), " ", p.Regions[0][0]), "8 work"},
		{"longest piece", fmt.Sprint(p.Pieces[0]), fmt.Sprint([]string{"590 µs", "10 µs", "600 µs", first, ""})},
		{"the line before it is drawn", fmt.Sprint(p.Before), fmt.Sprint(make([]string, 7))},
		{"the line", fmt.Sprint(p.Drawn), fmt.Sprint([]string{line, line, line, line, line, "", ""})},
		{"the line when it is taken away", fmt.Sprint(p.After), fmt.Sprint(make([]string, 7))},
		{"the line after a click on a piece", p.Clicked, line},
		{"patterns", fmt.Sprint(w.Patterns[0]), "[late-sender 2 600 µs 11.0 % 300 µs 300 µs 300 µs]"},
		{"longest wait", fmt.Sprint(w.Worst[0]), fmt.Sprint([]string{"300 µs", "300 µs", second, "MPI_Recv", first,
			"late-sender"})},
		{"pairs of late senders", fmt.Sprint(len(w.Pairs), w.Pairs[0]),
			fmt.Sprint(2, []string{"late-sender", second + " for " + first, "1", "300 µs", "50.0 %"})},
		// rank 2, MPI_Recv below app and main, at 400
		{"click on the second wait", w.Selection, "0.2.2.400"},
		{"what is selected then", w.Details["start"] + " " + w.Details["duration"], "400 µs 340 µs"},
		// rank 1 begins MPI_Send at 700
		{"click on its cause", w.Cause, "0.1.2.700"},
		{"waits that are listed still", fmt.Sprint(w.Listed), "2"},
	} {
		if x.got != x.want {
			t.Errorf("%s: found %s, expected %s", x.what, x.got, x.want)
		}
	}
	// The hatching covers the part of the call during which it waits, and nothing else.
	h := out.Hatching
	if on := h.On; on[0] < 0.1 || on[0] > 0.9 || on[1] != 0 || on[2] != 0 {
		t.Errorf("of a wait, of the call after it and of the call around it %v are hatched, expected the wait", on)
	}
	if off := fmt.Sprint(h.Before, h.After); off != "[0 0 0] [0 0 0]" {
		t.Errorf("%s are hatched without the hatching, expected nothing", off)
	}
}
