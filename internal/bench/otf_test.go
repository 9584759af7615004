package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format/otf"
)

// recordTypes maps the names of records in otfprint's output to record types.
var recordTypes = map[string]otf.Type{
	"Enter": otf.Enter, "Leave": otf.Leave, "SendMessage": otf.SendMsg, "ReceiveMessage": otf.RecvMsg,
	"Counter":    otf.Counter,
	"DefProcess": otf.DefProcess, "DefFunction": otf.DefFunction, "DefCounter": otf.DefCounter,
}

// TestOTFTrace compares the generated trace with the output of otfprint.
func TestOTFTrace(t *testing.T) {
	otfprint, err := exec.LookPath("otfprint")
	if err != nil {
		t.Skip("otfprint is not installed")
	}
	shape := otfUsual.withEvents(20_000)
	if shape.rounds != 62 {
		t.Errorf("found %d rounds, expected 20000 events in rounds of 320", shape.rounds)
	}
	name := filepath.Join(t.TempDir(), "plain")
	counts, err := writeOTF(t.Context(), name, shape, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(otfprint, name+".otf").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got otfCounts
	depth := map[string]int{}
	deepest, last := 0, 0
	messages := map[string]int{} // sent messages that have not been received
	for line := range strings.Lines(string(out)) {
		// a line looks like: (#7) <tab>1017 Enter: function 78, process 5, source 0
		_, rest, _ := strings.Cut(line, "\t")
		head, fields, _ := strings.Cut(rest, ": ")
		at, what, timed := strings.Cut(head, " ")
		if !timed {
			what = head // a line about a definition
		}
		typ, known := recordTypes[what]
		if !known {
			continue
		}
		got[typ]++
		if timed {
			if last, err = strconv.Atoi(at); err != nil {
				t.Fatal(err)
			}
		}
		values := map[string]string{}
		for _, f := range strings.Split(strings.TrimSpace(fields), ", ") {
			k, v, _ := strings.Cut(f, " ")
			values[k] = v
		}
		switch p := values["process"]; typ {
		case otf.Enter:
			depth[p]++
			deepest = max(deepest, depth[p])
		case otf.Leave:
			depth[p]--
		}
		message := strings.Join([]string{values["sender"], values["receiver"], values["type"], values["length"]}, " ")
		switch typ {
		case otf.SendMsg:
			messages[message]++
		case otf.RecvMsg:
			messages[message]--
			if messages[message] == 0 {
				delete(messages, message)
			}
			if messages[message] < 0 {
				t.Fatalf("%s: expected it to be sent before", strings.TrimSpace(line))
			}
		}
	}
	want := *counts
	want[otf.DefProcess], want[otf.DefFunction], want[otf.DefCounter] = 16, 200, 1
	if got != want {
		t.Errorf("otfprint has records\n%v, expected\n%v", got, want)
	}
	// Calculated by hand: 16 processes have 62 rounds; in one of these they do not send, and in
	// another one they do not receive.
	if got[otf.SendMsg] != 16*61 || got[otf.RecvMsg] != 16*61 || got[otf.Counter] != 16*(62+2) ||
		got[otf.Enter] != got[otf.Leave] || got[otf.Enter]+got[otf.Leave] < 16*62*17 {
		t.Errorf("found %v", got)
	}
	if deepest != otfDepth || len(messages) > 0 {
		t.Errorf("found functions nested %d deep and %d messages that never arrive, expected %d and 0", deepest,
			len(messages), otfDepth)
	}
	if end := int(shape.ticks()); last < end || last > end+2*otfDepth*otfStep {
		t.Errorf("the last event is at %d, expected it after the rounds, which end at %d", last, end)
	}
}

// TestOTFWriters checks that the program with libotf writes the same event files, byte by byte.
func TestOTFWriters(t *testing.T) {
	dir := t.TempDir()
	b := &session{runner: &runner{ctx: t.Context(), tmp: dir}, dir: dir}
	program, err := b.compileLibotf()
	if err != nil {
		t.Skip(err)
	}
	shape := otfUsual.withEvents(20_000)
	if out, err := exec.Command(program, filepath.Join(dir, "theirs"), strconv.Itoa(shape.streams),
		strconv.Itoa(shape.processesPerStream), strconv.Itoa(shape.rounds)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, goroutines := range []int{1, 2, 8} {
		if _, err := writeOTF(t.Context(), filepath.Join(dir, "ours"), shape, goroutines, 0); err != nil {
			t.Fatal(err)
		}
		if err := b.sameEvents(shape); err != nil {
			t.Errorf("%d goroutines: %v", goroutines, err)
		}
	}
	shape.rounds++
	if _, err := writeOTF(t.Context(), filepath.Join(dir, "ours"), shape, 1, 0); err != nil {
		t.Fatal(err)
	}
	if b.sameEvents(shape) == nil {
		t.Error("another trace: expected an error")
	}
	if _, err := writeOTF(t.Context(), filepath.Join(dir, "ours"), shape, 3, 0); err == nil {
		t.Error("8 streams for 3 goroutines: expected an error")
	}
}

// sampleOTF returns a report whose measurements meet all limits.
func sampleOTF() *otfReport {
	r := &otfReport{
		result: result{machine: machine{"CPU", 2, "go1.26", "0.10"}, runs: 1, events: 8e6}, otfprint: "1.12.5", plain: 150e6,
		packed: 50e6, manyEvents: 2e5,
		compressed: []otfPair{{testUsage(2, 1, 9), testUsage(1, 1, 9)}},
		memory:     []commandResult{{"weft check -q", []usage{testUsage(1, 1, 40), testUsage(1, 1, 42)}}},
		writes: []otfWriteRound{{libotf: testUsage(0.8, 0.8, 9), one: testUsage(0.4, 0.4, 9), two: testUsage(0.4, 0.2, 9),
			half: testUsage(0.2, 0.2, 9)}},
	}
	for _, v := range comparisons(otfUsual.withEvents(8e6)) {
		r.comparisons = append(r.comparisons, &otfComparison{toolComparison: v,
			rounds: []otfPair{{testUsage(1, 0.5, 9), testUsage(7, 7, 9)}, {testUsage(1, 0.5, 9), testUsage(9, 9, 9)}}})
	}
	for _, c := range []string{"info", "check", "print", "convert"} {
		r.many = append(r.many, commandResult{"weft " + c, []usage{testUsage(1, 1, 20)}})
	}
	return r
}

func TestOTFDocument(t *testing.T) {
	doc := string(sampleOTF().document())
	checkDocument(t, doc,
		"| Decoding: less CPU time than otfprint | ≥ 6.00 × | 8.00 (7.00–9.00) | pass |",
		"| Decoding: less wall-clock time than otfprint | ≥ 10.00 × | 16.00 (14.00–18.00) | pass |",
		"| ≤ 60 ns | 50.00 | pass |",
		"| ≥ 1.60 × | 2.00 | pass |",
		"| 42.0 MiB | pass |",
		"| 4 commands work | 4 work | pass |",
		"| libotf, 8 streams | 100.00 | 100.00 | 100.00 |",
		"| one goroutine, 4 streams | 50.00 | 50.00 | 50.00 |",
		"from @50001000 --to @51001000 plain.otf",
		"uncompressed one in 1.000 s: a factor of 2.00",
	)
}

func TestOTFVerdicts(t *testing.T) {
	const good = "pass pass pass pass pass pass pass pass pass pass"
	for name, test := range map[string]struct {
		change func(r *otfReport)
		want   string
	}{
		"good": {func(r *otfReport) {}, good},
		"slow": {func(r *otfReport) { r.comparisons[0].rounds = []otfPair{{testUsage(2, 1, 9), testUsage(7, 7, 9)}} },
			"fail fail" + good[9:]},
		"window": {func(r *otfReport) { r.comparisons[4].rounds = []otfPair{{testUsage(2, 1, 9), testUsage(1, 1, 9)}} },
			good[:25] + "fail" + good[29:]},
		"no tool":  {func(r *otfReport) { r.comparisons[3].missing = true }, good[:20] + "not " + good[24:]},
		"one core": {func(r *otfReport) { r.cores = 1 }, "pass not " + good[9:35] + "not " + good[39:]},
		"no gcc":   {func(r *otfReport) { r.writes[0].libotf, r.noLibotf = usage{}, "gcc is not installed" }, good},
		"write":    {func(r *otfReport) { r.writes[0].one = testUsage(0.5, 0.5, 9) }, good[:30] + "fail" + good[34:]},
		"alone":    {func(r *otfReport) { r.writes[0].two = testUsage(0.4, 0.4, 9) }, good[:35] + "fail" + good[39:]},
		"hungry":   {func(r *otfReport) { r.memory[0].runs[0].peak = 73 << 20 }, good[:40] + "fail" + good[44:]},
		"handles":  {func(r *otfReport) { r.many = r.many[1:] }, good[:45] + "fail"},
		"problem":  {func(r *otfReport) { r.problems = []problem{{"plain", "merge", "x"}} }, good[:15] + "inco" + good[19:]},
		"nothing": {func(r *otfReport) {
			*r = otfReport{result: result{machine: r.machine, problems: []problem{{"plain", partGenerate, "x"}}}}
		}, "not  not  not  not "},
	} {
		r := sampleOTF()
		test.change(r)
		doc := string(r.document())
		if strings.Contains(doc, "NaN") || strings.Contains(doc, "Inf") || strings.Contains(doc, "%!") {
			t.Errorf("%s: found\n%s", name, doc)
		}
		var got []string
		for s := bufio.NewScanner(strings.NewReader(doc)); s.Scan(); {
			for _, v := range []string{"pass", "**fail**", "**incomplete**", "not measured"} {
				if strings.HasSuffix(s.Text(), "| "+v+" |") {
					got = append(got, strings.Trim(v, "*")[:4])
				}
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: found %s, expected %s", name, strings.Join(got, " "), test.want)
		}
	}
}

func TestOTFChild(t *testing.T) {
	var out bytes.Buffer
	args := []string{"otf", filepath.Join(t.TempDir(), "x"), "2", "1", "3", "1", "4"}
	if err := child(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	// 2 processes have 3 rounds of 20 events, and further leaves of the functions that are open at
	// the end.
	if n, err := strconv.Atoi(strings.TrimSpace(out.String())); err != nil || n < 120 || n > 120+2*otfDepth {
		t.Errorf("found %q", out.String())
	}
	args[3] = "x"
	if child(t.Context(), args, &out) == nil {
		t.Error("expected an error for a number that is none")
	}
}

func TestOTFDocumentName(t *testing.T) {
	for in, want := range map[string]string{"docs/performance.md": "docs/performance-otf.md", "": "", "x": "x-otf"} {
		if got := documentPath(in, "otf"); got != want {
			t.Errorf("%s: found %s, expected %s", in, got, want)
		}
	}
}

func TestOTFCompare(t *testing.T) {
	dir := t.TempDir()
	b := &session{config: &config{runs: 1},
		runner: &runner{ctx: t.Context(), tmp: dir, weft: "true", log: &bytes.Buffer{}}, dir: dir}
	c := &otfComparison{toolComparison: toolComparison{name: "x", ours: "a b", theirs: "no-such-program c"}}
	if err := b.compare(c); err != nil || !c.missing || len(c.rounds) != pairs {
		t.Errorf("found %+v %v", c, err)
	}
	c = &otfComparison{toolComparison: toolComparison{name: "x", ours: "a", theirs: "true c"}}
	if err := b.compare(c); err != nil || c.missing || c.rounds[0].theirs.wall == 0 {
		t.Errorf("found %+v %v", c, err)
	}
	c = &otfComparison{toolComparison: toolComparison{name: "x", ours: "a", theirs: "false"}}
	if err := b.compare(c); err == nil || len(c.rounds) != 0 {
		t.Errorf("found %+v %v, expected an error", c, err)
	}
}
