package otf

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestBareMarkers_5 checks that markers and their definitions without the keyword of a field are read as libotf reads
// them. The expected lines are those of otfprint 1.12.5.
func TestBareMarkers_5(t *testing.T) {
	malformed := []string(nil)
	for line, want := range map[string][]string{
		`MDc8"m"Y1`:                          {`DefMarker: ID 200, name "m", type UNKNOWN <0>`},
		`MDc8"m"1`:                           {`DefMarker: ID 200, name "m", type ERROR`},
		`MDc8"m"`:                            {`DefMarker: ID 200, name "m", type UNKNOWN <0>`},
		`MDc8NM"m" 1`:                        {`DefMarker: ID 200, name "m", type ERROR`},
		`MDc8NM"m"1`:                         {`DefMarker: ID 200, name "m", type ERROR`},
		`MDc8NM"m"Q1`:                        {`DefMarker: ID 200, name "m", type UNKNOWN <0>`},
		`MDc8NM"m"`:                          {`DefMarker: ID 200, name "m", type UNKNOWN <0>`},
		`MD"m"NM"q"Y1`:                       {`DefMarker: ID 0, name "m", type UNKNOWN <0>`},
		`MDc8N"m"Y1`:                         malformed,
		`MDc8Y1NM"m"`:                        malformed,
		`MDc8`:                               malformed,
		`MSc8T7P1"x"`:                        {`7 Marker: ID 200, process 1, text "x"`},
		`MSc8T7"x"`:                          {`7 Marker: ID 200, process 0, text "x"`},
		`MSc8"x"`:                            {`0 Marker: ID 200, process 0, text "x"`},
		`MSc87P1V"x"`:                        malformed,
		`MSc8T71V"x"`:                        malformed,
		`MSc8P1"x"`:                          malformed,
		`MSc8 T7P1"x"`:                       malformed,
		`MSc8T7P1Q"x"`:                       malformed,
		`MSc8T7P1V`:                          malformed,
		`MARKERSPOT c8 TIME 7 PROCESS 1 "x"`: {`7 Marker: ID 200, process 1, text "x"`},
	} {
		dir := t.TempDir()
		files := soundTrace()
		files["x.0.marker"] = line + "\nMSc8T9P1V\"end\"\n"
		for name, text := range files {
			writeFile(t, filepath.Join(dir, name), text)
		}
		if want != nil {
			want = append(slices.Clone(want), `9 Marker: ID 200, process 1, text "end"`)
		}
		var out bytes.Buffer
		src := format.FileSource(filepath.Join(dir, "x.otf"))
		if err := PrintCompat(context.Background(), src, nil, &PrintOptions{}, &out); err != nil {
			t.Fatal(err)
		}
		got := regexp.MustCompile(`DefMarker:.*|\d+ Marker:.*`).FindAllString(out.String(), -1)
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, expected %q", line, got, want)
		}
		// Without --compat, a marker that libotf reads is read, too, and a missing keyword is reported.
		complete := strings.Contains(line, "NM\"m\"Q") || line == `MDc8NM"m"`
		if strings.HasPrefix(line, "MSc8 T7") {
			want, complete = []string{""}, false // libotf does not accept the blank
		}
		rep := format.NewReport()
		if err := checkTrace(t, dir, &format.ReadOptions{Report: rep}); err != nil {
			t.Fatal(err)
		}
		is := func(rule string) bool {
			return slices.ContainsFunc(rep.Rules(), func(r format.RuleCount) bool { return r.Rule == rule })
		}
		if is("otf.malformed") != (want == nil) || is(missingKeyword) != (want != nil && !complete) {
			t.Errorf("%s: found %v", line, rep.Rules())
		}
	}
}
