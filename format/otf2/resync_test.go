package otf2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

// events reads all events of a location and returns them with the errors.
func events(t *testing.T, m fstest.MapFS, anchor string, location uint64) (list []Event, damage []string) {
	t.Helper()
	a, err := Open(format.Source{FS: m, Name: anchor, Path: anchor})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Events(location, EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if err == io.EOF {
			return list, damage
		}
		var bad *FileError
		switch {
		case err == nil:
			list = append(list, Event{Record: Record{ID: e.ID}, Time: e.Time})
		case errors.As(err, &bad):
			damage = append(damage, err.Error())
		default:
			t.Fatal(err)
		}
	}
}

// countKept returns the number of events of the sound list that the other list contains in the same order.
func countKept(sound, list []Event) (n int) {
	from := 0
	for _, e := range list {
		for k := from; k < min(len(sound), from+100); k++ {
			if sound[k].ID == e.ID && sound[k].Time == e.Time {
				n, from = n+1, k+1
				break
			}
		}
	}
	return n
}

// TestDamagedIDs checks that a damaged id of an event or of a time costs few events, because
// reading resumes after the record.
func TestDamagedIDs(t *testing.T) {
	effort.Sequential(t)
	step := 41
	if effort.Soak() {
		step = 1
	}
	for _, x := range []struct{ archive, file string }{{"heat2d-mt", "traces/1.evt"}, {"ring", "eztrace_log/0.evt"},
		{"omp", "eztrace_log/1.evt"}} {
		m, anchor := archiveFiles(t, x.archive)
		location := uint64(strings.TrimSuffix(x.file, ".evt")[len(x.file)-5] - '0')
		sound := bytes.Clone(m[x.file].Data)
		whole, _ := events(t, m, anchor, location)
		of := parts(t, sound)
		cases, few, none, most := 0, 0, 0, 0
		for at, n := 0, 0; at < len(of); at++ {
			if !strings.HasSuffix(of[at], "record id") {
				continue
			}
			if n++; n%step != 1%step {
				continue
			}
			to := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 255}
			for bit := range 8 {
				to = append(to, sound[at]^1<<bit)
			}
			for _, id := range to {
				if id == sound[at] {
					continue
				}
				b := bytes.Clone(sound)
				b[at] = id
				m[x.file] = &fstest.MapFile{Data: b}
				list, damage := events(t, m, anchor, location)
				lost := len(whole) - countKept(whole, list)
				cases++
				if most = max(most, lost); lost <= 2 {
					few++
				}
				if len(damage) == 0 {
					none++
				}
				if lost > 20 {
					t.Errorf("%s: id %d at 0x%x is now %d: %d of %d events are lost, %q", x.archive, sound[at], at, id, lost,
						len(whole), damage)
				}
			}
		}
		t.Logf("%s: %d damaged ids: 2 events or fewer are lost in %d, %d at most; %d without an error of the reader",
			x.archive, cases, few, most, none)
		if few < cases*98/100 {
			t.Errorf("%s: 2 events or fewer are lost in %d of %d", x.archive, few, cases)
		}
	}
}

// TestDamageEverywhere checks that the time for an archive with damage everywhere is proportional
// to the size of the file.
func TestDamageEverywhere(t *testing.T) {
	effort.Sequential(t)
	const size = 2 << 20
	rng := rand.New(rand.NewPCG(1, 2))
	header := append([]byte{chunkHeader, littleEndian},
		binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 1), 1<<40)...)
	const now = "\x05\x10\x00\x00\x00\x00\x00\x00\x01"
	for what, unit := range map[string]func() []byte{
		"random bytes": func() []byte { return []byte{byte(rng.Uint32())} },
		"times only":   func() []byte { return []byte{timestampRecord} },
		"decreasing times": func() []byte {
			return binary.LittleEndian.AppendUint64([]byte{timestampRecord}, rng.Uint64()>>1)
		},
		"events with ids that are none": func() []byte { return []byte{byte(rng.Uint32N(10)), byte(rng.Uint32N(20))} },
		"long records of no kind": func() []byte {
			return []byte(now +
				"\xc8\xff\x00\x00\x08\x00\x00\x00\x00\x00")
		},
		"far ends of records, and good ones": func() []byte {
			return []byte("\xc8\xff\x00\x00\x08\x00\x00\x00\x00\x00" +
				strings.Repeat(now, 6))
		},
		"nearly enough events after a fault": func() []byte {
			return []byte(strings.Repeat(now, resyncRecords-1) +
				"\x0c\x07")
		},
		"lists of attributes": func() []byte {
			return []byte("\x06\xfe\x01\x7e" +
				strings.Repeat("\x00\x01\x05", 84))
		},
	} {
		b := append([]byte{}, header...)
		for len(b) < size {
			b = append(b, unit()...)
		}
		m, anchor := archiveFiles(t, "heat2d-mt")
		m["traces/1.evt"] = &fstest.MapFile{Data: b}
		a, err := Open(format.Source{FS: m, Name: anchor, Path: anchor})
		if err != nil {
			t.Fatal(err)
		}
		a.EventChunk = maxChunk
		r, err := a.Events(1, EventOptions{})
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		for start := time.Now(); err != io.EOF; steps++ {
			if _, err = r.Next(); steps&0xff == 0 && time.Since(start) > time.Minute {
				t.Fatalf("%s: found no end in a minute, after %d of %d bytes", what, r.c.offset(), len(b))
			}
		}
		looked := resyncBudget*int64(len(b)) + partSize - r.budget
		t.Logf("%s: %d steps, %d bytes looked at", what, steps, looked)
		if most := resyncBudget*int64(len(b)) + 4*partSize; looked > most {
			t.Errorf("%s: %d bytes of %d are looked at, expected %d at most", what, looked, len(b), most)
		}
		r.Close()
	}
}

// TestRecordsBetweenDamaged checks that few sound records between two damaged ones are read, if the lengths of the
// damaged records are right.
func TestRecordsBetweenDamaged(t *testing.T) {
	const location, send, recv = 536870911, 14, 18
	m, anchor := archiveFiles(t, "ring")
	name := ""
	for x := range m {
		if strings.HasSuffix(x, "/536870911.evt") {
			name = x
		}
	}
	whole := m[name].Data
	a, err := Open(format.Source{FS: m, Name: anchor, Path: anchor})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Events(location, EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var at []int64 // offsets of the events that can be damaged, 0 for others
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		if at = append(at, 0); e.ID == send || e.ID == recv {
			at[len(at)-1] = e.Offset
		}
	}
	sound, _ := events(t, m, anchor, location)
	cases := 0
	for i := range at {
		for k := i + 2; k < min(i+8, len(at)); k++ {
			if at[i] == 0 || at[k] == 0 {
				continue
			}
			b := bytes.Clone(whole)
			b[at[i]+2], b[at[k]+2] = 9, 9 // the first field takes 10 bytes, more than the record has
			m[name] = &fstest.MapFile{Data: b}
			list, damage := events(t, m, anchor, location)
			if n := countKept(sound, list); n != len(sound)-2 || len(list) != n || len(damage) != 2 {
				t.Errorf("%d records between: kept %d of %d events, %q; expected all but 2", k-i-1, n, len(sound), damage)
			}
			cases++
		}
	}
	if cases < 20 {
		t.Errorf("found %d pairs of records, expected 20 or more", cases)
	}
}
