package storetest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// shownFor returns what a search finds, and in which sessions.
func (w *world) shownFor(
	t reporter,
	scope store.Scope,
	terms string,
	changes ...func(*store.SearchQuery),
) map[string]parley.ID {
	t.Helper()
	page := w.search(t, scope, terms, changes...)
	shown := map[string]parley.ID{}
	for i, text := range textsOf(t, page) {
		shown[text] = page.Hits[i].Session.ID
	}
	if len(shown) != len(page.Hits) {
		t.Errorf("%s finds something twice: %v", terms, textsOf(t, page))
	}
	return shown
}

func searchForks(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "needle one", "needle two")
	w.exchange(t, parent, "needle three", "needle four")
	fork := w.fork(t, parent, 2)
	w.exchange(t, fork.ID, "needle five", "needle six")
	second := w.fork(t, fork.ID, 4)
	w.exchange(t, second.ID, "needle seven", "needle eight")
	w.indexed(t)
	if diff := cmp.Diff(
		map[string]parley.ID{
			"needle one":   parent,
			"needle two":   parent,
			"needle three": parent,
			"needle four":  parent,
			"needle five":  fork.ID,
			"needle six":   fork.ID,
			"needle seven": second.ID,
			"needle eight": second.ID,
		},
		w.shownFor(t, w.scope, "needle"),
	); diff != "" {
		t.Errorf("everywhere (- want, + is):\n%s", diff)
	}
	in := func(id parley.ID) func(*store.SearchQuery) {
		return func(q *store.SearchQuery) { q.SessionID = id }
	}
	if diff := cmp.Diff(
		map[string]parley.ID{
			"needle one":   second.ID,
			"needle two":   second.ID,
			"needle five":  second.ID,
			"needle six":   second.ID,
			"needle seven": second.ID,
			"needle eight": second.ID,
		},
		w.shownFor(t, w.scope, "needle", in(second.ID)),
	); diff != "" {
		t.Errorf("in the second fork (- want, + is):\n%s", diff)
	}
	if diff := cmp.Diff(
		map[string]parley.ID{"needle one": parent, "needle two": parent, "needle three": parent, "needle four": parent},
		w.shownFor(t, w.scope, "needle", in(parent)),
	); diff != "" {
		t.Errorf("in the parent (- want, + is):\n%s", diff)
	}
}

func searchBorrowed(t *testing.T, w *world) {
	other := w.createAgent(t, "other")
	theirs := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	parent := w.session(t, func(s *parley.Session) { s.Title = "needle title" })
	w.exchange(t, parent, "needle one", "needle two")
	w.exchange(t, parent, "needle three", "needle four")
	fork := w.fork(t, parent, 2, func(f *store.NewFork) {
		f.Session.OwnerID, f.Session.AgentID, f.Session.Title = theirs.ViewerID, other.ID, "their own"
	})
	w.indexed(t)
	if diff := cmp.Diff(
		map[string]parley.ID{"needle one": fork.ID, "needle two": fork.ID},
		w.shownFor(t, theirs, "needle"),
	); diff != "" {
		t.Errorf("found (- want, + is):\n%s", diff)
	}
	of := func(agent parley.ID) func(*store.SearchQuery) {
		return func(q *store.SearchQuery) { q.AgentIDs = []parley.ID{agent} }
	}
	if got := w.shownFor(t, theirs, "needle", of(other.ID)); len(got) != 2 {
		t.Errorf("of the fork's agent: %v", got)
	}
	if got := w.shownFor(t, theirs, "needle", of(w.agent.ID)); len(got) != 0 {
		t.Errorf("of the parent's agent: %v", got)
	}
	if got := w.shownFor(t, w.scope, "needle", of(w.agent.ID)); len(got) != 4 {
		t.Errorf("by the whole workspace: %v", got)
	}
}

func searchOrphans(t *testing.T, w *world) {
	parent := w.session(t, func(s *parley.Session) { s.Title = "needle title" })
	w.exchange(t, parent, "needle one", "needle two")
	w.exchange(t, parent, "needle three", "needle four")
	fork := w.fork(t, parent, 2)
	late := w.session(t)
	w.exchange(t, late, "needle late", "needle later")
	lateFork := w.fork(t, late, 1)
	w.indexed(t)
	unseen := w.session(t)
	w.exchange(t, unseen, "needle unseen", "needle unheard")
	unseenFork := w.fork(t, unseen, 2)
	for _, id := range []parley.ID{parent, late, unseen} { // one of them before it was indexed
		must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, id))
	}
	want := map[string]parley.ID{
		"needle one":     fork.ID,
		"needle two":     fork.ID,
		"needle late":    lateFork.ID,
		"needle unseen":  unseenFork.ID,
		"needle unheard": unseenFork.ID,
	}
	for _, when := range []string{"deleted", "purged"} {
		w.indexed(t)
		if diff := cmp.Diff(want, w.shownFor(t, w.scope, "needle")); diff != "" {
			t.Errorf("%s (- want, + is):\n%s", when, diff)
		}
		w.drainOutbox(t)
	}
	for _, id := range []parley.ID{fork.ID, lateFork.ID, unseenFork.ID} {
		must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, id))
	}
	w.finds(t, "needle")
	w.drainOutbox(t)
	w.indexed(t)
	w.finds(t, "needle")
}

func searchDeleted(t *testing.T, w *world) {
	session := w.session(t, func(s *parley.Session) { s.Title = "needle title" })
	w.exchange(t, session, "needle one", "needle two")
	w.indexed(t)
	w.finds(t, "needle", "needle one", "needle two")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	w.finds(t, "needle")
	left, err := w.store.IndexSessions(w.ctx, []parley.ID{session, parley.NewID()})
	must(t, "IndexSessions", err)
	if len(left) > 0 {
		t.Errorf("a deleted session has %d messages left to index", len(left))
	}
	w.drainOutbox(t)
	w.indexed(t)
	w.finds(t, "needle")
	project := w.choose(t, "/tmp/doomed")
	inside := w.session(t, func(s *parley.Session) { s.ProjectID, s.Title = project.ID, "needle inside" })
	w.indexed(t)
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, w.scope, project.ID, false))
	w.drainOutbox(t)
	w.indexed(t)
	if got := w.shownFor(t, w.scope, "needle"); got["[needle inside]"] != inside {
		t.Errorf("of a project that is gone: %v", got)
	}
}

func searchPages(t *testing.T, w *world) {
	session := w.session(t)
	texts := []string{}
	for i := range 23 {
		text := "needle" + strings.Repeat(" hay", i%5) + " " + strings.Repeat("x", i+1)
		texts = append(texts, text)
		w.note(t, session, parley.RoleUser, `{"text":"`+text+`"}`)
	}
	w.indexed(t)
	whole := w.found(t, "needle")
	var got []string
	query := store.SearchQuery{Terms: []store.SearchTerm{term("needle")}, Limit: 5}
	for {
		page, err := w.store.Search(w.ctx, w.scope, query)
		must(t, "Search", err)
		got = append(got, textsOf(t, page)...)
		if !page.More {
			break
		}
		last := page.Hits[len(page.Hits)-1]
		if query.AsOf == 0 {
			query.AsOf = parley.Now() + 1000
		}
		query.AfterID, query.AfterScore = last.ID, last.Score
		w.exchange(t, w.session(t), "needle", "hay") // later pages must stay the same
		w.indexed(t)
	}
	got = slices.DeleteFunc(got, func(text string) bool { return text == "needle" })
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("pages (- whole, + pages):\n%s", diff)
	}
	slices.Sort(whole)
	slices.Sort(texts)
	if diff := cmp.Diff(texts, whole); diff != "" {
		t.Errorf("all (-said +found):\n%s", diff)
	}
}

func searchRanks(t *testing.T, w *world) {
	session := w.session(t)
	for _, text := range []string{"needle in a long story" + strings.Repeat(" of hay and straw", 20),
		"needle needle needle", "a needle", "b needle"} {
		w.note(t, session, parley.RoleUser, `{"text":"`+text+`"}`)
	}
	w.indexed(t)
	got := w.found(t, "needle")
	if len(got) != 4 || got[0] != "needle needle needle" || got[1] != "b needle" || got[2] != "a needle" {
		t.Errorf("ranked as %q", got)
	}
	page := w.search(t, w.scope, "needle")
	if page.Best != page.Hits[0].Score || page.Hits[3].Score <= 0 || page.Hits[1].Score != page.Hits[2].Score {
		t.Errorf("scores: best %v of %+v", page.Best, page.Hits)
	}
}

// searchNewest: if more match than are ranked, the newest are ranked.
func searchNewest(t *testing.T, w *world) {
	sessions := []parley.ID{w.session(t), w.session(t)}
	for i := range store.MaxRanked + 5 {
		w.note(t, sessions[i%2], parley.RoleUser, `{"text":"needle"}`)
	}
	w.indexed(t)
	w.note(t, sessions[0], parley.RoleUser, `{"text":"the newest needle"}`)
	w.indexed(t)
	seen, newest := 0, false
	query := store.SearchQuery{Terms: []store.SearchTerm{term("needle")}, Limit: store.MaxHits}
	for more := true; more; {
		page, err := w.store.Search(w.ctx, w.scope, query)
		must(t, "Search", err)
		seen, more = seen+len(page.Hits), page.More
		last := page.Hits[len(page.Hits)-1]
		query.AfterID, query.AfterScore = last.ID, last.Score
		newest = newest || slices.Contains(textsOf(t, page), "the newest needle")
	}
	if seen != store.MaxRanked || !newest {
		t.Errorf("%d are ranked, want %d; newest included: %v", seen, store.MaxRanked, newest)
	}
}

// searchedBytes is how much of a message's text is indexed (words.MaxTextBytes).
const searchedBytes = 32 << 10

// searchLong: of a long text the beginning is read, as far as it was indexed; of a long
// thought in front of it, and of more than may be read at once, nothing.
func searchLong(t *testing.T, w *world) {
	session := w.session(t)
	long := strings.Repeat("x", 2*store.SearchTextBytes)
	w.note(t, session, parley.RoleAssistant, `{"text":"a needle in the text, `+long+`"}`)
	w.note(t, session, parley.RoleAssistant, `{"reasoning":"`+long+`","text":"a needle behind a thought"}`)
	w.indexed(t)
	texts := map[int64]string{}
	for _, hit := range w.search(t, w.scope, "needle").Hits {
		texts[hit.Message.Sequence] = hit.Message.Text
	}
	if text := texts[1]; len(text) > searchedBytes || !strings.HasPrefix(text, "a needle in the text, xx") {
		t.Errorf("of a long text: %d bytes, %.40q", len(text), text)
	}
	if text, found := texts[2]; !found || text != "" {
		t.Errorf("behind a long thought: found %t, %.40q", found, text)
	}
}

// searchRepeats: what a database keeps no place for makes no difference.
func searchRepeats(t *testing.T, w *world) {
	session := w.session(t)
	w.note(t, session, parley.RoleUser, `{"text":"`+strings.Repeat("hay ", 1000)+`hay needle"}`)
	w.note(t, session, parley.RoleUser, `{"text":"`+strings.Repeat("a ", 20_000)+`beyond"}`)
	w.note(t, session, parley.RoleUser, `{"text":"`+strings.Repeat("w", 5000)+` behind a long word"}`)
	w.post(t, session, w.say("'quoted' \"twice\" it's a\\b c:d & | ! <-> ( ) * ^ {x} \ue000w \u200b", alone))
	w.indexed(t)
	for terms, hits := range map[string]int{"needle": 1, "hay needle": 0, "hay hay hay": 1, "beyond": 0, "behind": 1,
		"quoted twice": 1, "it s": 1, "c d x w": 1} {
		if got := w.search(t, w.scope, terms); len(got.Hits) != hits {
			t.Errorf("%s finds %d, want %d", terms, len(got.Hits), hits)
		}
	}
}

func searchRaces(t *testing.T, w *world) {
	session := w.session(t)
	const said = 3 * store.SearchBatch
	for range said {
		w.note(t, session, parley.RoleUser, `{"text":"needle"}`)
	}
	var indexers sync.WaitGroup
	for range 4 {
		indexers.Go(func() {
			for left := []parley.ID{session}; len(left) > 0; {
				var err error
				if left, err = w.store.IndexSessions(w.ctx, left); err != nil {
					t.Errorf("IndexSessions: %v", err)
					return
				}
			}
		})
	}
	indexers.Wait()
	w.indexed(t)
	seen := map[parley.ID]bool{}
	query := store.SearchQuery{Terms: []store.SearchTerm{term("needle")}, Limit: store.MaxHits}
	for more := true; more; {
		page, err := w.store.Search(w.ctx, w.scope, query)
		must(t, "Search", err)
		for _, hit := range page.Hits {
			if seen[hit.ID] {
				t.Fatalf("%s is indexed twice", hit.ID)
			}
			seen[hit.ID] = true
		}
		more = page.More
		last := page.Hits[len(page.Hits)-1]
		query.AfterID, query.AfterScore = last.ID, last.Score
	}
	if len(seen) != said {
		t.Errorf("%d are indexed, want %d", len(seen), said)
	}
}

func searchPass(t *testing.T, w *world) {
	session := w.session(t)
	w.note(t, session, parley.RoleUser, `{"text":"needle"}`)
	if w.search(t, w.scope, "needle").Complete {
		t.Error("an index that was never built is complete")
	}
	step, taken, err := w.store.TakeSearchStep(w.ctx, false)
	must(t, "TakeSearchStep", err)
	if !taken || !slices.Contains(step.Sessions, session) || !step.Last.IsZero() {
		t.Fatalf("the first step is %+v, %v", step, taken)
	}
	if _, again, err := w.store.TakeSearchStep(w.ctx, false); err != nil || again {
		t.Errorf("a step is taken twice: %v", err)
	}
	_, err = w.store.IndexSessions(w.ctx, step.Sessions)
	must(t, "IndexSessions", err)
	must(t, "EndSearchStep", w.store.EndSearchStep(w.ctx, step, time.Hour))
	if page := w.search(t, w.scope, "needle"); !page.Complete || len(page.Hits) != 1 {
		t.Errorf("after the pass: %+v", page)
	}
	if _, again, err := w.store.TakeSearchStep(w.ctx, false); err != nil || again {
		t.Errorf("the next pass is due immediately: %v", err)
	}
	step, taken, err = w.store.TakeSearchStep(w.ctx, true)
	must(t, "TakeSearchStep", err)
	if !taken || len(step.Sessions) > 0 {
		t.Errorf("a process that starts takes %+v, %v", step, taken)
	}
}

func searchRebuilt(t *testing.T, w *world) {
	session := w.session(t, func(s *parley.Session) { s.Title = "needle title" })
	w.note(t, session, parley.RoleUser, `{"text":"needle"}`)
	w.indexed(t)
	must(t, "RebuildSearch", w.store.RebuildSearch(w.ctx))
	if page := w.search(t, w.scope, "needle"); page.Complete || len(page.Hits) > 0 {
		t.Errorf("the index was dropped, and a search finds %+v", page)
	}
	w.indexed(t)
	w.finds(t, "needle", "needle")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	w.drainOutbox(t)
	w.finds(t, "needle")
}
