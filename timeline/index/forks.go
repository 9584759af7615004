package index

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// meetKind is the kind of a meeting of threads.
type meetKind uint8

// In a fork, all threads of a team begin together, and in the join of the team they end together. In a create,
// one thread of a team begins, and in a wait, one thread ends. In these two cases, the thread is identified by
// its number in the team.
const (
	atFork meetKind = iota
	atJoin
	atCreate
	atWait
)

// String returns the name of the links that stand for meetings of this kind.
func (k meetKind) String() string { return meetNames[k&3] }

var meetNames = [...]string{"fork", "join", "create", "wait"}

// meeting identifies a meeting of threads: the thread that forks, joins, creates or waits for others, and
// these other threads. All belong to one process; recorders may give the teams of all processes the same number.
type meeting struct {
	kind    meetKind
	process uint32 // trace.NoRef if the trace does not define one
	team    uint32
	// the number of the fork or join among those of the team; for create and wait, the number of the thread in
	// the team
	number int64
}

// side is the part that one thread takes in a meeting.
type side struct {
	meeting
	initiator bool // the location is the thread that forks, joins, creates or waits
	location  uint32
	time      int64
}

// threads holds the teams of a location. They determine the meeting to which an event belongs.
type threads struct {
	forks    []int64          // times of the forks whose teams have not begun yet
	begun    map[uint32]int64 // number of teams that have begun, by team
	ended    map[uint32]int64 // number of teams that have ended, by team
	last     meeting          // the team that ended last; a join refers to it
	any      bool
	ownTeams []uint32 // teams that began in a fork of this location
}

// processThread handles an event about threads or teams.
func (w *worker) processThread(l *location, c *trace.Cursor) error {
	t, at := &l.threads, c.Time()
	if t.begun == nil {
		t.begun, t.ended = map[uint32]int64{}, map[uint32]int64{}
	}
	team, process := commRef(c.Op(0)), w.b.defs.ProcessOf(l.index)
	put := func(kind meetKind, number int64, one bool, at int64) error {
		return w.meetings.writeSide(side{meeting{kind, process, team, number}, one, l.index, at})
	}
	switch c.Kind() {
	case trace.ThreadFork:
		t.forks = append(t.forks, at)
	case trace.ThreadTeamBegin:
		n := t.begun[team]
		t.begun[team]++
		if k := len(t.forks) - 1; k >= 0 {
			at, t.forks = t.forks[k], t.forks[:k]
			t.ownTeams = append(t.ownTeams, team)
			return put(atFork, n, true, at)
		}
		return put(atFork, n, false, at)
	case trace.ThreadTeamEnd:
		n := t.ended[team]
		t.ended[team]++
		if k := len(t.ownTeams) - 1; k >= 0 && t.ownTeams[k] == team {
			t.ownTeams = t.ownTeams[:k]
			t.last, t.any = meeting{atJoin, process, team, n}, true
			return nil
		}
		return put(atJoin, n, false, at)
	case trace.ThreadJoin:
		if t.any {
			t.any = false
			return w.meetings.writeSide(side{t.last, true, l.index, at})
		}
	case trace.ThreadCreate:
		return put(atCreate, int64(c.Op(1)), true, at)
	case trace.ThreadBegin:
		return put(atCreate, int64(c.Op(1)), false, at)
	case trace.ThreadEnd:
		return put(atWait, int64(c.Op(1)), false, at)
	case trace.ThreadWait:
		return put(atWait, int64(c.Op(1)), true, at)
	}
	return nil
}

// writeSide writes a side of a meeting to the spool.
func (w *endWriter) writeSide(s side) error {
	h := uint64(s.kind)<<32 ^ uint64(s.process)<<34 ^ uint64(s.team)*0xc2b2ae3d27d4eb4f ^ uint64(s.number)
	h *= 0x9e3779b97f4a7c15
	p := int(h >> 58)
	w.count++
	b := w.buffer(p)
	k := uint64(s.kind) << 1
	if s.initiator {
		k |= 1
	}
	b = binary.AppendUvarint(b, k)
	b = binary.AppendUvarint(b, uint64(s.process+1))
	b = binary.AppendUvarint(b, uint64(s.team+1))
	b = binary.AppendVarint(b, s.number)
	b = binary.AppendUvarint(b, uint64(s.location))
	b = binary.AppendVarint(b, s.time-w.last[p])
	w.last[p] = s.time
	return w.keep(p, b)
}

// meetingLinks returns the links between the two sides of each meeting in a part of the spool. name holds the
// number of the link's name for each meetKind.
func (s *linkSpool) meetingLinks(part int, name [4]uint32) ([]link, error) {
	ones := map[meeting]side{}
	var others []side
	err := s.eachSpooled(part, func(c *columns) {
		for last := int64(0); len(c.b) > 0 && !c.bad; {
			var x side
			k := c.uint()
			x.kind, x.initiator = meetKind(k>>1), k&1 == 1
			x.process, x.team = uint32(c.uint())-1, uint32(c.uint())-1
			x.number, x.location = c.int(), uint32(c.uint())
			last += c.int()
			if x.time = last; x.initiator {
				ones[x.meeting] = x
			} else {
				others = append(others, x)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var out []link
	for _, x := range others {
		one, ok := ones[x.meeting]
		if !ok || one.location == x.location {
			continue
		}
		l := link{kind: Fork, source: one.location, start: one.time, destination: x.location, end: x.time, comm: x.team,
			tag: x.number, name: name[x.kind&3]}
		if x.kind == atJoin || x.kind == atWait {
			l.source, l.start, l.destination, l.end = l.destination, l.end, l.source, l.start
		}
		out = append(out, l)
	}
	return out, nil
}

// eachSpooled calls f for each spooled piece of a part, in the order in which the pieces were stored.
func (s *linkSpool) eachSpooled(part int, f func(*columns)) error {
	var buf []byte
	for _, p := range s.pieces[part] {
		b := p.data
		if b == nil {
			buf = slices.Grow(buf[:0], p.size)
			b = buf[:p.size]
			if _, err := s.file.ReadAt(b, p.at); err != nil {
				return fmt.Errorf("temporary file of links: %w", err)
			}
		}
		f(&columns{b: b})
	}
	return nil
}
