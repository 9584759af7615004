package main

import (
	"bufio"
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
)

// shuffle writes the lines of a file in random order. All orders are equally probable, and the same seed gives
// the same order. shuffle uses memory for the whole file, and 8 bytes for each line.
func shuffle(in, out string, seed uint64) (err error) {
	text, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	var begins []int
	for at := 0; at < len(text); {
		begins = append(begins, at)
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			n = len(text) - at
			text = append(text, '\n')
		}
		at += n + 1
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	rnd.Shuffle(len(begins), func(i, j int) { begins[i], begins[j] = begins[j], begins[i] })
	dst, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	w := bufio.NewWriterSize(dst, 1<<20)
	for _, at := range begins {
		w.Write(text[at:][:bytes.IndexByte(text[at:], '\n')+1])
	}
	return w.Flush()
}
