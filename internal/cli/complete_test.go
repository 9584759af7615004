package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestCompletionOfNames checks that a shell completes locations, regions, groups, kinds and rules, each also after a
// comma. The names are those in the definitions of the trace.
func TestCompletionOfNames(t *testing.T) {
	const path = "../../format/otf/testdata/ok/mpi4/mpi4.otf"
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"profile", path, "--location", ""}, []string{"Rank 0", "Rank 1", "Rank 2", "Rank 3"}},
		{[]string{"profile", path, "--location", "Rank 1,Rank "},
			[]string{"Rank 1,Rank 0", "Rank 1,Rank 1", "Rank 1,Rank 2", "Rank 1,Rank 3"}},
		{[]string{"otf", "shrink", path, "--location", "Rank 3"}, []string{"Rank 3"}},
		{[]string{"align", path, "--reference", "Rank 2"}, []string{"Rank 2"}},
		{[]string{"filter", path, "--not-region", "MPI_"}, []string{"MPI_Send", "MPI_Recv", "MPI_Allreduce"}},
		{[]string{"profile", "nosuch.otf", "--location", ""}, nil},
		{[]string{"profile", "--location", ""}, nil},
		{[]string{"print", path, "--kind", "leave,rec"},
			[]string{"leave,recv", "leave,recv-begin", "leave,recv-complete"}},
		{[]string{"check", path, "--rule", "otf.dup"}, []string{"otf.duplicate"}},
		{[]string{"convert", path, "--as", "pi"}, []string{"picl"}},
	} {
		_, out, errs := runWeft(t, append([]string{"__complete"}, c.args...)...)
		var found []string
		for l := range strings.Lines(out) {
			if name, _, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t"); !strings.HasPrefix(name, ":") {
				found = append(found, name)
			}
		}
		found = slices.DeleteFunc(found, func(s string) bool { return !strings.HasPrefix(s, c.args[len(c.args)-1]) })
		if !slices.Equal(found, c.want) || !strings.HasSuffix(out, ":4\n") {
			t.Errorf("%q: found %q, expected %q: %s%s", c.args, found, c.want, out, errs)
		}
	}
}

// TestCompleteList checks names with commas and quotes, which need quotes in a list.
func TestCompleteList(t *testing.T) {
	names := []string{"a", "a,b", `a"c`, "b\tthe second"}
	for text, want := range map[string][]string{
		"":       {"a", `"a,b"`, `"a""c"`, "b\tthe second"},
		"b,a":    {"b,a"},
		`"a,`:    {`"a,b"`},
		`b,"a,b`: {`b,"a,b"`},
		"x,":     {"x,a", `x,"a,b"`, `x,"a""c"`, "x,b"},
	} {
		if found := completeList(names, text); !slices.Equal(found, want) {
			t.Errorf("%s: found %q, expected %q", text, found, want)
		}
	}
}
