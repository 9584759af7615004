package grammar

import (
	"fmt"
	"slices"
)

// tables holds the sequences and loops that have been found.
type tables struct {
	// Sequences and Loops are the entries so far. Callers must not change them.
	Sequences []SequenceInfo
	Loops     []LoopInfo

	slots []slot  // hash table of the sequences; its length is a power of 2
	room  []Token // free memory for the tokens of further sequences
}

// slot is an entry of a hash table with linear probing. It holds the hash of a sequence's tokens
// and the number of the sequence, which is 0 in a free slot.
type slot struct{ hash, sequence uint32 }

func newTables() tables {
	return tables{slots: make([]slot, 64), Sequences: []SequenceInfo{{Block: true}}}
}

// Grammar returns the sequences and loops found so far. Callers must not change them. The slices may get
// further entries later.
func (b *tables) Grammar() ([]SequenceInfo, []LoopInfo) { return b.Sequences, b.Loops }

func hash(tokens []Token) uint32 {
	h := uint64(len(tokens))
	for _, k := range tokens {
		h = (h ^ uint64(k)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return uint32(h ^ h>>32)
}

// find returns the number of the sequence with these tokens, whose hash is h. ok is false if there is no such
// sequence.
func (b *tables) find(h uint32, tokens []Token) (s uint32, ok bool) {
	mask := uint32(len(b.slots) - 1)
	for i := h & mask; b.slots[i].sequence != 0; i = (i + 1) & mask {
		if x := b.slots[i]; x.hash == h && slices.Equal(b.Sequences[x.sequence].Tokens, tokens) {
			return x.sequence, true
		}
	}
	return 0, false
}

// add adds a sequence with a copy of tokens, whose hash is h, and returns its number.
func (b *tables) add(h uint32, tokens []Token, block bool) (uint32, error) {
	s := uint32(len(b.Sequences))
	if s >= 1<<30 {
		return 0, fmt.Errorf("found 2³⁰ sequences, expected less")
	}
	if len(b.Sequences) > len(b.slots)/2 {
		old := b.slots
		b.slots = make([]slot, 2*len(old))
		for _, x := range old {
			if x.sequence != 0 {
				b.put(x)
			}
		}
	}
	b.Sequences = append(b.Sequences, SequenceInfo{Block: block, Tokens: b.keep(tokens)})
	b.put(slot{h, s})
	return s, nil
}

// put stores x in the first free slot for its hash.
func (b *tables) put(x slot) {
	mask := uint32(len(b.slots) - 1)
	i := x.hash & mask
	for b.slots[i].sequence != 0 {
		i = (i + 1) & mask
	}
	b.slots[i] = x
}

// keep returns a copy of tokens. Short copies share an allocation, and long copies have their own.
func (b *tables) keep(tokens []Token) []Token {
	n := len(tokens)
	if n >= pieceTokens {
		return tokens
	}
	if len(b.room) < n {
		b.room = make([]Token, max(n, min(4096, max(64, 4*len(b.Sequences)))))
	}
	l := b.room[:n:n]
	b.room = b.room[n:]
	copy(l, tokens)
	return l
}
