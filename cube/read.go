package cube

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/plural"
)

// Error reports a place at which a file violates the format.
type Error struct {
	Path            string
	Member          string // member of the archive; "" if the archive itself is wrong
	Line            int    // line in anchor.xml; 0 for other members
	Offset          int64  // offset in the member in bytes; used if Line is 0
	Found, Expected string
}

// Error returns the place and the defect in one line.
func (e *Error) Error() string {
	at := e.Path
	switch {
	case e.Member != "" && e.Line > 0:
		at += fmt.Sprintf(": %s, line %d", e.Member, e.Line)
	case e.Member != "":
		at += fmt.Sprintf(": %s, byte 0x%x", e.Member, e.Offset)
	case e.Offset > 0:
		at += fmt.Sprintf(", byte 0x%x", e.Offset)
	}
	return fmt.Sprintf("%s: found %s, expected %s", at, e.Found, e.Expected)
}

// File is an open cube file. Its metrics have no values until [File.Load] reads them.
type File struct {
	Cube
	name    string
	members map[string]*io.SectionReader
	ids     []string // ids of the metrics in the file
}

// Read reads a cube with all values from r, which holds size bytes. Metrics whose values are not
// numbers remain without values (see [Metric.HasValues]). Errors about the content are of type
// [*Error] and contain name; other errors come from r.
func Read(r io.ReaderAt, size int64, name string) (*Cube, error) {
	f, err := Open(r, size, name)
	if err != nil {
		return nil, err
	}
	for i := range f.Metrics {
		if err := f.Load(i); err != nil {
			return nil, err
		}
	}
	return &f.Cube, nil
}

// Open reads the trees of a cube from r, which holds size bytes; r must stay readable for
// [File.Load]. Errors about the content are of type [*Error] and contain name; other errors come
// from r.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, members: map[string]*io.SectionReader{}}
	all := io.NewSectionReader(r, 0, size)
	for t := tar.NewReader(all); ; {
		h, err := t.Next()
		at, _ := all.Seek(0, io.SeekCurrent) // t does not read ahead
		if err == io.EOF {
			break
		}
		if err != nil {
			if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = &Error{Path: name, Offset: at, Found: "no member of an archive (tar)", Expected: "one, or its end"}
			}
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size > size-at {
			return nil, &Error{Path: name, Offset: at, Found: fmt.Sprintf("%s of %s", plural.Of(size-at, "byte"),
				strconv.Quote(h.Name)),
				Expected: strconv.FormatInt(h.Size, 10)}
		}
		f.members[strings.TrimPrefix(h.Name, "./")] = io.NewSectionReader(r, at, h.Size)
	}
	text, ok := f.members[anchor]
	if !ok {
		return nil, &Error{Path: name, Found: "no member " + anchor, Expected: "one"}
	}
	p := parser{f: f, regions: map[int]int{}}
	return f, p.parse(text)
}

// parser reads anchor.xml, the XML file of a cube that describes its metrics, call tree and locations.
type parser struct {
	f         *File
	d         *xml.Decoder
	open      []element
	regions   map[int]int // maps the ids of regions to their indexes
	locations []int       // ids of the locations, in the order of the list
}

// element is an XML element whose end has not been read.
type element struct {
	name  string
	index int // index of the metric, region, path or location that the element defines, in its list
	text  *strings.Builder
}

// gzipMark is the beginning of a compressed anchor.xml.
const gzipMark = "\x1f\x8b"

func (p *parser) wrong(found, expected string) error {
	line, _ := p.d.InputPos()
	return &Error{Path: p.f.name, Member: anchor, Line: line, Found: found, Expected: expected}
}

func (p *parser) parse(text io.Reader) error {
	in := bufio.NewReaderSize(text, 1<<16)
	if b, _ := in.Peek(2); string(b) == gzipMark {
		z, err := gzip.NewReader(in)
		if err != nil {
			return p.damaged(err)
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	p.d = xml.NewDecoder(in)
	empty := true
	for {
		t, err := p.d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return p.damaged(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			empty = false
			if err := p.start(&t); err != nil {
				return err
			}
		case xml.EndElement:
			if err := p.end(t.Name.Local); err != nil {
				return err
			}
		case xml.CharData:
			if n := len(p.open); n > 0 && p.open[n-1].text != nil {
				p.open[n-1].text.Write(t)
			}
		}
	}
	if n := len(p.open); n > 0 || empty {
		expected := "<cube>"
		if n > 0 {
			expected = "</" + p.open[n-1].name + ">"
		}
		return p.wrong("the end", expected)
	}
	return p.finish()
}

// damaged returns the error for a text that the XML decoder or the gzip decoder rejects.
func (p *parser) damaged(err error) error {
	var s *xml.SyntaxError
	switch {
	case errors.As(err, &s):
		return &Error{Path: p.f.name, Member: anchor, Line: s.Line, Found: s.Msg, Expected: "XML"}
	case p.d == nil || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) ||
		errors.Is(err, io.ErrUnexpectedEOF) || isFlate(err):
		return &Error{Path: p.f.name, Member: anchor, Found: "damaged compressed data", Expected: "data as gzip writes them"}
	}
	return fmt.Errorf("%s: %s: %w", p.f.name, anchor, err)
}

// attributeOf returns the value of an attribute of an element. It ignores the case of the
// attribute's name.
func attributeOf(t *xml.StartElement, key string) (string, bool) {
	for _, a := range t.Attr {
		if strings.EqualFold(a.Name.Local, key) {
			return a.Value, true
		}
	}
	return "", false
}

// start handles the start tag of an element.
func (p *parser) start(t *xml.StartElement) error {
	name, above := t.Name.Local, element{index: -1}
	if n := len(p.open); n > 0 {
		above = p.open[n-1]
	}
	get := func(key string) (string, bool) { return attributeOf(t, key) }
	number := func(key string) (int, error) {
		s, ok := get(key)
		n, err := strconv.Atoi(s)
		if !ok || err != nil {
			return 0, p.wrong(fmt.Sprintf("%s %q of <%s>", key, s, name), "a number")
		}
		return n, nil
	}
	// parent returns the index of the element of the same name directly around this element, or −1 if there is
	// none.
	parent := func() int {
		if above.name == name {
			return above.index
		}
		return -1
	}
	c, e := &p.f.Cube, element{name: name, index: -1}
	var err error
	switch {
	case len(p.open) == 0:
		version, _ := get("version")
		if name != "cube" || !strings.HasPrefix(version, "4.") {
			return p.wrong(fmt.Sprintf("<%s version=%q>", name, version), `<cube version="4.…">`)
		}
	case name == "attr" && above.name == "cube":
		key, _ := get("key")
		value, _ := get("value")
		c.Attributes = append(c.Attributes, Attribute{key, value})
	case name == "metric" && (above.name == "metrics" || above.name == name):
		id, err := number("id")
		if err != nil {
			return err
		}
		kind, ok := get("type")
		if !ok {
			kind = Exclusive
		}
		e.index = len(c.Metrics)
		c.Metrics = append(c.Metrics, Metric{Parent: parent(), Kind: kind})
		p.f.ids = append(p.f.ids, strconv.Itoa(id))
	case name == "region" && above.name == "program":
		var r Region
		var id int
		if id, err = number("id"); err == nil {
			if r.Begin, err = number("begin"); err == nil {
				r.End, err = number("end")
			}
		}
		if err != nil {
			return err
		}
		if _, twice := p.regions[id]; twice {
			return p.wrong(fmt.Sprintf("region %d again", id), "another id")
		}
		r.File, _ = get("mod")
		e.index = len(c.Regions)
		p.regions[id] = e.index
		c.Regions = append(c.Regions, r)
	case name == "cnode" && (above.name == "program" || above.name == name):
		callee, err := number("calleeId")
		if err != nil {
			return err
		}
		region, ok := p.regions[callee]
		if !ok {
			return p.wrong(fmt.Sprintf("calleeId %d", callee), "the id of a region before it")
		}
		e.index = len(c.Paths)
		c.Paths = append(c.Paths, Path{Parent: parent(), Region: region})
	case name == "systemtreenode" && (above.name == "system" || above.name == name):
		e.index = len(c.Nodes)
		c.Nodes = append(c.Nodes, Node{Parent: parent()})
	case name == "locationgroup" && (above.name == "systemtreenode" || above.name == name):
		e.index = len(c.Groups)
		node := above.index
		if above.name == name { // a device inside of a process
			node = c.Groups[above.index].Node
		}
		c.Groups = append(c.Groups, Group{Node: node})
	case name == "location" && above.name == "locationgroup":
		id, err := number("Id")
		if err != nil {
			return err
		}
		e.index = len(c.Locations)
		c.Locations = append(c.Locations, Location{Group: above.index})
		p.locations = append(p.locations, id)
	case above.index >= 0:
		e.text, e.index = &strings.Builder{}, -1
	}
	p.open = append(p.open, e)
	return nil
}

// end handles the end tag of an element.
func (p *parser) end(name string) error {
	n := len(p.open) - 1
	if n < 0 || p.open[n].name != name {
		expected := "the end"
		if n >= 0 {
			expected = "</" + p.open[n].name + ">"
		}
		return p.wrong("</"+name+">", expected)
	}
	e := p.open[n]
	p.open = p.open[:n]
	if e.text == nil {
		return nil
	}
	c, parent, text := &p.f.Cube, p.open[n-1], e.text.String()
	switch parent.name {
	case "metric":
		m := &c.Metrics[parent.index]
		switch name {
		case "disp_name":
			m.Title = text
		case "uniq_name":
			m.Name = strings.TrimSpace(text)
		case "dtype":
			m.Type = strings.TrimSpace(text)
		case "uom":
			m.Unit = strings.TrimSpace(text)
		case "url":
			m.URL = text
		case "descr":
			m.Description = text
		}
	case "region":
		r := &c.Regions[parent.index]
		switch name {
		case "name":
			r.Name = text
		case "mangled_name":
			r.Mangled = text
		case "paradigm":
			r.Paradigm = text
		case "role":
			r.Role = text
		case "descr":
			r.Description = text
		}
	case "systemtreenode":
		x := &c.Nodes[parent.index]
		switch name {
		case "name":
			x.Name = text
		case "class":
			x.Class = text
		}
	case "locationgroup":
		x := &c.Groups[parent.index]
		return p.setField(name, text, &x.Name, &x.Rank, &x.Type)
	case "location":
		x := &c.Locations[parent.index]
		return p.setField(name, text, &x.Name, &x.Rank, &x.Type)
	}
	return nil
}

// setField sets the name, rank or type of a group or location from the text of an element.
func (p *parser) setField(field, text string, name *string, rank *int, kind *string) (err error) {
	switch field {
	case "name":
		*name = text
	case "rank":
		if *rank, err = strconv.Atoi(strings.TrimSpace(text)); err != nil {
			return p.wrong(fmt.Sprintf("rank %q", text), "a number")
		}
	case "type":
		*kind = strings.TrimSpace(text)
	}
	return nil
}

// finish sorts the locations by their ids, which is the order of the values in files.
func (p *parser) finish() error {
	c := &p.f.Cube
	sorted := make([]Location, len(c.Locations))
	seen := make([]bool, len(c.Locations))
	for i, id := range p.locations {
		if id < 0 || id >= len(seen) || seen[id] {
			return p.wrong(fmt.Sprintf("location %d", id), fmt.Sprintf("each id from 0 to %d once", len(seen)-1))
		}
		seen[id], sorted[id] = true, c.Locations[i]
	}
	c.Locations = sorted
	return nil
}

// Load reads the values of a metric into its field Values. It does nothing for a metric without values of its
// own (see [Metric.HasValues]). Load returns the same types of errors as [Open].
func (f *File) Load(metric int) error {
	m, id := &f.Metrics[metric], f.ids[metric]
	index, ok := f.members[id+".index"]
	if !ok || !m.HasValues() {
		return nil
	}
	data, ok := f.members[id+".data"]
	if !ok {
		return &Error{Path: f.name, Found: fmt.Sprintf("no member %s.data", id),
			Expected: fmt.Sprintf("one beside %s.index", id)}
	}
	rows, order, err := f.index(id+".index", index)
	if err != nil {
		return err
	}
	var counted []int
	if m.Kind == Inclusive {
		counted = inclusiveOrder(f.Paths)
	}
	seen := make([]bool, len(f.Paths))
	for i, n := range rows {
		at := int64(indexHead + 4*i)
		if int64(n) >= int64(len(f.Paths)) {
			return f.wrong(id+".index", at, fmt.Sprintf("call path %d", n), fmt.Sprintf("0 to %d", len(f.Paths)-1))
		}
		if seen[n] {
			return f.wrong(id+".index", at, fmt.Sprintf("call path %d again", n), "another one")
		}
		if seen[n] = true; m.Kind == Inclusive {
			rows[i] = uint32(counted[n])
		}
	}
	m.Values = make([][]float64, len(f.Paths))
	t := types[m.Type]
	d := dataReader{f: f, member: id + ".data", t: t, order: order, width: len(f.Locations) * t.size}
	return d.read(data, rows, m.Values)
}

func (f *File) wrong(member string, offset int64, found, expected string) error {
	return &Error{Path: f.name, Member: member, Offset: offset, Found: found, Expected: expected}
}

// readAll returns all bytes of a member, whatever the current position in the member is.
func readAll(r *io.SectionReader) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
}

// index reads the index of a metric. rows holds the numbers of the call paths that have values. order is the
// byte order of the values.
func (f *File) index(member string, r *io.SectionReader) (rows []uint32, order binary.ByteOrder, err error) {
	b, err := readAll(r)
	if err != nil {
		return nil, nil, err
	}
	if len(b) < denseIndexSize || !bytes.HasPrefix(b, []byte(indexMark)) {
		return nil, nil, f.wrong(member, 0, fmt.Sprintf("%s %q", plural.Of(len(b), "byte"), b[:min(len(b), len(indexMark))]),
			fmt.Sprintf("%d or more that begin with %q", denseIndexSize, indexMark))
	}
	order = binary.LittleEndian
	at := len(indexMark)
	if order.Uint32(b[at:]) != 1 {
		if order = binary.BigEndian; order.Uint32(b[at:]) != 1 {
			return nil, nil, f.wrong(member, int64(at), fmt.Sprintf("%x", b[at:at+4]), "1 in some order of bytes")
		}
	}
	at += 4
	if v := order.Uint16(b[at:]); v != 0 {
		return nil, nil, f.wrong(member, int64(at), fmt.Sprintf("version %d", v), "0")
	}
	at += 2
	kind := b[at]
	at++
	switch {
	case kind == denseIndex:
		if rest := len(b) - at; rest > 0 {
			return nil, nil, f.wrong(member, int64(at), plural.Of(rest, "byte"), "the end of an index of all call paths")
		}
		rows = make([]uint32, len(f.Paths))
		for i := range rows {
			rows[i] = uint32(i)
		}
		return rows, order, nil
	case kind != sparseIndex:
		return nil, nil, f.wrong(member, int64(at-1), fmt.Sprintf("index type %d", kind), fmt.Sprintf(
			"%d, a list of call paths, or %d, all call paths", sparseIndex, denseIndex))
	case len(b) < indexHead:
		return nil, nil, f.wrong(member, int64(at), plural.Of(len(b)-at, "byte"), "the number of call paths, of 4 bytes")
	}
	n := order.Uint32(b[at:])
	if rest := len(b) - indexHead; int64(rest) != 4*int64(n) {
		return nil, nil, f.wrong(member, int64(at), fmt.Sprintf("%s in %s", plural.Of(n, "call path"), plural.Of(rest,
			"byte")), "4 bytes each")
	}
	rows = make([]uint32, n)
	for i := range rows {
		rows[i] = order.Uint32(b[indexHead+4*i:])
	}
	return rows, order, nil
}

// dataReader reads the data member of a metric.
type dataReader struct {
	f      *File
	member string
	t      valueType
	order  binary.ByteOrder
	width  int // size of a row in bytes
	z      io.ReadCloser
}

// read reads the values of the call paths whose indexes are in rows, and stores them in values by
// call path.
func (d *dataReader) read(r *io.SectionReader, rows []uint32, values [][]float64) error {
	in := bufio.NewReaderSize(io.NewSectionReader(r, 0, r.Size()), 1<<16)
	mark := make([]byte, len(zdataMark))
	n, err := io.ReadFull(in, mark[:len(dataMark)])
	if err == nil && string(mark[:len(dataMark)]) == dataMark {
		return d.plain(in, r.Size(), rows, values)
	}
	if err == nil {
		var k int
		k, err = io.ReadFull(in, mark[len(dataMark):])
		n += k
	}
	if err == nil && string(mark) == zdataMark {
		return d.compressed(in, r.Size(), rows, values)
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	return d.f.wrong(d.member, 0, fmt.Sprintf("%q", mark[:n]), fmt.Sprintf("%q or %q", dataMark, zdataMark))
}

func (d *dataReader) plain(in io.Reader, size int64, rows []uint32, values [][]float64) error {
	// The sizes fit an int64, because the file stores the numbers of rows and of locations in 32 bits each.
	if expected := int64(len(dataMark)) + int64(len(rows))*int64(d.width); size != expected {
		return d.f.wrong(d.member, int64(len(dataMark)), plural.Of(size, "byte"),
			fmt.Sprintf("%d for %s at %s", expected, plural.Of(len(rows), "call path"), plural.Of(len(d.f.Locations),
				"location")))
	}
	b := make([]byte, d.width)
	for _, p := range rows {
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		values[p] = d.row(b)
	}
	return nil
}

// compressed reads rows that are compressed with zlib, each row separately.
func (d *dataReader) compressed(in io.Reader, size int64, rows []uint32, values [][]float64) error {
	at := int64(len(zdataMark))
	var b [24]byte
	if _, err := io.ReadFull(in, b[:8]); err != nil {
		return d.decodeError(err, at)
	}
	if n := d.order.Uint64(b[:8]); n != uint64(len(rows)) || int64(len(rows)) > (size-at-8)/24 {
		return d.f.wrong(d.member, at, fmt.Sprintf("%s in %s", plural.Of(n, "compressed part"), plural.Of(size, "byte")),
			fmt.Sprintf("%d, one of each call path, of 24 bytes or more", len(rows)))
	}
	at += 8
	sizes := make([]int64, len(rows))
	for i := range sizes {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return d.decodeError(err, at)
		}
		at += 24
		n := d.order.Uint64(b[16:])
		if n > uint64(size) {
			return d.f.wrong(d.member, at-8, fmt.Sprintf("a compressed part of %s", plural.Of(n, "byte")),
				fmt.Sprintf("up to %d", size))
		}
		sizes[i] = int64(n)
	}
	for i, p := range rows {
		if sizes[i] == 0 {
			continue // an empty row stands for zeros
		}
		row, err := d.compressedRow(io.LimitReader(in, sizes[i]), at)
		if err != nil {
			return err
		}
		at += sizes[i]
		values[p] = row
	}
	return nil
}

// compressedRow reads and decodes the next compressed row, which begins at the offset at.
func (d *dataReader) compressedRow(in io.Reader, at int64) ([]float64, error) {
	var err error
	if d.z == nil {
		d.z, err = zlib.NewReader(in)
	} else {
		err = d.z.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		return nil, d.decodeError(err, at)
	}
	// The memory for a row grows while it is read. Therefore the size of the data limits the memory, and not
	// the width that the file states.
	b, err := io.ReadAll(io.LimitReader(d.z, int64(d.width)+1))
	if err != nil {
		return nil, d.decodeError(err, at)
	}
	if len(b) != d.width {
		return nil, d.f.wrong(d.member, at, fmt.Sprintf("a compressed part that has %s", plural.Of(len(b), "byte")),
			fmt.Sprintf("%d for %s", d.width, plural.Of(len(d.f.Locations), "location")))
	}
	_, err = io.Copy(io.Discard, in)
	return d.row(b), err
}

// decodeError returns an [*Error] for data that the decoder rejects, and other errors unchanged.
func (d *dataReader) decodeError(err error, at int64) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrChecksum) ||
		errors.Is(err, zlib.ErrDictionary) || isFlate(err) {
		return d.f.wrong(d.member, at, "damaged or cut compressed data", "data as zlib writes them")
	}
	return err
}

// row decodes the values of a row, one for each location.
func (d *dataReader) row(b []byte) []float64 {
	list := make([]float64, len(b)/d.t.size)
	for i := range list {
		x := b[i*d.t.size:]
		var bits uint64
		switch d.t.size {
		case 1:
			bits = uint64(x[0])
		case 2:
			bits = uint64(d.order.Uint16(x))
		case 4:
			bits = uint64(d.order.Uint32(x))
		default:
			bits = d.order.Uint64(x)
		}
		switch {
		case d.t.float:
			list[i] = math.Float64frombits(bits)
		case d.t.signed:
			free := 64 - 8*d.t.size
			list[i] = float64(int64(bits<<free) >> free)
		default:
			list[i] = float64(bits)
		}
	}
	return list
}

// isFlate reports whether err reports damaged deflate data, which zlib and gzip contain.
func isFlate(err error) bool {
	var c flate.CorruptInputError
	return errors.As(err, &c)
}
