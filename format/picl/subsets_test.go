package picl

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// TestSubsetsOfSubsets_2_1 checks that the members of a subset inside of another one are members of that one, for
// figures of statistics, and that the order of the definitions and cycles do not matter.
func TestSubsetsOfSubsets_2_1(t *testing.T) {
	const inner, outer = "-203 -1 -9.0 -1 -1 2 2 -5001 7\n", "-203 -1 -9.0 -1 -1 3 2 -5002 -5001 8\n"
	const calls = "-3 7 1.0 0 0 0\n-4 7 2.0 0 0 0\n-3 8 3.0 0 0 0\n-4 8 5.0 0 0 0\n"
	const processors = "-201 -1 -9.0 -1 -1 3 2 -2 0 1\n-201 -1 -9.0 -1 -1 3 2 -3 -2 2\n" +
		"-3 7 1.0 0 0 0\n-3 7 1.0 1 0 0\n-3 7 1.0 2 0 0\n-4 7 2.0 0 0 0\n-4 7 2.0 1 0 0\n-4 7 2.0 2 0 0\n"
	const sends = "-3 -21 0.1 0 0 3 2 100 5 -1\n-4 -21 0.2 0 0 0\n"
	for _, x := range []struct{ name, text, want string }{
		{"event types", inner + outer + calls +
			"-102 -1 6.0 0 0 1 \"%d%d\" -5002 2\n-101 -1 6.0 0 0 1 \"%d%lf\" -5002 3\n", ""},
		{"inner one later", outer + inner + calls + "-102 -1 6.0 0 0 1 \"%d%d\" -5002 2\n", ""},
		{"without the inner one", inner + outer + calls + "-102 -1 6.0 0 0 1 \"%d%d\" -5002 1\n", "picl.statistics × 1"},
		{"more than there are", inner + outer + calls + "-102 -1 6.0 0 0 1 \"%d%d\" -5002 3\n", "picl.statistics × 1"},
		{"cycle", strings.Replace(inner, "2 2 -5001", "3 2 -5001 -5002", 1) + outer + calls +
			"-102 -1 6.0 0 0 2 \"%d%d\" -5001 2 -5002 2\n", ""},
		{"predefined member", "-203 -1 -9.0 -1 -1 3 2 -5001 -1012 8\n" + sends + calls +
			"-102 -1 6.0 0 0 1 \"%d%d\" -5001 2\n", ""},
		{"processors, direct", processors + "-102 -1 6.0 -2 -1 1 \"%d%d\" 7 2\n", ""},
		{"processors, nested", processors + "-102 -1 6.0 -3 -1 1 \"%d%d\" 7 3\n", ""},
		{"processors, wrong", processors + "-102 -1 6.0 -3 -1 1 \"%d%d\" 7 1\n", "picl.statistics × 1"},
	} {
		t.Run("2.1 "+x.name, func(t *testing.T) {
			_, rows, rules := opened(t, x.text, nil)
			rules = slices.DeleteFunc(rules, func(r string) bool { return strings.HasPrefix(r, "trace.") })
			if diff := cmp.Diff(x.want, strings.Join(rules, ", ")); diff != "" {
				t.Errorf("%s\n%s", diff, strings.Join(rows, "\n"))
			}
		})
	}
}

// TestSubsetsDefinedAgain checks the members of subsets after definitions of subsets inside of them change, and that
// numbers of processors from 0 on are no subsets.
func TestSubsetsDefinedAgain(t *testing.T) {
	d := newDefinitions()
	d.define(setKey{TypeProcessorSet, -3}, []int64{-2, 5})
	d.define(setKey{TypeProcessorSet, 5}, []int64{6})
	d.define(setKey{TypeProcessorSet, -2}, []int64{0, 1})
	d.define(setKey{TypeProcessorSet, -2}, []int64{1, 2})
	got := d.members(setKey{TypeProcessorSet, -3})
	if slices.Sort(got); !slices.Equal(got, []int64{1, 2, 5}) {
		t.Errorf("found members %d, expected 1, 2 and 5", got)
	}
	for x, want := range map[int64]bool{0: false, 1: true, 2: true, 5: true, 6: false} {
		if d.inSet(TypeProcessorSet, -3, x) != want {
			t.Errorf("found processor %d in the subset: %t, expected %t", x, !want, want)
		}
	}
}

// TestNestedCommunicators_2_1 checks the ranks of a communicator whose subset has other subsets as members.
func TestNestedCommunicators_2_1(t *testing.T) {
	const barriers = "-3 -402 1.0 0 0 2 2 -1 -8\n-3 -402 1.0 1 0 2 2 -1 -8\n-3 -402 1.0 2 0 2 2 -1 -8\n" +
		"-4 -402 2.0 0 0 0\n-4 -402 2.0 1 0 0\n-4 -402 2.0 2 0 0\n-2 1 3.0 3 0 0\n"
	for _, x := range []struct {
		name, text string
		want       []string
		count      int
	}{
		{"processors as ranks", "-202 -812 0.0 -1 -1 3 2 -7 0 1\n-202 -812 0.0 -1 -1 3 2 -8 -7 2\n",
			[]string{"0/0", "1/0", "2/0"}, 3},
		{"defined later", "-202 -812 0.0 -1 -1 3 2 -8 2 -7\n-202 -812 0.0 -1 -1 3 2 -7 0 1\n",
			[]string{"2/0", "0/0", "1/0"}, 3},
		{"twice a member", "-202 -812 0.0 -1 -1 3 2 -7 0 1\n-202 -812 0.0 -1 -1 4 2 -8 1 -7 2\n",
			[]string{"1/0", "0/0", "2/0"}, 3},
		{"in each other", "-202 -812 0.0 -1 -1 4 2 -7 -8 0 1\n-202 -812 0.0 -1 -1 3 2 -8 -7 2\n",
			[]string{"2/0", "0/0", "1/0"}, 3},
		{"processors", "-201 -1 0.0 -1 -1 3 2 -7 0 1\n-201 -1 0.0 -1 -1 3 2 -8 -7 2\n", []string{"0/0", "1/0", "2/0"}, 3},
		{"not defined", "-202 -812 0.0 -1 -1 3 2 -8 -7 2\n", nil, 2},
	} {
		t.Run("2.1 "+x.name, func(t *testing.T) {
			d := tracetest.Open(t, Format{}, write(t, x.text+barriers), nil).Defs()
			i := slices.IndexFunc(d.Communicator.All(), func(c trace.Communicator) bool { return c.ID == "-8" })
			list, _ := d.Memberships().Members(uint32(i))
			var got []string
			for _, l := range list {
				got = append(got, d.Locations.At(l).ID)
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Error(diff)
			}
			if n, _ := d.MemberCount(uint32(i)); n != x.count {
				t.Errorf("found %d members, expected %d", n, x.count)
			}
		})
	}
}

// TestBarrierDescriptors_2_2_2 checks that the subsets of a barrier are found if a record of type -6 before it defines
// its descriptor, also in an earlier chunk or for a single processor.
func TestBarrierDescriptors_2_2_2(t *testing.T) {
	const sets = "-201 -1 0.0 -1 -1 3 2 5 0 1\n-202 -1 0.0 -1 -1 3 2 6 0 1\n"
	for _, x := range []struct {
		name, text, data string
		want             bool
	}{
		{"predefined", "", "2 2 5 6", true},
		{"both numbers in a field", "-6 -1 0.0 -1 -1 1 \"%d%s\" 9 \"%d%d\"\n", "1 9 5 6", true},
		{"a number in a field", "-6 -1 0.0 -1 -1 1 \"%d%s\" 9 \"%d\"\n", "2 9 5 6", true},
		{"of the event", "-6 -402 0.0 -1 -1 1 \"%d%s\" 9 \"%d\"\n", "2 9 5 6", true},
		{"of another event", "-6 -401 0.0 -1 -1 1 \"%d%s\" 9 \"%d\"\n", "2 9 5 6", false},
		{"of processor 0", "-6 -402 0.0 0 -1 1 \"%d%s\" 9 \"%d\"\n", "2 9 5 6", true},
		{"redefined", "-6 -1 0.0 -1 -1 1 \"%d%s\" 2 \"%*d%d\"\n", "2 2 8 5 8 6", true},
		{"redefined, skipped", "-6 -1 0.0 -1 -1 1 \"%d%s\" 2 \"%*d%d\"\n", "2 2 5 8 6 8", false},
		{"later", "-3 -402 0.1 1 0 2 9 5 6\n-6 -1 0.2 -1 -1 1 \"%d%s\" 9 \"%d\"\n", "2 9 5 6", true},
	} {
		text := sets + x.text + "-3 -402 1.0 0 0 " + x.data + "\n-3 -402 1.0 1 0 " + x.data +
			"\n-4 -402 2.0 0 0 0\n-4 -402 2.0 1 0 0\n"
		found := false
		for _, c := range tracetest.Open(t, Format{}, write(t, text), nil).Defs().Communicator.All() {
			found = found || c.ID == "5,6"
		}
		if found != x.want {
			t.Errorf("%s: found a communicator of the subsets 5 and 6: %t, expected %t", x.name, found, x.want)
		}
	}
}

// TestOwnDescriptor_2_3_5 checks that a record of type -6 whose own descriptor is an integer that no record before it
// defines is reported, and used.
func TestOwnDescriptor_2_3_5(t *testing.T) {
	for data, want := range map[string]int{`"%d%s" 9 "%d%d"`: 0, `77 9 "%d%d"`: 1, `9 9 "%d%d"`: 1, `-3 9 "%d%d"`: 1,
		`2 9 "%d%d"`: 0, `"%d%s" 77 "%d%s"` + "\n" + `-6 -1 0.0 -1 -1 1 77 9 "%d%d"`: 0} {
		opt := &format.ReadOptions{Report: format.NewReport()}
		name := write(t, "-6 -1 0.0 -1 -1 1 "+data+"\n-2 7 1.0 0 0 1 9 3 4\n")
		d := tracetest.Open(t, Format{}, name, opt)
		n := 0
		for _, r := range opt.Report.Rules() {
			if r.Rule == "picl.unknown-descriptor" {
				n += int(r.Count)
			}
		}
		if n != want || d.Defs().Attributes.Len() < 2 {
			t.Errorf("%s: found %d unknown descriptors and %d attributes, expected %d and 2", data, n,
				d.Defs().Attributes.Len(), want)
		}
	}
}
