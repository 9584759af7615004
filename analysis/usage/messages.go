package usage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/analysis/messages"
)

// messageObjects returns an object for each message, and the number of messages without a send or a receive, or
// whose receive is earlier than the send. It sorts l.pairs.
func (l *Little) messageObjects() (list []Object, incomplete int64) {
	x := l.messages.Result()
	incomplete = x.SendsUnmatched + x.ReceivesUnmatched
	slices.SortFunc(l.pairs, func(a, b messages.Pair) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Received, b.Received))
	})
	type channel struct{ source, destination uint32 }
	sent := map[channel]int{} // number of messages
	list = make([]Object, 0, len(l.pairs))
	for _, p := range l.pairs {
		k := channel{p.Source, p.Destination}
		sent[k]++
		if p.Received < p.Sent {
			incomplete++
			continue
		}
		list = append(list, Object{fmt.Sprintf("%s → %s, message %d", l.nameOf(p.Source), l.nameOf(p.Destination),
			sent[k]), p.Sent, p.Received})
	}
	return list, incomplete
}
