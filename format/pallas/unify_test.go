package pallas

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// TestUnify checks that equal events and sequences of several threads get the same ids,
// although their archives use different ids, and that the content of the threads is unchanged.
func TestUnify(t *testing.T) {
	path := writeUnlike(t)
	want := contentLines(t, path)
	to := copyTrace(t, path, map[string]string{"pallas.unify-tokens": "true"})
	got := contentLines(t, to)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	list := threads(t, to)
	if n := len(list[0].Archive.Trace.Definitions.Regions); n != 8 {
		t.Errorf("%d regions", n)
	}
	if shared := sharedIDs(t, list); shared < 10 {
		t.Errorf("%d ids are shared", shared)
	}
}

// writeUnlike writes a trace of three threads with equal events. Each archive gives other ids to the events.
// It returns the path of the main file.
func writeUnlike(t *testing.T) string {
	w, err := Create(filepath.Join(t.TempDir(), "main"), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Definitions.Strings = []String{{0, "thread"}, {1, "main"}, {2, "id"}}
	w.Definitions.Regions = []Region{{0, 1}}
	w.Definitions.Attributes = []Attribute{{9, 2, NoRef, Uint32Value}}
	names := []string{"work", "wait", "MPI_Send"}
	for a := range uint32(3) {
		w.LocationGroups = append(w.LocationGroups, LocationGroup{a, 0, NoRef})
		x := w.Archive(a)
		region := func(n uint32) Ref { return 1 + (n+a)%3 } // each archive has other ids of regions
		for n, s := range names {
			x.Definitions.Strings = append(x.Definitions.Strings, String{10 + region(uint32(n)), s})
			x.Definitions.Regions = append(x.Definitions.Regions, Region{region(uint32(n)), 10 + region(uint32(n))})
		}
		x.Definitions.Strings = append(x.Definitions.Strings, String{20, "called by"},
			String{21 + a, fmt.Sprint("thread of ", a)})
		x.Definitions.Attributes = []Attribute{{4 + a, 20, NoRef, RegionValue}}
		x.Definitions.Comms = []Comm{{1, 20, NoRef, NoRef}} // each archive has its own definition
		r, err := x.Record(a, 21+a)
		if err != nil {
			t.Fatal(err)
		}
		time := uint64(a)
		put := func(record Record, payload []byte, attributes ...Value) {
			time += 5
			if err := r.Record(time, record, payload, attributes); err != nil {
				t.Fatal(err)
			}
		}
		switch a {
		case 0: // a region that no definition describes
			put(Enter, le32(nil, 77))
			put(Leave, le32(nil, 77))
		case 1: // before other calls: two regions with the same name that only this thread enters
			x.Definitions.Strings = append(x.Definitions.Strings, String{70, "twin"}, String{71, "twin"}, String{1, "main of 1"})
			x.Definitions.Regions = append(x.Definitions.Regions, Region{70, 70}, Region{71, 71})
			put(Enter, le32(nil, 70))
			put(Enter, le32(nil, 71))
			put(Leave, le32(nil, 71))
			put(Leave, le32(nil, 70))
		case 2:
			x.Definitions.Strings = append(x.Definitions.Strings, String{77, "only here"})
			x.Definitions.Regions = append(x.Definitions.Regions, Region{77, 77})
			put(Enter, le32(nil, 77))
			put(Leave, le32(nil, 77))
		}
		put(Enter, le32(nil, 0))
		for range 4 + a {
			put(Enter, le32(nil, region(0)), Value{4 + a, le32(nil, region(2))}, Value{9, le32(nil, 7)})
			put(MPISend, le64(le32(nil, 1, 1, 3), 8))
			put(Leave, le32(nil, region(0)))
		}
		put(Leave, le32(nil, 0))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.path
}

// contentLines returns the content of a trace, without numbers of definitions.
func contentLines(t *testing.T, name string) (l []string) {
	for _, th := range threads(t, name) {
		d := th.Archive.Definitions
		l = append(l, th.Name())
		for _, f := range events(t, th) {
			s := fmt.Sprint(f.time, f.record)
			switch f.record {
			case Enter, Leave:
				name, _ := d.RegionName(binary.LittleEndian.Uint32(f.payload))
				s += " " + name
			case MPISend:
				c := d.Comm(binary.LittleEndian.Uint32(f.payload[4:]))
				name, _ := d.Text(c.Name)
				s += " " + name
			}
			for _, v := range f.attributes {
				x := d.Attribute(v.Attribute)
				name, _ := d.Text(x.Name)
				value := fmt.Sprint(v.Uint())
				if x.Type == RegionValue {
					value, _ = d.RegionName(Ref(v.Uint()))
				}
				s += " " + name + "=" + value
			}
			l = append(l, s)
		}
	}
	return l
}

// sharedIDs checks that equal events and sequences of the threads have equal ids. It returns the number of ids
// that occur in several threads.
func sharedIDs(t *testing.T, list []*Thread) (shared int) {
	t.Helper()
	type thing struct{ kind, id uint32 }
	all := map[thing]string{}
	seen := map[string]thing{}
	for _, th := range list {
		if th.Root != MakeToken(SequenceToken, 0) {
			t.Errorf("the root is %v", th.Root)
		}
		check := func(k thing, s string) {
			if old, ok := all[k]; ok && old != s {
				t.Errorf("%v is %q and %q", k, old, s)
			} else if ok {
				shared++
			}
			if old, ok := seen[s]; ok && old != k {
				t.Errorf("%q is %v and %v", s, old, k)
			}
			all[k], seen[s] = s, k
		}
		for i, k := range th.EventTokens() {
			check(thing{1, k.ID()}, fmt.Sprint(th.Events[i].Record, th.Events[i].Payload))
		}
		for i, k := range th.SequenceTokens() {
			if k != th.Root {
				check(thing{2, k.ID()}, fmt.Sprint("S", th.Sequences[i].Type, th.Sequences[i].Tokens))
			}
		}
		for i, k := range th.LoopTokens() {
			if k != NoToken {
				check(thing{3, k.ID()}, fmt.Sprint("L", th.Loops[i].Sequence, th.Loops[i].Iterations))
			}
		}
	}
	return shared
}
