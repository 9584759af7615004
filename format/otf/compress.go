package otf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// File is a file of a trace, other than the master file.
type File struct {
	Path       string // as the user would write it
	Stream     uint32
	Part       Part
	Compressed bool
	Size       int64 // size in bytes on disk
}

// Files lists the files of the trace, stream by stream, beginning with those of stream 0. If a file exists
// both plain and compressed, Files lists the plain file, because readers use it.
func (r *Reader) Files() ([]File, error) { return r.files(false) }

// NeededFiles is like Files. In addition, it reports missing files in the same way as reading does.
func (r *Reader) NeededFiles() ([]File, error) { return r.files(true) }

func (r *Reader) files(report bool) ([]File, error) {
	var out []File
	for _, id := range append([]uint32{0}, r.master.Streams()...) {
		for part := range numParts {
			before := len(out)
			for _, z := range []string{"", ".z"} {
				name := fileName(r.stub, id, part) + z
				st, err := fs.Stat(r.src.FS, name)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					return nil, fileError(r.path(name), err)
				}
				out = append(out, File{Path: r.path(name), Stream: id, Part: part, Compressed: z != "", Size: st.Size()})
				break
			}
			if report && len(out) == before {
				if err := r.reportMissing(id, part); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// IsPartName reports whether a file with this name belongs to a trace and is not its master file, and whether
// the file is compressed.
func IsPartName(name string) (ok, compressed bool) {
	name, compressed = strings.CutSuffix(name, ".z")
	for _, s := range suffixes {
		if strings.HasSuffix(name, s) {
			return true, compressed
		}
	}
	return false, compressed
}

// Compression holds the settings for compressing and decompressing files in place. The zero value is
// ready to use.
type Compression struct {
	Level int // 1 to 9; 0 means 4, which is libotf's level
	// Keep is true if the original file is not removed.
	Keep bool
	// Workers is the number of goroutines that compress a file together; less than 2 means 1.
	Workers int
	// Progress is called with the number of bytes of the file that have been read. It may be nil.
	Progress func(done int64)
}

const defaultLevel = 4

// restartText is the greatest number of bytes of text between restart points in files that weft writes, as in files of
// otfcompress. libotf finds no window that begins before the first restart point.
const restartText = 10240

// CompressFile compresses a file to one with the suffix ".z", which replaces an existing file of that name.
// Each 10 240 bytes of text can be decompressed independently (docs/formats/otf.md, "Files"). The original is removed
// when the new file is complete. After an error, the original is unchanged. CompressFile returns the size of
// the new file.
func CompressFile(ctx context.Context, path string, opt Compression) (int64, error) {
	level := opt.Level
	if level == 0 {
		level = defaultLevel
	}
	if level < 1 || level > 9 {
		return 0, fmt.Errorf("compression level %d: expected 1 to 9", level)
	}
	workers := max(1, opt.Workers)
	zips := make([]*flate.Writer, workers)
	for i := range zips {
		var err error
		if zips[i], err = flate.NewWriter(io.Discard, level); err != nil {
			return 0, err
		}
	}
	return replaceFile(path, path+".z", opt, func(f *os.File, w io.Writer) error {
		if _, err := w.Write(zlibHeader(level)); err != nil {
			return err
		}
		done, first := int64(0), true
		next := func() ([]byte, bool, error) {
			text := make([]byte, 100*restartText)
			n, err := io.ReadFull(f, text)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = nil
			}
			// An empty file has one empty piece.
			ok := n > 0 || first
			first = false
			if done += int64(n); opt.Progress != nil {
				opt.Progress(done)
			}
			return text[:n], ok, err
		}
		compress := func(worker int, text []byte) ([]byte, error) {
			var b bytes.Buffer
			err := deflate(zips[worker], &b, text)
			return b.Bytes(), err
		}
		return pipeline.Run(ctx, workers, next, compress, func(piece []byte) error {
			_, err := w.Write(piece)
			return err
		})
	})
}

// deflate compresses text to b, in pieces that begin at restart points. The data has no end mark, because libotf would
// lose the text after it.
func deflate(z *flate.Writer, b *bytes.Buffer, text []byte) error {
	for {
		n := min(len(text), restartText)
		z.Reset(b)
		if _, err := z.Write(text[:n]); err != nil {
			return err
		}
		if err := z.Flush(); err != nil {
			return err
		}
		if text = text[n:]; len(text) == 0 {
			return nil
		}
	}
}

// flushEnd are the last bytes of a compressed file that is complete.
var flushEnd = []byte{0, 0, 0xff, 0xff}

// DecompressFile decompresses a file, whose name ends in ".z", to one without the suffix. That file must not
// exist, because readers prefer it. The original is removed when the new file is complete. A truncated or
// damaged file returns a [trace.Defect]. In this case, with Keep the new file contains the text that could be
// read; without Keep nothing changes. DecompressFile returns the size of the new file.
func DecompressFile(ctx context.Context, path string, opt Compression) (int64, error) {
	to, ok := strings.CutSuffix(path, ".z")
	if !ok {
		return 0, fmt.Errorf("%s: found a name without .z, expected that of a compressed file", path)
	}
	if _, err := os.Lstat(to); err == nil {
		return 0, fmt.Errorf("%s: found a file of this name, which readers use, expected none", to)
	}
	var bad error
	n, err := replaceFile(path, to, opt, func(f *os.File, w io.Writer) error {
		var err error
		if bad, err = inflate(ctx, f, w, opt.Progress); err != nil || opt.Keep {
			return err
		}
		return bad
	})
	if err == nil {
		err = bad
	}
	return n, err
}

// inflate writes the text of a compressed file to w. bad is the defect of the file, if it has one.
func inflate(ctx context.Context, f *os.File, w io.Writer, progress func(int64)) (bad, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	defect := func(rule string, off int64, found, expected string) error {
		return &trace.Defect{Rule: rule, Severity: trace.Error,
			Position: trace.Position{File: f.Name(), Offset: off, Binary: true}, Found: found, Expected: expected}
	}
	var head [2]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || !isZlib(head) {
		return defect("otf.corrupt", 0, fmt.Sprintf("the bytes % x", head), "the header of compressed data"), nil
	}
	buffered := bufio.NewReaderSize(f, 64<<10)
	z := flate.NewReader(buffered)
	defer z.Close()
	buf := make([]byte, readSize)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := z.Read(buf)
		if _, err := w.Write(buf[:n]); err != nil {
			return nil, err
		}
		in, seekErr := f.Seek(0, io.SeekCurrent) // the number of bytes of the file that have been read
		if seekErr != nil {
			return nil, seekErr
		}
		if progress != nil {
			progress(in)
		}
		switch {
		case err == nil:
		case err == io.EOF:
			// The data ends with a check sum, which libotf does not write.
			at := in - int64(buffered.Buffered())
			if rest := st.Size() - at; rest > 4 {
				return defect("otf.corrupt", at, fmt.Sprintf("%s after the end of the compressed data", plural.Of(rest, "byte")),
					"at most a checksum of 4; the following data is lost"), nil
			}
			return nil, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			var end [4]byte
			if _, err := f.ReadAt(end[:], max(0, st.Size()-4)); err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			if !bytes.Equal(end[:], flushEnd) {
				return defect("otf.cut-off", st.Size(), fmt.Sprintf("an end of % x", end),
					fmt.Sprintf("% x; the end of the text is missing", flushEnd)), nil
			}
			return nil, nil
		case isCorrupt(err):
			return defect("otf.corrupt", in, err.Error(), "compressed data; the following data is lost"), nil
		default:
			return nil, err
		}
	}
}

// isZlib reports whether the bytes are the header of a zlib stream.
func isZlib(head [2]byte) bool {
	return head[0]&15 == 8 && (int(head[0])<<8|int(head[1]))%31 == 0
}

// replaceFile writes a file from another one, which it removes at the end unless Keep is set. It returns
// the size of the new file.
func replaceFile(from, to string, opt Compression, write func(f *os.File, w io.Writer) error) (int64, error) {
	f, err := os.Open(from)
	if err != nil {
		return 0, fileError(from, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, fileError(from, err)
	}
	if !st.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: found no regular file, expected a file of a trace", from)
	}
	out, err := format.CreateFile(to)
	if err != nil {
		return 0, err
	}
	defer out.Abort()
	if err := write(f, out); err != nil {
		return 0, err
	}
	if err := out.Commit(); err != nil {
		return 0, err
	}
	os.Chmod(to, st.Mode().Perm()) // an error is ignored: the file then keeps the permissions of a new file
	packed, err := os.Stat(to)
	if err != nil {
		return 0, fileError(to, err)
	}
	if opt.Keep {
		return packed.Size(), nil
	}
	f.Close() // some systems cannot remove an open file
	if err := os.Remove(from); err != nil {
		return 0, fileError(from, err)
	}
	return packed.Size(), nil
}
