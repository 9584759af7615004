package otf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// appendHex appends a number as OTF writes it: lower-case hexadecimal digits without leading zeros.
func appendHex(b []byte, v uint64) []byte {
	if high := v >> 32; high > 0 {
		b = appendHex(b, high)
		return binary.BigEndian.AppendUint64(b, hexText(uint32(v)))
	}
	n := (bits.Len64(v|1) + 3) >> 2
	return binary.BigEndian.AppendUint64(b, hexText(uint32(v))<<(-8*n&63))[:len(b)+n]
}

// hexText returns the 8 hexadecimal digits of a number, with the first digit in the highest byte. It computes
// all digits at the same time.
func hexText(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & (0x0f * eachByte)
	letter := (x + 6*eachByte) >> 4 & eachByte
	return x + '0'*eachByte + letter*('a'-'0'-10)
}

// appendFrequent appends the line of one of the most frequent events in the short spelling, without
// its pairs. ok is false for other records and for numbers that do not fit.
func (r *Record) appendFrequent(b []byte) (text []byte, ok bool) {
	switch r.Type {
	case Enter, Leave:
		if (r.Function|r.SCL)>>32 != 0 {
			return b, false
		}
		if r.Type == Enter {
			b = append(b, 'E')
		} else if b = append(b, 'L'); r.Function|r.SCL == 0 {
			return append(b, '\n'), true
		}
		b = appendHex(b, r.Function)
	case SendMsg, RecvMsg:
		if (r.Peer|r.Length|r.Tag|r.Communicator|r.SCL)>>32 != 0 {
			return b, false
		}
		c := byte('S')
		if r.Type == RecvMsg {
			c = 'R'
		}
		b = appendHex(append(b, c), r.Peer)
		b = appendHex(append(b, 'L'), r.Length)
		b = appendHex(append(b, 'T'), r.Tag)
		b = appendHex(append(b, 'C'), r.Communicator)
	case Counter:
		if r.Counter>>32 != 0 {
			return b, false
		}
		b = appendHex(append(b, "CNT"...), r.Counter)
		return append(appendHex(append(b, 'V'), r.Value), '\n'), true
	default:
		return b, false
	}
	if r.SCL != 0 {
		b = appendHex(append(b, 'X'), r.SCL)
	}
	return append(b, '\n'), true
}

// appendText appends a string in quotes. It replaces line ends and quotes by blanks.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	if strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '"') < 0 {
		b = append(b, s...)
	} else {
		for i := range len(s) {
			c := s[i]
			if c == '\n' || c == '"' {
				c = ' '
			}
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// Append appends the lines of the record in the short or the long spelling: its key-value pairs, then
// the record itself. It does not write the lines with time and process, which a [StreamWriter] adds.
// The line of a record of type Unknown is its Text.
func (r *Record) Append(b []byte, long bool) []byte {
	for i := range r.KeyValues {
		b = r.KeyValues[i].append(b, long)
	}
	return append(r.appendLine(b, long), '\n')
}

func (r *Record) appendLine(b []byte, long bool) []byte {
	if r.Type == Unknown {
		return append(b, r.Text...)
	}
	s := &specs[r.Type]
	if long {
		b = append(b, s.long...)
		if s.keywordOnly && (len(s.fields) == 0 || r.Function|r.SCL == 0) {
			return append(b, ' ')
		}
	} else {
		b = append(b, s.short...)
		if s.keywordOnly && r.Function|r.SCL == 0 {
			return b
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		var n *uint64
		if f.bits > 0 {
			n = r.number(f.f)
		}
		if f.omitZero && (n != nil && *n == 0 || n == nil && r.Unnamed) {
			continue
		}
		if long && !f.noBlank {
			b = append(b, ' ')
			if f.long != "" {
				b = append(append(b, f.long...), ' ')
			}
		} else {
			b = append(b, f.short...)
		}
		switch {
		case n != nil:
			b = appendHex(b, *n)
		case f.f == fieldMembers:
			for _, m := range r.Members {
				b = append(appendHex(b, uint64(m)), ',')
			}
		default:
			b = appendText(b, *r.text(f.f))
		}
	}
	return b
}

// check returns an error if a number does not fit its field.
func (r *Record) check() error {
	if int(r.Type) >= len(specs) || specs[r.Type].name == "" && r.Type != Unknown {
		return fmt.Errorf("record type %d: found no such type", r.Type)
	}
	s := &specs[r.Type]
	for i := range s.fields {
		if f := &s.fields[i]; f.bits > 0 && f.bits < 64 {
			if n := *r.number(f.f); n>>f.bits != 0 {
				return fmt.Errorf("%s: field %d: found %d, expected a number of at most %d bits", s.name, i+1, n, f.bits)
			}
		}
	}
	return nil
}
