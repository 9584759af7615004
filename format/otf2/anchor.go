package otf2

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-trace/weft/format/internal/archive"
)

// FileError is something in a file that is not what the format says.
type FileError = archive.FileError

// missing is a file that cannot be opened.
type missing = archive.Missing

// Property is one of an archive: a name that is unique, and a text.
type Property struct{ Name, Value string }

// Anchor is what an anchor file says (docs/formats/otf2.md, "Anchor file").
type Anchor struct {
	FileVersion, TraceVersion     uint8 // of the anchor file and of the others
	Version                       [3]uint8
	EventChunk, DefinitionChunk   uint64 // sizes in bytes
	Substrate, Compression        uint8
	Locations, Definitions        uint64 // how many there are
	Machine, Creator, Description string
	Properties                    []Property
	TraceID                       uint64
	Snapshots, Thumbnails         uint32 // how many there are
}

const (
	chunkHeader = 3
	endOfFile   = 2
	endOfBuffer = 1
	endOfChunk  = 0

	minChunk  = 256 << 10
	maxChunk  = 16 << 20
	maxAnchor = 64 << 20 // its properties may be long
)

// parseAnchor reads an anchor file. Archives that this package cannot read are refused.
func parseAnchor(path string, b []byte) (*Anchor, error) {
	bad := func(at int, expected, found string, args ...any) error {
		return archive.Damaged(path, int64(at), fmt.Sprintf(found, args...), expected)
	}
	c := &cursor{b: b}
	if c.byte() != chunkHeader || c.bad {
		return nil, bad(0, "3, which an anchor file begins with", "%s", show1(b, 0))
	}
	switch order := c.byte(); {
	case c.bad, order != littleEndian && order != bigEndian:
		return nil, bad(1, "0x42 or 0x23, the byte order", "%s", show1(b, 1))
	case order == bigEndian:
		c.big = true
	}
	if magic := c.text(); magic != "OTF2" {
		return nil, bad(2, `"OTF2"`, "%.20q", magic)
	}
	a := &Anchor{}
	a.FileVersion, a.TraceVersion = uint8(c.byte()), uint8(c.byte())
	for i := range a.Version {
		a.Version[i] = uint8(c.byte())
	}
	at := c.at
	a.EventChunk, a.DefinitionChunk = c.fixed(8), c.fixed(8)
	sub := c.at
	a.Substrate, a.Compression = uint8(c.byte()), uint8(c.byte())
	a.Locations, a.Definitions = c.fixed(8), c.fixed(8)
	a.Machine, a.Creator, a.Description = c.text(), c.text(), c.text()
	if a.FileVersion >= 2 {
		n := c.fixed(4)
		if n > uint64(len(b)-c.at)/2 {
			c.fail()
			n = 0
		}
		for range n {
			a.Properties = append(a.Properties, Property{c.text(), c.text()})
		}
		a.TraceID = c.fixed(8)
	}
	if a.FileVersion >= 3 {
		a.Snapshots, a.Thumbnails = uint32(c.fixed(4)), uint32(c.fixed(4))
	}
	switch {
	case c.bad && len(b) < sub:
		return nil, bad(len(b), "an anchor file", "the end of the file")
	case a.Substrate != 1:
		return nil, bad(sub, "1, plain files: other substrates cannot be read", "substrate %d%s", a.Substrate, map[uint8]string{2: " (SIONlib)"}[a.Substrate])
	case a.Compression > 1:
		return nil, bad(sub+1, "1, none: compressed archives of old versions cannot be read", "compression %d%s", a.Compression, map[uint8]string{2: " (zlib)"}[a.Compression])
	case a.EventChunk < minChunk || a.EventChunk > maxChunk:
		return nil, bad(at, "a chunk size of 256 KiB to 16 MiB", "%d bytes", a.EventChunk)
	case a.DefinitionChunk != 0 && (a.DefinitionChunk < minChunk || a.DefinitionChunk > maxChunk):
		return nil, bad(at+8, "a chunk size of 256 KiB to 16 MiB", "%d bytes", a.DefinitionChunk)
	case c.bad:
		return a, bad(len(b), "the rest of the anchor file", "the end of the file")
	}
	return a, nil
}

// show1 is a byte for a message.
func show1(b []byte, at int) string {
	if at < len(b) {
		return fmt.Sprintf("0x%02x", b[at])
	}
	return "the end of the file"
}

// append appends the anchor file.
func (a *Anchor) append(b []byte) []byte {
	u64 := binary.LittleEndian.AppendUint64
	u32 := binary.LittleEndian.AppendUint32
	text := func(s string) { b = append(append(b, s...), 0) }
	b = append(b, chunkHeader, littleEndian)
	text("OTF2")
	b = append(b, a.FileVersion, a.TraceVersion, a.Version[0], a.Version[1], a.Version[2])
	b = u64(u64(b, a.EventChunk), a.DefinitionChunk)
	b = append(b, a.Substrate, a.Compression)
	b = u64(u64(b, a.Locations), a.Definitions)
	text(a.Machine)
	text(a.Creator)
	text(a.Description)
	b = u32(b, uint32(len(a.Properties)))
	for _, x := range a.Properties {
		text(x.Name)
		text(x.Value)
	}
	b = u32(u32(u64(b, a.TraceID), a.Snapshots), a.Thumbnails)
	return append(b, endOfFile, endOfBuffer, endOfChunk)
}
