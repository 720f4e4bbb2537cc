package builtin

import (
	"context"
	"unicode"
	"unicode/utf8"
)

// findStride is how many characters are read before a search looks whether it is still wanted.
const findStride = 1 << 16

// stretch is where a text stands in another, in bytes.
type stretch struct{ from, to int }

// findFolded finds the first places where a text stands, capital letters or not, from left to right and apart from each
// other, except for those that cut what is hidden: one answer after the other they would tell it. Its time follows the
// text's length alone, whatever is looked for (after Knuth, Morris and Pratt): both texts are foreign.
func findFolded(ctx context.Context, text, wanted string, most int, hides hidden) (found []stretch, err error) {
	var pattern []rune
	for _, r := range wanted {
		pattern = append(pattern, folded(r))
	}
	if len(pattern) == 0 {
		return nil, nil
	}
	back := make([]int, len(pattern)) // after a mismatch, how much of the beginning still matches
	for i, n := 1, 0; i < len(pattern); i++ {
		for n > 0 && pattern[i] != pattern[n] {
			n = back[n-1]
		}
		if pattern[i] == pattern[n] {
			n++
		}
		back[i] = n
	}
	starts := make([]int, len(pattern)) // of the latest characters, in a ring
	matched, count := 0, 0
	for at := 0; at < len(text) && len(found) < most; count++ {
		if count%findStride == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		starts[count%len(pattern)] = at
		at += size
		for r = folded(r); matched > 0 && r != pattern[matched]; {
			matched = back[matched-1]
		}
		if r == pattern[matched] {
			matched++
		}
		if matched == len(pattern) {
			if place := (stretch{starts[(count+1)%len(pattern)], at}); hides.inner(place) == place {
				found = append(found, place)
			}
			matched = 0
		}
	}
	return found, nil
}

// folded is the same for a character in capitals and in small letters.
func folded(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r < utf8.RuneSelf:
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
