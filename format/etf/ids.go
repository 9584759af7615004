package etf

import (
	"cmp"
	"context"
	"encoding/binary"
	"sort"

	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/internal/extsort"
)

// idPlace records for the linker which claim or event has an id, and where it is.
type idPlace struct {
	kind, id, line, t0, t1 int64
	loc                    uint32
}

// idTable finds the places of claims or events by their ids. It stores them packed, in pages of consecutive ids. The
// pages are in a temporary file if they are large; an index of less than a byte per id is in memory. While ids ascend
// from line to line, as those of usual traces do, no sorting is needed.
type idTable struct {
	store  *chunks.Store
	pages  []idPage
	last   idPlace // the place that was added last
	packed []byte  // the packed places of the last page, which is not in pages yet
	first  int64   // the first id of that page
	n      int     // the number of its ids
	// sorter holds the places, by id, if their ids do not ascend. It is nil otherwise.
	sorter *extsort.Sorter
	recent [recentPages]idEntries
	latest int // number of the page in which find last searched
	room   []byte
}

// idPage is a page of an idTable.
type idPage struct {
	first int64 // the lowest id
	data  chunks.Chunk
}

// idEntries holds the unpacked places of a page, in the order of their ids.
type idEntries struct {
	page int // number of the page plus 1; 0 if there is none
	list []idPlace
}

const (
	idsPerPage = 128
	// recentPages is the number of unpacked pages in memory. It is a power of two.
	recentPages = 32
)

// add adds a place.
func (t *idTable) add(x *idPlace) error {
	if t.sorter == nil && x.id <= t.last.id && (t.n > 0 || len(t.pages) > 0) {
		if err := t.startSorting(); err != nil {
			return err
		}
	}
	if t.sorter != nil {
		return t.addToSorter(x)
	}
	return t.append(x)
}

// append adds a place whose id is greater than all others.
func (t *idTable) append(x *idPlace) error {
	if t.n == idsPerPage {
		if err := t.endPage(); err != nil {
			return err
		}
	}
	if t.n == 0 {
		t.first, t.last = x.id, idPlace{id: x.id}
	}
	t.n++
	t.packed = x.append(binary.AppendVarint(t.packed, x.id-t.last.id), &t.last)
	t.last = *x
	return nil
}

// endPage stores the last page.
func (t *idTable) endPage() error {
	if t.n == 0 {
		return nil
	}
	c, taken, err := t.store.Keep(t.packed)
	if err != nil {
		return err
	}
	t.pages = append(t.pages, idPage{t.first, c})
	if t.n = 0; taken {
		t.packed = make([]byte, 0, cap(t.packed))
	} else {
		t.packed = t.packed[:0]
	}
	return nil
}

// startSorting moves all places to a sorter.
func (t *idTable) startSorting() error {
	if err := t.endPage(); err != nil {
		return err
	}
	t.sorter = extsort.New(linkMemory, "")
	for i := range t.pages {
		list, err := t.entries(i)
		if err != nil {
			return err
		}
		for k := range list {
			if err := t.addToSorter(&list[k]); err != nil {
				return err
			}
		}
		t.store.Drop(&t.pages[i].data)
	}
	t.pages, t.last, t.recent = nil, idPlace{}, [recentPages]idEntries{}
	return nil
}

func (t *idTable) addToSorter(x *idPlace) error {
	t.packed = x.append(t.packed[:0], &idPlace{})
	return t.sorter.Add(x.id, 0, t.packed)
}

// finish ends the adding of places. If several claims have an id, the one that begins first counts. This choice does
// not depend on whether the lines were sorted by time.
func (t *idTable) finish(ctx context.Context) error {
	s := t.sorter
	if s == nil {
		return t.endPage()
	}
	defer s.Close()
	t.sorter, t.packed = nil, nil
	it, err := s.Sort(ctx)
	if err != nil {
		return err
	}
	var first idPlace
	any := false
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, ok, err := it.Next()
		if err != nil {
			return err
		}
		x := idPlace{id: r.A}
		if ok {
			x.read(r.Data, &idPlace{})
		}
		if any && ok && x.id == first.id {
			if cmp.Or(cmp.Compare(x.t0, first.t0), cmp.Compare(x.line, first.line)) < 0 {
				first = x
			}
			continue
		}
		if any {
			if err := t.append(&first); err != nil {
				return err
			}
		}
		if !ok {
			return t.endPage()
		}
		first, any = x, true
	}
}

// find returns the place of an id, or nil if there is none. The place is valid until the next call.
func (t *idTable) find(id int64) (*idPlace, error) {
	page := t.latest // most ids are near the one before
	if page >= len(t.pages) || id < t.pages[page].first || page+1 < len(t.pages) && id >= t.pages[page+1].first {
		page = sort.Search(len(t.pages), func(i int) bool { return t.pages[i].first > id }) - 1
	}
	if page < 0 {
		return nil, nil
	}
	t.latest = page
	list, err := t.entries(page)
	if err != nil {
		return nil, err
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].id >= id })
	if i == len(list) || list[i].id != id {
		return nil, nil
	}
	return &list[i], nil
}

// entries returns the places of a page.
func (t *idTable) entries(page int) ([]idPlace, error) {
	e := &t.recent[page%recentPages]
	if e.page == page+1 {
		return e.list, nil
	}
	b, err := t.store.Read(t.pages[page].data, &t.room)
	if err != nil {
		return nil, err
	}
	e.page, e.list = page+1, e.list[:0]
	last := idPlace{id: t.pages[page].first}
	for len(b) > 0 {
		x := idPlace{}
		x.id, b = readVarint(b)
		x.id += last.id
		b = x.read(b, &last)
		e.list, last = append(e.list, x), x
	}
	return e.list, nil
}

// close deletes the temporary files.
func (t *idTable) close() {
	if t.sorter != nil {
		t.sorter.Close()
	}
}

// append appends the place to b, without kind and id, as the difference to another place.
func (x *idPlace) append(b []byte, last *idPlace) []byte {
	b = binary.AppendVarint(binary.AppendUvarint(b, uint64(x.loc)), x.line-last.line)
	return binary.AppendVarint(binary.AppendVarint(b, x.t0-last.t0), x.t1-x.t0)
}

// read reads a place that append has encoded. It returns the rest of b.
func (x *idPlace) read(b []byte, last *idPlace) []byte {
	loc, n := binary.Uvarint(b)
	x.loc, b = uint32(loc), b[n:]
	x.line, b = readVarint(b)
	x.t0, b = readVarint(b)
	d, b := readVarint(b)
	x.line, x.t0 = x.line+last.line, x.t0+last.t0
	x.t1 = x.t0 + d
	return b
}

// readVarint returns the number at the start of b, and the bytes after it.
func readVarint(b []byte) (int64, []byte) {
	v, n := binary.Varint(b)
	return v, b[n:]
}
