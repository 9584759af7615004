package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/collectives"
	"github.com/weft-trace/weft/analysis/counts"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/analysis/explain"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/trace"
)

// emptyReport returns a report of a trace without events.
func emptyReport() *Report {
	return &Report{Title: "t", Format: "f",
		Info: &info.Info{Path: "t", Files: []info.File{{Path: "t", Size: 1}},
			Clock: info.Clock{TicksPerSecond: "1000", Resolution: "1 ms"}},
		Clock: trace.TicksPerSecond(1000), Waits: func(uint32) bool { return false },
		Color:        func(uint32) string { return "" },
		LocationName: func(uint32) string { return "" }}
}

// write returns the page of a report.
func write(t *testing.T, r *Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// texts returns the elements of a page, with their attributes, and the text between them.
func texts(t *testing.T, page []byte) (elements []xml.StartElement, text string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, text
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			elements = append(elements, e.Copy())
		case xml.CharData:
			text += string(e)
		}
	}
}

// TestNamesAreText checks that a name with characters that have a meaning in HTML appears on the page as text,
// in all places in which the page shows names.
func TestNamesAreText(t *testing.T) {
	bad := `<script>alert("1")</script> '"&` + "\x00\x07\n"
	rtl := "\u200f\u0632\u0645\u0646 \u0627\u0644\u062d\u0633\u0627\u0628\u200f \u202eevil"
	first, last := int64(0), int64(100)
	for _, n := range []string{bad, rtl, "</title></style><img src=x onerror=alert(1)>", "javascript:alert(1)",
		"{{.Title}}", "\xff\xfe latin \xe9", strings.Repeat("long ", 9000)} {
		r := emptyReport()
		r.Title, r.Format = n, n
		r.Info = &info.Info{Path: n, Format: n, Files: []info.File{{Path: n}, {Path: n}}, Origin: n, First: &first,
			Last: &last, Start: n, Events: 7, Properties: map[string]any{n: n},
			Clock: info.Clock{TicksPerSecond: "1000", Resolution: "1 ms"}, Kinds: []counts.Kind{{Name: n, Events: 3}},
			Resources: []profile.Resource{{ID: n, Name: n, Unit: n}}, Locations: make([]info.Location, 3)}
		r.Regions = []profile.Region{{Name: n, Group: n, Exclusive: trace.TicksOf(30), Inclusive: trace.TicksOf(30),
			Count: 1}}
		r.Activities = []profile.Activity{{Name: n, Count: 1}}
		r.Covered = trace.TicksOf(30)
		r.Locations = []profile.Location{{Name: n, Covered: 30, Regions: r.Regions}}
		r.Paths = []calltree.Node{{Parent: -1, Name: n, Inclusive: trace.TicksOf(30), Count: 1},
			{Parent: 0, Depth: 1, Name: n, Inclusive: trace.TicksOf(30), Count: 1}}
		r.LocationName = func(uint32) string { return n }
		r.Messages = &messages.Result{Sent: 3,
			Matrix: []messages.Cell{{Source: 0, Destination: 1, Bytes: 5, Count: 1},
				{Source: 1, Destination: 2, Bytes: 500, Count: 1}, {Source: 2, Destination: trace.NoRef, Bytes: 1, Count: 1}}}
		r.Collectives = &collectives.Result{Operations: []collectives.Operation{{Label: n, Name: n, Calls: 2,
			NonBlocking: true}}}
		share := []waits.Share{{Region: n, Time: trace.TicksOf(3), Count: 1}}
		r.WaitStates = &waits.Result{Patterns: []waits.Pattern{{Pattern: "late-sender", Count: 1, Regions: share}},
			Late: []waits.LateArrivals{{Communicator: n, LocationName: n}}, Unjudged: []waits.Unjudged{{What: n, Reason: n}}}
		r.Causes = &causes.Result{Patterns: []causes.Pattern{{Costs: []causes.Cost{{Path: []string{n}, LocationName: n}}}}}
		r.Explanation = &explain.Page{Verdict: n, Unjudged: []string{n}, Efficiency: &efficiency.Result{},
			Findings: []explain.Finding{{Title: n, Path: []string{n}, Locations: []string{n}, Evidence: []string{n},
				Advice: n, Confidence: explain.Confidence(n)}},
			CriticalPath: &criticalpath.Result{Regions: []criticalpath.Region{{Region: n}, {}},
				Locations: []criticalpath.Location{{LocationName: n}}, Gains: []criticalpath.Gain{{Region: n}}}}
		r.Rules = []Rule{{Rule: n, Severity: "error", Doc: n, Count: 1, Place: n, Found: n, Expected: n}}
		r.Picture = Picture{PNG: []byte("png"), Caption: n}
		page := write(t, r)
		if len(page) > 50_000 {
			t.Errorf("%.20q: a page of %d bytes", n, len(page))
		}
		elements, text := texts(t, page)
		for _, e := range elements {
			switch e.Name.Local {
			case "script", "iframe", "object", "embed", "link", "form", "base":
				t.Errorf("%.20q: found the element %s", n, e.Name.Local)
			}
			for _, a := range e.Attr {
				k := strings.ToLower(a.Name.Local)
				if strings.HasPrefix(k, "on") || strings.Contains(strings.ToLower(a.Value), "javascript:") && k != "title" ||
					k == "src" && !strings.HasPrefix(a.Value, "data:image/png;base64,") ||
					k == "href" && !strings.HasPrefix(a.Value, "#") {
					t.Errorf("%.20q: found the attribute %s=%.60q", n, a.Name.Local, a.Value)
				}
			}
		}
		if bytes.ContainsAny(page, "\x00\x07") || !bytes.Equal(page, bytes.ToValidUTF8(page, nil)) {
			t.Errorf("%.20q: found bytes that are no text", n)
		}
		if want := name(n); strings.Count(text, strings.ReplaceAll(want, "\r", "")) < 20 {
			t.Errorf("%.20q: found it %d times in the text", n, strings.Count(text, want))
		}
		if n == rtl && bytes.Count(page, []byte("<bdi>"+rtl)) < 15 {
			t.Errorf("found names without <bdi>, which take the direction of the text around them")
		}
		if again := write(t, r); !bytes.Equal(page, again) {
			t.Errorf("%.20q: two pages differ", n)
		}
	}
}

// TestLittleAndMuch writes the page of an empty trace, and of a trace with the largest numbers.
func TestLittleAndMuch(t *testing.T) {
	r := emptyReport()
	_, text := texts(t, write(t, r))
	for _, want := range []string{"none", "weft check finds 0 errors, 0 warnings and 0 notes."} {
		if !strings.Contains(text, want) {
			t.Errorf("the text %q is missing", want)
		}
	}
	first, last := int64(math.MinInt64), int64(math.MaxInt64)
	r.Info.First, r.Info.Last = &first, &last
	r.From, r.To = &last, &first
	r.Covered = trace.TicksOf(math.MaxInt64)
	r.Regions = []profile.Region{{Name: "r", Exclusive: trace.TicksOf(math.MaxInt64),
		Inclusive: trace.TicksOf(math.MaxInt64), Sum: trace.TicksOf(math.MaxInt64), Count: math.MaxInt64}}
	r.Locations = []profile.Location{{Covered: math.MaxInt64, Regions: r.Regions}, {Covered: 1}}
	r.Messages = &messages.Result{Sent: 1, SentBytes: math.MaxInt64,
		Matrix: []messages.Cell{{Source: 0, Destination: 1, Bytes: math.MaxInt64}, {Source: 1, Destination: 2}}}
	if _, text := texts(t, write(t, r)); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") ||
		!strings.Contains(text, "9\u202f223\u202f372\u202f036\u202f854\u202f775\u202f807") {
		t.Errorf("found values that are no numbers:\n%s", text)
	}
}

// TestStragglers checks the limits for stragglers. Nine locations have 100 ticks of work each. A tenth
// location with 111 ticks is not a straggler, because its own work raises the mean. With 113 ticks it is a
// straggler.
func TestStragglers(t *testing.T) {
	for work, want := range map[int64]string{111: "There is none.", 113: "Here 1 of 10 do."} {
		r := emptyReport()
		first, last := int64(0), int64(200)
		r.Info.First, r.Info.Last = &first, &last
		r.Waits = func(ref uint32) bool { return ref == 1 }
		for i := range 10 {
			own := int64(100)
			if i == 4 {
				own = work
			}
			r.Locations = append(r.Locations,
				profile.Location{Location: uint32(i), Covered: 200,
					Regions: []profile.Region{{Region: 0, Exclusive: trace.TicksOf(own)},
						{Region: 1, Exclusive: trace.TicksOf(200 - own)}}})
		}
		_, text := texts(t, write(t, r))
		if !strings.Contains(text, want) {
			t.Errorf("%d: the text %q is missing", work, want)
		}
	}
	// A location whose work exceeds the mean by less than 1 % of the duration is not a straggler.
	r := emptyReport()
	first, last := int64(0), int64(100000)
	r.Info.First, r.Info.Last = &first, &last
	r.Locations = []profile.Location{{Covered: 10, Regions: []profile.Region{{Exclusive: trace.TicksOf(10)}}},
		{Covered: 20, Regions: []profile.Region{{Exclusive: trace.TicksOf(20)}}}}
	if _, text := texts(t, write(t, r)); !strings.Contains(text, "There is none.") {
		t.Error("found a straggler, expected none")
	}
}

// TestFigures checks the formats of numbers.
func TestFigures(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1\u202f000", -1234567: "-1\u202f234\u202f567",
		-123: "-123"} {
		if s := count(n); s != want {
			t.Errorf("found %q, expected %q", s, want)
		}
	}
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1\u202f023 bytes", 1024: "1.0 KiB",
		1536 << 20: "1.5 GiB"} {
		if s := size(n); s != want {
			t.Errorf("found %q, expected %q", s, want)
		}
	}
	if s := deviation(90, 100).Text; s != "−10.0 %" {
		t.Errorf("found %q", s)
	}
	if s := deviation(99.999, 100).Text; s != "0.0 %" {
		t.Errorf("found %q", s)
	}
	if s := float(0.1 + 0.2); s != "0.3" {
		t.Errorf("found %q", s)
	}
}

// TestSentences checks that the page has the whole sentences of weft explain, which can be longer than names.
func TestSentences(t *testing.T) {
	r := emptyReport()
	verdict := "8 % of the time is useful. The lowest factor is serialisation, 0.15. The largest gain: communication " +
		"itself takes 6 % of the time, waits left out. Calls whose waits are unknown take 25 % of the time of all threads."
	evidence := []string{"125.771 ms there, 49.038 ms in the mean of the others",
		"256.999 ms of wait-at-explicit-omp-barrier", "90.712 ms of wait-at-implicit-omp-barrier",
		"76.03 ms of lock-contention"}
	r.Explanation = &explain.Page{Verdict: verdict, Findings: []explain.Finding{{Evidence: evidence}},
		Efficiency: &efficiency.Result{}}
	page := write(t, r)
	_, text := texts(t, page)
	for _, want := range []string{verdict, strings.Join(evidence, "; ")} {
		if !strings.Contains(text, want) {
			t.Errorf("found no %q in the page", want)
		}
	}
	// Otherwise a window of 800 pixels has one word in a line.
	style := strings.Contains(string(page), "td.prose { min-width: 12em; }")
	if n := strings.Count(string(page), `<td class="prose">`); n != 4 || !style {
		t.Errorf("found %d cells with a least width, expected those of title, place, evidence and advice", n)
	}
}
