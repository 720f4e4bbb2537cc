package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley"
)

func testSearch(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"WordsOfMessages": searchWords,
	})
}

// indexed brings the index up to date, by a pass over everything.
func (w *world) indexed(t reporter) {
	t.Helper()
	for {
		step, taken, err := w.store.TakeSearchStep(w.ctx, true)
		must(t, "TakeSearchStep", err)
		if !taken {
			t.Fatalf("no step of the pass is due")
		}
		for left := step.Sessions; len(left) > 0; {
			left, err = w.store.IndexSessions(w.ctx, left)
			must(t, "IndexSessions", err)
		}
		must(t, "EndSearchStep", w.store.EndSearchStep(w.ctx, step, 0))
		if step.Last.IsZero() {
			return
		}
	}
}

// term is a word that is looked for; "a b" a phrase, "a*" the beginning of one, "-a" none of it.
func term(text string) parley.SearchTerm {
	without := strings.HasPrefix(text, "-")
	prefix := strings.HasSuffix(text, "*")
	return parley.SearchTerm{Words: strings.Fields(strings.Trim(text, "-*")), Prefix: prefix, Without: without}
}

// search looks for terms.
func (w *world) search(t reporter, scope parley.Scope, terms string, changes ...func(*parley.SearchQuery)) parley.SearchPage {
	t.Helper()
	query := parley.SearchQuery{Limit: parley.MaxHits}
	for _, text := range strings.Split(terms, ",") {
		query.Terms = append(query.Terms, term(text))
	}
	for _, change := range changes {
		change(&query)
	}
	page, err := w.store.Search(w.ctx, scope, query)
	must(t, "Search", err)
	return page
}

// found is the texts that a search finds, titles in brackets, in order.
func (w *world) found(t reporter, terms string, changes ...func(*parley.SearchQuery)) []string {
	t.Helper()
	return textsOf(t, w.search(t, w.scope, terms, changes...))
}

func textsOf(t reporter, page parley.SearchPage) []string {
	t.Helper()
	texts := []string{}
	for _, hit := range page.Hits {
		if hit.Message == nil {
			texts = append(texts, "["+hit.Session.Title+"]")
			continue
		}
		var content struct{ Text string }
		must(t, "content", json.Unmarshal(hit.Message.Content, &content))
		texts = append(texts, content.Text)
	}
	return texts
}

func (w *world) finds(t reporter, terms string, want ...string) {
	t.Helper()
	got := w.found(t, terms)
	slices.Sort(got)
	slices.Sort(want)
	want = append([]string{}, want...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s finds (- want, + is):\n%s", terms, diff)
	}
}

func searchWords(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "Where is the Größe of the read_session tool?", "It is 42, près de 東京都.")
	w.exchange(t, w.session(t), "a red car", "a car that is red")
	w.indexed(t)
	w.finds(t, "grosse", "Where is the Größe of the read_session tool?")
	w.finds(t, "read session", "Where is the Größe of the read_session tool?")
	w.finds(t, "session read")
	w.finds(t, "pres", "It is 42, près de 東京都.")
	w.finds(t, "京都", "It is 42, près de 東京都.")
	w.finds(t, "is", "It is 42, près de 東京都.", "Where is the Größe of the read_session tool?", "a car that is red")
	w.finds(t, "is,-car", "It is 42, près de 東京都.", "Where is the Größe of the read_session tool?")
	w.finds(t, "sess*", "Where is the Größe of the read_session tool?")
	w.finds(t, "red car", "a red car")
	w.finds(t, "red,car", "a red car", "a car that is red")
	w.finds(t, "sess")
}
