package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/store"
)

// The bounds of a query.
const (
	MaxQueryBytes = 1024 // bytes of the query
	MaxQueryWords = 32   // words in it
	MinPrefix     = 3    // letters from which the last word counts as a prefix
)

// Parse reads a person's query: words, all of which must occur; "a phrase"; -without or -"without a phrase". A word
// with a sign inside, such as read_session, is a phrase. The last word may be a prefix, also in a phrase whose quote is
// still open, unless a space or a quote follows it or it is shorter than MinPrefix. A query that can find nothing is
// CodeInvalid, with field q and a sentence that says what to write.
func Parse(query string) ([]store.SearchTerm, error) {
	switch {
	case len(query) > MaxQueryBytes:
		return nil, parley.InvalidField("q", "is longer than %d bytes; a few words are enough", MaxQueryBytes)
	case strings.TrimSpace(query) == "":
		return nil, parley.InvalidField("q", `is empty; write words that occur in a message, "a phrase", or -without`)
	}
	var terms []store.SearchTerm
	total := 0
	for rest := query; ; {
		var piece piece
		if piece, rest = cut(rest); piece.text == "" && rest == "" {
			break
		}
		term := piece.term()
		if len(term.Words) == 0 {
			continue
		}
		if total += len(term.Words); total > MaxQueryWords {
			return nil, parley.InvalidField("q", "holds more than %d words; a few are enough", MaxQueryWords)
		}
		term.Prefix = term.Prefix ||
			rest == "" && piece.open && last(query) && !term.Without &&
				utf8.RuneCountInString(term.Words[len(term.Words)-1]) >= MinPrefix
		terms = append(terms, term)
	}
	for _, term := range terms {
		if !term.Without {
			return terms, nil
		}
	}
	if len(terms) > 0 {
		return nil, parley.InvalidField("q", "says only what to exclude; add a word to find")
	}
	return nil, parley.InvalidField("q", "holds no word; write letters or digits that occur in a message")
}

// last reports whether a query ends in a word that may still be being typed.
func last(query string) bool {
	r, _ := utf8.DecodeLastRuneInString(query)
	return inWord(r)
}

// piece is a part of a query between spaces or quotes.
type piece struct {
	text    string
	without bool
	open    bool // without a closing quote
}

// cut takes the next piece off a query. Only quotes are special; an unclosed one reaches to the end.
func cut(query string) (piece, string) {
	query = strings.TrimLeftFunc(query, unicode.IsSpace)
	var found piece
	if strings.HasPrefix(query, "-") {
		found.without, query = true, query[1:]
	}
	if strings.HasPrefix(query, `"`) {
		text, rest, closed := strings.Cut(query[1:], `"`)
		found.text, found.open = text, !closed
		return found, rest
	}
	found.open = true
	end := strings.IndexFunc(query, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	if end < 0 {
		end = len(query)
	}
	found.text = query[:end]
	return found, query[end:]
}

// term returns what a piece searches for. The last character of a run adds nothing to the pair before it; a single
// character matches every pair that begins with it.
func (p piece) term() store.SearchTerm {
	term := store.SearchTerm{Without: p.without}
	words := Split(p.text)
	if end := len(words) - 1; end >= 0 && words[end].Last {
		if end > 0 && words[end-1].Pair && words[end-1].To == words[end].To {
			words = words[:end]
		} else {
			term.Prefix = true
		}
	}
	for _, word := range words {
		term.Words = append(term.Words, word.Text)
	}
	return term
}
