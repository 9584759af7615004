package cli

import (
	"fmt"
	"strings"
)

// hostileDefinitions returns a trace of PICL with 4n definitions, and events that use them. ok is false for other
// shapes.
func hostileDefinitions(shape string, n int) (text string, ok bool) {
	var b strings.Builder
	each := func(format string, values func(i int) []any) {
		for i := range 4 * n {
			fmt.Fprintf(&b, format, values(i)...)
		}
	}
	same := func(i int) []any { return []any{i} }
	switch shape {
	case "labels of subsets of processors": // each event lies in the scopes of many labels
		each("-201 -1 -1 -1 -1 3 2 %d %d 1\n", func(i int) []any { return []any{-5000 - i, i % 10} })
		each("-5 1 -1 %d -1 3 0 a%02d\n", func(i int) []any { return []any{-5000 - i, i % 100} })
		each("-2 1 0 %d 0 0\n", func(i int) []any { return []any{i % 10} })
	case "labels of subsets of event types":
		each("-203 -1 -1 -1 -1 3 2 %d %d %[2]d\n", func(i int) []any { return []any{-5000 - i, i} })
		each("-5 %d -1 0 -1 1 0 a\n", func(i int) []any { return []any{-5000 - i} })
		each("-2 %d 0 0 0 0\n", same)
	case "labels of processors":
		each("-5 -1 -1 %d -1 1 0 a\n", same)
		each("-5 1 -1 %d -1 3 0 a%02d\n", func(i int) []any { return []any{i, i % 100} })
		each("-2 1 0 %d 0 0\n", same)
	case "labels":
		each("-5 %d -1 -1 -1 3 0 a%02d\n", func(i int) []any { return []any{i, i % 100} })
		each("-2 %d 0 0 0 0\n", same)
	case "descriptors":
		each("-6 %d -1 -1 -1 1 \"%%d%%s\" %d \"%%d\"\n", func(i int) []any { return []any{i % 100, i + 10} })
		each("-2 %d 0 0 0 1 %d 5\n", func(i int) []any { return []any{i % 100, i + 10} })
	case "destinations of many processes": // each for every processor, whose process is not known
		each("-3 -21 0 %d -1 4 2 8 1 -1 %[1]d\n", same)
	case "receives of any type": // of messages that all have different types
		each("-3 -21 0 0 0 4 2 8 %d 1 0\n-4 -21 0 0 0 0\n", same)
		each("-3 -52 1 1 0 0\n-4 -52 1 1 0 4 2 8 -1 0 0\n", func(int) []any { return nil })
	case "subsets of many processors":
		for i := range 16 {
			fmt.Fprintf(&b, "-201 -1 -1 -1 -1 %d 2 %d", 2*n+1, -5000-i)
			for j := range 2 * n {
				fmt.Fprintf(&b, " %d", j)
			}
			b.WriteString("\n")
		}
		each("-2 -913 0 %d -1 0\n", func(i int) []any { return []any{-5000 - i%16} })
		each("-2 1 0 %d 0 0\n", same)
	case "subsets of the same members": // each is defined twice, the second time without member 1
		each("-202 -812 -1 -1 -1 3 2 %d 0 1\n", func(i int) []any { return []any{-5000 - i} })
		each("-202 -812 0 -1 -1 2 2 %d 0\n", func(i int) []any { return []any{-5000 - i} })
		each("-3 -402 1 %d 0 2 2 -1 %d\n", func(i int) []any { return []any{i % 2, -5000 - i} })
	case "statistics of a large subset": // each follows a further event of the subset
		fmt.Fprintf(&b, "-203 -1 -1 -1 -1 %d 2 -5000", 4*n+1)
		each(" %d", same)
		b.WriteString("\n")
		each("-2 %d 0 0 0 0\n", same)
		each("-2 %d 1 0 0 0\n-102 -1 1 0 0 1 \"%%d%%d\" -5000 %d\n", func(i int) []any { return []any{i, 4*n + i + 1} })
	case "statistics of many subsets":
		each("-203 -1 -1 -1 -1 2 2 %d %d\n", func(i int) []any { return []any{-5000 - i, i} })
		each("-2 %d 0 0 0 0\n", same)
		each("-102 -1 0 0 0 1 \"%%d%%d\" %d 1\n", func(i int) []any { return []any{-5000 - i} })
		each("-102 %d 0 0 0 1 \"%%d%%d\" -1 0\n", func(i int) []any { return []any{-5000 - i} })
	case "statistics of all processors":
		each("-2 1 0 %d 0 0\n", same)
		each("-2 1 1 %d 0 0\n-102 -1 1 -1 -1 1 \"%%d%%d\" 1 %d\n", func(i int) []any { return []any{i, 4*n + i + 1} })
	case "event types in each other":
		each("-3 %d 0 0 0 0\n", same)
		each("-4 %d 1 0 0 0\n", func(i int) []any { return []any{4*n - i - 1} })
		each("-102 %d 1 0 0 1 \"%%d%%d\" 0 0\n", same)
	case "barriers of pairs": // each process is in two communicators of two processes
		each("-202 -812 -1 -1 -1 3 2 %d %d %d\n", func(i int) []any { return []any{-5000 - i, i, (i + 1) % (4 * n)} })
		each("-3 -402 %d %[2]d 0 2 2 -1 %d\n-3 -402 %[1]d %[4]d 0 2 2 -1 %[3]d\n"+
			"-4 -402 %[1]d.5 %[2]d 0 2 2 -1 %[3]d\n-4 -402 %[1]d.5 %[4]d 0 2 2 -1 %[3]d\n",
			func(i int) []any { return []any{i + 1, i, -5000 - i, (i + 1) % (4 * n)} })
	default:
		return "", false
	}
	return b.String(), true
}
