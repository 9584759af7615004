package otf

import (
	"iter"

	"github.com/weft-trace/weft/trace"
)

// keepTokens keeps the records to which events and files refer by tokens that the model keeps: groups of files, and
// source places with their files. Of the records of a stream, it keeps those whose tokens are free. It also keeps
// groups without members.
func (m *model) keepTokens(list []*Record) {
	m.keepEmptyGroups(list, functionGroups, DefFunctionGroup, DefFunction)
	m.keepEmptyGroups(list, counterGroups, DefCounterGroup, DefCounter)
	kept := map[scopedToken]string{}
	for _, x := range []struct {
		typ   Type
		table int
	}{{DefFileGroup, fileGroups}, {DefSCLFile, sclFiles}, {DefSCL, scls}} {
		for _, r := range list {
			token := scopedToken{x.table, 0, r.Token}
			if _, twice := kept[token]; r.Type != x.typ || twice {
				continue
			}
			if x.typ == DefSCL && kept[scopedToken{sclFiles, 0, r.File}] != m.textOf(sclFiles, r.Stream, r.File) {
				continue
			}
			kept[token] = trace.ToUTF8(r.Name)
			m.keepOpaque(r)
		}
	}
}

// keepEmptyGroups keeps the groups of a type that have no members. In the model, members state the name of their group.
func (m *model) keepEmptyGroups(list []*Record, table int, group, member Type) {
	known := map[string]bool{}
	for _, r := range list {
		if r.Type == member {
			known[m.textOf(table, r.Stream, r.Group)] = true
		}
	}
	for _, r := range list {
		if name := trace.ToUTF8(r.Name); r.Type == group && !known[name] {
			known[name] = true
			m.keepOpaque(r)
		}
	}
}

// sourcePlaces holds the tokens of source places and of their files.
type sourcePlaces struct {
	files          map[string]uint64
	places         map[sourcePlace]uint64
	nextFile, next uint64
}

// sourcePlaces writes the definitions of source places, and of groups of files, of a trace that was read from OTF, with
// the tokens that events and files state. The tokens of other places are greater.
func (e *encoder) sourcePlaces(put func(*Record)) *sourcePlaces {
	p := &sourcePlaces{map[string]uint64{}, map[sourcePlace]uint64{}, 1, 1}
	for _, a := range e.defs.Attributes.All() {
		if a.Name == sclName {
			p.next = laneProcess // events may state any token
		}
	}
	names := map[uint64]string{}
	for _, t := range []Type{DefFileGroup, DefSCLFile, DefSCL} {
		for r := range e.opaqueRecords(t) {
			put(r)
			switch name := trace.ToUTF8(r.Name); t {
			case DefSCLFile:
				p.nextFile = max(p.nextFile, r.Token+1)
				names[r.Token], p.files[name] = name, r.Token
			case DefSCL:
				p.places[sourcePlace{names[r.File], int64(r.Line)}] = r.Token
			}
		}
	}
	return p
}

// opaqueRecords yields the definitions of a type in a trace that was read from OTF, one for each token.
func (e *encoder) opaqueRecords(t Type) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		done := map[uint64]bool{}
		for _, o := range e.defs.Opaque.All() {
			r := &Record{}
			if o.Format != "otf" || o.Type != t.String() || !r.reread([]byte(o.Data+"\n"), t) || r.Type != t || done[r.Token] {
				continue
			}
			done[r.Token] = true
			if !yield(r) {
				return
			}
		}
	}
}

// token returns the token of a source place. It writes the definitions that are missing.
func (p *sourcePlaces) token(place sourcePlace, put func(*Record)) uint64 {
	if t, ok := p.places[place]; ok {
		return t
	}
	f, ok := p.files[place.file]
	if !ok {
		f = p.nextFile
		p.nextFile++
		p.files[place.file] = f
		put(&Record{Type: DefSCLFile, Token: f, Name: place.file})
	}
	t := p.next
	p.next++
	p.places[place] = t
	put(&Record{Type: DefSCL, Token: t, File: f, Line: uint64(place.line)})
	return t
}
