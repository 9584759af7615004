package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// bucketSize is about how much text is held in memory at once by shuffle.
const bucketSize = 32 << 20

// shuffle writes the lines of a file in a random order, every order being as
// likely as any other: each line goes to one of k bucket files, drawn by lot,
// and each bucket is then shuffled in memory. The same seed gives the same
// order. Bucket files live in dir while it runs.
func shuffle(in, out, dir string, bucket int64, seed uint64) (err error) {
	src, err := os.Open(in)
	if err != nil {
		return err
	}
	defer src.Close()
	st, err := src.Stat()
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	buckets := make([]*bufio.Writer, st.Size()/bucket+1)
	files := make([]*os.File, len(buckets))
	defer func() {
		for _, f := range files {
			if f != nil {
				f.Close()
				os.Remove(f.Name())
			}
		}
	}()
	for i := range buckets {
		if files[i], err = os.Create(filepath.Join(dir, fmt.Sprintf("%s.bucket%d", filepath.Base(out), i))); err != nil {
			return err
		}
		buckets[i] = bufio.NewWriterSize(files[i], 128<<10)
	}
	r := bufio.NewReaderSize(src, 1<<20)
	w := buckets[0]
	for inside := false; ; {
		part, err := r.ReadSlice('\n')
		if len(part) > 0 {
			if !inside {
				w = buckets[rnd.IntN(len(buckets))]
			}
			w.Write(part)
			inside = part[len(part)-1] != '\n' // a line longer than the buffer, or the last
		}
		if errors.Is(err, io.EOF) {
			if inside {
				w.WriteByte('\n')
			}
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	dst, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	o := bufio.NewWriterSize(dst, 1<<20)
	var text bytes.Buffer
	var lines [][2]uint32
	for i, f := range files {
		if err := buckets[i].Flush(); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		text.Reset()
		if _, err := text.ReadFrom(f); err != nil {
			return err
		}
		if int64(text.Len()) > 1<<32-1 {
			return errors.New("a bucket has over 4 GiB")
		}
		lines = lines[:0]
		b := text.Bytes()
		for at := 0; at < len(b); {
			end := at + bytes.IndexByte(b[at:], '\n') + 1
			lines = append(lines, [2]uint32{uint32(at), uint32(end)})
			at = end
		}
		rnd.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		for _, l := range lines {
			o.Write(b[l[0]:l[1]])
		}
		if err := f.Truncate(0); err != nil { // the disk need not hold all of it three times
			return err
		}
	}
	return o.Flush()
}
