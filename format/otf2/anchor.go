package otf2

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"regexp"

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
	switch {
	case c.bad && len(b) < sub:
		return nil, bad(len(b), "an anchor file", "the end of the file")
	case a.Substrate != 1:
		return nil, bad(sub, "1, plain files: other substrates cannot be read", "substrate %d%s", a.Substrate,
			map[uint8]string{2: " (SIONlib)"}[a.Substrate])
	case a.Compression > 1:
		return nil, bad(sub+1, "1, none: compressed archives of old versions cannot be read", "compression %d%s",
			a.Compression, map[uint8]string{2: " (zlib)"}[a.Compression])
	case a.EventChunk < minChunk || a.EventChunk > maxChunk:
		return nil, bad(at, "a chunk size of 256 KiB to 16 MiB", "%d bytes", a.EventChunk)
	case a.DefinitionChunk != 0 && (a.DefinitionChunk < minChunk || a.DefinitionChunk > maxChunk):
		return nil, bad(at+8, "a chunk size of 256 KiB to 16 MiB", "%d bytes", a.DefinitionChunk)
	case c.bad:
		return a, bad(len(b), "the rest of the anchor file", "the end of the file")
	}
	additions := c.at
	wrong := cmp.Or(a.additions(c), a.refused(at, sub, additions))
	if wrong != nil {
		return a, bad(wrong.at, wrong.expected, "%s", wrong.found)
	}
	return a, nil
}

// refused is what OTF2's library refuses an archive for, though it can be read. Chunk sizes, the substrate
// and what versions 2 and 3 have added stand at these places.
func (a *Anchor) refused(sizes, substrate, additions int) *wrongBytes {
	const traceVersion = 8
	switch {
	case a.TraceVersion > 2:
		return &wrongBytes{traceVersion, fmt.Sprintf("a trace of version %d", a.TraceVersion),
			"2, the last one that there is"}
	case a.DefinitionChunk == 0:
		return &wrongBytes{sizes + 8, "0 bytes", "a chunk size of 256 KiB to 16 MiB"}
	case a.Compression == 0:
		return &wrongBytes{substrate + 1, "compression 0", "1, none"}
	}
	at := additions + 4
	seen := map[string]bool{}
	for _, p := range a.Properties {
		switch {
		case !propertyName.MatchString(p.Name):
			return &wrongBytes{at, fmt.Sprintf("a property with the name %.60q", p.Name),
				"words of letters, digits and _ with :: between them, two at least"}
		case seen[p.Name]:
			return &wrongBytes{at, fmt.Sprintf("a second property with the name %.60q", p.Name), "another name"}
		}
		seen[p.Name] = true
		at += len(p.Name) + len(p.Value) + 2
	}
	return nil
}

// propertyName is what the library takes for one.
var propertyName = regexp.MustCompile(`^[A-Za-z0-9_]+(::[A-Za-z0-9_]+)+$`)

// anchorEnd ends an anchor file.
var anchorEnd = []byte{endOfFile, endOfBuffer, endOfChunk}

// wrongBytes is what is wrong at a place of an anchor file.
type wrongBytes struct {
	at              int
	found, expected string
}

// additions reads what versions 2 and 3 have put behind the description, and the end of the file.
// A number of properties that does not fit what follows is replaced by the one that does. If none
// does, there are no properties, snapshots and thumbnails.
func (a *Anchor) additions(c *cursor) *wrongBytes {
	at := c.at
	announced := (&cursor{b: c.b, at: at, big: c.big}).fixed(4)
	a.addition(c, func() (l []Property) {
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
	const expected = "02 01 00, which ends an anchor file"
	whole := bytes.HasSuffix(c.b, anchorEnd)
	switch {
	case !c.bad && ends && len(after) == 0:
		return nil
	case a.FileVersion > 3 && !c.bad && whole: // later versions have more
		return nil
	case whole && a.fitting(c, at):
		return &wrongBytes{at, fmt.Sprintf("%d properties announced", announced),
			fmt.Sprintf("%d, which is how many there are", len(a.Properties))}
	case c.bad && !whole:
		return &wrongBytes{len(c.b), "the end of the file", "the rest of the anchor file"}
	case c.bad:
	case ends:
		return &wrongBytes{c.at + len(anchorEnd), fmt.Sprintf("%d bytes behind 02 01 00", len(after)), "the end of the file"}
	case len(rest) == 0:
		return &wrongBytes{c.at, "the end of the file", expected}
	case len(rest) <= len(anchorEnd) || a.FileVersion < 2 || a.FileVersion > 3:
		return &wrongBytes{c.at, fmt.Sprintf("% x", rest[:min(len(rest), len(anchorEnd))]), expected}
	}
	a.Properties, a.TraceID, a.Snapshots, a.Thumbnails = nil, 0, 0, 0
	return &wrongBytes{at, fmt.Sprintf("%d properties announced, behind which the file does not end", announced),
		"properties, the id of the trace, the numbers of snapshots and thumbnails, and " + expected}
}

// addition reads what versions 2 and 3 have added. properties reads the properties.
func (a *Anchor) addition(c *cursor, properties func() []Property) {
	if a.FileVersion >= 2 {
		a.Properties, a.TraceID = properties(), c.fixed(8)
	}
	if a.FileVersion >= 3 {
		a.Snapshots, a.Thumbnails = uint32(c.fixed(4)), uint32(c.fixed(4))
	}
}

// fitting reads the additions at a place, of a file with its end, with as many properties as stand
// between their number and what follows them. It reports whether what stands there are properties.
func (a *Anchor) fitting(c *cursor, at int) bool {
	b := c.b[:len(c.b)-len(anchorEnd)]
	behind := map[uint8]int{2: 8, 3: 16}[a.FileVersion] // bytes of the numbers there
	end := len(b) - behind
	if behind == 0 || end < at+4 {
		return false
	}
	x := cursor{b: b, at: at + 4, big: c.big}
	y := *a
	y.addition(&x, func() (l []Property) {
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
	return append(b, anchorEnd...)
}
