package cli

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// hostileTrace writes a trace of 4n events with a shape that takes long in a naive implementation,
// such as a process whose regions do not nest.
func hostileTrace(t testing.TB, dir, shape string, n int) string {
	t.Helper()
	if text, ok := hostileClaimsTrace(shape, n); ok {
		path := filepath.Join(dir, "x.etf")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if text, ok := hostileDefinitions(shape, n); ok {
		path := filepath.Join(dir, "x.trf")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if shape == "location groups in each other" {
		path := filepath.Join(dir, "x.pallas")
		if err := os.WriteFile(path, hostileGroups(n), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var defs, events strings.Builder
	defs.WriteString("DTR3b9aca00\nDP1NM\"p\"\nDFG1NM\"g\"\n")
	events.WriteString("1\n*1\n")
	time, most, processes := 1, 0, "1"
	event := func(kind string, region int) {
		time++
		most = max(most, region)
		fmt.Fprintf(&events, "%x\n%s%x\n", time, kind, region)
	}
	each := func(f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	switch shape {
	case "orphaned": // leaves without an enter, deep inside of other regions
		each(func(int) { event("E", 1); event("E", 1) })
		each(func(i int) { event("L", 100); event("L", 101) })
	case "first in, first out":
		each(func(i int) { event("E", 2*i+1); event("E", 2*i+2) })
		each(func(i int) { event("L", 2*i+1); event("L", 2*i+2) })
	case "file operations without ends":
		each(func(i int) { fmt.Fprintf(&events, "FA%x\n", i) })
	case "never left": // only calls deep inside end, in the order in which they begin
		each(func(int) { event("E", 1); event("E", 1) })
		for range n / 2 {
			event("E", 2)
			event("E", 3)
			event("L", 2)
			event("L", 3)
		}
	case "crossed":
		each(func(int) { event("E", 1) })
		each(func(int) { event("E", 2) })
		each(func(int) { event("L", 1) })
		each(func(int) { event("L", 2) })
	case "chain": // one region is always left after the next one is entered
		event("E", 1)
		each(func(i int) { event("E", 2*i+2); event("L", 2*i+1); event("E", 2*i+3); event("L", 2*i+2) })
	case "collectives in the order of their begins", "collectives backwards":
		defs.WriteString("DPG2M1,NM\"all\"\nDCO1NM\"barrier\"T1\n")
		for i := range 2 * n {
			time++
			fmt.Fprintf(&events, "%x\nCOPB1H%xC2RT0S8R8\n", time, i)
		}
		for i := range 2 * n {
			time++
			ends := 2*n - 1 - i
			if shape != "collectives backwards" {
				ends = i
			}
			fmt.Fprintf(&events, "%x\nCOPE%x\n", time, ends)
		}
	case "kinds of collective operations":
		defs.WriteString("DPG2M1,NM\"all\"\n")
		for i := range 4 * n {
			time++
			fmt.Fprintf(&defs, "DCO%xNM\"o%d\"Y1\n", i+1, i)
			fmt.Fprintf(&events, "%x\nCOP%xC2RT0S8R8D1\n", time, i+1)
		}
	case "groups of groups": // each refers to the next one
		for i := range 4 * n {
			fmt.Fprintf(&defs, "DPG%xM%x,NM\"g%d\"\n", i+2, i+3, i)
		}
		event("E", 1)
		events.WriteString("S1L8T0C2\n")
		event("L", 1)
	case "comments":
		event("E", 1)
		for i := range 4 * n {
			fmt.Fprintf(&defs, "DCMT\"c%d\"\n", i)
		}
	case "recursive": // each region is entered again inside of all other regions
		each(func(i int) { event("E", i+1) })
		each(func(i int) { event("E", i+1) })
		each(func(i int) { event("L", i+1) })
		each(func(i int) { event("L", i+1) })
	case "calls that end at a snapshot", "calls of an instant in a snapshot":
		began := func(i int) int { return i + 2 }
		if shape == "calls of an instant in a snapshot" {
			began = func(int) int { return 2 }
		}
		each(func(i int) { fmt.Fprintf(&events, "%x\nE%x\n", began(i), i+1) })
		time, most = 2*n, n
		fmt.Fprintf(&events, "%x\n", time)
		if shape == "calls that end at a snapshot" {
			each(func(i int) { fmt.Fprintf(&events, "L%x\n", n-i) })
		}
		each(func(i int) { fmt.Fprintf(&events, "TE%xO%x\n", i+1, began(i)) })
	case "received first": // all messages are received before the first one is sent
		processes = "1,2"
		defs.WriteString("DP2NM\"q\"\nDF1G1NM\"MPI_Recv\"\nDF2G1NM\"MPI_Send\"\n")
		call := func(process, region int, message string) {
			for _, record := range []string{fmt.Sprintf("E%x", region), message, fmt.Sprintf("L%x", region)} {
				time++
				fmt.Fprintf(&events, "%x\n*%x\n%s\n", time, process, record)
			}
		}
		each(func(int) { call(2, 1, "R1L8T1C0") })
		each(func(int) { call(1, 2, "S2L8T1C0") })
	case "received inside of another": // each receive lies inside of all earlier receives
		defs.WriteString("DP2NM\"q\"\nDF1G1NM\"MPI_Recv\"\n")
		processes = "1,2"
		each(func(int) { event("E", 1); events.WriteString("R2L8T1C0\n") })
		each(func(int) { event("L", 1) })
		most = 0
	}
	for i := range most {
		fmt.Fprintf(&defs, "DF%xG1NM\"f%d\"\n", i+1, i%100)
	}
	for name, text := range map[string]string{"x.otf": "1:" + processes + "\n", "x.0.def": defs.String(),
		"x.1.events": events.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "x.otf")
}

// hostileClaimsTrace returns a trace of Eclipse TRACE4CPS with 2n claims or 4n fragments. ok is
// false for other shapes.
func hostileClaimsTrace(shape string, n int) (text string, ok bool) {
	var b strings.Builder
	b.WriteString("TU NANOSECONDS\nO 0\nR 0 1000 true ; name=r\n")
	switch shape {
	case "claims of one place":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d %d %d 0 0 1 ; name=c\n", i, i, i+2*n)
		}
	case "claims at once":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d %d %d 0 %d 1 ; name=c\n", i, i, i+2*n, i)
		}
	case "claims of one id":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C 7 %d %d 0 %d 1 ; name=c\n", i, i+2*n, i)
		}
	case "claims of one id that end backwards":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C 7 %d %d 0 %d 1 ; name=c\n", i, 4*n-i, i)
		}
	case "claims that end backwards":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d %d %d 0 %d 2 ; name=c\n", i, i, 4*n-i, i)
		}
	case "claims of an instant":
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d 5 %d 0 %d 1 ; name=c\n", i, 5+i%2, i)
		}
	case "two claims for one that ends": // a claim that ends makes the lowest lane free
		for i := range 2 * n {
			fmt.Fprintf(&b, "C %d %d %d 0 0 1 ; name=c\n", i, i/2, (i/2+1)*(1-i%2)+i%2*(i+4*n))
		}
	case "attributes of one claim":
		b.WriteString("C 0 0 1 0 0 1 ; name=c")
		for i := range 4 * n {
			fmt.Fprintf(&b, ", k%d=v", i)
		}
		b.WriteString("\n")
	case "fragments that overlap":
		b.WriteString("S 0 ; name=s\nC 0 0 1 0 0 1 ; name=c\n")
		for i := range 4 * n {
			fmt.Fprintf(&b, "F 0 %d %d 1 0 0\n", i, i+4*n)
		}
	default:
		return "", false
	}
	return b.String(), true
}

// hostileGroups returns the main file of a Pallas trace without archives. It has n location groups, each of which is
// the parent of the next one, and n locations in the last group.
func hostileGroups(n int) []byte {
	const settings, definitions = 4 + 4 + 8 + 4 + 8 + 4, 5 * 8
	b := append([]byte{20}, make([]byte, settings+definitions)...)
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	for i := range uint32(n) {
		b = binary.LittleEndian.AppendUint32(b, i)
		b = binary.LittleEndian.AppendUint32(b, math.MaxUint32)
		b = binary.LittleEndian.AppendUint32(b, i-1)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	for i := range uint32(n) {
		b = binary.LittleEndian.AppendUint32(b, i)
		b = binary.LittleEndian.AppendUint32(b, math.MaxUint32)
		b = binary.LittleEndian.AppendUint32(b, uint32(n-1))
	}
	return append(b, make([]byte, 8)...) // no metadata
}

// hostileShapes lists the shapes for hostileTrace.
var hostileShapes = []string{
	"orphaned", "first in, first out", "never left", "crossed", "chain", "recursive", "collectives backwards",
	"collectives in the order of their begins",
	"received first", "claims of one place", "claims at once", "claims of one id", "claims of one id that end backwards",
	"claims that end backwards", "claims of an instant",
	"two claims for one that ends",
	"fragments that overlap", "kinds of collective operations", "comments", "groups of groups",
	"attributes of one claim", "file operations without ends",
	"calls that end at a snapshot", "calls of an instant in a snapshot",
}

// hostileCommands lists the commands that keep track of open regions, claims or messages.
var hostileCommands = [][]string{{"check"}, {"profile"}, {"profile", "--tree"}, {"usage"}, {"structure"}, {"states"},
	{"info"}, {"comm"}, {"messages"}, {"waits", "--causes"}, {"path"}, {"efficiency"}, {"explain"},
	{"filter", "--min-duration", "1us"}, {"cut", "--from", "30%", "--to", "80%"}, {"repair", "--allow-loss"},
	{"merge"}, {"anonymize"},
	{"plot"}, {"plot", "--index"}, {"index"}, {"report"}, {"align", "--always"}, {"convert", "--to", "etf"},
	{"convert", "--to", "picl"}, {"convert", "--to", "otf"},
	{"convert", "--to", "otf2"}, {"convert", "--to", "pallas"}, {"diff"},
	{"diff", "--metric", "inclusive", "--least", "0", "--csv"}}

// hostileArgs returns a command line for a trace, which also takes the place of IN. Output files go to dir.
func hostileArgs(command []string, path, dir string) []string {
	args := append(slices.Clone(command), "-q", path)
	for i, arg := range args {
		if arg == "IN" {
			args[i] = path
		}
	}
	switch command[0] {
	case "diff":
		return append(args, path)
	case "filter", "cut", "repair", "merge", "align":
		return append(args, "--force", "--allow-loss", filepath.Join(dir, command[0]+".otf"))
	case "anonymize": // as TRACE, through the model
		return append(args, "--force", "--allow-loss", filepath.Join(dir, "anonymize.etf"))
	case "convert":
		return append(args, "--force", "--allow-loss", filepath.Join(dir, "x-"+command[2]+"."+command[2]))
	case "plot", "index", "report":
		return append(args, "--force", "-o", filepath.Join(dir, command[0]+".svg"))
	}
	return args
}

// nothingToAnswer lists texts of errors for traces in which a command finds nothing to answer.
var nothingToAnswer = []string{"no processors", "no time of processors", "nothing can be compared",
	"waits cannot be judged", "has no critical path", "has no efficiency", "nothing can be explained"}

// TestHostileShapes checks that each command answers for traces with deep, non-nesting or never entered calls, or says
// why it cannot. [BenchmarkHostileShapes] and, in make soak, TestHostileShapesAreLinear check that the time is linear
// in the length.
func TestHostileShapes(t *testing.T) {
	effort.Long(t)
	t.Setenv("WEFT_CACHE", t.TempDir())
	for _, shape := range hostileShapes {
		dir := t.TempDir()
		path := hostileTrace(t, dir, shape, 1_000)
		for _, command := range hostileCommands {
			args := hostileArgs(command, path, dir)
			if code, out, errs := runWeft(t, args...); code > 1 ||
				code == 1 && command[0] != "check" && !slices.ContainsFunc(nothingToAnswer, func(text string) bool {
					return strings.Contains(errs, text)
				}) {
				t.Errorf("%s: %q: exit code %d: %.200s%.200s", shape, args, code, out, errs)
			}
		}
	}
}

// BenchmarkHostileShapes reports the time per event for traces of two lengths. The times are equal
// if the total time grows in proportion to the length.
func BenchmarkHostileShapes(b *testing.B) {
	b.Setenv("WEFT_CACHE", b.TempDir())
	for _, shape := range hostileShapes {
		for _, n := range []int{10_000, 40_000} {
			dir := b.TempDir()
			path := hostileTrace(b, dir, shape, n)
			for _, command := range hostileCommands {
				b.Run(fmt.Sprintf("%s/%s/%d", shape, strings.Join(command, " "), 4*n), func(b *testing.B) {
					for b.Loop() {
						Main(hostileArgs(command, path, dir), strings.NewReader(""), io.Discard, io.Discard)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(4*n), "ns/event")
				})
			}
		}
	}
}
