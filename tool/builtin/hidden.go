package builtin

import (
	"sort"
	"strings"
)

// hidden are the places in a text that providers see placeholders for: in bytes, in order, and apart from each other.
// What an answer quotes holds each of them whole or not at all, because a half is no longer recognised.
type hidden [][2]int

// at returns the place that a position lies within; nil if none.
func (h hidden) at(position int) *[2]int {
	i := sort.Search(len(h), func(i int) bool { return h[i][1] > position })
	if i < len(h) && h[i][0] < position {
		return &h[i]
	}
	return nil
}

// inner returns a stretch of the text without the places that its ends cut.
func (h hidden) inner(s stretch) stretch {
	if place := h.at(s.from); place != nil {
		s.from = min(place[1], s.to)
	}
	if place := h.at(s.to); place != nil {
		s.to = max(place[0], s.from)
	}
	return s
}

// without returns the text without the hidden places.
func (h hidden) without(text string) string {
	if len(h) == 0 {
		return text
	}
	var out strings.Builder
	last := 0
	for _, place := range h {
		out.WriteString(text[last:place[0]])
		out.WriteString(" … ")
		last = place[1]
	}
	out.WriteString(text[last:])
	return out.String()
}
