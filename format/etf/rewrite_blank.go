package etf

import "slices"

// lineSet is a set of line numbers.
type lineSet map[int64]uint64

func (s lineSet) add(n int64)      { s[n/64] |= 1 << (n % 64) }
func (s lineSet) has(n int64) bool { return s[n/64]&(1<<(n%64)) != 0 }

// isBlankLine reports whether a line has no text.
func isBlankLine(l []byte) bool {
	_, i, isBlank := parseKeyword(l)
	return isBlank && i == len(l)
}

// addBlankNotes adds the blank lines before the first record, and those after the last one, to the notes. The other
// blank lines are written with the record that follows them; see linesBefore.
func (w *rewriter) addBlankNotes() {
	if w.d.blank == 0 || w.d.first == 0 {
		return
	}
	for number := int64(1); number < w.d.first && number < maxUnread; number++ {
		if isBlankLine(w.line(number)) {
			w.notes = append(w.notes, note{line: number})
		}
	}
	var last int64
	if n := len(w.d.Chunks); n > 0 {
		for last = w.d.Chunks[n-1].Line; w.line(last+1) != nil; {
			last++
		}
	}
	var after []note
	for number := last; number > w.d.first && len(after) < maxUnread; number-- {
		l := w.line(number)
		if _, isRecord := w.isUnreadable(l); isRecord {
			break
		}
		if isBlankLine(l) {
			after = append(after, note{line: number, placed: true})
		}
	}
	slices.Reverse(after)
	w.notes = append(w.notes, after...)
}

// line returns a line of the original file, or nil if the file has no such line.
func (w *rewriter) line(number int64) []byte {
	l, err := w.lines.At(number)
	if err != nil {
		w.err = err
	}
	return l
}

// linesBefore returns the blank lines, and the lines that cannot be read, between a line and the record before it. It
// leaves out lines that have been written, unless again is set.
func (w *rewriter) linesBefore(number int64, again bool) (list []int64) {
	unread := !w.sound && w.d.unreadDefs+w.d.skipped.Load() > 0
	if !unread && w.d.blank == 0 {
		return nil
	}
	for n := number - 1; n > 0 && len(w.unread) < maxUnread && len(list) < maxUnread; n-- {
		l := w.line(n)
		if isBlankLine(l) {
			if n > w.d.first && (again || !w.blank.has(n)) {
				w.blank.add(n)
				list = append(list, n)
			}
			continue
		}
		bad, isRecord := w.isUnreadable(l)
		if isRecord {
			break
		}
		if unread && bad && (again || !w.unread[n]) {
			list = append(list, n)
		}
	}
	slices.Reverse(list)
	return list
}
