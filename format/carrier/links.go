package carrier

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// PackLinks returns links as compressed bytes that [UnpackLinks] reads.
func PackLinks(links []trace.Link) []byte {
	b := binary.AppendUvarint(nil, uint64(len(links)))
	id, last := int64(0), int64(0)
	for i := range links {
		l := &links[i]
		b = binary.AppendVarint(b, l.ID-id)
		id = l.ID
		for _, e := range []*trace.End{&l.Src, &l.Dst} {
			b = append(b, byte(e.Kind))
			b = binary.AppendVarint(b, e.ID)
			b = binary.AppendUvarint(b, uint64(e.Location+1)) // NoRef becomes 0
			b = binary.AppendVarint(b, e.Time-last)
			last = e.Time
		}
		b = binary.AppendVarint(b, l.Pos)
		b = binary.AppendUvarint(b, uint64(len(l.Attrs)))
		for _, a := range l.Attrs {
			b = append(binary.AppendUvarint(b, uint64(len(a.Key))), a.Key...)
			b = appendValue(b, &a.Value)
		}
	}
	return pack(b)
}

// UnpackLinks returns the links that [PackLinks] has packed. It returns an error if an end of a
// link is not at one of the given number of locations.
func UnpackLinks(data []byte, locations int) (links []trace.Link, err error) {
	return unpackLinks(data, locations, true)
}

// CheckLinks returns the error of [UnpackLinks].
func CheckLinks(data []byte, locations int) error {
	_, err := unpackLinks(data, locations, false)
	return err
}

// shortestLink is the least number of bytes of a packed link.
const shortestLink = 11

// unpackLinks reads packed links. It returns no links unless keep is set.
func unpackLinks(data []byte, locations int, keep bool) (links []trace.Link, err error) {
	text, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	u := Unpacker{Data: text}
	id, last := int64(0), int64(0)
	count := u.count(u.Uvarint())
	if keep {
		links = make([]trace.Link, 0, min(count, len(u.Data)/shortestLink))
	}
	for range count {
		l := trace.Link{ID: id + u.varint()}
		id = l.ID
		for _, e := range []*trace.End{&l.Src, &l.Dst} {
			e.Kind, e.ID, e.Location, e.Time = trace.EndKind(u.byte()), u.varint(), uint32(u.Uvarint())-1, last+u.varint()
			last = e.Time
			if u.Err == nil && (e.Kind > trace.AtLocation ||
				e.Location != trace.NoRef && int64(e.Location) >= int64(locations)) {
				u.Err = fmt.Errorf("found an end of kind %d at location %d, expected kinds up to %d and less than %d locations",
					e.Kind, e.Location, trace.AtLocation, locations)
			}
		}
		l.Pos = u.varint()
		if n := u.count(u.Uvarint()); keep && n > 0 {
			l.Attrs = make([]trace.Attr, 0, min(n, 16))
			for range n {
				l.Attrs = append(l.Attrs, trace.Attr{Key: u.text(), Value: u.value()})
			}
		} else {
			for range n {
				u.Bytes()
				u.rawValue()
			}
		}
		if u.Err != nil {
			return nil, fmt.Errorf("links: %w", u.Err)
		}
		if keep {
			links = append(links, l)
		}
	}
	if u.Err == nil && len(u.Data) > 0 {
		u.Err = fmt.Errorf("found %s after the last one, expected none", plural.Of(len(u.Data), "byte"))
	}
	if u.Err != nil {
		return nil, fmt.Errorf("links: %w", u.Err)
	}
	return links, nil
}
