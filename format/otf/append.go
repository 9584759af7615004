package otf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// appendHex writes a number as OTF does.
func appendHex(b []byte, v uint64) []byte {
	if high := v >> 32; high > 0 {
		b = appendHex(b, high)
		return binary.BigEndian.AppendUint64(b, hexText(uint32(v)))
	}
	n := (bits.Len64(v|1) + 3) >> 2
	return binary.BigEndian.AppendUint64(b, hexText(uint32(v))<<(-8*n&63))[:len(b)+n]
}

// hexText is the text of a number of 8 digits, the first of which is the highest
// byte, all made at once.
func hexText(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & (0x0f * ends)
	letter := (x + 6*ends) >> 4 & ends
	return x + '0'*ends + letter*('a'-'0'-10)
}

// appendUsual writes the line of the most usual events, short and without pairs;
// ok is false for others, and for numbers that do not fit.
func (r *Record) appendUsual(b []byte) (text []byte, ok bool) {
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

// appendText writes a string: line ends and quotes become blanks.
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

// Append writes the lines of the record in the short or in the long spelling:
// its pairs, then the record itself. Time and process of records that have them
// stand on lines of their own, which a [StreamWriter] adds. The line of a record
// of type Unknown is its Text.
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
		if s.bare && (len(s.fields) == 0 || r.Function|r.SCL == 0) {
			return append(b, ' ')
		}
	} else {
		b = append(b, s.short...)
		if s.bare && r.Function|r.SCL == 0 {
			return b
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		var n *uint64
		if f.bits > 0 {
			n = r.number(f.f)
		}
		if f.zero && (n != nil && *n == 0 || n == nil && r.Unnamed) {
			continue
		}
		if long && !f.tight {
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
		case f.f == fMembers:
			for _, m := range r.Members {
				b = append(appendHex(b, uint64(m)), ',')
			}
		default:
			b = appendText(b, *r.text(f.f))
		}
	}
	return b
}

// check tells which number does not fit its field.
func (r *Record) check() error {
	if int(r.Type) >= len(specs) || specs[r.Type].name == "" && r.Type != Unknown {
		return fmt.Errorf("record type %d: there is none", r.Type)
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
