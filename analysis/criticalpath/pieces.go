package criticalpath

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// Piece is a part of the path at one location, from one time to another in ticks.
type Piece struct {
	Location     uint32 `json:"location"`
	LocationName string `json:"locationName"`
	From         int64  `json:"from"`
	To           int64  `json:"to"`
	// By is the wait pattern by which the path reaches the piece from the previous one, or "fork" for
	// the start of threads. It is "" for the first piece.
	By string `json:"by,omitempty"`
}

// Pieces is a list of the pieces of a path, which follow one another without a gap. A path can have nearly as many
// pieces as the trace has messages; Pieces keeps them in 16 bytes each. In JSON, it is an array of pieces.
type Pieces struct {
	blocks []*[pieceBlock]piece // the last piece first
	n      int
	end    int64 // end of the path in ticks
	names  []string
}

// pieceBlock is the number of pieces in a block. When the list grows, no pieces are copied.
const pieceBlock = 1 << 12

// piece is a piece of the path. It ends at the begin of the piece that was found before it, because the path
// is followed backward. by is 1 plus the wait pattern by which the path reaches the piece; or byFork; or 0 for
// the first piece of the path.
type piece struct {
	from     int64
	location uint32
	by       uint8
}

// byFork is the value of piece.by for the start of threads.
const byFork = 255

// at returns a piece by its index in the backward order.
func (p *Pieces) at(i int) *piece { return &p.blocks[i/pieceBlock][i%pieceBlock] }

// add adds the piece before all others.
func (p *Pieces) add(x piece) {
	if p.n == len(p.blocks)*pieceBlock {
		p.blocks = append(p.blocks, new([pieceBlock]piece))
	}
	p.n++
	*p.at(p.n - 1) = x
}

// Len returns the number of pieces.
func (p *Pieces) Len() int { return p.n }

// All iterates over the pieces in the order of time.
func (p *Pieces) All() iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		for i := p.n - 1; i >= 0; i-- {
			k := p.at(i)
			x := Piece{Location: k.location, LocationName: locationName(p.names, k.location), From: k.from, To: p.end}
			if i > 0 {
				x.To = p.at(i - 1).from
			}
			switch k.by {
			case 0:
			case byFork:
				x.By = "fork"
			default:
				x.By = waitstate.Pattern(k.by - 1).String()
			}
			if !yield(x) {
				return
			}
		}
	}
}

// Longest returns the n longest pieces in the order of time. Of equally long pieces, earlier ones count first.
func (p *Pieces) Longest(n int) []Piece {
	if n <= 0 {
		return nil
	}
	var list []Piece
	shorten := func() {
		slices.SortStableFunc(list, func(a, b Piece) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
		list = list[:min(n, len(list))]
	}
	least := int64(-1) // a later piece of at most this length is not among the longest
	for x := range p.All() {
		if x.To-x.From <= least {
			continue
		}
		if list = append(list, x); len(list)/2 >= n {
			shorten()
			least = list[n-1].To - list[n-1].From
		}
	}
	shorten()
	slices.SortFunc(list, func(a, b Piece) int { return cmp.Compare(a.From, b.From) })
	return list
}

// MarshalJSON returns an array of pieces in the order of time.
func (p Pieces) MarshalJSON() ([]byte, error) {
	list := make([]Piece, 0, p.n)
	for x := range p.All() {
		list = append(list, x)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the encoder of the whole value escapes these characters, if it must
	err := e.Encode(list)
	return b.Bytes(), err
}

// locationName returns the name of a location, from the full names of all locations.
func locationName(names []string, location uint32) string {
	if int64(location) < int64(len(names)) {
		return names[location]
	}
	return "unknown"
}
