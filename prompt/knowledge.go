package prompt

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/parley"
)

// leastSubjectWord is the length, in letters, from which a word says what a text is about.
const leastSubjectWord = 4

// ChooseKnowledge chooses what requests are told from earlier work, within a number of tokens: pinned items first, then
// those that share most words with the session's subject, then the others in their order, which is the latest first.
func ChooseKnowledge(items []parley.KnowledgeItem, subject string, tokens int) (chosen []parley.KnowledgeItem) {
	about := subjectWords(subject)
	shared := make(map[parley.ID]int, len(items))
	for i := range items {
		for word := range subjectWords(items[i].Text) {
			if about[word] {
				shared[items[i].ID]++
			}
		}
	}
	items = slices.Clone(items)
	sort.SliceStable(items, func(i, j int) bool {
		a, b := &items[i], &items[j]
		return cmp.Or(-compareBool(a.Pinned, b.Pinned), cmp.Compare(shared[b.ID], shared[a.ID])) < 0
	})
	left := tokens - parley.EstimateTokens(parley.KnowledgeText(make([]parley.KnowledgeItem, 1)))
	for i := range items {
		if needs := parley.EstimateTokens(items[i].Line()); needs <= left {
			chosen = append(chosen, items[i])
			left -= needs
		}
	}
	return chosen
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// subjectWords returns the longer words of a text, in lower case.
func subjectWords(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}) {
		if utf8.RuneCountInString(word) >= leastSubjectWord {
			words[word] = true
		}
	}
	return words
}

// WithKnowledge returns a system prompt with a block of knowledge behind it.
func WithKnowledge(system, block string) string {
	if system == "" || block == "" {
		return system + block
	}
	return system + "\n\n" + block
}
