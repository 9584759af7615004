package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// name prepares a name for the page: the result is valid UTF-8 without control characters, of at most maxNameLength
// characters.
func name(s string) string { return shorten(s, maxNameLength) }

// sentence prepares a text with names for the page, like name, with at most maxSentenceLength characters.
func sentence(s string) string { return shorten(s, maxSentenceLength) }

// shorten returns s as valid UTF-8 without control characters, with at most length characters.
func shorten(s string, length int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	n, last := 0, 0 // number of characters, and the begin of the last one that may be shown
	for i := range s {
		switch n++; {
		case n == length:
			last = i
		case n > length:
			return s[:last] + "…"
		}
	}
	return s
}

// text returns a cell that shows a name.
func text(s string) cell { return cell{Text: name(s)} }

// region returns a cell with the name s and the colour of a region.
func (r *Report) region(ref uint32, s string) cell {
	return cell{Text: name(s), Color: r.Color(ref)}
}

// time returns a cell with a duration of t ticks. The cell's field Exact holds the duration in seconds with
// all digits.
func (r *Report) time(t int64) cell {
	return cell{Text: r.Clock.FormatDuration(t), Exact: r.Clock.FormatSeconds(t) + " s", Number: true}
}

// sum returns a cell with a sum of durations. The cell's field Exact holds the sum in seconds with all digits.
func (r *Report) sum(t trace.Ticks) cell {
	return cell{Text: r.Clock.FormatSum(t), Exact: r.Clock.FormatSumSeconds(t) + " s", Number: true}
}

// exactTime returns a cell with a time in seconds, with all digits.
func (r *Report) exactTime(t int64) cell { return cell{Text: r.Clock.FormatSeconds(t) + " s"} }

// mean returns a cell with the mean of n durations. sum is the sum of the durations.
func (r *Report) mean(sum trace.Ticks, n int64) cell {
	if n == 0 {
		return cell{Text: "–", Number: true}
	}
	return cell{Text: r.Clock.FormatMean(sum, n), Number: true}
}

// number returns a cell with a count.
func number[T int64 | uint64](n T) cell { return cell{Text: count(n), Number: true} }

// count formats an integer in groups of three digits.
func count[T int64 | uint64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// byteSize returns a cell with a number of bytes in a binary unit. The cell's field Exact holds the number
// with all digits.
func byteSize[T int64 | uint64](n T) cell {
	return cell{Text: size(n), Exact: exactSize(n), Number: true}
}

// exactSize formats a number of bytes with all digits.
func exactSize[T int64 | uint64](n T) string {
	if n == 1 {
		return "1 byte"
	}
	return count(n) + " bytes"
}

// size formats a number of bytes with a binary unit.
func size[T int64 | uint64](n T) string {
	f, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; math.Abs(f) >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	if i == 0 {
		return exactSize(n)
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i]
}

// bar returns a cell with n as a percentage of whole, written and drawn as a bar.
func bar(n, whole float64) cell {
	p := 100 * n / max(1, whole)
	return cell{Text: percent(n, whole), Bar: round(min(max(p, 0), 100)), HasBar: true, Number: true}
}

// percent formats n as a percentage of whole, or "–" if whole is not positive.
func percent(n, whole float64) string {
	if whole <= 0 {
		return "–"
	}
	return percentOf(n / whole)
}

// percentOf formats a fraction of 1 as a percentage.
func percentOf(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) + " %" }

// deviation returns a cell with x − mean, as a percentage of mean.
func deviation(x, mean float64) cell {
	if mean <= 0 {
		return cell{Text: "–", Number: true}
	}
	s := strconv.FormatFloat(100*(x/mean-1), 'f', 1, 64)
	if s = strings.TrimPrefix(s, "-"); x < mean && s != "0.0" {
		s = "−" + s
	} else if s != "0.0" {
		s = "+" + s
	}
	return cell{Text: s + " %", Number: true}
}

// float formats a number with at most six significant digits.
func float(f float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 6, 64), 64)
	if err != nil {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	if a := math.Abs(short); a >= 1e9 || a < 1e-4 && a > 0 {
		return strconv.FormatFloat(short, 'g', 6, 64)
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// plural formats a number together with a noun, such as "2 calls". words holds the singular of the noun and,
// if the plural is irregular, its plural.
func plural(n int64, words ...string) string { return count(n) + " " + noun(n, words...) }

// noun returns the form of a noun that follows the number n. words is as in [plural].
func noun(n int64, words ...string) string {
	switch {
	case n == 1:
		return words[0]
	case len(words) > 1:
		return words[1]
	}
	return words[0] + "s"
}
