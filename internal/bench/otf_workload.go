package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-trace/weft/format/otf"
)

// The OTF workload consists of rounds. In each round a process has 20 events: 17 enters and leaves of
// functions, a send, the receive of a message that was sent in the previous round, and a counter value. The
// first round has a counter value in place of the receive, and the last round has one in place of the send.
// All functions are left at the end.
//
// Each stream has its own random numbers. Streams can therefore be written in any order and by any number of
// goroutines. A round ends at the same time in all streams. Therefore no message arrives before it is sent.
// testdata/libotf.c writes the same events.
const (
	otfRound     = 20 // number of events of a process in a round
	otfFunctions = 200
	otfDepth     = 20   // largest number of open functions of a process
	otfStep      = 200  // largest number of ticks between two events of a stream
	otfStart     = 1000 // time of the first round

	// otfAbsolute is the value of the property of a counter whose values are absolute and apply to
	// their own time.
	otfAbsolute = 1 | 4
)

// otfShape is the size of an OTF trace.
type otfShape struct {
	streams            int
	processesPerStream int // number of processes in each stream
	rounds             int
}

// processes returns the number of processes. Their tokens are 1, 2 and so on.
func (s otfShape) processes() int { return s.streams * s.processesPerStream }

// perRound returns the number of events in a round.
func (s otfShape) perRound() int64 { return int64(otfRound * s.processes()) }

// withEvents returns the shape with the number of rounds that gives about n events.
func (s otfShape) withEvents(n int64) otfShape {
	s.rounds = int(max(2, n/s.perRound()))
	return s
}

// ticks returns the time at which the last round ends.
func (s otfShape) ticks() uint64 {
	return otfStart + uint64(s.rounds)*uint64(s.processesPerStream)*otfRound/2*otfStep
}

// otfCounts holds the number of events of each type.
type otfCounts [otf.NumTypes]int64

// all returns the total number of events.
func (c *otfCounts) all() (n int64) {
	for _, x := range c {
		n += x
	}
	return n
}

// otfStream generates the events of one stream.
type otfStream struct {
	shape  otfShape
	first  int // index of its first process
	w      *otf.StreamWriter
	random uint64
	time   uint64
	steps  []uint64 // ticks between the events in the first half of a round
	open   [][]uint64
	rec    otf.Record
	counts otfCounts
}

// newOTFStream returns the stream with the number id, which is at least 1.
func newOTFStream(shape otfShape, id int, w *otf.StreamWriter) *otfStream {
	return &otfStream{
		shape: shape, first: (id - 1) * shape.processesPerStream, w: w, time: otfStart,
		random: uint64(id) * 0x9e3779b97f4a7c15, open: make([][]uint64, shape.processesPerStream),
		steps: make([]uint64, otfRound/2*shape.processesPerStream),
	}
}

// draw returns the next random number of a xorshift generator.
func (s *otfStream) draw() uint64 {
	s.random ^= s.random << 13
	s.random ^= s.random >> 7
	s.random ^= s.random << 17
	return s.random
}

// step converts a random number to a number of ticks between two events.
func step(random uint64) uint64 { return (random >> 32) % (otfStep + 1) }

// tick advances the time to the next event of a round. The steps in the second half of a round are
// chosen so that each round has the same duration.
func (s *otfStream) tick(event int, random uint64) {
	half := len(s.steps)
	if event < half {
		s.steps[event] = step(random)
		s.time += s.steps[event]
	} else {
		s.time += otfStep - s.steps[event-half]
	}
}

// round writes the events of round n, where the first one is 0.
func (s *otfStream) round(n int) error {
	shift := int(s.draw() % otfRound)
	last := s.shape.rounds - 1
	for i := range otfRound * s.shape.processesPerStream {
		x := s.draw()
		s.tick(i, x)
		p := i % s.shape.processesPerStream
		var err error
		switch slot := (i/s.shape.processesPerStream + shift) % otfRound; {
		case slot == 0 && n < last:
			err = s.message(otf.SendMsg, n, p)
		case slot == 7 && n > 0:
			err = s.message(otf.RecvMsg, n-1, p)
		case slot == 0 || slot == 7 || slot == 13:
			s.rec.Counter, s.rec.Value = 1, x>>40
			err = s.write(otf.Counter, p)
		default:
			err = s.call(x, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// call writes an enter or leave of a function. If both are possible, random decides.
func (s *otfStream) call(random uint64, p int) error {
	depth := len(s.open[p])
	if depth == 0 || depth < otfDepth && random>>8&1 == 0 {
		s.rec.Function = 1 + (random>>16&0xffff)%otfFunctions
		s.open[p] = append(s.open[p], s.rec.Function)
		return s.write(otf.Enter, p)
	}
	return s.leave(p)
}

// leave writes the leave of the innermost open function of process p.
func (s *otfStream) leave(p int) error {
	depth := len(s.open[p])
	s.rec.Function = s.open[p][depth-1]
	s.open[p] = s.open[p][:depth-1]
	return s.write(otf.Leave, p)
}

// message writes the send or receive of process p for the messages of a round. The distance from a sender to
// its receiver is the same for all processes of a round.
func (s *otfStream) message(t otf.Type, round, p int) error {
	all := s.shape.processes()
	self := s.first + p
	distance := 1 + round%(all-1)
	sender, peer := self, (self+distance)%all
	if t == otf.RecvMsg {
		sender = (self + all - distance) % all
		peer = sender
	}
	s.rec.Peer, s.rec.Communicator, s.rec.Tag = uint64(peer)+1, 1, uint64(round%16)
	s.rec.Length = 8 * (1 + uint64(round+sender)%1000)
	return s.write(t, p)
}

// finish writes leaves of all open functions.
func (s *otfStream) finish() error {
	for p := range s.open {
		for len(s.open[p]) > 0 {
			s.time += step(s.draw())
			if err := s.leave(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the current record as a record of type t of process p.
func (s *otfStream) write(t otf.Type, p int) error {
	s.rec.Type, s.rec.Time, s.rec.Process = t, s.time, uint64(s.first+p)+1
	s.counts[t]++
	return s.w.Write(&s.rec)
}

// writeOTF writes a trace, compressed at the given level. The goroutines share the streams evenly.
// It returns the number of events of each type.
func writeOTF(ctx context.Context, name string, shape otfShape, goroutines, level int) (*otfCounts, error) {
	if shape.streams%goroutines != 0 {
		return nil, fmt.Errorf("found %d streams for %d goroutines, expected a multiple", shape.streams, goroutines)
	}
	w := otf.Create(name, &otf.WriterOptions{Level: level, Files: otf.NewFileManager(64)})
	defer w.Abort()
	if err := defineOTF(w, shape); err != nil {
		return nil, err
	}
	streams := make([]*otfStream, shape.streams)
	for i := range streams {
		for p := range shape.processesPerStream {
			w.Master().Assign(uint32(i*shape.processesPerStream+p)+1, uint32(i)+1)
		}
		streams[i] = newOTFStream(shape, i+1, w.Stream(uint32(i)+1))
	}
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		share := shape.streams / goroutines
		wg.Go(func() { errs[i] = writeStreams(ctx, streams[i*share:][:share], shape.rounds) })
	}
	wg.Wait()
	counts := &otfCounts{}
	for _, s := range streams {
		for t, n := range s.counts {
			counts[t] += n
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return counts, w.Close()
}

// writeStreams writes a round of each stream in turn, until all rounds are written.
func writeStreams(ctx context.Context, streams []*otfStream, rounds int) error {
	for n := range rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, s := range streams {
			if err := s.round(n); err != nil {
				return err
			}
		}
	}
	for _, s := range streams {
		if err := s.finish(); err != nil {
			return err
		}
	}
	return nil
}

// defineOTF writes the definitions of the workload for a shape.
func defineOTF(w *otf.Writer, shape otfShape) error {
	defs := []otf.Record{
		{Type: otf.DefTimerResolution, TicksPerSecond: 1e9},
		{Type: otf.DefFunctionGroup, Token: 1, Name: "Application"},
		{Type: otf.DefCounterGroup, Token: 1, Name: "Hardware"},
		{Type: otf.DefCounter, Token: 1, Name: "Level", Properties: otfAbsolute, Group: 1, Unit: "#"},
	}
	members := make([]uint32, shape.processes())
	for i := range members {
		members[i] = uint32(i) + 1
		defs = append(defs, otf.Record{Type: otf.DefProcess, Token: uint64(i) + 1, Name: fmt.Sprintf("Process %d", i)})
	}
	defs = append(defs, otf.Record{Type: otf.DefProcessGroup, Token: 1, Name: "MPI_COMM_WORLD", Members: members})
	for i := range otfFunctions {
		defs = append(defs, otf.Record{Type: otf.DefFunction, Token: uint64(i) + 1, Name: fmt.Sprintf("function_%03d", i),
			Group: 1})
	}
	for i := range defs {
		if err := w.Write(&defs[i]); err != nil {
			return err
		}
	}
	return nil
}
