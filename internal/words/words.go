// Package words splits text into the words that search indexes and looks up. Both databases store
// and query the same prepared words, so they find the same messages. Only this package defines what
// a word is:
//
//   - A word is a run of letters, digits and the marks on them. Everything else separates words.
//   - It is folded: case, compatibility forms and the accents of Latin, Greek,
//     Cyrillic, Arabic and Hebrew make no difference (Größe, GROSSE and grosse are one).
//   - In scripts written without spaces, and in Hangul, each character forms a word
//     with the next one: 東京都 is 東京, 京都, 都.
//   - Longer words are cut to MaxWordRunes.
//
// It knows no database. A word has at most 4 × MaxWordRunes bytes of letters, digits and marks,
// never a space, a quote or an operator.
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// The bounds of indexed text.
const (
	MaxWordRunes = 64       // of a word; longer words are distinguished by these alone
	MaxTextBytes = 32 << 10 // of a message's text; the rest is not found
	MaxWords     = 16_000   // per message: PostgreSQL counts positions up to 16,383
	MaxRepeats   = 255      // positions of one word in a message: PostgreSQL keeps no more
)

// Word is a word of a text.
type Word struct {
	Text     string // folded
	From, To int    // its position, UTF-8 bytes
	Pair     bool   // in a script without spaces: a character and the next one
	Last     bool   // in such a script: the last character of a run, alone
}

// Split returns the words of a text in order, at most MaxWords. It leaves out a word that folds to nothing.
func Split(text string) []Word {
	words := make([]Word, 0, min(len(text)/6+1, MaxWords))
	for at := 0; at < len(text) && len(words) < MaxWords; {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !inWord(r) {
			at += size
			continue
		}
		pairs := paired(r)
		end, ascii := at+size, r < utf8.RuneSelf
		for end < len(text) {
			next, size := utf8.DecodeRuneInString(text[end:])
			if !inWord(next) || !isMark(next) && paired(next) != pairs {
				break
			}
			ascii = ascii && next < utf8.RuneSelf
			end += size
		}
		if pairs {
			words = appendPairs(words, text, at, end)
		} else if word := fold(clipped(text[at:end]), ascii); word != "" {
			words = append(words, Word{Text: word, From: at, To: end})
		}
		at = end
	}
	return words[:min(len(words), MaxWords)]
}

// appendPairs adds a word for each character of a run: it and the next one.
func appendPairs(words []Word, text string, from, to int) []Word {
	for from < to && len(words) < MaxWords {
		first := from + characterAt(text[from:to])
		second := first + characterAt(text[first:to])
		if word := fold(text[from:second], false); word != "" {
			words = append(words, Word{Text: word, From: from, To: second, Pair: second > first, Last: second == first})
		}
		from = first
	}
	return words
}

// characterAt returns how many bytes a letter and its marks take.
func characterAt(text string) int {
	end := 0
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if end > 0 && !isMark(r) {
			break
		}
		end += size
	}
	return end
}

// clipped returns the part of a word that counts.
func clipped(word string) string {
	if len(word) <= MaxWordRunes {
		return word
	}
	runes := 0
	for i := range word {
		if runes++; runes > MaxWordRunes {
			return word[:i]
		}
	}
	return word
}

// fold reduces the forms of a word to one.
func fold(word string, ascii bool) string {
	if ascii {
		return strings.ToLower(word)
	}
	folded := cases.Fold().String(norm.NFKD.String(word))
	folded = norm.NFKD.String(strings.ToLower(folded)) // Cherokee folds to upper case, and its capitals not at all
	folded = strings.Map(func(r rune) rune {
		if accent(r) || !inWord(r) {
			return -1
		}
		return r
	}, folded)
	return clipped(norm.NFC.String(folded))
}

// inWord reports whether a character is part of a word.
func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || isMark(r))
}

func isMark(r rune) bool { return r >= 0x300 && unicode.IsMark(r) }

// accent reports whether a mark changes how a letter is spoken, but not which letter it is: those of Latin, Greek and
// Cyrillic, and the vowel points of Arabic and Hebrew. The marks of other scripts are letters in effect.
func accent(r rune) bool {
	return 0x300 <= r && r <= 0x36f || 0x591 <= r && r <= 0x5c7 || 0x610 <= r && r <= 0x61a ||
		0x64b <= r && r <= 0x65f ||
		r == 0x670
}

// paired reports whether a letter belongs to a script that does not separate words, or whose words have their endings
// attached.
func paired(r rune) bool {
	return r >= 0xe00 &&
		unicode.In(
			r,
			unicode.Han,
			unicode.Hiragana,
			unicode.Katakana,
			unicode.Hangul,
			unicode.Thai,
			unicode.Lao,
			unicode.Khmer,
			unicode.Myanmar,
			unicode.Bopomofo,
		)
}
