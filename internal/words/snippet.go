package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/parley/store"
)

// The size of a snippet, in characters.
const (
	SnippetRunes = 240
	leadRunes    = 60 // before the first match
)

// Mark is a match in a snippet, in Unicode code points: [from, to).
type Mark [2]int

// Snippet cuts the part of a text that shows the most matches, with white space made one space, and marks them. A text
// without matches is shown from its beginning.
func Snippet(text string, terms []store.SearchTerm) (snippet string, marks []Mark) {
	text = Clipped(text)
	found := occurrences(Split(text), terms)
	from := 0
	if len(found) > 0 {
		from = backed(text, found[densest(text, found)].from)
	}
	var out strings.Builder
	runes, next := 0, 0
	for next < len(found) && found[next].from < from {
		next++
	}
	write := func(s string) { out.WriteString(s); runes += utf8.RuneCountInString(s) }
	if from > 0 {
		write("…")
	}
	space, open := true, -1
	at := from
	for at < len(text) && runes < SnippetRunes {
		if open < 0 && next < len(found) && found[next].from <= at {
			open = runes
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case !unicode.IsSpace(r) && !unicode.IsControl(r):
			write(string(r))
			space = false
		case !space:
			write(" ")
			space = true
		}
		at += size
		if open >= 0 && at >= found[next].to {
			marks = append(marks, Mark{open, runes})
			open, next = -1, next+1
		}
	}
	if open >= 0 && runes > open {
		marks = append(marks, Mark{open, runes})
	}
	if strings.TrimSpace(text[at:]) != "" {
		return out.String() + "…", marks
	}
	return strings.TrimRight(out.String(), " "), marks
}

// backed returns where a snippet that shows a word begins: a little before it, at the beginning of a word.
func backed(text string, at int) int {
	from, runes := at, 0
	for from > 0 && runes < leadRunes {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from, runes = from-size, runes+1
	}
	if from == 0 {
		return 0
	}
	if space := strings.IndexFunc(text[from:at], unicode.IsSpace); space >= 0 {
		from += space
		for from < at {
			r, size := utf8.DecodeRuneInString(text[from:])
			if !unicode.IsSpace(r) {
				break
			}
			from += size
		}
	}
	return from
}

// occurrence is the position of a match in a text, in bytes.
type occurrence struct{ from, to, term int }

// densest returns the first of the occurrences that begins the stretch with the most different terms.
func densest(text string, found []occurrence) int {
	best, most := 0, 0
	for i := range found {
		seen := map[int]bool{}
		for _, other := range found[i:] {
			if other.to-found[i].from > SnippetRunes-leadRunes {
				break
			}
			seen[other.term] = true
		}
		if len(seen) > most {
			best, most = i, len(seen)
		}
		if most == len(text) || i > maxOccurrences {
			break
		}
	}
	return best
}

// maxOccurrences bounds the matches considered for a snippet.
const maxOccurrences = 512

// occurrences returns the positions of matches, in order and without overlap.
func occurrences(words []Word, terms []store.SearchTerm) (found []occurrence) {
	for at := 0; at < len(words) && len(found) < maxOccurrences; at++ {
		length, of := 0, 0
		for i, term := range terms {
			if !term.Without && len(term.Words) > length && stands(words[at:], term) {
				length, of = len(term.Words), i
			}
		}
		if length == 0 {
			continue
		}
		last := words[at+length-1]
		if n := len(found); n > 0 && words[at].From < found[n-1].to { // pairs overlap
			found[n-1].to = max(found[n-1].to, last.To)
			continue
		}
		found = append(found, occurrence{words[at].From, last.To, of})
	}
	return found
}

// stands reports whether a text continues with a term.
func stands(words []Word, term store.SearchTerm) bool {
	if len(words) < len(term.Words) {
		return false
	}
	end := len(term.Words) - 1
	for i, word := range term.Words {
		if words[i].Text != word && !(i == end && term.Prefix && strings.HasPrefix(words[i].Text, word)) {
			return false
		}
	}
	return true
}
