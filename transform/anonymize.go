package transform

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// AnonymizeOptions are the settings of [Anonymize].
type AnonymizeOptions struct {
	// Keep reports whether a name is kept. A nil Keep keeps no names.
	Keep func(name string) bool
	// Replaced, if it is not nil, is called once for each name that is replaced, together with the
	// replacement. The calls are in the order in which names are first replaced.
	Replaced func(name, by string)
}

// Anonymize removes from a trace all data that identify its origin. It replaces the names of regions, files,
// locations, groups (hosts), communicators, metrics and all other definitions by their type and a number, and
// the texts in attributes by "text" and a number. It removes source lines, opaque definitions and the time of
// day. Equal names get equal replacements. It keeps times, numbers (including numbers in texts), the kinds of
// events, the names of attributes and properties, and keywords of a format (paradigms, types, units).
//
// Up to 65536 texts of event attributes get different replacements. All further texts become "text".
func Anonymize(d format.Events, a AnonymizeOptions) format.Events {
	x := &anonymizer{AnonymizeOptions: a, names: map[string]string{}, counts: map[string]int{},
		words: d.Defs().Conventions.Keywords}
	r := newRewritten(d, x.edit)
	defs := r.definer.into.defs
	defs.Clock.HasEpoch, defs.Clock.Epoch = false, 0
	old := d.Defs()
	defs.Properties, defs.Opaque, defs.ValueNames = trace.Table[trace.Attr]{}, trace.Table[trace.Opaque]{}, nil
	for _, p := range old.Properties.All() {
		p.Value = x.text(p.Value)
		defs.Properties.Add(p)
	}
	defs.Operations = trace.Table[trace.Named]{}
	for _, o := range old.Operations.All() {
		o.Name = x.name("operation", o.Name)
		defs.Operations.Add(o)
	}
	if isRenamable(old.Native) {
		r.definer.into.whole = true
		defs.Native, defs.Rename = r.definer.native(false), x.rename
		defs.Dropped = old.Dropped
		defs.Retimed, defs.Repaired, defs.Pruned = old.Retimed, old.Repaired, old.Pruned
	}
	return transformed{&anonymized{r, x}}
}

// isRenamable reports whether an encoder can rename the texts of a native form of definitions, or of all of
// its parts.
func isRenamable(native any) bool {
	if parts, ok := native.(*trace.SourceTraces); ok {
		return !slices.ContainsFunc(parts.List, func(p trace.SourceTrace) bool { return !isRenamable(p.Defs.Native) })
	}
	_, ok := native.(trace.Renamable)
	return ok
}

// rename returns the replacement of a text in the native form of the definitions. The text need not occur in
// trace.Definitions. word is set if it can be a keyword, which is kept.
func (a *anonymizer) rename(text string, word bool) string {
	lower := strings.ToLower(text)
	word = word || slices.Contains(groupKinds, lower) || slices.Contains(paradigms, lower) ||
		slices.Contains(ioParadigms, lower)
	// A keyword stays, even if an equal text in another place was replaced.
	if n, ok := a.names[text]; ok && !(word && strings.HasPrefix(n, "text ")) {
		return n
	}
	if word {
		return text
	}
	return a.text(trace.StringValue(text)).Str
}

// anonymized is a trace with replaced names.
type anonymized struct {
	*rewritten
	x *anonymizer
}

// Prepare prepares the trace, and replaces the names in its definitions.
func (a *anonymized) Prepare(ctx context.Context) error {
	if err := a.inner.Prepare(ctx); err != nil {
		return err
	}
	a.definer.copyAll()
	return nil
}

// begin begins a scan.
func (a *anonymized) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	s := &rewriteScan{definer: a.definer, edit: a.x.replaceValues, editLinks: a.x.replaceLinks}
	return s, a.originalSelection(sel), nil
}

// anonymizer assigns a meaningless replacement to each name.
type anonymizer struct {
	AnonymizeOptions
	// names maps each name to its replacement, and counts the replacements of each type.
	names  map[string]string
	counts map[string]int
	words  bool // attributes of definitions are in the words of the trace's own format
}

// name returns the replacement of the name s of a definition. thing is the type of the definition, such
// as "region".
func (a *anonymizer) name(thing, s string) string {
	if s == "" {
		return s
	}
	if a.Keep != nil && a.Keep(s) {
		return withoutPlace(s)
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	n, ok := a.names[s]
	if !ok {
		a.counts[thing]++
		n = thing + " " + strconv.Itoa(a.counts[thing])
		a.names[s] = n
		if a.Replaced != nil {
			a.Replaced(s, n)
		}
	}
	return n
}

// withoutPlace returns a name without the source file and line that follow the region's name in the name of a calling
// context, as in "MPI_Send@solver.c:12".
func withoutPlace(name string) string {
	i := strings.IndexByte(name, '@')
	line := name[strings.LastIndexByte(name, ':')+1:]
	if i < 0 || line == "" || strings.Trim(line, "-0123456789") != "" {
		return name
	}
	return name[:i]
}

// maxTexts is the greatest number of different replacements for texts of events.
const maxTexts = 1 << 16

// text returns a value with its text replaced, and other values unchanged.
func (a *anonymizer) text(v trace.Value) trace.Value {
	switch v.Type {
	case trace.String:
		if _, known := a.names[v.Str]; !known && a.counts["text"] >= maxTexts {
			v.Str = "text"
		} else {
			v.Str = a.name("text", strings.Clone(v.Str))
		}
	case trace.Bytes:
		v.Str = ""
	}
	return v
}

// replaceValues replaces the texts in a batch.
func (a *anonymizer) replaceValues(b *trace.Batch) {
	for i, v := range b.AttrVal {
		if v.Str != "" && v.Str != laterText {
			b.AttrVal[i] = a.text(v)
		}
	}
}

// keywordAttributes lists the attributes of definitions whose values are keywords in OTF, OTF2 or
// Pallas.
var keywordAttributes = []string{"flags", "paradigm", "type", "kind", "recorder", "recorder kind", "scale", "mode",
	"occurrence", "scope", "role", "color", "unit", "class", "domain"}

// replaceAttrs replaces the texts in attributes of a definition.
func (a *anonymizer) replaceAttrs(l []trace.Attr) {
	for i := range l { // l is a copy that the definer has made, so it can be changed
		if !a.words || !slices.Contains(keywordAttributes, strings.ToLower(l[i].Key)) {
			l[i].Value = a.text(l[i].Value)
		}
	}
}

// paradigms lists groups of regions whose names do not identify the program.
var paradigms = []string{"user", "compiler", "mpi", "openmp", "pthread", "openacc", "opencl", "cuda", "hip", "shmem",
	"sampling", "measurement system", "io", "unknown"}

// ioParadigms lists the interfaces for I/O, by the names that OTF2 recommends.
var ioParadigms = []string{"posix", "posix i/o", "isoc", "isoc i/o", "mpi-io", "mpi i/o", "netcdf", "pnetcdf", "hdf5",
	"adios"}

// groupKinds lists kinds of location groups whose names do not identify the machine.
var groupKinds = []string{"machine", "cluster", "rack", "node", "host", "socket", "numa", "process", "accelerator",
	"group", "time series"}

// replaceLinks replaces the texts in links.
func (a *anonymizer) replaceLinks(l []trace.Link) {
	for i := range l {
		for k := range l[i].Attrs {
			l[i].Attrs[k].Value = a.text(l[i].Attrs[k].Value)
		}
	}
}

// edit replaces the texts in an entry v of a table.
func (a *anonymizer) edit(t table, v any) {
	switch e := v.(type) {
	case *string:
		*e = a.rename(*e, false)
	case *trace.Location:
		e.Name = a.name(cmp.Or(string(e.Kind), "location"), e.Name)
		a.replaceAttrs(e.Attrs)
	case *trace.LocationGroup:
		if !slices.Contains(groupKinds, strings.ToLower(e.Kind)) {
			e.Kind = "" // the kind is an arbitrary text in OTF2
		}
		e.Name = a.name(cmp.Or(e.Kind, "group"), e.Name)
		a.replaceAttrs(e.Attrs)
	case *trace.Region:
		e.Name = a.name("region", e.Name)
		if !slices.Contains(paradigms, strings.ToLower(e.Group)) {
			e.Group = a.name("region group", e.Group)
		}
		e.File = a.name("file", e.File)
		e.Line, e.End = 0, 0
		a.anonymizeID(&e.ID)
		a.replaceAttrs(e.Attrs)
	case *trace.Communicator:
		e.Name = a.name("communicator", e.Name)
		a.replaceAttrs(e.Attrs)
	case *trace.Set:
		e.Name = a.name("set", e.Name)
		a.replaceAttrs(e.Attrs)
	case *trace.MetricDef:
		e.Name = a.name("metric", e.Name)
		e.Group = a.name("metric group", e.Group)
		a.replaceAttrs(e.Attrs)
	case *trace.Resource:
		e.Name = a.name("resource", e.Name)
		a.replaceAttrs(e.Attrs)
	case *trace.AttributeDef:
		e.Doc = ""
	case *trace.Named:
		thing := [...]string{parameters: "parameter", windows: "window", contexts: "context", files: "file",
			handles: "handle", markers: "marker"}[t]
		e.Name = a.name(thing, e.Name)
		a.replaceAttrs(e.Attrs)
	}
}

// anonymizeID removes an id that does not consist of numbers, because such an id may be a name. The id of a definition
// of one stream is two numbers, with a slash between them.
func (a *anonymizer) anonymizeID(id *string) {
	for part := range strings.SplitSeq(*id, "/") {
		if _, err := strconv.ParseInt(part, 10, 64); err != nil {
			*id = ""
			return
		}
	}
}
