package grammar

import (
	"fmt"
	"slices"
)

// tables are what both kinds of grammar are made of.
type tables struct {
	// Sequences and Loops are those found so far. They must not be changed.
	Sequences []SequenceInfo
	Loops     []LoopInfo

	bySequence map[uint64]uint32 // by a hash of their tokens: the latest one
	room       []Token           // for those of sequences
}

func newTables() tables {
	return tables{bySequence: map[uint64]uint32{}, Sequences: []SequenceInfo{{Block: true}}}
}

// Grammar is what has been found so far: it must not be changed, and grows.
func (b *tables) Grammar() ([]SequenceInfo, []LoopInfo) { return b.Sequences, b.Loops }

func hash(tokens []Token) uint64 {
	h := uint64(len(tokens))
	for _, k := range tokens {
		h = (h ^ uint64(k)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// find is the sequence with these tokens, whose hash is known.
func (b *tables) find(h uint64, tokens []Token) (s uint32, ok bool) {
	for s := b.bySequence[h]; s != 0; s = b.Sequences[s].next {
		if slices.Equal(b.Sequences[s].Tokens, tokens) {
			return s, true
		}
	}
	return 0, false
}

// add makes a sequence of a copy of tokens.
func (b *tables) add(h uint64, tokens []Token, block bool) (uint32, error) {
	s := uint32(len(b.Sequences))
	if s >= 1<<30 {
		return 0, fmt.Errorf("found 2³⁰ sequences, expected less")
	}
	b.Sequences = append(b.Sequences, SequenceInfo{Block: block, next: b.bySequence[h], Tokens: b.keep(tokens)})
	b.bySequence[h] = s
	return s, nil
}

// keep copies tokens to a place of their own, many in one piece of memory.
func (b *tables) keep(tokens []Token) []Token {
	n := len(tokens)
	if len(b.room) < n {
		b.room = make([]Token, max(n, 4096))
	}
	l := b.room[:n:n]
	b.room = b.room[n:]
	copy(l, tokens)
	return l
}
