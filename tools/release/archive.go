package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io/fs"
	"path"
	"slices"
	"time"
)

// file is a file of a release, with its content.
type file struct {
	path string // path with slashes, relative to the folder where weft is installed
	data []byte
	mode fs.FileMode
}

// encodeArchive returns an archive with the files below a folder called top: a ZIP archive for
// Windows, and a compressed tar archive for other systems. ext is the extension for the archive's
// name.
func encodeArchive(p platform, top string, files []file, modified time.Time) (data []byte, ext string, err error) {
	files = slices.Clone(files)
	for i := range files {
		files[i].path = path.Join(top, files[i].path)
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	if p.os == "windows" {
		data, err = encodeZip(files, modified)
		return data, ".zip", err
	}
	data, err = encodeTar(files, modified)
	return data, ".tar.gz", err
}

// encodeTar returns a compressed tar archive whose entries all belong to root.
func encodeTar(files []file, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	made := map[string]bool{}
	for _, f := range files {
		for _, dir := range folders(f.path) {
			if made[dir] {
				continue
			}
			made[dir] = true
			h := &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: modified, Format: tar.FormatUSTAR}
			if err := t.WriteHeader(h); err != nil {
				return nil, err
			}
		}
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.path, Size: int64(len(f.data)), Mode: int64(f.mode),
			ModTime: modified, Format: tar.FormatUSTAR,
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	return compress(b.Bytes())
}

// folders returns the folders on a path, the outermost first.
func folders(name string) (list []string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		list = append(list, dir)
	}
	slices.Reverse(list)
	return list
}

// compress returns data as gzip -9n would compress it. The header contains neither a name nor a
// time.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

func encodeZip(files []file, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: modified}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
