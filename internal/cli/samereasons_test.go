package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestSameReasons checks that weft waits, weft efficiency, weft path and weft explain show the same figures as the
// viewer for the same window.
func TestSameReasons(t *testing.T) {
	compareFigures(t, "../..", []string{"analysis/waits/testdata/hand/traces.otf2",
		"analysis/waits/testdata/p2p/traces.otf2", "analysis/waits/testdata/omp/traces.otf2",
		"format/otf2/testdata/ok/heat2d-mt/traces.otf2", "examples/odse.etf"}, func(f *figureComparison, first int64) {
		// the parameters are the first ones of the request
		f.viewerQuery = strings.Replace(f.viewerQuery, "&", "?", 1)
		f.reasons(first)
		f.ofLocations(1, 2)
		f.reasons(first)
	})
}

// ofLocations restricts the flags and the query to some locations. numbers are their positions among all locations.
func (f *figureComparison) ofLocations(numbers ...int) {
	f.t.Helper()
	var meta struct{ Tracks []struct{ Kind, ID string } }
	_, body := f.s.get(f.t, f.api)
	if err := json.Unmarshal([]byte(body), &meta); err != nil {
		f.t.Fatal(err)
	}
	var tracks []string
	n := 0
	for i, x := range meta.Tracks {
		if x.Kind != "location" {
			continue
		}
		if slices.Contains(numbers, n) {
			f.flags = append(f.flags, "--location", x.ID)
			tracks = append(tracks, fmt.Sprint(i))
		}
		n++
	}
	if len(tracks) > 0 {
		f.viewerQuery = "?tracks=" + strings.Join(tracks, ",") + strings.Replace(f.viewerQuery, "?", "&", 1)
	}
}

// reasons compares the figures about waits. first is the time of the first event.
func (f *figureComparison) reasons(first int64) {
	same := func(what string, command, view []string) {
		f.t.Helper()
		slices.Sort(command)
		slices.Sort(view)
		if d := gocmp.Diff(command, view); d != "" {
			f.t.Errorf("%v: %s of the command (-) and of the viewer (+):\n%s", f.flags, what, d)
		}
	}
	var command, view waitFigures
	f.command(&command, "waits", "--worst", "20")
	f.query(&view, "waits")
	same("waits", command.lines(first), view.lines(0))
	var factors commandFactors
	var viewFactors viewerFactors
	f.commandOrMissing(&factors, "efficiency")
	f.query(&viewFactors, "efficiency")
	same("efficiency", factors.lines(), viewFactors.lines())
	if !slices.Contains(f.flags, "--window") { // the path of the viewer is that of the whole time
		var path, viewerPath pathFigures
		f.commandOrMissing(&path, "path")
		f.query(&viewerPath, "path")
		same("path", path.lines(first), viewerPath.lines(0))
	}
	var page, viewerPage explanation
	f.commandOrMissing(&page, "explain")
	f.query(&viewerPage, "explain")
	same("explanation", page.lines(), viewerPage.lines())
}

// absence is the part of an answer that states why there are no figures.
type absence struct{ Missing string }

// commandOrMissing runs a command and decodes its output, as the method command does. The exit code is 1 if the command
// finds nothing; to then gets the reason.
func (f *figureComparison) commandOrMissing(to any, name string, more ...string) {
	f.t.Helper()
	code, out, errs := runWeft(f.t, append(slices.Concat([]string{name, "--json", "-q"}, more, f.flags), f.path)...)
	if err := json.Unmarshal([]byte(out), to); err != nil {
		f.t.Fatalf("weft %s: exit %d, %v, %s", name, code, err, errs)
	}
}

// efficiencyFigures are the figures of efficiency except the factors.
type efficiencyFigures struct {
	absence
	Processes, Threads        int
	Runtime, Ideal, UsefulMax number
	Useful                    ticksText
}

// commandFactors is the output of weft efficiency.
type commandFactors struct {
	efficiencyFigures
	Factors, Hybrid map[string]float64
}

func (c *commandFactors) lines() []string {
	lines := []string{fmt.Sprint(c.efficiencyFigures)}
	for _, m := range []map[string]float64{c.Factors, c.Hybrid} {
		for _, v := range m {
			lines = append(lines, fmt.Sprint(v))
		}
	}
	return lines
}

// viewerFactors is the answer of the viewer.
type viewerFactors struct {
	efficiencyFigures
	Factors, Hybrid []struct{ Value float64 }
}

func (vf *viewerFactors) lines() []string {
	lines := []string{fmt.Sprint(vf.efficiencyFigures)}
	for _, v := range append(vf.Factors, vf.Hybrid...) {
		lines = append(lines, fmt.Sprint(v.Value))
	}
	return lines
}

// pathFigures are the figures of the critical path. Of a trace of claims, Critical are the pieces.
type pathFigures struct {
	absence
	Begin, End, Length, Runtime number
	Regions                     []struct {
		Region, Name string
		Time         ticksText
		Imbalance    float64
		Claims       int
	}
	Locations []struct{ Time number }
	Gains     []struct {
		Region string
		Half   number
		Curve  []number
	}
	Pieces []struct {
		From, To number
		By       string
	}
	Critical []struct {
		Region     string
		Start, End number
	}
}

// lines returns all figures as text. Times count from first.
func (pf *pathFigures) lines(first int64) (lines []string) {
	lines = append(lines, fmt.Sprint(pf.Missing, pf.Length, pf.Locations, pf.Gains))
	for _, r := range pf.Regions {
		lines = append(lines, fmt.Sprint(r.Region, r.Name, " ", r.Time, " ", r.Imbalance, " ", r.Claims))
	}
	for _, p := range pf.Pieces {
		lines = append(lines, fmt.Sprint(int64(p.From)-first, " ", int64(p.To)-first, " ", p.By))
	}
	for _, c := range pf.Critical {
		lines = append(lines, fmt.Sprint(int64(c.Start)-first, " ", int64(c.End)-first, " ", c.Region))
	}
	return lines
}

// explanation has the figures of an explanation.
type explanation struct {
	absence
	Ran struct {
		Processes, Threads int
		Runtime            number
		Regions            []struct {
			Region string
			Time   ticksText
			Share  float64
		}
	}
	Verdict  string
	Findings []struct {
		ID, Title, Advice, Confidence string
		LossShare, GainShare          float64
		Gain                          number
		Path, Evidence                []string
	}
	Unjudged []string
}

func (e *explanation) lines() (lines []string) {
	lines = append(lines, e.Missing, fmt.Sprint(e.Ran), e.Verdict)
	if e.Missing == "" {
		lines = append(lines, e.Unjudged...)
	}
	for i, f := range e.Findings {
		lines = append(lines, fmt.Sprint(i, " ", f))
	}
	return lines
}

// number is a JSON number, or a string with one.
type number int64

func (n *number) UnmarshalJSON(b []byte) error {
	_, err := fmt.Sscan(strings.Trim(string(b), `"`), n)
	return err
}

// shares are the parts of a pattern of waits: in the viewer's answer the rows of an object.
type shares []struct {
	Region, Communicator, Name string
	Path                       []string
	Count                      int64
	Time                       ticksText
}

func (l *shares) UnmarshalJSON(b []byte) error {
	type plain shares
	if !strings.HasPrefix(string(b), "{") {
		return json.Unmarshal(b, (*plain)(l))
	}
	var x struct{ Rows *plain }
	x.Rows = (*plain)(l)
	return json.Unmarshal(b, &x)
}

// waitFigures are the figures about waits. Locations are identified by their figures, because the viewer numbers
// tracks instead of locations.
type waitFigures struct {
	Judged        int64
	Waiting, Time ticksText
	Patterns      []struct {
		Pattern, PartOf                                 string
		Count                                           int64
		Time                                            ticksText
		Regions, Paths, Locations, Communicators, Pairs shares
		Worst                                           []struct {
			Path                   []string
			Begin, Time, CauseTime number
		}
	}
	Late []struct {
		Communicator   string
		Operations, Of int64
		Lost           ticksText
	}
	Unjudged []struct {
		What, Reason string
		Count        int64
	}
}

// lines returns all figures as text. Times count from first.
func (wf *waitFigures) lines(first int64) (lines []string) {
	lines = append(lines, fmt.Sprint(wf.Judged, " ", wf.Waiting, " ", wf.Time, " ", wf.Unjudged))
	for _, p := range wf.Patterns {
		lines = append(lines, fmt.Sprint(p.Pattern, " ", p.PartOf, " ", p.Count, " ", p.Time))
		for by, list := range map[string]shares{"region": p.Regions, "path": p.Paths, "location": p.Locations,
			"communicator": p.Communicators, "pair": p.Pairs} {
			for _, s := range list {
				name := cmp.Or(strings.Join(s.Path, " > "), s.Region, s.Communicator, s.Name)
				lines = append(lines, fmt.Sprint(p.Pattern, " by ", by, ": ", name, " ", s.Count, " ", s.Time))
			}
		}
		for _, w := range p.Worst {
			lines = append(lines, fmt.Sprint(p.Pattern, " wait: ", w.Path, " ", int64(w.Begin)-first, " ", w.Time, " ",
				int64(w.CauseTime)-first))
		}
	}
	for _, l := range wf.Late {
		lines = append(lines, fmt.Sprint("late: ", l))
	}
	return lines
}

// TestSamePhases checks that weft efficiency --phase, --loop and --window have the same phases and factors as the
// viewer.
func TestSamePhases(t *testing.T) {
	loop := []string{"--loop"}
	flags := map[string][]string{"hand": {"--phase", "work"}, "mpi4": loop, "heat2d-mt": loop}
	queries := map[string]string{"hand": "by=region&region=work", "mpi4": "by=loop", "heat2d-mt": "by=loop"}
	compareFigures(t, "../..", []string{"analysis/waits/testdata/hand/traces.otf2", "format/otf/testdata/ok/mpi4/mpi4.otf",
		"format/otf2/testdata/ok/heat2d-mt/traces.otf2"}, func(f *figureComparison, first int64) {
		name := filepath.Base(filepath.Dir(f.path))
		var command []commandPhase
		f.commandOrMissing(&command, "efficiency", flags[name]...)
		f.samePhases(queries[name], command, first)
		if f.flags != nil {
			return
		}
		// each of two parts is the window of its times
		var view viewerPhases
		f.query(&view, "efficiency/phases?by=time&count=2")
		command = nil
		for i, p := range view.Phases {
			f.flags = []string{"--window", fmt.Sprintf("@%d..@%d", int64(p.From)+first, int64(p.To)+first)}
			x := commandPhase{Phase: phaseTimes{i + 1, number(int64(p.From) + first)}}
			f.commandOrMissing(&x, "efficiency")
			command = append(command, x)
		}
		f.flags = nil
		f.samePhases("by=time&count=2", command, first)
	})
}

// phaseTimes is the number and the begin of a phase.
type phaseTimes struct {
	Number int
	From   number
}

// commandPhase is a phase in the output of weft efficiency.
type commandPhase struct {
	Phase   phaseTimes
	Factors map[string]float64
}

// viewerPhases is the viewer's answer about phases.
type viewerPhases struct {
	Phases []struct {
		phaseTimes
		To     number
		Values []float64
	}
}

// samePhases compares phases of the command with those of the viewer. first is the time of the first event.
func (f *figureComparison) samePhases(query string, command []commandPhase, first int64) {
	f.t.Helper()
	var view viewerPhases
	f.query(&view, "efficiency/phases?"+query)
	var want, got []string
	for _, x := range command {
		values := slices.Sorted(maps.Values(x.Factors))
		want = append(want, fmt.Sprint(x.Phase.Number, int64(x.Phase.From)-first, values))
	}
	for _, x := range view.Phases {
		got = append(got, fmt.Sprint(x.Number, int64(x.From), slices.Sorted(slices.Values(x.Values))))
	}
	if d := gocmp.Diff(want, got); d != "" || len(want) < 2 {
		f.t.Errorf("%v %s: %d phases of the command (-) and of the viewer (+):\n%s", f.flags, query, len(want), d)
	}
}
