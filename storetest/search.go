package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley"
)

func testSearch(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"WordsOfMessages":               searchWords,
		"WhatIsFoundOfEachRole":         searchRoles,
		"OnlyWhatIsSettled":             searchSettled,
		"TheQueueIsFoundAsItEnters":     searchQueue,
		"Titles":                        searchTitles,
		"EachFilterFindsItsMessages":    searchFilters,
		"OnlyWhatOneSees":               searchScopes,
		"WhatMovesIsFoundWhereItIs":     searchMoved,
		"ForksShareWhatIsFound":         searchForks,
		"AForkOfSomebodyElses":          searchBorrowed,
		"ADeletedParentLivesInItsForks": searchOrphans,
		"WhatIsDeletedIsGone":           searchDeleted,
		"PagesHoldStill":                searchPages,
		"TheBestComesFirst":             searchRanks,
		"TheNewestAreRanked":            searchNewest,
		"AWordInManyPlaces":             searchRepeats,
		"IndexersMayRace":               searchRaces,
		"APassIsTakenOnce":              searchPass,
		"TheIndexIsMadeAnew":            searchRebuilt,
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
		if content.Text == "" {
			content.Text = string(hit.Message.Role) + " " + hit.Message.ToolName
		}
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
	w.finds(t, "京*", "It is 42, près de 東京都.")
	w.finds(t, "都*", "It is 42, près de 東京都.")
	w.finds(t, "is,-a red", "It is 42, près de 東京都.", "Where is the Größe of the read_session tool?", "a car that is red")
}

// note records a message of a role, without a turn.
func (w *world) note(t reporter, session parley.ID, role parley.Role, content string, changes ...func(*parley.NewMessage)) parley.Message {
	t.Helper()
	return w.post(t, session, w.say("", append([]func(*parley.NewMessage){alone, func(m *parley.NewMessage) {
		m.Role, m.Content = role, json.RawMessage(content)
	}}, changes...)...)).Message
}

func searchRoles(t *testing.T, w *world) {
	session := w.session(t)
	w.note(t, session, parley.RoleUser, `{"links":["https://example.org/needle-link"],"text":"needle of a user"}`)
	w.note(t, session, parley.RoleAssistant, `{"reasoning":"needle thought","text":"needle of an assistant"}`)
	w.note(t, session, parley.RoleAssistant, `{"refusal":"no needlework here","text":""}`)
	w.note(t, session, parley.RoleToolCall, `{"arguments":{"needle_name":{"path":["needle/in/arguments"]}},"id":"c1","name":"sew_needle"}`, func(m *parley.NewMessage) { m.ToolCallID, m.ToolName = "c1", "sew_needle" })
	w.note(t, session, parley.RoleToolResult, `{"error":null,"execution_time_ms":1,"result":{"rows":[{"text":"needle found"}]},"success":true}`, func(m *parley.NewMessage) { m.ToolCallID, m.ToolName = "c1", "sew_needle" })
	w.note(t, session, parley.RoleSummary, `{"text":"needle of a summary"}`)
	w.note(t, session, parley.RoleUser, `{"text":"needle of nobody's business"}`, func(m *parley.NewMessage) { m.Internal = true })
	w.note(t, session, parley.RoleUser, `{"text":"behind it"}`)
	w.indexed(t)
	w.finds(t, "needle", "needle of a user", "needle of an assistant", "tool_call sew_needle", "tool_result sew_needle", "needle of a summary")
	w.finds(t, "thought")
	w.finds(t, "needle name")
	w.finds(t, "business")
	w.finds(t, "behind", "behind it")
	w.finds(t, "needlework", "assistant ")
	w.finds(t, "needle link", "needle of a user")
	w.finds(t, "in arguments", "tool_call sew_needle")
}

func searchSettled(t *testing.T, w *world) {
	session := w.session(t)
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("needle in a question"), w.process)
	must(t, "PostMessage", err)
	begin := w.begin(t, posted.Claim.Fence, 1)
	w.flush(t, posted.Claim.Fence, begin.Call.MessageID, 1, 0, "needle half")
	w.indexed(t)
	w.finds(t, "needle", "needle in a question")
	settle := settlement(begin, "needle in an answer")
	settle.End = completed()
	w.settle(t, posted.Claim.Fence, settle)
	w.indexed(t)
	w.finds(t, "needle", "needle in a question", "needle in an answer")

	open, message := w.streaming(t)
	w.grow(t, message, parley.KindText, 0, "needle from outside")
	w.indexed(t)
	w.finds(t, "outside")
	w.deliver(t, message, delivered())
	w.indexed(t)
	w.finds(t, "outside", "needle from outside")
	if hits := w.search(t, w.scope, "outside").Hits; hits[0].Session.ID != open {
		t.Errorf("it is shown for %s", hits[0].Session.ID)
	}
}

func searchQueue(t *testing.T, w *world) {
	session := w.session(t)
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("first"), w.process)
	must(t, "PostMessage", err)
	queued := w.post(t, session, w.say("needle before"))
	removed := w.post(t, session, w.say("needle removed"))
	_, err = w.store.RemoveQueued(w.ctx, w.scope, removed.Message.ID)
	must(t, "RemoveQueued", err)
	w.indexed(t)
	w.finds(t, "needle")
	_, err = w.store.EditQueued(w.ctx, w.scope, queued.Message.ID, json.RawMessage(`{"text":"needle behind"}`))
	must(t, "EditQueued", err)
	w.answer(t, *posted.Claim, "done")
	w.indexed(t)
	if got := w.found(t, "needle"); len(got) > 1 || len(got) == 1 && got[0] != "needle behind" {
		t.Errorf("found %v", got)
	}
	claims, err := w.store.Claim(w.ctx, w.process, 1, parley.Occupancy{Slots: 8})
	must(t, "Claim", err)
	for _, claim := range claims {
		w.begin(t, claim.Fence, 1)
	}
	w.indexed(t)
	w.finds(t, "needle", "needle behind")
}

func searchTitles(t *testing.T, w *world) {
	session := w.session(t, func(s *parley.Session) { s.Title = "Autumn plans" })
	w.note(t, session, parley.RoleUser, `{"text":"about the leaves"}`)
	w.indexed(t)
	w.finds(t, "autumn", "[Autumn plans]")
	w.finds(t, "leaves", "about the leaves")
	w.note(t, session, parley.RoleUser, `{"text":"autumn is near"}`)
	w.indexed(t)
	w.finds(t, "autumn", "autumn is near") // the title has a message among the hits
	title := "Winter plans"
	_, err := w.store.UpdateSession(w.ctx, w.scope, session, parley.SessionChange{Title: &title})
	must(t, "UpdateSession", err)
	w.indexed(t)
	w.finds(t, "plans", "[Winter plans]")
	w.finds(t, "winter", "[Winter plans]")
	empty := ""
	_, err = w.store.UpdateSession(w.ctx, w.scope, session, parley.SessionChange{Title: &empty})
	must(t, "UpdateSession", err)
	w.indexed(t)
	w.finds(t, "plans")
	w.finds(t, "leaves", "about the leaves")
}

func searchFilters(t *testing.T, w *world) {
	other := w.createAgent(t, "other")
	project := w.choose(t, "/tmp/searched")
	first := w.session(t)
	w.note(t, first, parley.RoleUser, `{"text":"needle one"}`)
	second := w.session(t, func(s *parley.Session) { s.AgentID, s.ProjectID, s.Title = other.ID, project.ID, "needle title" })
	w.note(t, second, parley.RoleToolCall, `{"arguments":{},"id":"c1","name":"needle_tool"}`, func(m *parley.NewMessage) { m.ToolCallID, m.ToolName = "c1", "needle_tool" })
	titled := w.session(t, func(s *parley.Session) { s.Title = "needle alone" })
	archived := w.session(t)
	last := w.note(t, archived, parley.RoleAssistant, `{"text":"needle kept"}`)
	yes, no := true, false
	_, err := w.store.UpdateSession(w.ctx, w.scope, archived, parley.SessionChange{Archived: &yes})
	must(t, "UpdateSession", err)
	w.indexed(t)
	for name, test := range map[string]struct {
		change func(*parley.SearchQuery)
		want   []string
	}{
		"none":     {func(*parley.SearchQuery) {}, []string{"[needle alone]", "needle kept", "needle one", "tool_call needle_tool"}},
		"role":     {func(q *parley.SearchQuery) { q.Roles = []parley.Role{parley.RoleUser} }, []string{"needle one"}},
		"roles":    {func(q *parley.SearchQuery) { q.Roles = []parley.Role{parley.RoleUser, parley.RoleAssistant} }, []string{"needle kept", "needle one"}},
		"tool":     {func(q *parley.SearchQuery) { q.ToolName = "needle_tool" }, []string{"tool_call needle_tool"}},
		"no tool":  {func(q *parley.SearchQuery) { q.ToolName = "needle" }, []string{}},
		"agent":    {func(q *parley.SearchQuery) { q.AgentID = other.ID }, []string{"tool_call needle_tool"}},
		"project":  {func(q *parley.SearchQuery) { q.ProjectID = project.ID }, []string{"tool_call needle_tool"}},
		"session":  {func(q *parley.SearchQuery) { q.SessionID = titled }, []string{"[needle alone]"}},
		"archived": {func(q *parley.SearchQuery) { q.Archived = &yes }, []string{"needle kept"}},
		"others":   {func(q *parley.SearchQuery) { q.Archived = &no }, []string{"[needle alone]", "needle one", "tool_call needle_tool"}},
		"until":    {func(q *parley.SearchQuery) { q.CreatedTo = 1 }, []string{}},
		"from":     {func(q *parley.SearchQuery) { q.CreatedFrom = last.CreatedAt + 1 }, []string{}},
		"as of":    {func(q *parley.SearchQuery) { q.AsOf = last.CreatedAt + 1 }, []string{"[needle alone]", "needle kept", "needle one", "tool_call needle_tool"}},
		"several": {func(q *parley.SearchQuery) {
			q.AgentID, q.ProjectID, q.SessionID, q.ToolName, q.Archived = other.ID, project.ID, second, "needle_tool", &no
		}, []string{"tool_call needle_tool"}},
	} {
		got := w.found(t, "needle", test.change)
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (- want, + is):\n%s", name, diff)
		}
	}
}

func searchScopes(t *testing.T, w *world) {
	stranger, owner := parley.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}, parley.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: w.owner.ID}
	private := w.session(t, func(s *parley.Session) { s.Title = "needle private" })
	w.session(t, func(s *parley.Session) { s.Title, s.Visibility = "needle shared", parley.VisibilityWorkspace })
	other := w.neighbour(t, "neighbour")
	theirs := other.session(t, func(s *parley.Session) { s.Title, s.Visibility = "needle theirs", parley.VisibilityWorkspace })
	other.note(t, theirs, parley.RoleUser, `{"text":"needle theirs"}`)
	reader := w.session(t, func(s *parley.Session) { s.OwnerID = stranger.ViewerID })
	w.share(t, private, reader) // the session may read it, its owner may not
	w.indexed(t)
	for name, test := range map[string]struct {
		scope parley.Scope
		want  []string
	}{
		"workspace": {w.scope, []string{"[needle private]", "[needle shared]"}},
		"owner":     {owner, []string{"[needle private]", "[needle shared]"}},
		"stranger":  {stranger, []string{"[needle shared]"}},
		"neighbour": {other.scope, []string{"needle theirs"}},
	} {
		got := textsOf(t, w.search(t, test.scope, "needle"))
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (- want, + is):\n%s", name, diff)
		}
	}
	for _, id := range []parley.ID{private, theirs, parley.NewID()} {
		_, err := w.store.Search(w.ctx, stranger, parley.SearchQuery{Terms: []parley.SearchTerm{term("needle")}, SessionID: id})
		refused(t, "a search in a session that is not seen", err, parley.CodeNotFound)
	}
}

func searchMoved(t *testing.T, w *world) {
	stranger := parley.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	session := w.session(t, func(s *parley.Session) { s.Title = "moved" })
	for range parley.SearchBatch + 3 {
		w.note(t, session, parley.RoleUser, `{"text":"needle"}`)
	}
	project := w.choose(t, "/tmp/moved")
	count := func(scope parley.Scope, project parley.ID) int {
		return len(w.search(t, scope, "needle", func(q *parley.SearchQuery) { q.ProjectID = project }).Hits)
	}
	expect := func(when string, theirs, here int) {
		t.Helper()
		w.indexed(t)
		if all, a, b := count(w.scope, parley.ID{}), count(stranger, parley.ID{}), count(w.scope, project.ID); all != parley.SearchBatch+3 || a != theirs || b != here {
			t.Errorf("%s: found %d, by a stranger %d, in the project %d", when, all, a, b)
		}
		w.finds(t, "moved", "[moved]")
	}
	expect("at first", 0, 0)
	shared, private := parley.VisibilityWorkspace, parley.VisibilityPrivate
	for _, step := range []struct {
		when         string
		change       parley.SessionChange
		theirs, here int
	}{
		{"shared", parley.SessionChange{Visibility: &shared}, parley.SearchBatch + 3, 0},
		{"in a project", parley.SessionChange{ProjectID: &project.ID}, parley.SearchBatch + 3, parley.SearchBatch + 3},
		{"private again", parley.SessionChange{Visibility: &private}, 0, parley.SearchBatch + 3},
		{"detached", parley.SessionChange{ProjectID: &parley.ID{}}, 0, 0},
		{"shared again", parley.SessionChange{Visibility: &shared}, parley.SearchBatch + 3, 0},
	} {
		_, err := w.store.UpdateSession(w.ctx, w.scope, session, step.change)
		must(t, "UpdateSession", err)
		expect(step.when, step.theirs, step.here)
	}
}

// shownFor is what a search finds, and for which sessions.
func (w *world) shownFor(t reporter, scope parley.Scope, terms string, changes ...func(*parley.SearchQuery)) map[string]parley.ID {
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
	if diff := cmp.Diff(map[string]parley.ID{"needle one": parent, "needle two": parent, "needle three": parent, "needle four": parent,
		"needle five": fork.ID, "needle six": fork.ID, "needle seven": second.ID, "needle eight": second.ID}, w.shownFor(t, w.scope, "needle")); diff != "" {
		t.Errorf("everywhere (- want, + is):\n%s", diff)
	}
	in := func(id parley.ID) func(*parley.SearchQuery) {
		return func(q *parley.SearchQuery) { q.SessionID = id }
	}
	if diff := cmp.Diff(map[string]parley.ID{"needle one": second.ID, "needle two": second.ID, "needle five": second.ID, "needle six": second.ID, "needle seven": second.ID, "needle eight": second.ID},
		w.shownFor(t, w.scope, "needle", in(second.ID))); diff != "" {
		t.Errorf("in the second fork (- want, + is):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]parley.ID{"needle one": parent, "needle two": parent, "needle three": parent, "needle four": parent}, w.shownFor(t, w.scope, "needle", in(parent))); diff != "" {
		t.Errorf("in the parent (- want, + is):\n%s", diff)
	}
}

func searchBorrowed(t *testing.T, w *world) {
	other := w.createAgent(t, "other")
	theirs := parley.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	parent := w.session(t, func(s *parley.Session) { s.Title = "needle title" })
	w.exchange(t, parent, "needle one", "needle two")
	w.exchange(t, parent, "needle three", "needle four")
	fork := w.fork(t, parent, 2, func(f *parley.NewFork) {
		f.Session.OwnerID, f.Session.AgentID, f.Session.Title = theirs.ViewerID, other.ID, "their own"
	})
	w.indexed(t)
	if diff := cmp.Diff(map[string]parley.ID{"needle one": fork.ID, "needle two": fork.ID}, w.shownFor(t, theirs, "needle")); diff != "" {
		t.Errorf("found (- want, + is):\n%s", diff)
	}
	of := func(agent parley.ID) func(*parley.SearchQuery) {
		return func(q *parley.SearchQuery) { q.AgentID = agent }
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
	for _, id := range []parley.ID{parent, late, unseen} { // one of them before anybody had indexed it
		must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, id))
	}
	want := map[string]parley.ID{"needle one": fork.ID, "needle two": fork.ID, "needle late": lateFork.ID, "needle unseen": unseenFork.ID, "needle unheard": unseenFork.ID}
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
		t.Errorf("a deleted session has %d left", len(left))
	}
	w.drainOutbox(t)
	w.indexed(t)
	w.finds(t, "needle")
	project := w.choose(t, "/tmp/doomed")
	inside := w.session(t, func(s *parley.Session) { s.ProjectID, s.Title = project.ID, "needle inside" })
	w.indexed(t)
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, w.scope.WorkspaceID, project.ID, false))
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
	query := parley.SearchQuery{Terms: []parley.SearchTerm{term("needle")}, Limit: 5}
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
		w.exchange(t, w.session(t), "needle", "hay") // the pages that follow hold still
		w.indexed(t)
	}
	got = slices.DeleteFunc(got, func(text string) bool { return text == "needle" })
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("pages (- whole, + pages):\n%s", diff)
	}
	slices.Sort(whole)
	slices.Sort(texts)
	if diff := cmp.Diff(texts, whole); diff != "" {
		t.Errorf("all (- said, + found):\n%s", diff)
	}
}

func searchRanks(t *testing.T, w *world) {
	session := w.session(t)
	for _, text := range []string{"needle in a long story" + strings.Repeat(" of hay and straw", 20), "needle needle needle", "a needle", "b needle"} {
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

// searchNewest: of more matches than are ranked the newest are.
func searchNewest(t *testing.T, w *world) {
	sessions := []parley.ID{w.session(t), w.session(t)}
	for i := range parley.MaxRanked + 5 {
		w.note(t, sessions[i%2], parley.RoleUser, `{"text":"needle"}`)
	}
	w.indexed(t)
	w.note(t, sessions[0], parley.RoleUser, `{"text":"the newest needle"}`)
	w.indexed(t)
	seen, newest := 0, false
	query := parley.SearchQuery{Terms: []parley.SearchTerm{term("needle")}, Limit: parley.MaxHits}
	for more := true; more; {
		page, err := w.store.Search(w.ctx, w.scope, query)
		must(t, "Search", err)
		seen, more = seen+len(page.Hits), page.More
		last := page.Hits[len(page.Hits)-1]
		query.AfterID, query.AfterScore = last.ID, last.Score
		newest = newest || slices.Contains(textsOf(t, page), "the newest needle")
	}
	if seen != parley.MaxRanked || !newest {
		t.Errorf("%d are ranked, want %d; the newest is among them: %v", seen, parley.MaxRanked, newest)
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
	for terms, hits := range map[string]int{"needle": 1, "hay needle": 0, "hay hay hay": 1, "beyond": 0, "behind": 1, "quoted twice": 1, "it s": 1, "c d x w": 1} {
		if got := w.search(t, w.scope, terms); len(got.Hits) != hits {
			t.Errorf("%s finds %d, want %d", terms, len(got.Hits), hits)
		}
	}
}

func searchRaces(t *testing.T, w *world) {
	session := w.session(t)
	const said = 3 * parley.SearchBatch
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
	query := parley.SearchQuery{Terms: []parley.SearchTerm{term("needle")}, Limit: parley.MaxHits}
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
		t.Error("an index that was never made is complete")
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
		t.Errorf("behind the pass: %+v", page)
	}
	if _, again, err := w.store.TakeSearchStep(w.ctx, false); err != nil || again {
		t.Errorf("the next pass is due at once: %v", err)
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
