package sim

import (
	"fmt"

	"example.org/parley"
	"example.org/parley/model"
)

// digest summarises a conversation as well as a simulator can: it counts what it was shown and quotes its beginning and
// its end. It is always shorter than its source.
type digest struct{}

// The bounds of a digest's quotations: bytes, and the share of the source.
const (
	quoteBytes = 120
	quoteShare = 5
)

func (digest) play(a *answer) {
	shown := a.request.summed()
	size := 0
	for _, p := range shown {
		size += len(p.Text)
	}
	text := "Simulated summary"
	if len(shown) > 0 {
		quote := min(quoteBytes, size/quoteShare)
		first, last := shown[0].Text, shown[len(shown)-1].Text
		text = fmt.Sprintf("%s, %d: %s…%s", text, len(shown), first[:cut(first, quote)], last[:cut(last, quote)])
	}
	if a.say(model.ChunkText, text) {
		a.finish(parley.FinishStop)
	}
}

// summed returns what a request for a summary shows: the parts of its last message but the one that asks; if it has no
// other, the messages before it.
func (r *request) summed() (shown []part) {
	i := r.lastUser()
	if i < 0 {
		return nil
	}
	if n := len(r.Messages[i].Parts); n > 1 {
		return r.Messages[i].Parts[:n-1]
	}
	for _, m := range r.Messages[:i] {
		shown = append(shown, m.Parts...)
	}
	return shown
}
