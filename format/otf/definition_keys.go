package otf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// A setter makes the token of a definition refer to an entry of a table. add adds the entry. like is the definition
// without its id, for a comparison with earlier definitions.
type setter func(table int, like any, add func() uint32)

// setter returns the setter for r. If known is not nil, it does not add a definition that equals an earlier one.
func (m *model) setter(r *Record, known map[string]uint32) setter {
	return func(table int, like any, add func() uint32) {
		key := ""
		if known != nil {
			key = fmt.Sprintf("%d %#v", table, like)
		}
		i, ok := known[key]
		if !ok {
			i = add()
			if known != nil {
				known[key] = i
			}
		}
		m.index[scopedToken{table, r.Stream, r.Token}] = i
	}
}

// addKey adds the definition of a key. async is set if counters have the times at which they were read.
func (m *model) addKey(r *Record, async bool, set setter) {
	x := trace.AttributeDef{Name: trace.ToUTF8(r.Name), Doc: trace.ToUTF8(r.Text), Type: definedType(r)}
	if async && strings.HasPrefix(r.Name, asyncName) && x.Type == trace.Uint64 {
		if m.async == nil {
			m.async = map[uint32]bool{}
		}
		m.async[uint32(r.Token)] = true
	}
	set(keys, x, func() uint32 {
		x.ID = definitionID(r.Stream, r.Token)
		return m.defs.Attributes.Add(x)
	})
}

// attrs returns the key-value pairs of a definition as attributes.
func (m *model) attrs(r *Record) (out []trace.Attr) {
	for i := range r.KeyValues {
		v := &r.KeyValues[i]
		out = append(out, trace.Attr{Key: m.defs.Attributes.At(m.key(r.Stream, v)).Name, Value: v.value(nil)})
	}
	return out
}

// key returns the attribute for the key of a pair.
func (m *model) key(stream uint32, v *KeyValue) uint32 {
	if i, ok := m.find(keys, stream, uint64(v.Key)); ok {
		return i
	}
	if m.frozen {
		m.needsDefinition = true
		return trace.NoRef
	}
	t := trace.None
	if int(v.Type) < len(valueTypes) {
		t = valueTypes[v.Type]
	}
	i := m.defs.Attributes.Add(trace.AttributeDef{ID: strconv.FormatUint(uint64(v.Key), 10),
		Name: fmt.Sprintf("key %d", v.Key), Type: t})
	m.index[scopedToken{keys, 0, uint64(v.Key)}] = i
	return i
}
