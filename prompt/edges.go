package prompt

import (
	"context"

	"example.org/parley"
)

const (
	// edgeReach is how far before and behind a cut hidden values are looked for, in bytes: a longer one may be cut.
	edgeReach = 4 << 10
	// maxEdgeWork bounds the search around all cuts of one request, as maxRedactWork bounds the search in all of it.
	maxEdgeWork = maxRedactWork / 2
	// mostMoves is how often the ends of one cut move before nothing of its text is shown.
	mostMoves = 8
)

// Edges move the cuts of texts that a request shows in part out of what redact hides: no pattern would match the half
// of a value, and the provider would see it. One Edges serves one request, whose cuts share a budget of work; once it
// is used up, of a text that is cut nothing is shown. All depends on nothing but the layers and the texts, so requests
// rebuild to the same bytes. A nil *Edges leaves cuts where they are.
type Edges struct {
	hiding hiding
}

// Edges returns the edges for one request; nil if nothing is hidden, or for a recorded call that was made without them.
func (l Layers) Edges(ctx context.Context) *Edges {
	if l.hides == nil || !l.hides.edges {
		return nil
	}
	return &Edges{hiding{
		redactor: l.hides,
		reading:  reading{ctx: ctx, each: int64(l.hides.size), left: maxEdgeWork},
	}}
}

// Err reports that the context has ended: then what was cut is not what it would be otherwise.
func (e *Edges) Err() error {
	if e == nil || e.hiding.ctx.Err() == nil {
		return nil
	}
	return context.Cause(e.hiding.ctx)
}

// cut returns where to cut a text that is to be shown up to head and from tail on: there or further apart, so that all
// that is hidden in the whole text is hidden in what is shown of it. What stands around a value counts too: patterns
// look at words and lines, and an escape may be cut. between returns what stands between the two ends.
func (e *Edges) cut(text string, head, tail int, between func(head, tail int) string) (int, int) {
	if e == nil {
		return head, tail
	}
	from, to := runeStart(text, max(0, head-edgeReach)), runeStart(text, min(len(text), tail+edgeReach))
	first := e.around(text, head)
	last := e.around(text, tail)
	for range mostMoves {
		var shown [][2]int
		gap := between(head, tail)
		if len(first)+len(last) > 0 {
			shown = e.hiding.places(text[from:head] + gap + text[tail:to])
		}
		if e.hiding.err != nil {
			break
		}
		at, on := head, tail
		for _, p := range first {
			if p[0] < at && (p[1] > head || !covers(shown, p[0]-from, p[1]-from)) {
				at = p[0]
			}
		}
		seam := head - from + len(gap) - tail // from positions behind the cut to those in what is shown
		for _, p := range last {
			if p[1] > on && (p[0] < tail || !covers(shown, p[0]+seam, p[1]+seam)) {
				on = p[1]
			}
		}
		if at == head && on == tail {
			return head, tail
		}
		head, tail = at, on
		if head == from { // it may begin earlier
			from, head, first = 0, 0, nil
		}
		if tail == to {
			tail, to, last = len(text), len(text), nil
		}
	}
	return 0, len(text)
}

// around returns what is hidden around a position of a text; nothing at its ends, where nothing is cut.
func (e *Edges) around(text string, at int) [][2]int {
	if at <= 0 || at >= len(text) {
		return nil
	}
	from := runeStart(text, max(0, at-edgeReach))
	places := e.hiding.places(text[from:runeStart(text, min(len(text), at+edgeReach))])
	for i := range places {
		places[i][0] += from
		places[i][1] += from
	}
	return places
}

// covers reports whether places, ascending, leave nothing out between two positions.
func covers(places [][2]int, from, to int) bool {
	for _, p := range places {
		if p[0] <= from && p[1] > from {
			from = p[1]
		}
	}
	return from >= to
}

// Clip shortens a text as parley.Clip does, but not within a hidden value.
func (e *Edges) Clip(text string, most int) string {
	if e == nil || len(text) <= most {
		return parley.Clip(text, most)
	}
	head, _ := e.cut(text, runeStart(text, most), len(text), func(int, int) string { return clipMark })
	return parley.Clip(text, head)
}

// clipMark is what parley.Clip sets at a cut.
const clipMark = "…"

// plain shortens a text to what stands before the first hidden value, and to most bytes, so that it may be quoted in
// another form than its own.
func (e *Edges) plain(text string, most int) string {
	if e == nil {
		return parley.Clip(text, most)
	}
	places := e.hiding.places(text[:runeStart(text, min(len(text), most+edgeReach))])
	switch {
	case e.hiding.err != nil:
		return ""
	case len(places) > 0 && places[0][0] < most:
		return text[:places[0][0]]
	}
	return parley.Clip(text, most)
}
