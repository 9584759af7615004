package cli

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// groupsArchive writes an archive with communicators of MPI, OpenMP and CUDA. Not all locations communicate. It
// returns the path.
func groupsArchive(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "groups.otf2")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := otf2.NewWriter(out, otf2.Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	define := func(id uint8, values ...uint64) {
		err = errors.Join(err, w.Define(&otf2.Record{ID: id, Values: values}))
	}
	none := uint64(1<<32 - 1)
	for i, text := range []string{"", "MPI", "OpenMP", "CUDA", "node", "world", "odd", "team", "streams", "self",
		"l0", "l1", "l2", "l3", "l4"} {
		err = errors.Join(err, w.Define(&otf2.Record{ID: 10, Values: []uint64{uint64(i), 0}, Texts: []string{text}}))
	}
	define(5, 1000, 0, 100, 1<<64-1)
	for paradigm, name := range map[uint64]uint64{4: 1, 3: 2, 5: 3} {
		define(6, paradigm, name, 0)
	}
	define(12, 0, 4, 4, none)
	define(13, 0, 4, 1, 0, none)
	for location := range uint64(5) {
		define(14, location, 10+location, 1, 1, 0)
	}
	const locations, ranks, self, global = 4, 5, 6, 1
	group := func(id, name, typ, paradigm, flags uint64, members ...uint64) {
		define(18, slices.Concat([]uint64{id, name, typ, uint64(len(members))}, members, []uint64{typ, paradigm, flags})...)
	}
	group(0, 0, locations, 4, 0, 0, 2, 4)
	group(1, 0, locations, 3, 0, 2, 3)
	group(2, 0, locations, 5, 0, 1, 0)
	group(3, 5, ranks, 4, 0, 0, 1, 2)
	group(4, 6, ranks, 4, 0, 1)
	group(5, 9, self, 4, 0)
	group(6, 7, ranks, 3, 0, 0, 1)
	group(7, 8, ranks, 5, global, 0, 1)
	for id, of := range [][2]uint64{{5, 3}, {6, 4}, {9, 5}, {7, 6}, {8, 7}} {
		define(22, uint64(id), of[0], of[1], none, 0)
	}
	send := func(location, receiver, comm uint64) {
		err = errors.Join(err, w.Location(location).Write(&otf2.Event{Time: 10 + location,
			Record: otf2.Record{ID: 14, Values: []uint64{receiver, comm, 7, 8}}}))
	}
	send(0, 1, 0) // to location 2
	send(2, 0, 2) // to itself
	send(4, 0, 1) // to location 2
	send(1, 1, 4) // to location 0
	send(3, 0, 3) // to location 2
	if err = errors.Join(err, w.Close(), out.Commit()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGroupsOfParadigmsThroughOtherFormats converts an archive with groups of ranks of several paradigms, and the
// group of MPI_COMM_SELF, to other formats and back. otf2-print shows the same groups and communicators, with the same
// ranks in definitions and events; only ids and the names of paradigms differ. It does not complain.
func TestGroupsOfParadigmsThroughOtherFormats(t *testing.T) {
	dir, archive := t.TempDir(), groupsArchive(t)
	wanted := regexp.MustCompile(`^(GROUP|COMM) .*|^MPI_SEND .*`)
	id := regexp.MustCompile(`^(GROUP|COMM) +\d+| <\d+>`)
	lines := func(path string) (list []string) {
		out := runSilently(t, nil, path, "otf2-print", "-A")
		if out == nil {
			t.Skip("otf2-print is not installed")
		}
		for l := range strings.Lines(string(out)) {
			if !wanted.MatchString(l) || strings.Contains(l, `"all locations"`) || strings.Contains(l, "Type: LOCATIONS") {
				continue
			}
			l = regexp.MustCompile(`Paradigm: "(\w+)"`).ReplaceAllStringFunc(l, strings.ToUpper)
			list = append(list, id.ReplaceAllString(l, "$1"))
		}
		slices.Sort(list)
		return list
	}
	want := lines(archive)
	if len(want) != 8+5+5 {
		t.Fatalf("found %q in the archive, expected 8 groups, 5 communicators and 5 messages", want)
	}
	for _, name := range []string{"x.etf", "x.trf", "x.otf", "x.pallas"} {
		other, back := filepath.Join(dir, name), filepath.Join(dir, "from "+name+".otf2")
		weft(t, 0, "convert", "-q", "--allow-loss", archive, other)
		weft(t, 0, "convert", "-q", "--allow-loss", other, back)
		if got := lines(back); !slices.Equal(got, want) {
			t.Errorf("%s: found\n%s\nexpected\n%s", name, strings.Join(got, ""), strings.Join(want, ""))
		}
	}
}
