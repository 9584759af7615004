package web_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// span is a visit or claim, as the scripts of the page receive it. Times are in ticks since the first
// event of the trace.
type span struct {
	Track      int               `json:"track"`
	Depth      int               `json:"depth"`
	Start      string            `json:"start"`
	End        string            `json:"end"`
	start, end int64             // in ticks, as numbers
	name       string            // of its region
	location   string            // or resource, by its id
	attributes map[string]string // of the event that begins it
	leaf       bool
}

// event is a line of weft print --json.
type event struct {
	Time       int64          `json:"time"`
	Location   string         `json:"location"`
	Kind       string         `json:"kind"`
	Region     string         `json:"region"`
	Claim      json.Number    `json:"claim"`
	Resource   string         `json:"resource"`
	Attributes map[string]any `json:"attributes"`
}

// traceData holds the spans and tracks of a trace, read with the command line.
type traceData struct {
	path   string
	origin int64
	clock  *big.Rat // seconds per tick
	spans  []span
	tracks map[string]int // of locations and resources, by id
	lanes  map[string]int // of a resource
	// received maps each receive to the indexes in spans of the innermost spans that were open at that
	// time.
	received map[receive][]int
}

// receive is the location and time of a receive.
type receive struct {
	location string
	at       int64
}

// readTrace reads the spans and tracks of a trace with the command line.
func readTrace(t *testing.T, path string) *traceData {
	t.Helper()
	k := &traceData{path: path, tracks: map[string]int{}, lanes: map[string]int{}, received: map[receive][]int{}}
	var info struct {
		First     int64
		Clock     struct{ TicksPerSecond json.Number }
		Locations []struct{ ID, Kind string }
		Resources []struct{ ID string }
	}
	if err := json.Unmarshal(runWeft(t, "info", "--json", "--quiet", path), &info); err != nil {
		t.Fatal(err)
	}
	k.origin = info.First
	rate, ok := new(big.Rat).SetString(info.Clock.TicksPerSecond.String())
	if !ok {
		t.Fatalf("%s: found %q ticks per second", path, info.Clock.TicksPerSecond)
	}
	k.clock = rate.Inv(rate)
	stacks, claims := map[string][]int{}, map[string]int{}
	d := json.NewDecoder(bytes.NewReader(runWeft(t, "print", "--json", "--quiet", path)))
	d.UseNumber()
	for d.More() {
		var e event
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		at := e.Time - k.origin
		open := func(where string, depth int) {
			s := span{Depth: depth, start: at, name: e.Region, location: where, attributes: map[string]string{}, leaf: true}
			for name, v := range e.Attributes {
				s.attributes[name] = fmt.Sprint(v)
			}
			k.spans = append(k.spans, s)
		}
		closed := func(i int) {
			s := &k.spans[i]
			s.end, s.Start, s.End = at, strconv.FormatInt(s.start, 10), strconv.FormatInt(at, 10)
		}
		switch e.Kind {
		case "enter":
			stack := stacks[e.Location]
			if len(stack) > 0 {
				k.spans[stack[len(stack)-1]].leaf = false
			}
			open(e.Location, len(stack))
			stacks[e.Location] = append(stack, len(k.spans)-1)
		case "leave":
			if stack := stacks[e.Location]; len(stack) > 0 {
				closed(stack[len(stack)-1])
				stacks[e.Location] = stack[:len(stack)-1]
			}
		case "recv", "recv-complete":
			if stack := stacks[e.Location]; len(stack) > 0 {
				r := receive{e.Location, at}
				k.received[r] = append(k.received[r], stack[len(stack)-1])
			}
		case "claim-begin":
			claims[e.Claim.String()] = len(k.spans)
			open("resource "+e.Resource, 0)
		case "claim-end":
			closed(claims[e.Claim.String()])
		}
	}
	return k
}

// setTracks gives the spans the numbers that the page has for their tracks.
func (td *traceData) setTracks(t *testing.T, at place) {
	t.Helper()
	for i, tr := range waitReady(t, at).Tracks {
		switch tr.Kind {
		case "location":
			td.tracks[tr.ID] = i
		case "resource":
			td.tracks["resource "+tr.ID] = i
			td.lanes["resource "+tr.ID] = tr.Depth
		}
	}
	for i := range td.spans {
		td.spans[i].Track = td.tracks[td.spans[i].location]
	}
}

// walkResult is the result of walk.mjs for a trace.
type walkResult struct {
	Name             string
	Picked           pickResult
	Sender, Followed *pickResult
	Range            struct {
		From, To string
		Panel    string
		CSV      *string
		// Locations is the table of locations. Utilisation and Reason are texts of the panel of
		// utilisation.
		Locations           *string
		Utilisation, Reason string
	}
	Reload struct {
		Before, After map[string]any
		SamePixels    bool
	}
	Errors []string
}

type pickResult struct {
	Zoomed  struct{ Steps, Part json.Number }
	Details struct {
		Title      string
		Facts      map[string]string
		Attributes [][2]string
		Links      []string
		Text       string
	}
	View struct{ Selection string }
	// Reloaded holds the text of the details after the page was loaded again.
	Reloaded struct{ Text string }
}

// TestBrowser compares the page with the command line: a span, a message and a range of time must
// agree with weft print, weft messages and weft profile.
func TestBrowser(t *testing.T) {
	needBrowser(t)
	var list []map[string]any
	traces := map[string]*traceData{}
	var names []string
	for _, c := range []struct{ name, trace string }{
		{"etf", "odse"},
		{"picl", "ring"},
		{"otf", "mpi"},
		{"pallas-attributes", "attrs"},
		{"pallas", "pallas"},
		{"otf2", "heat"},
	} {
		at := servedTrace(t, c.trace)
		k := readTrace(t, at.path)
		k.setTracks(t, at)
		in := map[string]any{"name": c.name, "url": at.url, "span": k.chooseSpan(t)}
		if s := k.sender(t); s != nil {
			in["sender"] = s
		}
		list, names, traces[c.name] = append(list, in), append(names, c.name), k
	}
	var out []walkResult
	runScript(t, "walk", map[string]any{"traces": list}, &out)
	if len(out) != len(list) {
		t.Fatalf("found %d traces seen, expected %d", len(out), len(list))
	}
	for i, s := range out {
		t.Run(s.Name, func(t *testing.T) {
			k := traces[s.Name]
			for _, e := range s.Errors {
				t.Error(e)
			}
			k.checkDetails(t, list[i]["span"].(span), &s.Picked)
			if sender, ok := list[i]["sender"].(*span); ok {
				k.checkFollowed(t, sender, &s)
			}
			k.checkRange(t, &s)
			k.checkStates(t, &s)
			if !maps.Equal(texts(s.Reload.Before), texts(s.Reload.After)) {
				t.Errorf("reloaded: found the view %v, expected %v", s.Reload.After, s.Reload.Before)
			}
			if !s.Reload.SamePixels {
				t.Error("reloaded: found other pixels than before")
			}
		})
	}
	if len(names) != len(out) {
		t.Errorf("saw %d traces, expected %v", len(out), names)
	}
}

func texts(m map[string]any) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = fmt.Sprint(v)
	}
	return out
}

// chooseSpan chooses a span with attributes and, if possible, some length.
func (td *traceData) chooseSpan(t *testing.T) span {
	t.Helper()
	best := -1
	score := func(s *span) int {
		n := 0
		if s.end > s.start {
			n += 2
		}
		if len(s.attributes) > 0 {
			n++
		}
		return n
	}
	for i := range td.spans[:len(td.spans)*2/3+1] {
		s := &td.spans[i]
		// The command line does not say in which of several lanes a claim is.
		if s.leaf && s.End != "" && td.lanes[s.location] <= 1 && (best < 0 || score(s) >= score(&td.spans[best])) {
			best = i
		}
	}
	if best < 0 {
		t.Fatalf("%s: found no span", td.path)
	}
	return td.spans[best]
}

// message is a line of weft messages --list --json.
type message struct {
	Source, Destination string
	Send, Recv          *int64
}

func (td *traceData) messages(t *testing.T) []message {
	t.Helper()
	if strings.HasSuffix(td.path, ".etf") {
		return nil
	}
	var out []message
	d := json.NewDecoder(bytes.NewReader(runWeft(t, "messages", "--list", "--json", "--quiet", td.path)))
	for d.More() {
		var m message
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// sender returns the innermost span around the send of a message in the middle of the trace.
func (td *traceData) sender(t *testing.T) *span {
	t.Helper()
	list := td.messages(t)
	for _, m := range list[len(list)/2:] {
		if m.Send == nil || m.Recv == nil {
			continue
		}
		var best *span
		for i := range td.spans {
			s := &td.spans[i]
			if at := *m.Send - td.origin; s.location == m.Source && s.leaf && s.End != "" && s.start <= at && at <= s.end &&
				(best == nil || s.Depth > best.Depth) {
				best = s
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// parseTicks reads a time as the page formats it, with thin spaces between groups of digits.
func (td *traceData) parseTicks(text string) (int64, bool) {
	text, _, _ = strings.Cut(strings.ReplaceAll(strings.ReplaceAll(text, "\u202f", ""), "\u2212", "-"), ",")
	digits, unit, _ := strings.Cut(text, " ")
	v, ok := new(big.Rat).SetString(digits)
	factor, known := map[string]int64{"s": 1, "ms": 1e3, "µs": 1e6, "ns": 1e9, "ps": 1e12}[unit]
	if !ok || !known {
		return 0, false
	}
	v.Quo(v, new(big.Rat).SetInt64(factor))
	v.Quo(v, td.clock)
	return v.Num().Int64(), v.IsInt()
}

// checkDetails checks the panel's text about a span.
func (td *traceData) checkDetails(t *testing.T, want span, p *pickResult) {
	t.Helper()
	d := &p.Details
	if d.Title != want.name {
		t.Errorf("found %q selected, expected %q: %s", d.Title, want.name, d.Text)
	}
	for fact, v := range map[string]int64{"start": want.start, "end": want.end, "duration": want.end - want.start} {
		if got, ok := td.parseTicks(d.Facts[fact]); !ok || got != v {
			t.Errorf("%s of %s: found %q, expected %d ticks", fact, want.name, d.Facts[fact], v)
		}
	}
	for name, v := range want.attributes {
		if !slices.Contains(d.Attributes, [2]string{name, v}) {
			t.Errorf("attributes of %s: found %q, expected %q to be %q", want.name, d.Attributes, name, v)
		}
	}
	if want.end > want.start {
		if part, _ := p.Zoomed.Part.Float64(); part < 0.2 {
			t.Errorf("zoomed to %s in %s steps: it takes %.3f of the window, expected a quarter", want.name, p.Zoomed.Steps,
				part)
		}
	}
}

// bothEnds matches the page's text about a followed message.
var bothEnds = regexp.MustCompile(`(?s)Followed here.*message.*From .*send.*To .*recv`)

// checkFollowed checks the span to which the page goes when the message of a span is followed.
func (td *traceData) checkFollowed(t *testing.T, sender *span, s *walkResult) {
	t.Helper()
	td.checkDetails(t, *sender, s.Sender)
	if s.Followed == nil {
		t.Errorf("the span that sends has no message: %q", s.Sender.Details.Links)
		return
	}
	for _, text := range []string{s.Followed.Details.Text, s.Followed.Reloaded.Text} {
		if !bothEnds.MatchString(text) {
			t.Errorf("found %q, expected what the trace says of the message and of both its ends", text)
		}
	}
	var lane, track, depth int
	var at int64
	if _, err := fmt.Sscanf(s.Followed.View.Selection, "%d.%d.%d.%d", &lane, &track, &depth, &at); err != nil {
		t.Fatalf("found the selection %q: %v", s.Followed.View.Selection, err)
	}
	start, ok1 := td.parseTicks(s.Followed.Details.Facts["start"])
	end, ok2 := td.parseTicks(s.Followed.Details.Facts["end"])
	var expected []string
	for _, m := range td.messages(t) {
		if m.Send == nil || m.Recv == nil || m.Source != sender.location || *m.Send-td.origin < sender.start ||
			*m.Send-td.origin > sender.end {
			continue
		}
		for _, i := range td.received[receive{m.Destination, *m.Recv - td.origin}] {
			r := &td.spans[i]
			if r.Track == track && r.Depth == depth && r.name == s.Followed.Details.Title && ok1 && ok2 && r.start == start &&
				r.end == end {
				return
			}
			expected = append(expected, fmt.Sprintf("%s on track %d from %d to %d", r.name, r.Track, r.start, r.end))
		}
	}
	t.Errorf("the message led to %q on track %d from %d to %d, expected one of %q", s.Followed.Details.Title, track, start,
		end, expected)
}

// checkRange checks the numbers of the profile of a range.
func (td *traceData) checkRange(t *testing.T, s *walkResult) {
	t.Helper()
	var want struct {
		Regions []struct {
			Name                                       string
			Count, Inclusive, Exclusive, Sum, Min, Max int64
		}
		Activities []struct {
			Name                  string
			Count, Time, Min, Max int64
		}
	}
	if err := json.Unmarshal(runWeft(t, "profile", "--json", "--quiet", "--from", s.Range.From, "--to", s.Range.To,
		td.path), &want); err != nil {
		t.Fatal(err)
	}
	if s.Range.CSV == nil {
		if len(want.Regions)+len(want.Activities) > 0 {
			t.Errorf("the profile of %s to %s is no table: %q", s.Range.From, s.Range.To, s.Range.Panel)
		}
		return
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(*s.Range.CSV, "\ufeff"))).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("found the table %q: %v", *s.Range.CSV, err)
	}
	column := func(name string) int {
		i := slices.IndexFunc(rows[0], func(h string) bool { return h == name || strings.HasPrefix(h, name+" (") })
		if i < 0 {
			t.Fatalf("found the columns %q, expected %s", rows[0], name)
		}
		return i
	}
	columns := []string{"region", "count", "inclusive", "exclusive", "min", "mean", "max"}
	if len(want.Activities) > 0 {
		columns = []string{"region", "count", "held", "min", "mean", "max"}
	}
	var got, expected []string
	for _, r := range rows[1:] {
		var line []string
		for _, c := range columns {
			line = append(line, r[column(c)])
		}
		got = append(got, strings.Join(line, " "))
	}
	for _, r := range want.Regions {
		expected = append(expected, fmt.Sprintf("%s %d %d %d %d %s %d", r.Name, r.Count, r.Inclusive, r.Exclusive, r.Min,
			formatMean(r.Sum, r.Count), r.Max))
	}
	for _, r := range want.Activities {
		expected = append(expected, fmt.Sprintf("%s %d %d %d %s %d", r.Name, r.Count, r.Time, r.Min,
			formatMean(r.Time, r.Count), r.Max))
	}
	slices.Sort(got)
	slices.Sort(expected)
	if !slices.Equal(got, expected) {
		t.Errorf("profile of %s to %s: found\n%s\nexpected\n%s", s.Range.From, s.Range.To, strings.Join(got, "\n"),
			strings.Join(expected, "\n"))
	}
}

// formatMean formats a mean as tables of the page do, with up to three decimal places.
func formatMean(sum, count int64) string {
	if count == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(big.NewRat(sum, count).FloatString(3), "0"), ".")
}

// checkStates compares busy, overhead and idle of a range with weft states.
func (td *traceData) checkStates(t *testing.T, s *walkResult) {
	t.Helper()
	var want struct {
		Processors []struct{ Busy, Overhead, Idle int64 }
	}
	text := runWeft(t, "states", "--json", "--quiet", "--from", s.Range.From, "--to", s.Range.To, td.path)
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Processors) == 0 {
		if !strings.Contains(s.Range.Reason, "There are no states: the trace has no processors") {
			t.Errorf("utilisation says %q, expected why it is empty", s.Range.Reason)
		}
		return
	}
	var got, expected []string
	var all [3]int64
	for _, p := range want.Processors {
		expected = append(expected, fmt.Sprint(p.Busy, p.Overhead, p.Idle))
		all = [3]int64{all[0] + p.Busy, all[1] + p.Overhead, all[2] + p.Idle}
	}
	if s.Range.Locations == nil {
		t.Fatal("the locations are no table")
	}
	rows, err := csv.NewReader(strings.NewReader(*s.Range.Locations)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("found the table %q: %v", *s.Range.Locations, err)
	}
	if head := strings.Join(rows[0][:4], ", "); head != "location, busy (ticks), overhead (ticks), idle (ticks)" {
		t.Fatalf("found the columns %s", head)
	}
	for _, r := range rows[1:] {
		if r[1] != "" {
			got = append(got, strings.Join(r[1:4], " "))
		}
	}
	slices.Sort(got)
	slices.Sort(expected)
	if !slices.Equal(got, expected) {
		t.Errorf("states of %s to %s: found %q, expected %q", s.Range.From, s.Range.To, got, expected)
	}
	whole := float64(max(1, all[0]+all[1]+all[2]))
	for i, state := range []string{"busy", "overhead", "idle"} {
		part := 100 * float64(all[i]) / whole
		digits := 1
		if part < 9.95 {
			digits = 2
		}
		if words := fmt.Sprintf("%s %.*f %%", state, digits, part); !strings.Contains(s.Range.Utilisation, words) {
			t.Errorf("utilisation of %s to %s says %q, expected %q", s.Range.From, s.Range.To, s.Range.Utilisation, words)
		}
	}
}
