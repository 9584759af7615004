package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGroupsWithTokensOfProcesses checks a trace whose communicator has the token of a process, as in the OTF that weft
// convert writes. Commands that remove or merge definitions must keep it. otfprint shows its members and its messages.
func TestGroupsWithTokensOfProcesses(t *testing.T) {
	group := regexp.MustCompile(`DefProcessGroup: stream 0, group (\d+), name "W", procs (.*)`)
	message := regexp.MustCompile(`(?:sender|receiver) (\d+), (?:sender|receiver) (\d+), group (\d+)`)
	for _, token := range []string{"1", "2", "5"} {
		var paths []string
		for _, name := range []string{"a", "b"} {
			dir := t.TempDir()
			path := filepath.Join(dir, name+".otf")
			writeText(t, path, "1:1\n2:2\n")
			writeText(t, filepath.Join(dir, name+".0.def"),
				"DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDPG"+token+"M1,2,NM\"W\"\nDFG1NM\"g\"\nDF1G1NM\"main\"\n")
			writeText(t, filepath.Join(dir, name+".1.events"), "1\n*1\nE1\n2\n*1\nS2L8T1C"+token+"\n3\n*1\nL1\n3\n*1\n")
			writeText(t, filepath.Join(dir, name+".2.events"), "1\n*2\nE1\n3\n*2\nR1L8T1C"+token+"\n4\n*2\nL1\n4\n*2\n")
			paths = append(paths, path)
		}
		for _, args := range [][]string{{"filter", "--prune", "--min-duration", "0"}, {"repair", "--prune"},
			{"merge", paths[1]}} {
			out := filepath.Join(t.TempDir(), "c.otf")
			weft(t, exitGood, append(args, "-q", paths[0], out)...)
			printed, _ := runTool(t, out, "otfprint")
			if printed == nil {
				t.Skip("otfprint is not installed")
			}
			members := map[string][]string{}
			for _, m := range group.FindAllStringSubmatch(string(printed), -1) {
				members[m[1]] = strings.Split(m[2], ", ")
			}
			groups, messages := 1, message.FindAllStringSubmatch(string(printed), -1)
			if args[0] == "merge" {
				groups = 2
			}
			if len(members) != groups || len(messages) != 2*groups {
				t.Errorf("%v, group %s: otfprint shows\n%s", args, token, printed)
			}
			for _, m := range messages {
				if in := members[m[3]]; !slices.Contains(in, m[1]) || !slices.Contains(in, m[2]) {
					t.Errorf("%v, group %s: %s, but the group has the members %v", args, token, m[0], in)
				}
			}
		}
	}
}
