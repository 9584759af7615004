package format

import (
	"fmt"
	"io"
	"os"

	"github.com/weft-trace/weft/internal/spool"
)

// Draft is a text whose head is unknown until the rest has been written. An example is a file with
// definitions before events, whose definitions grow while events are written. Most heads can be
// guessed when the rest begins. Then the text goes directly to the output, after the guessed head,
// and is moved only if the guess was wrong. Without a guess the text waits in a [spool.Spool]. A
// Draft uses 1 MiB of memory for the spool, and 1 MiB for inserted text.
type Draft struct {
	spool.Spool
	w     io.Writer
	out   *Output // receives the text directly; nil without a guess
	guess []byte
}

// NewDraft returns a draft of a text that goes to w.
func NewDraft(w io.Writer) *Draft { return &Draft{w: w} }

// Guess sets the probable head. It must be called before the first Write. It has no effect unless
// the output is a file to which nothing has been written and that is not compressed.
func (d *Draft) Guess(head []byte) error {
	o, ok := d.w.(*Output)
	if !ok || o.file == nil || o.packer != nil || o.w.Buffered() > 0 || d.Size() > 0 {
		return nil
	}
	if st, err := o.file.Stat(); err != nil || st.Size() > 0 {
		return err
	}
	if _, err := o.file.Write(head); err != nil {
		return fmt.Errorf("%s: %w", o.Path, err)
	}
	d.guess, d.out = append([]byte(nil), head...), o
	return d.AppendTo(o.file, o.Path)
}

// Finish completes the text with its head. Afterwards no text can be added to the draft, only to
// its writer.
func (d *Draft) Finish(head []byte) error {
	if d.out == nil {
		if _, err := d.w.Write(head); err != nil {
			return err
		}
		return d.CopyTo(d.w)
	}
	whole, err := d.Whole()
	switch {
	case err != nil:
		return err
	case whole && string(head) == string(d.guess):
		return nil
	case whole && len(head) == len(d.guess):
		_, err = d.out.file.WriteAt(head, 0)
	default:
		err = d.rewrite(head)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", d.out.Path, err)
	}
	return err
}

// rewrite copies the text, with its head, to a new file that replaces the output's file.
func (d *Draft) rewrite(head []byte) error {
	f, err := createTemp(d.out.target)
	if err != nil {
		return err
	}
	old := d.out.file
	if st, err := old.Stat(); err == nil {
		f.Chmod(st.Mode().Perm())
	}
	if _, err = f.Write(head); err == nil {
		err = d.CopyTo(f)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return err
	}
	d.out.file = f
	d.out.w.Reset(f)
	old.Close()
	return os.Remove(old.Name())
}
