package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
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
		"LongTextsAreReadInPart":        searchLong,
		"IndexersMayRace":               searchRaces,
		"APassIsTakenOnce":              searchPass,
		"TheIndexIsMadeAnew":            searchRebuilt,
	})
}

// indexed brings the index up to date with a pass over everything.
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

// term parses a search term: "a b" is a phrase, "a*" a prefix, "-a" an exclusion.
func term(text string) store.SearchTerm {
	without := strings.HasPrefix(text, "-")
	prefix := strings.HasSuffix(text, "*")
	return store.SearchTerm{Words: strings.Fields(strings.Trim(text, "-*")), Prefix: prefix, Without: without}
}

// search searches for terms.
func (w *world) search(
	t reporter,
	scope store.Scope,
	terms string,
	changes ...func(*store.SearchQuery),
) store.SearchPage {
	t.Helper()
	query := store.SearchQuery{Limit: store.MaxHits}
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

// found returns the texts that a search finds, titles in brackets, in order.
func (w *world) found(t reporter, terms string, changes ...func(*store.SearchQuery)) []string {
	t.Helper()
	return textsOf(t, w.search(t, w.scope, terms, changes...))
}

func textsOf(t reporter, page store.SearchPage) []string {
	t.Helper()
	texts := []string{}
	for _, hit := range page.Hits {
		if hit.Message == nil {
			texts = append(texts, "["+hit.Session.Title+"]")
			continue
		}
		text, _, _ := strings.Cut(hit.Message.Text, "\n") // links stand below
		switch hit.Message.Role {
		case parley.RoleToolCall, parley.RoleToolResult:
			text = string(hit.Message.Role) + " " + hit.Message.ToolName
		}
		texts = append(texts, text)
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
		t.Errorf("%s finds (-want +got):\n%s", terms, diff)
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
	w.finds(
		t,
		"is,-a red",
		"It is 42, près de 東京都.",
		"Where is the Größe of the read_session tool?",
		"a car that is red",
	)
}

// note records a message of a role, without a turn.
func (w *world) note(
	t reporter,
	session parley.ID,
	role parley.Role,
	content string,
	changes ...func(*store.NewMessage),
) parley.Message {
	t.Helper()
	return w.post(t, session, w.say("", append([]func(*store.NewMessage){alone, func(m *store.NewMessage) {
		m.Role, m.Content = role, json.RawMessage(content)
	}}, changes...)...)).Message
}

func searchRoles(t *testing.T, w *world) {
	session := w.session(t)
	w.note(t, session, parley.RoleUser, `{"links":["https://example.org/needle-link"],"text":"needle of a user"}`)
	w.note(t, session, parley.RoleAssistant, `{"reasoning":"needle thought","text":"needle of an assistant"}`)
	w.note(t, session, parley.RoleAssistant, `{"refusal":"no needlework here","text":""}`)
	w.note(
		t,
		session,
		parley.RoleToolCall,
		`{"arguments":{"needle_name":{"path":["needle/in/arguments"]}},"id":"c1","name":"sew_needle"}`,
		func(m *store.NewMessage) { m.ToolCallID, m.ToolName = "c1", "sew_needle" },
	)
	w.note(
		t,
		session,
		parley.RoleToolResult,
		`{"error":null,"execution_time_ms":1,"result":{"rows":[{"text":"needle found"}]},"success":true}`,
		func(m *store.NewMessage) { m.ToolCallID, m.ToolName = "c1", "sew_needle" },
	)
	w.note(t, session, parley.RoleSummary, `{"text":"needle of a summary"}`)
	w.note(
		t,
		session,
		parley.RoleUser,
		`{"text":"needle of nobody's business"}`,
		func(m *store.NewMessage) { m.Internal = true },
	)
	w.note(t, session, parley.RoleUser, `{"text":"behind it"}`)
	w.indexed(t)
	w.finds(
		t,
		"needle",
		"needle of a user",
		"needle of an assistant",
		"tool_call sew_needle",
		"tool_result sew_needle",
		"needle of a summary",
	)
	w.finds(t, "thought")
	w.finds(t, "needle name")
	w.finds(t, "business")
	w.finds(t, "behind", "behind it")
	w.finds(t, "needlework", "no needlework here")
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
	_, err = w.store.EditQueued(
		w.ctx,
		w.scope,
		w.owner.ID,
		queued.Message.ID,
		json.RawMessage(`{"text":"needle behind"}`),
	)
	must(t, "EditQueued", err)
	w.answer(t, *posted.Claim, "done")
	w.indexed(t)
	if got := w.found(t, "needle"); len(got) > 1 || len(got) == 1 && got[0] != "needle behind" {
		t.Errorf("found %v", got)
	}
	claims, err := w.store.Claim(w.ctx, w.process, 1, store.Occupancy{Slots: 8})
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
	w.finds(t, "autumn", "autumn is near") // a message of the titled session is among the hits
	title := "Winter plans"
	_, err := w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Title: &title})
	must(t, "UpdateSession", err)
	w.indexed(t)
	w.finds(t, "plans", "[Winter plans]")
	w.finds(t, "winter", "[Winter plans]")
	empty := ""
	_, err = w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Title: &empty})
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
	second := w.session(
		t,
		func(s *parley.Session) { s.AgentID, s.ProjectID, s.Title = other.ID, project.ID, "needle title" },
	)
	w.note(
		t,
		second,
		parley.RoleToolCall,
		`{"arguments":{},"id":"c1","name":"needle_tool"}`,
		func(m *store.NewMessage) { m.ToolCallID, m.ToolName = "c1", "needle_tool" },
	)
	titled := w.session(t, func(s *parley.Session) { s.Title = "needle alone" })
	archived := w.session(t)
	last := w.note(t, archived, parley.RoleAssistant, `{"text":"needle kept"}`)
	yes, no := true, false
	_, err := w.store.UpdateSession(w.ctx, w.scope, archived, store.SessionChange{Archived: &yes})
	must(t, "UpdateSession", err)
	w.indexed(t)
	for name, test := range map[string]struct {
		change func(*store.SearchQuery)
		want   []string
	}{
		"none": {func(*store.SearchQuery) {},
			[]string{"[needle alone]", "needle kept", "needle one", "tool_call needle_tool"}},
		"role": {func(q *store.SearchQuery) { q.Roles = []parley.Role{parley.RoleUser} }, []string{"needle one"}},
		"roles": {func(q *store.SearchQuery) {
			q.Roles = []parley.Role{parley.RoleUser, parley.RoleAssistant}
		}, []string{"needle kept", "needle one"}},
		"tool": {
			func(q *store.SearchQuery) { q.ToolNames = []string{"needle_tool", "other"} },
			[]string{"tool_call needle_tool"},
		},
		"no tool": {func(q *store.SearchQuery) { q.ToolNames = []string{"needle"} }, []string{}},
		"agent": {
			func(q *store.SearchQuery) { q.AgentIDs = []parley.ID{other.ID, parley.NewID()} },
			[]string{"tool_call needle_tool"},
		},
		"project": {
			func(q *store.SearchQuery) { q.ProjectIDs = []parley.ID{parley.NewID(), project.ID} },
			[]string{"tool_call needle_tool"},
		},
		"session":  {func(q *store.SearchQuery) { q.SessionID = titled }, []string{"[needle alone]"}},
		"archived": {func(q *store.SearchQuery) { q.Archived = &yes }, []string{"needle kept"}},
		"others": {func(q *store.SearchQuery) {
			q.Archived = &no
		}, []string{"[needle alone]", "needle one", "tool_call needle_tool"}},
		"until": {func(q *store.SearchQuery) { q.CreatedTo = 1 }, []string{}},
		"from":  {func(q *store.SearchQuery) { q.CreatedFrom = last.CreatedAt + 1 }, []string{}},
		"as of": {func(q *store.SearchQuery) {
			q.AsOf = last.CreatedAt + 1
		}, []string{"[needle alone]", "needle kept", "needle one", "tool_call needle_tool"}},
		"several": {func(q *store.SearchQuery) {
			q.AgentIDs, q.ProjectIDs, q.SessionID = []parley.ID{other.ID}, []parley.ID{project.ID}, second
			q.ToolNames, q.Archived = []string{"needle_tool"}, &no
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
	stranger, owner := store.Scope{
		WorkspaceID: w.scope.WorkspaceID,
		ViewerID:    parley.NewID(),
	}, store.Scope{
		WorkspaceID: w.scope.WorkspaceID,
		ViewerID:    w.owner.ID,
	}
	private := w.session(t, func(s *parley.Session) { s.Title = "needle private" })
	w.session(t, func(s *parley.Session) { s.Title, s.Visibility = "needle shared", parley.VisibilityWorkspace })
	other := w.neighbour(t, "neighbour")
	theirs := other.session(
		t,
		func(s *parley.Session) { s.Title, s.Visibility = "needle theirs", parley.VisibilityWorkspace },
	)
	other.note(t, theirs, parley.RoleUser, `{"text":"needle theirs"}`)
	reader := w.session(t, func(s *parley.Session) { s.OwnerID = stranger.ViewerID })
	w.share(t, private, reader) // the session may read it, but not its owner
	w.indexed(t)
	for name, test := range map[string]struct {
		scope store.Scope
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
		_, err := w.store.Search(
			w.ctx,
			stranger,
			store.SearchQuery{Terms: []store.SearchTerm{term("needle")}, SessionID: id},
		)
		refused(t, "a search in a session that is not seen", err, parley.CodeNotFound)
	}
}

func searchMoved(t *testing.T, w *world) {
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	session := w.session(t, func(s *parley.Session) { s.Title = "moved" })
	for range store.SearchBatch + 3 {
		w.note(t, session, parley.RoleUser, `{"text":"needle"}`)
	}
	project := w.choose(t, "/tmp/moved")
	count := func(scope store.Scope, project parley.ID) int {
		return len(w.search(t, scope, "needle", func(q *store.SearchQuery) {
			if !project.IsZero() {
				q.ProjectIDs = []parley.ID{project}
			}
		}).Hits)
	}
	expect := func(when string, theirs, here int) {
		t.Helper()
		w.indexed(t)
		if all, a, b := count(
			w.scope,
			parley.ID{},
		), count(
			stranger,
			parley.ID{},
		), count(
			w.scope,
			project.ID,
		); all != store.SearchBatch+3 || a != theirs ||
			b != here {
			t.Errorf("%s: found %d, by a stranger %d, in the project %d", when, all, a, b)
		}
		w.finds(t, "moved", "[moved]")
	}
	expect("at first", 0, 0)
	shared, private := parley.VisibilityWorkspace, parley.VisibilityPrivate
	for _, step := range []struct {
		when         string
		change       store.SessionChange
		theirs, here int
	}{
		{"shared", store.SessionChange{Visibility: &shared}, store.SearchBatch + 3, 0},
		{"in a project", store.SessionChange{ProjectID: &project.ID}, store.SearchBatch + 3, store.SearchBatch + 3},
		{"private again", store.SessionChange{Visibility: &private}, 0, store.SearchBatch + 3},
		{"detached", store.SessionChange{ProjectID: &parley.ID{}}, 0, 0},
		{"shared again", store.SessionChange{Visibility: &shared}, store.SearchBatch + 3, 0},
	} {
		_, err := w.store.UpdateSession(w.ctx, w.scope, session, step.change)
		must(t, "UpdateSession", err)
		expect(step.when, step.theirs, step.here)
	}
}
