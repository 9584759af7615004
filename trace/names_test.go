package trace

import (
	"slices"
	"testing"
)

// TestFullNames checks that full names are unique. The name of the process precedes the name of the thread if
// several processes have threads of the same name. The id follows if the name is still not unique.
func TestFullNames(t *testing.T) {
	for _, x := range []struct {
		locations [][3]string // process, name, id
		want      []string
	}{
		{[][3]string{{"rank 0", "main", "1"}, {"rank 1", "helper", "2"}}, []string{"main", "helper"}},
		{[][3]string{{"rank 0", "main", "1"}, {"rank 1", "main", "2"}, {"rank 1", "helper", "3"}},
			[]string{"rank 0 · main", "rank 1 · main", "rank 1 · helper"}},
		{[][3]string{{"rank 0", "main", "1"}, {"rank 0", "main", "2"}, {"", "main", "3"}},
			[]string{"rank 0 · main (1)", "rank 0 · main (2)", "main"}},
		{[][3]string{{"", "", "1"}, {"", "", "2"}}, []string{"1", "2"}},
	} {
		d := &Definitions{}
		groups := map[string]uint32{"": NoRef}
		for _, l := range x.locations {
			if _, ok := groups[l[0]]; !ok {
				groups[l[0]] = d.Groups.Add(LocationGroup{Name: l[0], Kind: "process", Parent: NoRef})
			}
			d.Locations.Add(Location{ID: l[2], Name: l[1], Group: groups[l[0]]})
		}
		if got := d.FullNames(); !slices.Equal(got, x.want) {
			t.Errorf("found %q, expected %q", got, x.want)
		}
	}
}

// TestEnumName checks that values of enumerations have OTF2's names, and that the collective
// operations of an OTF trace have the trace's own numbers.
func TestEnumName(t *testing.T) {
	for _, x := range []struct {
		kind    Kind
		operand int
		value   uint64
		own     bool
		want    string
	}{
		{CollectiveEnd, 0, 11, false, "allreduce"},
		{CollectiveEnd, 0, 11, true, ""},
		{CollectiveEnd, 0, 99, false, ""},
		{CollectiveEnd, 1, 0, false, ""},
		{CollectiveEnd, 2, 1<<32 - 2, false, "self"},       // OTF2_COLLECTIVE_ROOT_SELF
		{CollectiveEnd, 2, 1<<32 - 3, false, "this-group"}, // OTF2_COLLECTIVE_ROOT_THIS_GROUP
		{CollectiveEnd, 2, 3, false, ""},
		{LockAcquire, 2, 3, false, "openmp"},
		{LockAcquire, 2, 7, false, "pthread"},
		{RMALockRequest, 2, 1, false, "shared"},
		{RMASync, 1, 2, false, "notify-out"},
		{RMAAtomic, 1, 5, false, "fetch-and-add"},
		{RMACollectiveEnd, 1, 3, false, "process+memory"},
		{IOHandleCreate, 0, 2, false, "read-write"},
		{IOBegin, 0, 2, false, "flush"},
		{IOSeek, 1, 1, false, "from-current"},
		{MeasurementOnOff, 0, 2, false, "off"},
		{MeasurementOnOff, 0, 0, false, ""},
		{FileOperation, 1, 1, false, "close"},
		{FileOperation, 1, 31, false, "other"},
		{FileOperationEnd, 1, 0x3 | 0x20 | 0x80, false, "write+failed+collective"},
		{FileOperationEnd, 1, 11, false, ""},
		{FileOperationEnd, 1, 1 << 11, false, ""},
		{IOHandleCreate, 1, 1<<0 | 1<<10, false, "create+unique"},
		{IOHandleCreate, 2, 1<<0 | 1<<8, false, "close-on-exec+delete-on-close"},
		{IOHandleDuplicate, 1, 1 << 5, false, "data-sync"},
		{IOStatusFlags, 0, 1 << 9, false, ""},
		{IOStatusFlags, 0, Undefined, false, ""},
		{IOBegin, 1, 0, false, "none"},
		{IOBegin, 1, 1<<0 | 1<<1, false, "non-blocking+collective"},
		{ProgramEnd, 0, 1, false, ""},
		{Marker, 1, 2, false, "location-group"},
		{Marker, 1, 6, false, ""},
	} {
		d := &Definitions{Conventions: Conventions{OwnOperations: x.own}}
		o := &x.kind.Spec().Operands[x.operand]
		if got, _ := d.EnumName(x.kind, o, x.value); got != x.want {
			t.Errorf("%s %s=%d: found %q, expected %q", x.kind.Spec().Name, o.Name, x.value, got, x.want)
		}
	}
}
