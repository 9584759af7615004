// Package compression recognises compressed files and archives by their first bytes, uncompresses gzip, zstd and bzip2,
// and compresses with gzip and zstd.
package compression

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// HeadSize is the number of bytes at the beginning of a file that [NameOf] needs.
const HeadSize = 262

// maxWindow is the greatest window of zstd that is uncompressed, in bytes: the memory that the decompressor needs. The
// program zstd needs an option for greater ones.
const maxWindow = 128 << 20

// kind is a way of compressing or packing files.
type kind struct {
	name   string
	at     int    // offset of magic in the file
	magic  string // bytes that identify the kind
	reader func(*bufio.Reader) (io.Reader, error)
}

// kinds returns all kinds that the package recognises. Those with a reader can be uncompressed.
func kinds() []kind {
	return []kind{
		{"gzip", 0, "\x1f\x8b\x08", newGzipReader},
		{"zstd", 0, "\x28\xb5\x2f\xfd", readZstd},
		{"zstd", 1, "\x2a\x4d\x18", readZstd}, // a skippable frame, with which files of pzstd begin
		{"bzip2", 0, "BZh", func(r *bufio.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
		{"xz", 0, "\xfd7zXZ\x00", nil},
		{"compress", 0, "\x1f\x9d", nil},
		{"lz4", 0, "\x04\x22\x4d\x18", nil},
		{"zip", 0, "PK\x03\x04", nil},
		{"7-Zip", 0, "7z\xbc\xaf\x27\x1c", nil},
		{"tar", 257, "ustar", nil},
	}
}

// readZstd returns a reader of the contents of r, which zstd has compressed.
func readZstd(r *bufio.Reader) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
}

// gzipReader reads the members of a file of gzip. As gzip does, it ignores bytes 0 after the last member, with which
// tapes fill their last block.
type gzipReader struct {
	*gzip.Reader
	b *bufio.Reader
}

// newGzipReader returns a reader of the contents of b, which gzip has compressed.
func newGzipReader(b *bufio.Reader) (io.Reader, error) {
	r, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	r.Multistream(false)
	return &gzipReader{r, b}, nil
}

// Read reads the next bytes of the contents.
func (g *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.Reader.Read(p)
		if err != io.EOF {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
		if err := g.nextMember(); err != nil {
			return 0, err
		}
	}
}

// nextMember begins the next member. It returns io.EOF if only bytes 0 follow.
func (g *gzipReader) nextMember() error {
	for filled := false; ; filled = true {
		c, err := g.b.Peek(1)
		switch {
		case len(c) == 0:
			return err
		case c[0] == 0:
			g.b.Discard(1)
		case filled:
			return gzip.ErrHeader
		default:
			err := g.Reset(g.b)
			g.Multistream(false)
			return err
		}
	}
}

// find returns the kind of a file that begins with head.
func find(head []byte) (k kind, ok bool) {
	for _, k := range kinds() {
		if len(head) > k.at && bytes.HasPrefix(head[k.at:], []byte(k.magic)) {
			return k, true
		}
	}
	return kind{}, false
}

// writers returns the ways of compressing by the extensions of file names. Those without a function cannot be written.
func writers() map[string]func(io.Writer) (io.WriteCloser, error) {
	return map[string]func(io.Writer) (io.WriteCloser, error){
		".gz": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		".zst": func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // such a writer has no goroutines that must end
		},
		".bz2": nil, ".xz": nil, ".lz4": nil, ".zip": nil, ".Z": nil,
	}
}

// WriterFor returns the extension of a file name if it stands for a compression, and a function that makes a writer of
// compressed data. The function is nil if the package cannot compress in this way.
func WriterFor(name string) (ext string, pack func(io.Writer) (io.WriteCloser, error)) {
	ext = filepath.Ext(name)
	pack, ok := writers()[ext]
	if !ok {
		return "", nil
	}
	return ext, pack
}

// PlainName returns the name that a file has without compression.
func PlainName(name string) string {
	ext, _ := WriterFor(name)
	return strings.TrimSuffix(name, ext)
}

// NameOf returns the name of the program that has compressed or packed a file with the first bytes head. It returns ""
// if there is no such program that the package knows. Head should have [HeadSize] bytes, if the file has as many.
func NameOf(head []byte) string {
	k, _ := find(head)
	return k.name
}

// CanRead reports whether [NewReader] uncompresses a file with the first bytes head.
func CanRead(head []byte) bool {
	k, ok := find(head)
	return ok && k.reader != nil
}

// Reader delivers the uncompressed contents of a stream.
type Reader struct {
	plain io.Reader
	// Name is the name of the compression. It is "" if the stream is not compressed.
	Name string
	// Damage is the error at which the contents end, if the stream ends early or contains damaged data. It is set as soon
	// as Read has returned io.EOF.
	Damage error
	// Size is the number of bytes that Read has delivered.
	Size int64

	source *source
}

// source remembers the errors of the underlying stream, which are not damage.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// NewReader returns a reader of the contents of r. If the first bytes of r show no compression that the package can
// read, the reader delivers the bytes of r. The error comes from r.
func NewReader(r io.Reader) (*Reader, error) {
	s := &source{r: r}
	b := bufio.NewReaderSize(s, 64<<10)
	head, _ := b.Peek(HeadSize) // the stream may be shorter
	if s.err != nil {
		return nil, s.err
	}
	x := &Reader{plain: b, source: s}
	k, ok := find(head)
	if !ok || k.reader == nil {
		return x, nil
	}
	x.Name = k.name
	var err error
	if x.plain, err = k.reader(b); err != nil {
		x.plain, x.Damage = bytes.NewReader(nil), err
	}
	return x, s.err
}

// Read delivers uncompressed bytes. Where the stream is damaged, Read sets Damage and returns io.EOF. Other errors come
// from the underlying stream.
func (x *Reader) Read(b []byte) (int, error) {
	n, err := x.plain.Read(b)
	x.Size += int64(n)
	switch {
	case err == nil || errors.Is(err, io.EOF) && x.source.err == nil:
	case x.source.err != nil:
		err = x.source.err
	default:
		x.Damage, err = err, io.EOF
	}
	return n, err
}
