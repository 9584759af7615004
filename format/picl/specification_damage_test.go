package picl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/trace"
)

// TestNotANumber_2_3_7 checks that statistics without a finite value are written as scanf reads them.
func TestNotANumber_2_3_7(t *testing.T) {
	event := intValue(-21)
	for _, x := range []struct {
		value float64
		want  string
	}{{math.NaN(), "NaN"}, {math.Inf(1), "+Inf"}, {math.Inf(-1), "-Inf"}, {1e20, "1e+20"}, {0.5, "0.500000"}} {
		r := Record{Type: TypeTimes, Event: -1, Time: trace.NewDecimal(1, 1),
			Values: []trace.Value{event, trace.FloatValue(x.value)}}
		want := `-101 -1 0.100000 0 0 1 "%d%lf" -21 ` + x.want
		if got := string(r.Append(nil, 6)); got != want {
			t.Errorf("found %s, expected %s", got, want)
		}
	}
}

// TestDamagedDefinitions_2_3_5 checks that defects of records of type -6 are reported, and that their definitions
// count if they can be read.
func TestDamagedDefinitions_2_3_5(t *testing.T) {
	const reported, unknown = "picl.descriptor × 1", "picl.unknown-descriptor × 1"
	for _, x := range []struct{ data, want, rules string }{
		{`1 "%d%s" 9 "%x"`, `data0:int32="255"`, ""},
		{`1 2 9 "%x"`, `data0:int32="255"`, ""},
		{`1 x 9 "%x"`, `data0:int32="255"`, reported},
		{`1 1.5 9 "%x"`, `data0:int32="255"`, reported},
		{`1 99999999999999999999 9 "%x"`, `data0:int32="255"`, reported},
		{`1 "" 9 "%x"`, `data0:int32="255"`, reported},
		{`1 "%q%s" 9 "%x"`, `data0:int32="255"`, reported},
		{`1 "%d%s" 9 %x`, `data0:int32="255"`, reported},
		{`1 "%d%s" 9 %x"`, `data0:string="ff"`, reported + " " + unknown},
		{`1 "%d%s" 9 z%x"`, `data0:string="ff"`, reported + " " + unknown},
		{`1 "%d%s" 9 "%x`, `data0:string="ff"`, reported + " " + unknown},
		{`1 "%d%s" 9`, `data0:string="ff"`, reported + " " + unknown},
		{`1 "%d%s 9 "%x"`, `data0:string="ff"`, reported + " " + unknown},
		{`1`, `data0:string="ff"`, reported + " " + unknown},
	} {
		text := "-6 -1 0.000000 -1 -1 " + x.data + "\n1 7 0.100000 0 0 1 9 ff\n"
		_, rows, rules := opened(t, text, nil)
		if got := strings.Join(rules, " "); got != x.rules || len(rows) != 1 || !strings.HasSuffix(rows[0], x.want) {
			t.Errorf("%s: found %q and %s, expected %s and %s", x.data, rows, got, x.want, x.rules)
		}
		if diff := cmp.Diff(text, copyText(t, text, nil)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestEventTypes_2_3_7 checks that a word or a fraction in place of an event type of a statistics record is reported.
func TestEventTypes_2_3_7(t *testing.T) {
	for _, x := range []struct{ data, want string }{
		{`1 "%d%d" 7 1`, ""},
		{`2 5 7.0 1.0`, ""},
		{`1 "%s%d" send 1`, "picl.statistics × 1"},
		{`2 5 7.5 1.0`, "picl.statistics × 1"},
		{`2 "%s%d" a 1 b 1`, "picl.statistics × 2"},
		{`2 "%s%d" a 1 7 1`, "picl.statistics × 2"}, // both are texts
	} {
		for _, typ := range []string{"-102", "-104"} {
			_, _, rules := opened(t, "-2 7 0.1 0 0 0\n"+typ+" -1 0.2 0 0 "+x.data+"\n", nil)
			if got := strings.Join(rules, " "); got != x.want {
				t.Errorf("%s %s: found %s, expected %s", typ, x.data, got, x.want)
			}
		}
	}
}

// TestDescriptorsOfDefinitions_2_3_5 checks that labels and subsets may have descriptors that records of type -6
// before them define, within the scope of these.
func TestDescriptorsOfDefinitions_2_3_5(t *testing.T) {
	const events = "-3 7 0.000000 0 0 0\n-3 7 0.100000 1 0 0\n"
	for _, x := range []struct{ name, text, labels, rules string }{
		{"label", `-6 -1 -1.000000 -1 -1 1 "%d%s" 9 "%x"` + "\n-5 7 -1.000000 -1 -1 1 9 ff\n", "255 255", ""},
		{"redefined", `-6 -1 -1.000000 -1 -1 1 "%d%s" 1 "%x"` + "\n-5 7 -1.000000 -1 -1 1 1 ff\n", "255 255", ""},
		{"later", "-5 7 -1.000000 -1 -1 1 9 ff\n" + `-6 -1 -1.000000 -1 -1 1 "%d%s" 9 "%x"` + "\n", "ff ff",
			"picl.unknown-descriptor × 1"},
		{"another event type", `-6 8 -1.000000 -1 -1 1 "%d%s" 9 "%x"` + "\n-5 7 -1.000000 -1 -1 1 9 ff\n", "ff ff",
			"picl.unknown-descriptor × 1"},
		{"subset", `-6 -1 -1.000000 -1 -1 1 "%d%s" 9 "%d"` + "\n-201 -1 -1.000000 -1 -1 2 9 -77 1\n" +
			"-5 7 -1.000000 -77 -1 1 0 a\n", "event_7 a", ""},
		{"damaged subset", `-6 -1 -1.000000 -1 -1 1 "%d%s" 9 "%d"` + "\n-201 -1 -1.000000 -1 -1 2 9 -77 x\n" +
			"-5 7 -1.000000 -77 -1 1 0 a\n", "event_7 event_7", "picl.data-type × 1 picl.subset × 1 picl.undefined × 1"},
	} {
		text := x.text + events
		_, rows, rules := opened(t, text, nil)
		var labels []string
		for _, r := range rows {
			if _, name, ok := strings.Cut(r, " enter \""); ok {
				labels = append(labels, strings.ReplaceAll(name[:strings.IndexByte(name, '"')], " ", "_"))
			}
		}
		slices.Sort(rules)
		if got := strings.Join(labels, " "); got != x.labels || strings.Join(rules, " ") != x.rules {
			t.Errorf("%s: found %s and %v, expected %s and %s", x.name, got, rules, x.labels, x.rules)
		}
		if diff := cmp.Diff(text, copyText(t, text, nil)); diff != "" {
			t.Errorf("%s: %s", x.name, diff)
		}
	}
}
