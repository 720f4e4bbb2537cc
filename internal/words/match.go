package words

import (
	"strconv"
	"strings"

	"example.org/parley/store"
)

// FTS5 writes a query for SQLite, over the columns words and scope. It contains only prepared words and those of
// Scoped, each in quotes. A match needs one word of each group in scopes.
func FTS5(terms []store.SearchTerm, scopes [][]string) string {
	var with, without []string
	for _, term := range terms {
		text := quotedBy(`"`, strings.Join(term.Words, " "))
		if term.Prefix {
			text += " *"
		}
		if term.Without {
			without = append(without, text)
		} else {
			with = append(with, text)
		}
	}
	query := "words : (" + strings.Join(with, " AND ") + ")"
	for _, group := range scopes {
		quoted := make([]string, len(group))
		for i, word := range group {
			quoted[i] = quotedBy(`"`, word)
		}
		query += " AND scope : (" + strings.Join(quoted, " OR ") + ")"
	}
	if len(without) > 0 {
		query = "(" + query + ") NOT words : (" + strings.Join(without, " OR ") + ")"
	}
	return query
}

// TSQuery writes the same query for PostgreSQL, as the text of a tsquery.
func TSQuery(terms []store.SearchTerm, scopes [][]string) string {
	parts := make([]string, 0, len(terms)+len(scopes))
	for _, term := range terms {
		lexemes := make([]string, len(term.Words))
		for i, word := range term.Words {
			lexemes[i] = quotedBy("'", word)
		}
		if term.Prefix {
			lexemes[len(lexemes)-1] += ":*"
		}
		part := "(" + strings.Join(lexemes, " <-> ") + ")"
		if term.Without {
			part = "!" + part
		}
		parts = append(parts, part)
	}
	for _, group := range scopes {
		lexemes := make([]string, len(group))
		for i, word := range group {
			lexemes[i] = quotedBy("'", word)
		}
		parts = append(parts, "("+strings.Join(lexemes, " | ")+")")
	}
	return strings.Join(parts, " & ")
}

// TSVector writes an entry for PostgreSQL, as the text of a tsvector: the words with their positions, and those that
// say where it belongs.
func (e Entry) TSVector(scopes []string) string {
	places := make(map[string][]int, len(e.Words))
	order := make([]string, 0, len(e.Words))
	for i, word := range e.Words {
		if word == Filler {
			continue
		}
		if places[word] == nil {
			order = append(order, word)
		}
		places[word] = append(places[word], i+1)
	}
	var out strings.Builder
	for _, word := range scopes {
		out.WriteString(quotedBy("'", word) + " ")
	}
	for _, word := range order {
		out.WriteString(quotedBy("'", word))
		for i, place := range places[word] {
			out.WriteByte(":,"[min(i, 1)])
			out.WriteString(strconv.Itoa(place))
		}
		out.WriteByte(' ')
	}
	return out.String()
}

// quotedBy puts a word in quotes. No word contains one; quotes are doubled all the same, so that the output is always a
// single word.
func quotedBy(quote, word string) string {
	return quote + strings.ReplaceAll(word, quote, quote+quote) + quote
}
