package serve

import (
	"fmt"
	"strings"
	"testing"
)

// TestVerification checks verdicts, explanations and syntax errors. Two claims of the trace hold CPU
// from 0 to 2 and from 1 to 3 ms (docs/analyses/verify.md).
func TestVerification(t *testing.T) {
	const path = "../format/etf/testdata/ok/feature-coverage.etf"
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	ms := fmt.Sprint(get(t, s, api)["clock"].(map[string]any)["num"])
	ms = strings.TrimSuffix(ms, "000")
	post := func(query, spec string) map[string]any {
		w := send(s, "POST", api+"/verify"+query, strings.NewReader(spec), "Authorization", "Bearer "+secret)
		if w.Code != 200 {
			t.Fatalf("%s: status %d: %s", spec, w.Code, w.Body)
		}
		v := decoded(t, w)
		checkAnswer(t, s, "Verification", v)
		return v
	}
	const cpu = "signal cpu : usage {'name' = 'CPU'}\n"
	for _, c := range []struct{ query, spec, path, want string }{
		{"", cpu + "check two : globally cpu <= 2", "checks/0/verdict", "good"},
		{"", cpu + "check one : globally cpu <= 1", "checks/0/verdict", "bad"},
		{"", cpu + "check one : globally cpu <= 1", "checks/0/violated", "true"},
		{"", cpu + "check one : globally cpu <= 1", "checks/0/reasons/0/from", ms},
		{"", cpu + "check one : globally cpu <= 1", "violated", "1"},
		{"", cpu + "check two : globally cpu <= 2", "checks/0/robustness", ""},
		{"?robust=1", cpu + "check three : globally cpu <= 3", "checks/0/robustness", "1"},
		{"?robust=1", cpu + "check one : globally cpu <= 1", "checks/0/robustness", "-1"},
		{"?robust=1", "--never nobody", "checks/0/robustness", "inf"},
		{"?semantics=4", cpu + "check one : globally cpu <= 1", "checks/0/verdict", "FALSE"},
		{"", "--never nobody", "checks/0/check", "never"},
		{"", "--never nobody", "checks/0/formula", "globally not {'name' = 'nobody'}"},
		{"", "--never nobody", "checks/0/verdict", "non-informative"},
		{"", "--never nobody", "warnings/0", "no event has 'name' = 'nobody'"},
		{"?semantics=2", "  --never='nobody' \r\n--never \"{'name' = 'no one'}\"", "checks/1/check", "never2"},
		{"?semantics=2", "--never='nobody'\n--never \"{'name' = 'no one'}\"", "checks/1/formula",
			"globally not {'name' = 'no one'}"},
		{"", "", "checks/len", "0"},
		{"", "check a : globally\n  ture", "syntax/line", "2"},
		{"", "check a : globally\n  ture", "syntax/column", "3"},
		{"", "\n --nevr x", "syntax/line", "2"},
		{"", "\n --never", "syntax/column", "9"},
		{"", "--response 'a -> '", "syntax/column", "12"},
		{"", "\n--never a\ncheck never : true", "syntax/line", "2"},
		{"", "\n--never a\ncheck never : true", "syntax/column", "1"},
	} {
		if got := fmt.Sprint(look(post(c.query, c.spec), c.path)); got != c.want {
			t.Errorf("%s %q %s: found %s, expected %s", c.query, c.spec, c.path, got, c.want)
		}
	}
	message := fmt.Sprint(look(post("", "chekc a : true"), "syntax/message"))
	if !strings.Contains(message, "expected") || !strings.Contains(message, "did you mean check?") {
		t.Errorf("found %q, expected what was expected and the word check", message)
	}
	for query, spec := range map[string]string{"?semantics=5": "", "": strings.Repeat(" ", maxSpecification+1)} {
		w := send(s, "POST", api+"/verify"+query, strings.NewReader(spec), "Authorization", "Bearer "+secret)
		if w.Code != 400 && w.Code != 413 {
			t.Errorf("%s: status %d, expected a refusal", query, w.Code)
		}
	}
}
