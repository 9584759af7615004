package cube

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	indexMark = "CUBEX.INDEX"
	dataMark  = "CUBEX.DATA"
	zdataMark = "ZCUBEX.DATA"
	anchor    = "anchor.xml"
)

// The types of an index.
const (
	sparseIndex = 1 // the index lists the call paths that have rows in the data
	denseIndex  = 3 // all call paths have rows, in the order of their numbers
)

// denseIndexSize is the size in bytes of an index without a list of call paths.
const denseIndexSize = len(indexMark) + 4 + 2 + 1

// indexHead is the size of an index in bytes, without the numbers of the call paths.
const indexHead = denseIndexSize + 4

// Write writes the cube to w. Call paths, nodes, groups and locations get new numbers, in the order of a walk
// through their trees. Metrics and regions keep their numbers. A metric without values gets no members in the
// archive. Write returns an error if the lists are not a valid cube or a value does not fit the type of its
// metric.
func (c *Cube) Write(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	o := c.order()
	t := tar.NewWriter(w)
	member := func(name string, size int64) error {
		return t.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, Typeflag: tar.TypeReg})
	}
	text := c.anchor(o)
	if err := member(anchor, int64(len(text))); err != nil {
		return err
	}
	if _, err := t.Write(text); err != nil {
		return err
	}
	inclusive := inclusiveOrder(c.Paths)
	for i := range c.Metrics {
		m := &c.Metrics[i]
		counted := o.paths
		if m.Kind == Inclusive {
			counted = inclusive
		}
		rows := m.rows(counted)
		if len(rows) == 0 {
			continue
		}
		index := m.index(rows)
		if err := member(strconv.Itoa(i)+".index", int64(len(index))); err != nil {
			return err
		}
		if _, err := t.Write(index); err != nil {
			return err
		}
		size := int64(len(dataMark)) + int64(len(rows))*int64(len(o.locations))*int64(types[m.Type].size)
		if err := member(strconv.Itoa(i)+".data", size); err != nil {
			return err
		}
		if err := m.data(t, rows, counted, o.locations); err != nil {
			return err
		}
	}
	return t.Close()
}

// order holds the order in which entries are written, as lists of indexes.
type order struct {
	paths, depths     []int
	nodes, nodeDepths []int
	byNode            [][]int // groups of each node
	byGroup           [][]int // locations of each group
	locations         []int
}

// order returns the order in which the entries of c are written.
func (c *Cube) order() *order {
	o := &order{byNode: make([][]int, len(c.Nodes)), byGroup: make([][]int, len(c.Groups))}
	o.paths, o.depths = walk(len(c.Paths), func(i int) int { return c.Paths[i].Parent })
	o.nodes, o.nodeDepths = walk(len(c.Nodes), func(i int) int { return c.Nodes[i].Parent })
	for i, g := range c.Groups {
		o.byNode[g.Node] = append(o.byNode[g.Node], i)
	}
	for i, l := range c.Locations {
		o.byGroup[l.Group] = append(o.byGroup[l.Group], i)
	}
	for _, n := range o.nodes {
		for _, g := range o.byNode[n] {
			o.locations = append(o.locations, o.byGroup[g]...)
		}
	}
	return o
}

// rows returns the positions in counted of the call paths with a value other than 0. counted lists the call
// paths in the order of the file.
func (m *Metric) rows(counted []int) (rows []uint32) {
	for n, p := range counted {
		if p >= len(m.Values) {
			continue
		}
		for _, v := range m.Values[p] {
			if v != 0 {
				rows = append(rows, uint32(n))
				break
			}
		}
	}
	return rows
}

// index returns the text of a metric's index member. rows lists the call paths with values.
func (m *Metric) index(rows []uint32) []byte {
	b := append(make([]byte, 0, indexHead+4*len(rows)), indexMark...)
	b = binary.LittleEndian.AppendUint32(b, 1) // this number, written in little-endian order, marks the byte order
	b = binary.LittleEndian.AppendUint16(b, 0) // version of the index
	b = append(b, sparseIndex)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(rows)))
	for _, r := range rows {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return b
}

// data writes the values of a metric for the call paths at the positions rows of counted, with
// locations in the given order.
func (m *Metric) data(w io.Writer, rows []uint32, counted, locations []int) error {
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(dataMark)
	t := types[m.Type]
	var b [8]byte
	for _, r := range rows {
		for _, l := range locations {
			v := m.At(counted[r], l)
			bits, ok := t.bits(v)
			if !ok {
				return fmt.Errorf("cube: found %g in %s, expected a value of type %s", v, m.Name, m.Type)
			}
			binary.LittleEndian.PutUint64(b[:], bits)
			out.Write(b[:t.size])
		}
	}
	return out.Flush()
}

// bits returns the stored form of a value, whose first byte in the file is the lowest byte. ok is false if the
// type cannot represent the value.
func (t valueType) bits(v float64) (bits uint64, ok bool) {
	if t.float {
		return math.Float64bits(v), true
	}
	n := float64(8 * t.size)
	if t.signed {
		return uint64(int64(v)), v == math.Trunc(v) && v >= -math.Exp2(n-1) && v < math.Exp2(n-1)
	}
	return uint64(v), v == math.Trunc(v) && v >= 0 && v < math.Exp2(n)
}

// xmlEscapes replaces characters that have a meaning in XML. Cube's own parser supports only these
// entities.
var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// escape returns a text for use in XML. Characters that XML does not allow become spaces.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, s) // this also replaces invalid UTF-8 by U+FFFD
	return xmlEscapes.Replace(s)
}

// anchor returns the text of anchor.xml. Each element gets an end tag, because Cube's own parser
// does not support the short form of empty elements.
func (c *Cube) anchor(o *order) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) {
		for i, a := range args {
			if s, ok := a.(string); ok {
				args[i] = escape(s)
			}
		}
		fmt.Fprintf(&b, format+"\n", args...)
	}
	line(`<?xml version="1.0" encoding="UTF-8"?>`)
	line(`<cube version="4.4">`)
	for _, a := range c.Attributes {
		line(`<attr key="%s" value="%s"/>`, a.Key, a.Value)
	}
	line("<doc>\n<mirrors>\n</mirrors>\n</doc>\n<metrics>")
	metrics, depths := walk(len(c.Metrics), func(i int) int { return c.Metrics[i].Parent })
	for k, i := range metrics {
		m := &c.Metrics[i]
		line(`<metric id="%d" type="%s">`, i, m.Kind)
		line("<disp_name>%s</disp_name>\n<uniq_name>%s</uniq_name>\n<dtype>%s</dtype>\n<uom>%s</uom>\n<url>%s</url>\n"+
			"<descr>%s</descr>", m.Title, m.Name, m.Type, m.Unit, m.URL, m.Description)
		closeTags(&b, "metric", depths, k)
	}
	line("</metrics>\n<program>")
	for i, r := range c.Regions {
		line(`<region id="%d" mod="%s" begin="%d" end="%d">`, i, r.File, r.Begin, r.End)
		line("<name>%s</name>\n<mangled_name>%s</mangled_name>\n<paradigm>%s</paradigm>\n<role>%s</role>\n<url></url>\n"+
			"<descr>%s</descr>\n</region>", r.Name, r.Mangled, r.Paradigm, r.Role, r.Description)
	}
	for k, i := range o.paths {
		line(`<cnode id="%d" calleeId="%d">`, k, c.Paths[i].Region)
		closeTags(&b, "cnode", o.depths, k)
	}
	line("</program>\n<system>")
	groups, locations := 0, 0
	for k, i := range o.nodes {
		n := &c.Nodes[i]
		line("<systemtreenode Id=\"%d\">\n<name>%s</name>\n<class>%s</class>", k, n.Name, n.Class)
		for _, j := range o.byNode[i] {
			g := &c.Groups[j]
			line("<locationgroup Id=\"%d\">\n<name>%s</name>\n<rank>%d</rank>\n<type>%s</type>", groups, g.Name, g.Rank, g.Type)
			groups++
			for _, x := range o.byGroup[j] {
				l := &c.Locations[x]
				line("<location Id=\"%d\">\n<name>%s</name>\n<rank>%d</rank>\n<type>%s</type>\n</location>", locations, l.Name,
					l.Rank, l.Type)
				locations++
			}
			line("</locationgroup>")
		}
		closeTags(&b, "systemtreenode", o.nodeDepths, k)
	}
	line("<topologies>\n</topologies>\n</system>\n</cube>")
	return b.Bytes()
}

// closeTags writes the end tags of the elements that end after entry k of a walk.
func closeTags(b *bytes.Buffer, tag string, depths []int, k int) {
	next := 0
	if k+1 < len(depths) {
		next = depths[k+1]
	}
	for d := depths[k]; d >= next; d-- {
		b.WriteString("</" + tag + ">\n")
	}
}
