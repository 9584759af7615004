package grammar_test

import (
	"fmt"
	"log"
	"slices"

	"github.com/weft-trace/weft/grammar"
)

// ExampleBuilder adds the events 0 1 2 1 2 1 2 3. The Builder finds a loop of three iterations of
// the sequence 1 2. No event begins a block, such as a call.
func ExampleBuilder() {
	calls := func(event uint32) bool { return false }
	occurred := func(sequence uint32, o grammar.Occurrence) error {
		fmt.Println("sequence", sequence, "at", o.Start, "for", o.Duration)
		return nil
	}
	b := grammar.New(100, calls, occurred)
	for t, event := range []uint32{0, 1, 2, 1, 2, 1, 2, 3} {
		if err := b.Add(event, uint64(10*t)); err != nil {
			log.Fatal(err)
		}
	}
	b.End()
	fmt.Println(slices.Concat(b.Tokens()...))
	sequences, loops := b.Grammar()
	for i, l := range loops {
		fmt.Println("loop", i, "repeats", sequences[l.Sequence].Tokens, l.Iterations, "times")
	}
	// Output:
	// sequence 1 at 10 for 10
	// sequence 1 at 30 for 10
	// sequence 1 at 50 for 10
	// [E0 L0 E3]
	// loop 0 repeats [E1 E2] 3 times
}
