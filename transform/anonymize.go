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

// Anonymizing says how [Anonymize] replaces names.
type Anonymizing struct {
	// Keep reports names that may be known; nil keeps none.
	Keep func(name string) bool
	// Replaced gets each name with what takes its place, once, in the order in which they
	// are first needed; nil for nobody.
	Replaced func(name, by string)
}

// Anonymize replaces what tells where a trace comes from: the names of regions, files,
// locations, groups (hosts), communicators, metrics and all other definitions by what
// they are with a number, the texts in attributes by "text" with a number, and leaves
// away source lines, opaque definitions and the time of day. The same name always becomes
// the same. Kept are times, numbers, also those in texts, the kinds of events, the names
// of attributes, and words that a format itself knows (paradigms, types, units).
//
// At most 65536 texts of event attributes are told apart; further ones become "text".
func Anonymize(d format.Events, a Anonymizing) format.Events {
	x := &anonymizer{Anonymizing: a, names: map[string]string{}, counts: map[string]int{}, words: d.Defs().Conventions.Words}
	r := newRewritten(d, x.edit)
	defs := r.definer.into.defs
	defs.Clock.HasEpoch, defs.Clock.Epoch = false, 0
	old := d.Defs()
	defs.Properties, defs.Opaque = trace.Table[trace.Attr]{}, trace.Table[trace.Opaque]{}
	for _, p := range old.Properties.All() {
		p.Value = x.text(p.Value)
		defs.Properties.Add(p)
	}
	defs.Operations = trace.Table[trace.Named]{}
	for _, o := range old.Operations.All() {
		o.Name = x.name("operation", o.Name)
		defs.Operations.Add(o)
	}
	if _, ok := old.Native.(trace.Renamable); ok {
		r.definer.into.whole = true
		defs.Native, defs.Rename, defs.Retimed, defs.Mended = old.Native, x.rename, old.Retimed, old.Mended
	}
	return transformed{&anonymized{r, x}}
}

// rename replaces a text that is in the file, and perhaps not in the model.
func (x *anonymizer) rename(text string, word bool) string {
	lower := strings.ToLower(text)
	word = word || slices.Contains(groupKinds, lower) || slices.Contains(paradigms, lower) || slices.Contains(ioParadigms, lower)
	// A word may be among the texts of the file, too.
	if n, ok := x.names[text]; ok && !(word && strings.HasPrefix(n, "text ")) {
		return n
	}
	if word {
		return text
	}
	return x.text(trace.StringValue(text)).Str
}

type anonymized struct {
	*rewritten
	x *anonymizer
}

// Prepare prepares the trace and replaces the names in its definitions.
func (r *anonymized) Prepare(ctx context.Context) error {
	if err := r.inner.Prepare(ctx); err != nil {
		return err
	}
	r.definer.all()
	return nil
}

func (r *anonymized) begin(sel trace.Selection, _ format.Order, _ format.Sink) (stage, trace.Selection, error) {
	return &rewriting{definer: r.definer, edit: r.x.values, editLinks: r.x.links}, r.inside(sel), nil
}

// anonymizer finds names for names.
type anonymizer struct {
	Anonymizing
	names  map[string]string
	counts map[string]int
	words  bool // the trace is of a format whose definitions have attributes of its own
}

// name is the name that takes the place of one of a thing.
func (x *anonymizer) name(thing, s string) string {
	if s == "" || x.Keep != nil && x.Keep(s) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	n, ok := x.names[s]
	if !ok {
		x.counts[thing]++
		n = thing + " " + strconv.Itoa(x.counts[thing])
		x.names[s] = n
		if x.Replaced != nil {
			x.Replaced(s, n)
		}
	}
	return n
}

// mostTexts is how many texts of events are told apart.
const mostTexts = 1 << 16

// text replaces a value that is a text.
func (x *anonymizer) text(v trace.Value) trace.Value {
	switch v.Type {
	case trace.String:
		if _, known := x.names[v.Str]; !known && x.counts["text"] >= mostTexts {
			v.Str = "text"
		} else {
			v.Str = x.name("text", strings.Clone(v.Str))
		}
	case trace.Bytes:
		v.Str = ""
	}
	return v
}

// values replaces the texts of a batch.
func (x *anonymizer) values(b *trace.Batch) {
	for i, v := range b.AttrVal {
		if v.Str != "" && v.Str != laterText {
			b.AttrVal[i] = x.text(v)
		}
	}
}

// words are attributes of definitions whose values are words of OTF, OTF2 or Pallas.
var words = []string{"flags", "paradigm", "type", "kind", "recorder", "scale", "mode", "occurrence", "scope", "role", "color", "unit", "class", "domain"}

func (x *anonymizer) attrs(l []trace.Attr) {
	for i := range l { // a copy of the definer
		if !x.words || !slices.Contains(words, strings.ToLower(l[i].Key)) {
			l[i].Value = x.text(l[i].Value)
		}
	}
}

// paradigms are groups of regions that say nothing of the program.
var paradigms = []string{"user", "compiler", "mpi", "openmp", "pthread", "openacc", "opencl", "cuda", "hip", "shmem", "sampling", "measurement system", "io", "unknown"}

// ioParadigms are interfaces of I/O, by the names that OTF2 recommends.
var ioParadigms = []string{"posix", "posix i/o", "isoc", "isoc i/o", "mpi-io", "mpi i/o", "netcdf", "pnetcdf", "hdf5", "adios"}

// groupKinds are kinds of groups that say nothing of the machine.
var groupKinds = []string{"machine", "cluster", "rack", "node", "host", "socket", "numa", "process", "accelerator", "group"}

// links replaces the texts of links.
func (x *anonymizer) links(l []trace.Link) {
	for i := range l {
		for k := range l[i].Attrs {
			l[i].Attrs[k].Value = x.text(l[i].Attrs[k].Value)
		}
	}
}

// edit replaces what an entry says.
func (x *anonymizer) edit(t table, v any) {
	switch e := v.(type) {
	case *string:
		*e = x.rename(*e, false)
	case *trace.Location:
		e.Name = x.name(cmp.Or(string(e.Kind), "location"), e.Name)
		x.attrs(e.Attrs)
	case *trace.LocationGroup:
		if !slices.Contains(groupKinds, strings.ToLower(e.Kind)) {
			e.Kind = "" // may be anything in OTF2
		}
		e.Name = x.name(cmp.Or(e.Kind, "group"), e.Name)
		x.attrs(e.Attrs)
	case *trace.Region:
		e.Name = x.name("region", e.Name)
		if !slices.Contains(paradigms, strings.ToLower(e.Group)) {
			e.Group = x.name("region group", e.Group)
		}
		e.File = x.name("file", e.File)
		e.Line, e.End = 0, 0
		x.id(&e.ID)
		x.attrs(e.Attrs)
	case *trace.Communicator:
		e.Name = x.name("communicator", e.Name)
		x.attrs(e.Attrs)
	case *trace.Set:
		e.Name = x.name("set", e.Name)
		x.attrs(e.Attrs)
	case *trace.MetricDef:
		e.Name = x.name("metric", e.Name)
		e.Group = x.name("metric group", e.Group)
		x.attrs(e.Attrs)
	case *trace.Resource:
		e.Name = x.name("resource", e.Name)
		x.attrs(e.Attrs)
	case *trace.AttributeDef:
		e.Doc = ""
	case *trace.Named:
		thing := [...]string{parameters: "parameter", windows: "window", contexts: "context", files: "file", handles: "handle", markers: "marker"}[t]
		e.Name = x.name(thing, e.Name)
		x.attrs(e.Attrs)
	}
}

// id replaces an id that is no number: it may be a name.
func (x *anonymizer) id(id *string) {
	if _, err := strconv.ParseInt(*id, 10, 64); err != nil {
		*id = ""
	}
}
