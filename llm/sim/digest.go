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
	var shown []part
	size := 0
	if i := a.request.lastUser(); i >= 0 {
		shown = a.request.Messages[i].Parts
	}
	if n := len(shown); n > 1 {
		shown = shown[:n-1] // the last message asks for the summary
	}
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
