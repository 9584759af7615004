package otf

import (
	"io"
	"sync/atomic"
)

// keepBytes is how much of the files a survey may keep for the reading that follows, so that
// small parts of traces are read once. Of whole traces nothing is kept: new memory costs more than
// to read a file again that is in memory.
const keepBytes = 32 << 20

// kept are bytes of a file that a survey has read, from one place on. A nil *kept has none.
type kept struct {
	to     int64 // where they end in the file
	blocks [][]byte
	at     int64         // where the first of the blocks begins
	room   *atomic.Int64 // bytes that may still be kept of all files; nil when no more are kept
}

// newKeepRoom is the room that the files of one survey share.
func newKeepRoom() *atomic.Int64 {
	var room atomic.Int64
	room.Store(keepBytes)
	return &room
}

// keep has the text keep what it reads from here on, as long as there is room.
func (t *text) keep(room *atomic.Int64) {
	t.kept = &kept{to: t.read, at: t.read, room: room}
}

// readAt reads from what is kept, or else from the file, and keeps that if it is to do so. Reading
// goes forward: what has been read from the kept bytes is kept no longer.
func (k *kept) readAt(h io.ReaderAt, p []byte, off int64) (int, error) {
	switch {
	case k == nil:
		return h.ReadAt(p, off)
	case k.room != nil:
		n, err := h.ReadAt(p, off)
		if off != k.to || k.room.Add(-int64(n)) < 0 {
			k.room, k.blocks = nil, nil // a part is kept as a whole or not at all
		} else if n > 0 {
			k.blocks = append(k.blocks, append([]byte(nil), p[:n]...))
			k.to += int64(n)
		}
		return n, err
	}
	for len(k.blocks) > 0 && k.at+int64(len(k.blocks[0])) <= off {
		k.at += int64(len(k.blocks[0]))
		k.blocks[0], k.blocks = nil, k.blocks[1:]
	}
	if off < k.at || off >= k.to || len(k.blocks) == 0 {
		return h.ReadAt(p, off)
	}
	return copy(p, k.blocks[0][off-k.at:]), nil
}

// done ends keeping: what is read from now on is what was kept.
func (k *kept) done() *kept {
	if k == nil || len(k.blocks) == 0 {
		return nil
	}
	k.room = nil
	return k
}
