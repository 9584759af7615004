package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/internal/compression"
	"github.com/weft-trace/weft/internal/lines"
)

// HeadSize is the number of bytes from the beginning of a file that [Detect] gives to probes.
const HeadSize = 64 << 10

// ErrDamaged is wrapped by errors about files that are too damaged to continue reading.
var ErrDamaged = errors.New("trace is damaged")

// ErrUnknown is returned by Detect for a file that no format recognises.
var ErrUnknown = errors.New("no known trace format")

// Detect finds the format of a trace by its content and, where the content is ambiguous, by its
// name. The error for an unrecognised file wraps ErrUnknown.
func Detect(formats []Format, src Source) (Format, error) {
	f, _, err := src.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, HeadSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s: %w", src.Path, err)
	}
	head = head[:n]
	if packed := compression.NameOf(head); packed != "" { // even if an archive contains the text of a trace
		return nil, fmt.Errorf("%s: %w: found a file of %s, expected %s; unpack it first", src.Path, ErrUnknown, packed,
			titles(formats))
	}
	best := Probe(formats, src.Name, head, 1)
	switch {
	case isBlank(head) && (best == nil || !best.About().EmptyMain) && isBlankToEnd(f):
		return nil, EmptyError(src)
	case best == nil && isUTF16(head[:n]):
		return nil, fmt.Errorf("%s: %w: found text in UTF-16, expected UTF-8; the shell of Windows writes UTF-16 if it "+
			"redirects output to a file", src.Path, ErrUnknown)
	case best == nil:
		return nil, fmt.Errorf("%s: %w: found %q, expected %s", src.Path, ErrUnknown, head[:min(n, 24)], titles(formats))
	}
	return best, nil
}

// isUTF16 reports whether a file begins as a text in UTF-16 does: with a byte-order mark and one line or more.
func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) && bytes.Contains(head, []byte("\n\x00")) ||
		bytes.HasPrefix(head, []byte("\xfe\xff")) && bytes.Contains(head, []byte("\x00\n"))
}

// isBlank reports whether a part of a file has only space characters.
func isBlank(text []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte(lines.ByteOrderMark)))) == 0
}

// isBlankToEnd reports whether the rest of a file has only space characters.
func isBlankToEnd(r io.Reader) bool {
	buf := make([]byte, HeadSize)
	for {
		n, err := r.Read(buf)
		if !isBlank(buf[:n]) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// IsEmpty reports whether the main file of a trace exists and has only space characters.
func IsEmpty(src Source) bool {
	f, _, err := src.Open()
	if err != nil {
		return false
	}
	defer f.Close()
	return isBlankToEnd(f)
}

// EmptyError returns the error for a trace whose main file has only space characters and that no other file
// identifies as a trace. It wraps ErrUnknown.
func EmptyError(src Source) error {
	return fmt.Errorf("%s: %w: found an empty file, expected a trace", src.Path, ErrUnknown)
}

// Probe returns the format with the highest confidence for a file with the given name and beginning, head. It
// returns nil if every confidence is below least. It skips a byte-order mark in head.
func Probe(formats []Format, name string, head []byte, least int) (best Format) {
	head = bytes.TrimPrefix(head, []byte(lines.ByteOrderMark))
	for _, x := range formats {
		if s := x.Probe(name, head); s >= least {
			best, least = x, s+1
		}
	}
	return best
}

// titles returns the titles of formats, for messages.
func titles(formats []Format) string {
	var t []string
	for _, f := range formats {
		t = append(t, f.About().Title)
	}
	if n := len(t) - 1; n > 0 {
		return strings.Join(t[:n], ", ") + " or " + t[n]
	}
	return strings.Join(t, "")
}

// ByName finds a format by its name.
func ByName(formats []Format, name string) (Format, bool) {
	for _, f := range formats {
		if f.About().Name == name {
			return f, true
		}
	}
	return nil, false
}

// ByExtension finds the format for the extension of a file name.
func ByExtension(formats []Format, name string) (Format, bool) {
	for _, f := range formats {
		if f.About().HasExtension(name) {
			return f, true
		}
	}
	return nil, false
}

// HasExtension reports whether a file name has one of the format's extensions.
func (a About) HasExtension(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	for _, e := range a.Extensions {
		if e == ext {
			return true
		}
	}
	return false
}

// WithExtension returns a function for [About.Place]: it appends ext to paths that do not end in it, except "-"
// for a stream.
func WithExtension(ext string) func(path string) string {
	return func(path string) string {
		if path == "-" {
			return path
		}
		return strings.TrimSuffix(path, ext) + ext
	}
}
