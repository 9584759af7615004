package otf2

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
)

// FileError reports content of a file that violates the format.
type FileError = archive.FileError

// missingFile reports a file that cannot be opened.
type missingFile = archive.MissingFile

// Property is a property of an archive: a unique name and a text.
type Property struct{ Name, Value string }

// Anchor holds the contents of an anchor file (docs/formats/otf2.md, "Anchor file").
type Anchor struct {
	FileVersion, TraceVersion     uint8 // versions of the anchor file and of the other files
	Version                       [3]uint8
	EventChunk, DefinitionChunk   uint64 // chunk sizes in bytes
	Substrate, Compression        uint8
	Locations, Definitions        uint64 // number of locations and of global definitions
	Machine, Creator, Description string
	Properties                    []Property
	TraceID                       uint64
	Snapshots, Thumbnails         uint32 // number of snapshots and of thumbnails
}

const (
	chunkHeader = 3
	endOfFile   = 2
	endOfBuffer = 1
	endOfChunk  = 0

	minChunk  = 256 << 10
	maxChunk  = 16 << 20
	maxAnchor = 64 << 20 // properties can be long

	// offsets in the anchor file
	fileVersionAt, traceVersionAt = 7, 8
	locationsAt, definitionsAt    = 30, 38
)

// parseAnchor parses an anchor file. If this package cannot read the archive, it returns an error and
// no anchor. If the file is damaged but readable, it returns an error and an anchor.
func parseAnchor(path string, b []byte) (*Anchor, error) {
	bad := func(at int, expected, found string, args ...any) error {
		return archive.Damaged(path, int64(at), fmt.Sprintf(found, args...), expected)
	}
	c := &cursor{b: b}
	if c.byte() != chunkHeader || c.bad {
		return nil, bad(0, "3, the first byte of an anchor file", "%s", formatByte(b, 0))
	}
	switch order := c.byte(); {
	case c.bad, order != littleEndian && order != bigEndian:
		return nil, bad(1, "0x42 or 0x23, the byte order", "%s", formatByte(b, 1))
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
	switch {
	case c.bad && len(b) < sub+2:
		return nil, bad(len(b), "an anchor file", "the end of the file")
	case a.Substrate != 1:
		return nil, bad(sub, "1, plain files: other substrates cannot be read", "substrate %d%s", a.Substrate,
			map[uint8]string{2: " (SIONlib)"}[a.Substrate])
	case a.Compression > 1:
		return nil, bad(sub+1, "1, none: compressed archives of old versions cannot be read", "compression %d%s",
			a.Compression, map[uint8]string{2: " (zlib)"}[a.Compression])
	case a.EventChunk < minChunk || a.EventChunk > maxChunk:
		return nil, bad(at, "a chunk size of 256 KiB to 16 MiB", "%s", plural.Of(a.EventChunk, "byte"))
	case a.DefinitionChunk != 0 && (a.DefinitionChunk < minChunk || a.DefinitionChunk > maxChunk):
		return nil, bad(at+8, "a chunk size of 256 KiB to 16 MiB", "%s", plural.Of(a.DefinitionChunk, "byte"))
	case c.bad:
		return a, bad(len(b), "the rest of the anchor file", "the end of the file")
	}
	additions := c.at
	wrong := cmp.Or(a.parseAdditions(c), a.libraryDefect(at, sub, additions))
	if wrong != nil {
		return a, bad(wrong.at, wrong.expected, "%s", wrong.found)
	}
	return a, nil
}

// libraryDefect returns the first defect for which OTF2's library rejects an archive that weft can
// read. The arguments are offsets: of the chunk sizes, of the substrate, and of the fields that
// versions 2 and 3 added.
func (a *Anchor) libraryDefect(sizes, substrate, additions int) *anchorDefect {
	switch {
	case a.FileVersion == 0:
		return &anchorDefect{fileVersionAt, "version 0 of the anchor file", "1 to 3"}
	case a.TraceVersion > 2:
		return &anchorDefect{traceVersionAt, fmt.Sprintf("a trace of version %d", a.TraceVersion),
			"2, the last version"}
	case a.DefinitionChunk == 0:
		return &anchorDefect{sizes + 8, "0 bytes", "a chunk size of 256 KiB to 16 MiB"}
	case a.Compression == 0:
		return &anchorDefect{substrate + 1, "compression 0", "1, none"}
	}
	at := additions + 4
	seen, texts := map[string]bool{}, false
	for _, p := range a.Properties {
		switch {
		case !isPropertyName(p.Name):
			return &anchorDefect{at, fmt.Sprintf("a property with the name %.60q", p.Name),
				"at least two words of letters, digits and _ with :: between them"}
		case seen[p.Name]:
			return &anchorDefect{at, fmt.Sprintf("a second property with the name %.60q", p.Name), "another name"}
		case p.Value == "" && texts: // the library removes a property with this name, which it does not find
			return &anchorDefect{at, fmt.Sprintf("the property %.60q with an empty text", p.Name), "a text"}
		}
		seen[p.Name], texts = true, texts || p.Value != ""
		at += len(p.Name) + len(p.Value) + 2
	}
	return nil
}

// isPropertyName reports whether OTF2's library accepts name as the name of a property.
func isPropertyName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	words := strings.Split(name, "::")
	return len(words) >= 2 && !slices.ContainsFunc(words, func(w string) bool { return !archive.ConsistsOf(w, letters) })
}

// anchorEnd is the sequence of bytes with which an anchor file ends.
var anchorEnd = []byte{endOfFile, endOfBuffer, endOfChunk}

// anchorDefect describes a defect at an offset of an anchor file.
type anchorDefect struct {
	at              int
	found, expected string
}

// parseAdditions reads the fields that versions 2 and 3 added after the description, and the end of the
// file. If the announced number of properties does not fit the bytes that follow, parseAdditions uses a
// number that fits them. If no number fits, the added fields are empty.
func (a *Anchor) parseAdditions(c *cursor) *anchorDefect {
	at := c.at
	announced := (&cursor{b: c.b, at: at, big: c.big}).fixed(4)
	a.readAdditions(c, func() (l []Property) {
		c.at = min(at+4, len(c.b))
		for range min(announced, uint64(len(c.b)-c.at)/2) {
			x := Property{c.text(), c.text()}
			if c.bad {
				break
			}
			l = append(l, x)
		}
		c.bad = c.bad || uint64(len(l)) < announced
		return l
	})
	rest := c.b[c.at:]
	after, ends := bytes.CutPrefix(rest, anchorEnd)
	const expected = "02 01 00, the end of an anchor file"
	whole := bytes.HasSuffix(c.b, anchorEnd)
	switch {
	case !c.bad && ends && len(after) == 0:
		return nil
	case a.FileVersion > 3 && !c.bad && whole: // later versions may have more fields
		return nil
	case whole && a.parseFittingProperties(c, at):
		return &anchorDefect{at, fmt.Sprintf("%s announced", plural.Of(announced, "property", "properties")),
			fmt.Sprintf("%d, the actual number", len(a.Properties))}
	case c.bad && !whole:
		return &anchorDefect{len(c.b), "the end of the file", "the rest of the anchor file"}
	case c.bad:
	case ends:
		return &anchorDefect{c.at + len(anchorEnd), fmt.Sprintf("%s after 02 01 00", plural.Of(len(after), "byte")),
			"the end of the file"}
	case len(rest) == 0:
		return &anchorDefect{c.at, "the end of the file", expected}
	case len(rest) <= len(anchorEnd) || a.FileVersion < 2 || a.FileVersion > 3:
		return &anchorDefect{c.at, fmt.Sprintf("% x", rest[:min(len(rest), len(anchorEnd))]), expected}
	}
	a.Properties, a.TraceID, a.Snapshots, a.Thumbnails = nil, 0, 0, 0
	return &anchorDefect{at, fmt.Sprintf("%s announced, after which the file does not end", plural.Of(announced,
		"property", "properties")),
		"properties, the id of the trace, the numbers of snapshots and thumbnails, and " + expected}
}

// readAdditions reads the fields that versions 2 and 3 added. It calls properties to read the
// properties.
func (a *Anchor) readAdditions(c *cursor, properties func() []Property) {
	if a.FileVersion >= 2 {
		a.Properties, a.TraceID = properties(), c.fixed(8)
	}
	if a.FileVersion >= 3 {
		a.Snapshots, a.Thumbnails = uint32(c.fixed(4)), uint32(c.fixed(4))
	}
}

// parseFittingProperties reads the added fields at an offset of a complete file. It ignores the number of
// properties that the file announces. It reads all bytes between that number and the fields after the
// properties as properties. If these bytes are not properties, it returns false and leaves a unchanged.
func (a *Anchor) parseFittingProperties(c *cursor, at int) bool {
	b := c.b[:len(c.b)-len(anchorEnd)]
	// size in bytes of the fields after the properties; indexed by version
	trailing := map[uint8]int{2: 8, 3: 16}[a.FileVersion]
	end := len(b) - trailing
	if trailing == 0 || end < at+4 {
		return false
	}
	x := cursor{b: b, at: at + 4, big: c.big}
	y := *a
	y.readAdditions(&x, func() (l []Property) {
		for x.at < end && !x.bad {
			l = append(l, Property{x.text(), x.text()})
		}
		x.bad = x.bad || x.at != end
		return l
	})
	if !x.bad {
		*a = y
	}
	return !x.bad
}

// formatByte formats the byte at an offset for a message.
func formatByte(b []byte, at int) string {
	if at < len(b) {
		return fmt.Sprintf("0x%02x", b[at])
	}
	return "the end of the file"
}

// resetNumbers sets the numbers of the contents to 0, for an archive that is still empty.
func (a *Anchor) resetNumbers() { a.Locations, a.Definitions, a.Snapshots, a.Thumbnails = 0, 0, 0, 0 }

// append appends the encoded anchor file to b.
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
	return append(b, anchorEnd...)
}
