package lineedit

import (
	"strings"
)

// search is a look for an earlier entry that contains what is typed, newest first, as Ctrl-R does in shells.
type search struct {
	query  string
	before buffer // what was typed before the search
}

// prompt stands before the entry found.
func (s *search) prompt() string { return "(search: " + s.query + ") " }

// searchOlder begins a search, or goes on to the next older entry that matches.
func (e *Editor) searchOlder() {
	if e.options.History == nil {
		return
	}
	if e.searching == nil {
		e.searching = &search{before: e.text}
		e.entry = -1
		return
	}
	e.find(e.entry + 1)
}

// find shows the newest entry of at least an age that contains the query; the bell says that there is none.
func (e *Editor) find(age int) {
	s, entries := e.searching, e.options.History.entries
	if s.query == "" {
		e.text, e.entry = s.before, -1
		return
	}
	query := strings.ToLower(s.query)
	for age = max(age, 0); age < len(entries); age++ {
		entry := typeable(entries[len(entries)-1-age])
		if at := strings.Index(strings.ToLower(entry), query); at >= 0 {
			e.entry = age
			e.text.set(entry)
			return
		}
	}
	e.send("\a")
}

// pressSearching acts on a key during a search, and reports whether the key is done with: any other key takes the entry
// found, and acts on it.
func (e *Editor) pressSearching(pressed key, text string) (done bool) {
	s := e.searching
	switch pressed {
	case keySearch:
		e.searchOlder()
	case keyText:
		if len(s.query)+len(text) > maxQuery {
			e.send("\a")
			return true
		}
		s.query += strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' {
				return ' '
			}
			return r
		}, typeable(text))
		e.find(e.entry)
	case keyBackspace:
		query := buffer{text: s.query}
		s.query = s.query[:query.before(len(s.query))]
		e.find(0)
	case keyAbandon:
		e.text, e.entry, e.searching = s.before, -1, nil
	case keyNone, keyPasteBegins, keyPasteEnds:
		return false
	default:
		e.endSearch()
		return false
	}
	return true
}

// endSearch takes the entry found as the text. Up and Down go on from there.
func (e *Editor) endSearch() {
	if e.searching != nil {
		e.begun, e.searching = e.searching.before.text, nil
	}
}

// complete continues the text before the cursor if only one thing can follow, or some; else it shows what can.
func (e *Editor) complete() {
	if e.options.Complete == nil {
		e.insert("\t")
		return
	}
	before := e.text.text[:e.text.at]
	choices := e.options.Complete(before)
	if choices == nil {
		e.insert("\t")
		return
	}
	if len(choices) == 0 {
		e.send("\a")
		return
	}
	common := choices[0]
	for _, choice := range choices[1:] {
		n := 0
		for n < min(len(common), len(choice)) && common[n] == choice[n] {
			n++
		}
		common = common[:n]
	}
	more, continues := strings.CutPrefix(common, before)
	switch {
	case continues && len(choices) == 1:
		e.insert(more + " ")
	case continues && more != "":
		e.insert(more)
	default:
		e.erase()
		_, _ = e.print([]byte(strings.Join(choices, "  ") + "\n")) // as Write does
	}
}
