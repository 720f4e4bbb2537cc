package storetest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// recorder records the store's commits.
type recorder struct {
	mu      sync.Mutex // guards commits
	commits []store.Commit
}

// Committed implements store.Hints.
func (r *recorder) Committed(commit store.Commit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits = append(r.commits, commit)
}

// feed returns the types of list changes announced for a session.
func (r *recorder) feed(session parley.ID) (types []parley.EventType) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, commit := range r.commits {
		for _, event := range commit.Feed {
			if event.SessionID == session {
				types = append(types, event.Type)
			}
		}
	}
	return types
}

// recorded returns a world whose store is listened to. A commit is announced before any later transition returns, so a
// test makes one more transition before reading.
func recorded(t *testing.T, open Open) (*world, *recorder) {
	t.Helper()
	w, heard := &world{ctx: t.Context(), store: open(t)}, &recorder{}
	w.store.Listen(heard)
	w.enter(t, "default")
	w.process = w.register(t)
	return w, heard
}

// mostPages bounds endless paging; no list of the tests has as many pages.
const mostPages = 100

// guest returns a principal of the workspace who is neither owner nor admin.
func (w *world) guest() store.Scope {
	return store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
}

func ids[T any](rows []T, id func(T) parley.ID) []string {
	out := []string{}
	for _, row := range rows {
		out = append(out, id(row).String())
	}
	return out
}

func sessionIDs(rows []parley.Session) []string {
	return ids(rows, func(s parley.Session) parley.ID { return s.ID })
}

func texts(list []parley.ID) []string {
	return ids(list, func(id parley.ID) parley.ID { return id })
}

func testSessions(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"each filter finds its sessions":       testSessionFilters,
		"pages hold still while others arrive": testSessionPages,
		"a change is read back":                testSessionChange,
		"changes of different parts meet":      testSessionChangesMeet,
		"a change may set a condition":         testSessionChangeIf,
		"a change of nothing writes nothing":   testSessionChangeOfNothing,
		"tags follow changes":                  testSessionTags,
		"archiving waits for turns":            testSessionArchive,
		"a feature is archived as a whole":     testArchiveFeature,
		"deleted sessions are gone everywhere": testSessionGone,
		"a key that somebody else took":        testTakenKey,
		"heads tell where sessions stand":      testHeads,
		"what may not be seen is not there":    testScopes,
		"large ones end a page":                testSessionsLarge,
	})
	t.Run("a change is told to the feed", func(t *testing.T) {
		t.Parallel()
		w, heard := recorded(t, open)
		id := w.session(t)
		title := "Renamed"
		_, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Title: &title})
		must(t, "UpdateSession", err)
		w.session(t)
		types := heard.feed(id)
		if len(types) == 0 || types[len(types)-1] != parley.FeedSessionUpdated {
			t.Errorf("the feed got %v; want %s at the end", types, parley.FeedSessionUpdated)
		}
		if events, err := w.store.Events(w.ctx, w.scope, id, 0, 10); err != nil || len(events) != 0 {
			t.Errorf("a change of the session left %d durable events, %v", len(events), err)
		}
	})
}

func testSessionFilters(t *testing.T, w *world) {
	project, _, err := w.store.ChooseProject(
		w.ctx,
		parley.Project{ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Path: "/srv/atlas", Name: "atlas"},
	)
	must(t, "ChooseProject", err)
	agent, _, err := w.store.CreateAgent(w.ctx, w.newAgent("other"), store.Idempotency{})
	must(t, "CreateAgent", err)
	plain := w.session(t)
	inProject := w.session(t, func(s *parley.Session) { s.ProjectID = project.ID })
	child := w.session(t, func(s *parley.Session) { s.ParentSessionID = plain; s.Kind = parley.KindTool })
	typed := w.session(t, func(s *parley.Session) { s.Type, s.Feature, s.Task = "build", "search", "index" })
	background := w.session(t, func(s *parley.Session) { s.Mode = parley.ModeBackground; s.AgentID = agent.ID })
	tagged := w.session(t, func(s *parley.Session) { s.Tags = []string{"red", "blue"} })
	pinned := w.session(t)
	archived := w.session(t)
	done := w.session(t)
	yes, no := true, false
	_, err = w.store.UpdateSession(w.ctx, w.scope, pinned, store.SessionChange{Pinned: &yes})
	must(t, "UpdateSession", err)
	_, err = w.store.UpdateSession(w.ctx, w.scope, archived, store.SessionChange{Archived: &yes})
	must(t, "UpdateSession", err)
	w.exchange(t, done, "question", "answer")
	running := w.started(t, "run").Session.ID
	all := []parley.ID{plain, inProject, child, typed, background, tagged, pinned, archived, done, running}
	without := func(out ...parley.ID) []parley.ID {
		return slices.DeleteFunc(slices.Clone(all), func(id parley.ID) bool { return slices.Contains(out, id) })
	}
	made := w.sessionState(t, plain).CreatedAt

	for name, test := range map[string]struct {
		query store.SessionQuery
		want  []parley.ID
	}{
		"none":            {store.SessionQuery{}, all},
		"agent":           {store.SessionQuery{AgentID: agent.ID}, []parley.ID{background}},
		"project":         {store.SessionQuery{ProjectID: project.ID}, []parley.ID{inProject}},
		"parent":          {store.SessionQuery{ParentID: plain}, []parley.ID{child}},
		"type":            {store.SessionQuery{Type: "build"}, []parley.ID{typed}},
		"feature":         {store.SessionQuery{Feature: "search"}, []parley.ID{typed}},
		"task":            {store.SessionQuery{Task: "index"}, []parley.ID{typed}},
		"kind tool":       {store.SessionQuery{Kind: parley.KindTool}, []parley.ID{child}},
		"kind agent":      {store.SessionQuery{Kind: parley.KindAgent}, without(child)},
		"background":      {store.SessionQuery{Mode: parley.ModeBackground}, []parley.ID{background}},
		"foreground":      {store.SessionQuery{Mode: parley.ModeForeground}, without(background)},
		"pending":         {store.SessionQuery{Status: parley.SessionPending}, without(done, running)},
		"running":         {store.SessionQuery{Status: parley.SessionRunning}, []parley.ID{running}},
		"completed":       {store.SessionQuery{Status: parley.SessionCompleted}, []parley.ID{done}},
		"archived":        {store.SessionQuery{Archived: &yes}, []parley.ID{archived}},
		"active":          {store.SessionQuery{Archived: &no}, without(archived)},
		"pinned":          {store.SessionQuery{Pinned: &yes}, []parley.ID{pinned}},
		"not pinned":      {store.SessionQuery{Pinned: &no}, without(pinned)},
		"tag":             {store.SessionQuery{Tag: "blue"}, []parley.ID{tagged}},
		"tag of nobody":   {store.SessionQuery{Tag: "green"}, nil},
		"from":            {store.SessionQuery{CreatedFrom: made}, all},
		"to is exclusive": {store.SessionQuery{CreatedTo: made}, nil},
		"far future":      {store.SessionQuery{CreatedFrom: made + 1<<40}, nil},
		"several": {store.SessionQuery{Type: "build", Feature: "search", Task: "index", AgentID: w.agent.ID,
			Pinned: &no}, []parley.ID{typed}},
		"several, no match": {store.SessionQuery{Type: "build", Tag: "red"}, nil},
	} {
		for _, ascending := range []bool{false, true} {
			test.query.Ascending = ascending
			got, err := w.store.Sessions(w.ctx, w.scope, test.query)
			must(t, name, err)
			want := texts(test.want)
			found := sessionIDs(got)
			slices.Sort(want)
			slices.Sort(found)
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("%s, ascending %t (-want +got):\n%s", name, ascending, diff)
			}
			if !slices.IsSortedFunc(got, func(a, b parley.Session) int {
				order := max(-1, min(1, int(a.UpdatedAt-b.UpdatedAt)))
				if order == 0 {
					order = a.ID.Compare(b.ID)
				}
				if !ascending {
					order = -order
				}
				return order
			}) {
				t.Errorf("%s, ascending %t: not in the order of last activity", name, ascending)
			}
			for _, s := range got {
				if diff := cmp.Diff(w.sessionState(t, s.ID), s); diff != "" {
					t.Errorf("%s: a session in the list differs from the session alone (-alone +list):\n%s", name, diff)
				}
			}
		}
	}
}

func testSessionPages(t *testing.T, w *world) {
	var made []parley.ID
	for range 23 {
		made = append(made, w.session(t))
	}
	for _, ascending := range []bool{false, true} {
		var seen []parley.ID
		query := store.SessionQuery{Ascending: ascending, Limit: 4}
		for range mostPages {
			page, err := w.store.Sessions(w.ctx, w.scope, query)
			must(t, "Sessions", err)
			for _, s := range page {
				if slices.Contains(made, s.ID) {
					seen = append(seen, s.ID)
				}
			}
			if len(page) < query.Limit || len(seen) == len(made) {
				break
			}
			last := page[len(page)-1]
			query.AfterUpdated, query.AfterID = last.UpdatedAt, last.ID
			w.session(t) // somebody else is busy
		}
		want := slices.Clone(made)
		if !ascending {
			slices.Reverse(want)
		}
		if diff := cmp.Diff(texts(want), texts(seen)); diff != "" {
			t.Errorf("ascending %t: the pages together (-want +got):\n%s", ascending, diff)
		}
	}
}

// settingAll changes every setting to the given values, including absent ones.
func settingAll(t reporter, s parley.Settings) (patch parley.SettingsPatch) {
	t.Helper()
	every := setting.AppendJSON([]byte(`{"":0`), &s)
	must(t, "read a patch", json.Unmarshal(append(every, '}'), &patch))
	return patch
}

func to[T any](value T) parley.Change[T] { return parley.Change[T]{Set: true, Value: value} }

func testSessionChangesMeet(t *testing.T, w *world) { changesMeet(t, w, w) }

// changesMeet changes every part of a session and of a message's marks concurrently, each in its own call from one
// process or the other: no change undoes another.
func changesMeet(t *testing.T, w, other *world) {
	id := w.session(t)
	w.exchange(t, id, "question", "answer")
	message := w.snapshot(t, id).Record[0].ID
	title, instructions, yes, tags, metadata := "Title", "Be brief.", true, []string{"a"}, json.RawMessage(`{"k":1}`)
	temperature, tokens, seed, effort, prompt := 0.5, 100, int64(7), "low", "You are terse."
	during, policy := parley.DuringSteer, &parley.Policy{Kind: parley.PolicyRecent, Limit: 7}
	tools := &[]parley.ToolRef{{Name: "current_time"}}
	var group sync.WaitGroup
	stores := []store.Store{w.store, other.store}
	for i, change := range []store.SessionChange{
		{Title: &title}, {Instructions: &instructions}, {Pinned: &yes}, {Tags: &tags}, {Metadata: &metadata},
		{During: &during}, {Settings: parley.SettingsPatch{Policy: to(policy)}},
		{Settings: parley.SettingsPatch{Model: to(parley.ModelID("sim/echo"))}},
		{Settings: parley.SettingsPatch{SystemPrompt: to(&prompt)}},
		{Settings: parley.SettingsPatch{Temperature: to(&temperature)}},
		{Settings: parley.SettingsPatch{TopP: to(&temperature)}},
		{Settings: parley.SettingsPatch{MaxTokens: to(&tokens)}}, {Settings: parley.SettingsPatch{Seed: to(&seed)}},
		{Settings: parley.SettingsPatch{ReasoningEffort: to(&effort)}},
		{Settings: parley.SettingsPatch{Tools: to(tools)}},
	} {
		group.Go(func() {
			if _, err := stores[i%2].UpdateSession(w.ctx, w.scope, id, change); err != nil {
				t.Errorf("UpdateSession: %v", err)
			}
		})
	}
	for i, change := range []parley.MarksChange{{Pinned: &yes}, {ContextEdge: &yes}, {SetAside: &yes}} {
		group.Go(func() {
			if _, err := stores[i%2].MarkMessage(w.ctx, w.scope, parley.ID{}, message, change); err != nil {
				t.Errorf("MarkMessage: %v", err)
			}
		})
	}
	group.Wait()
	got := w.sessionState(t, id)
	want := got
	want.Title, want.Instructions, want.Pinned, want.Tags, want.Metadata, want.During = title, instructions, yes, tags,
		metadata, during
	want.Settings = parley.Settings{
		Model:        "sim/echo",
		SystemPrompt: &prompt,
		Tools:        tools,
		Policy:       policy,
		Parameters: parley.Parameters{
			Temperature:     &temperature,
			TopP:            &temperature,
			MaxTokens:       &tokens,
			Seed:            &seed,
			ReasoningEffort: &effort,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a change was lost (-want +got):\n%s", diff)
	}
	if marks := w.check(t, id).Record[0].Marks; marks != (parley.Marks{Pinned: true, ContextEdge: true,
		SetAside: true}) {
		t.Errorf("a mark was lost: %+v", marks)
	}
}

func testSessionChange(t *testing.T, w *world) {
	project, _, err := w.store.ChooseProject(
		w.ctx,
		parley.Project{ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Path: "/srv/p", Name: "p"},
	)
	must(t, "ChooseProject", err)
	id := w.session(t)
	before := w.sessionState(t, id)
	title, instructions, pinned, tags := "Title", "Be brief.", true, []string{"b", "a"}
	metadata := json.RawMessage(`{"k":[1,2]}`)
	temperature, prompt := 0.5, "You are terse."
	set := parley.Settings{
		Model:        "sim/echo",
		SystemPrompt: &prompt,
		Parameters:   parley.Parameters{Temperature: &temperature},
		Tools:        &[]parley.ToolRef{{Name: "current_time"}},
		Policy: &parley.Policy{
			Kind:  parley.PolicyRecent,
			Limit: 7,
		},
		Retry:           &parley.RetryPolicy{Retries: new(2), Backoff: parley.BackoffLinear},
		Compaction:      &parley.CompactionSettings{Model: "sim/echo"},
		ApprovalTimeout: new(60),
	}
	during, visibility := parley.DuringReject, parley.VisibilityWorkspace
	answer, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{
		Title:        &title,
		Instructions: &instructions,
		Pinned:       &pinned,
		Tags:         &tags,
		ProjectID:    &project.ID,
		Metadata:     &metadata,
		Settings:     settingAll(t, set),
		During:       &during,
		Visibility:   &visibility,
	})
	must(t, "UpdateSession", err)
	want := before // not activity, so its time stays
	want.Title, want.Instructions, want.Pinned, want.Tags, want.ProjectID, want.Metadata = title, instructions, true,
		tags, project.ID, metadata
	want.Settings, want.During, want.Visibility = set, during, visibility
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, w.sessionState(t, id)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	w.exchange(t, id, "does the writer know it too?", "yes")
	if after := w.sessionState(t, id); after.Title != title || !after.Pinned || after.During != during {
		t.Errorf("a turn undid the change: %+v", after)
	}

	none, noTags := parley.ID{}, []string(nil)
	answer, err = w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{
		ProjectID: &none, Tags: &noTags, Settings: settingAll(t, parley.Settings{}),
	})
	must(t, "UpdateSession", err)
	if !answer.ProjectID.IsZero() || len(answer.Tags) != 0 || answer.Tags == nil || !setting.IsZero(&answer.Settings) {
		t.Errorf("cleared fields are set: %+v", answer)
	}
	if diff := cmp.Diff(answer, w.sessionState(t, id)); diff != "" {
		t.Errorf("read back after clearing (-want +got):\n%s", diff)
	}

	foreign := parley.NewID()
	_, err = w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{ProjectID: &foreign, Title: &prompt})
	refused(t, "a missing project", err, parley.CodeNotFound)
	if got := w.sessionState(t, id).Title; got != title {
		t.Errorf("a refused change was partly written: title %q", got)
	}
}

func testSessionChangeIf(t *testing.T, w *world) {
	id := w.session(t, func(s *parley.Session) { s.Title = "one" })
	was := func(title string) func(*parley.Session) error {
		return func(current *parley.Session) error {
			if current.Title != title {
				return parley.Errorf(parley.CodeChanged, "it is %s", current.Title)
			}
			return nil
		}
	}
	before := w.snapshot(t, id)
	_, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Title: new("no"), If: was("two")})
	refused(t, "a change of another state", err, parley.CodeChanged)
	w.unchanged(t, "a refused change", id, before)
	_, err = w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Title: new("two"), If: was("one")})
	must(t, "UpdateSession", err)
	var racers sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		racers.Go(func() {
			_, errs[i] = w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{
				Title: new("racer " + strconv.Itoa(i)), If: was("two"),
			})
		})
	}
	racers.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		refused(t, "a change that came second", err, parley.CodeChanged)
	}
	if won != 1 {
		t.Errorf("%d changes of one state were made, want 1", won)
	}
}

func testSessionChangeOfNothing(t *testing.T, w *world) {
	yes, model := true, parley.ModelID("sim/echo")
	id := w.session(t, func(s *parley.Session) {
		s.Title, s.Tags, s.Pinned, s.Model = "one", []string{"a"}, true, model
	})
	before := w.snapshot(t, id)
	ctx, _ := w.calls("patch")
	_, err := w.store.UpdateSession(ctx, w.scope, id, store.SessionChange{
		Title: new("one"), Tags: &[]string{"a"}, Pinned: &yes,
		Settings: parley.SettingsPatch{Model: parley.Change[parley.ModelID]{Set: true, Value: model}},
	})
	must(t, "UpdateSession", err)
	w.unchanged(t, "a change of nothing", id, before)
	w.tells(t, "patch")
}

func testSessionTags(t *testing.T, w *world) {
	id := w.session(t, func(s *parley.Session) { s.Tags = []string{"one", "two"} })
	for _, step := range []struct{ tags, has, lacks []string }{
		{[]string{"two", "three"}, []string{"two", "three"}, []string{"one"}},
		{[]string{}, nil, []string{"one", "two", "three"}},
		{[]string{"four", "four"}, []string{"four"}, []string{"two"}},
	} {
		_, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Tags: &step.tags})
		must(t, "UpdateSession", err)
		for want, tags := range map[int][]string{1: step.has, 0: step.lacks} {
			for _, tag := range tags {
				found, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{Tag: tag})
				must(t, "Sessions", err)
				if len(found) != want {
					t.Errorf("with tags %v the tag %q finds %d sessions; want %d", step.tags, tag, len(found), want)
				}
			}
		}
	}
}

func testSessionArchive(t *testing.T, w *world) {
	claim := w.started(t, "work")
	id, yes, no := claim.Session.ID, true, false
	before := w.snapshot(t, id)
	_, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Archived: &yes})
	refused(t, "archiving while a turn is unfinished", err, parley.CodeConflict)
	w.unchanged(t, "archiving", id, before)
	w.answer(t, claim, "done")
	archived, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Archived: &yes})
	must(t, "archiving", err)
	if archived.ArchivedAt == 0 || archived.Status != parley.SessionCompleted {
		t.Errorf("archived at %v with status %s", archived.ArchivedAt, archived.Status)
	}
	again, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Archived: &yes})
	must(t, "archiving again", err)
	if again.ArchivedAt != archived.ArchivedAt {
		t.Errorf("archiving again moved its time")
	}
	_, err = w.store.PostMessage(w.ctx, w.scope, id, w.say("anyone?"), parley.ID{})
	refused(t, "a post to an archived session", err, parley.CodeArchived)
	reopened, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Archived: &no})
	must(t, "reopening", err)
	if reopened.ArchivedAt != 0 {
		t.Errorf("reopened and still archived at %v", reopened.ArchivedAt)
	}
	w.exchange(t, id, "anyone?", "yes")
}

func testArchiveFeature(t *testing.T, w *world) {
	feature := func(name string) func(*parley.Session) { return func(s *parley.Session) { s.Feature = name } }
	idle, busy, other := w.session(t, feature("f")), w.session(t, feature("f")), w.session(t, feature("g"))
	private := w.session(t, feature("f"))
	w.post(t, busy, w.say("work"))
	archived, stillBusy, err := w.store.ArchiveFeature(w.ctx, w.scope, "f")
	must(t, "ArchiveFeature", err)
	slices.SortFunc(archived, parley.ID.Compare)
	if diff := cmp.Diff(texts([]parley.ID{idle, private}), texts(archived)); diff != "" {
		t.Errorf("archived (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(texts([]parley.ID{busy}), texts(stillBusy)); diff != "" {
		t.Errorf("busy (-want +got):\n%s", diff)
	}
	for id, want := range map[parley.ID]bool{idle: true, private: true, busy: false, other: false} {
		if got := w.sessionState(t, id).ArchivedAt != 0; got != want {
			t.Errorf("session archived: %t; want %t", got, want)
		}
	}
	archived, stillBusy, err = w.store.ArchiveFeature(w.ctx, w.guest(), "g")
	if err != nil || len(archived)+len(stillBusy) != 0 {
		t.Errorf("a guest archived %v (busy %v, %v)", archived, stillBusy, err)
	}
}

func testSessionGone(t *testing.T, w *world) {
	keep := w.session(t)
	id := w.session(t, func(s *parley.Session) { s.Key, s.Tags, s.Feature = "k", []string{"t"}, "f" })
	posted := w.exchange(t, id, "question", "answer")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, id))
	for name, err := range w.sessionReads(id, posted.Message.ID, posted.Turn.ID, parley.NewID(), w.scope) {
		refused(t, name+" of a deleted session", err, parley.CodeNotFound)
	}
	_, err := w.store.SessionByKey(w.ctx, w.scope, "k")
	refused(t, "SessionByKey", err, parley.CodeNotFound)
	for _, query := range []store.SessionQuery{{}, {Tag: "t"}, {Feature: "f"}, {AgentID: w.agent.ID}} {
		list, err := w.store.Sessions(w.ctx, w.scope, query)
		must(t, "Sessions", err)
		if slices.Contains(sessionIDs(list), id.String()) {
			t.Errorf("%+v still lists a deleted session", query)
		}
	}
	w.sessionState(t, keep)
}

// testTakenKey: a session is found by its key, with its own settings, by those who see it.
func testTakenKey(t *testing.T, w *world) {
	taken := w.session(t, func(s *parley.Session) { s.Key, s.Visibility = "k", parley.VisibilityWorkspace })
	hidden := w.session(t, func(s *parley.Session) { s.Key = "hidden" })
	agent := w.createAgent(t, "other").ID
	guest := w.guest()
	for what, try := range map[string]struct {
		key   string
		named store.Named
		agent parley.ID
		sees  parley.Visibility
		want  parley.ID // zero: refused
	}{
		"as it is": {"k", store.Named{}, agent, parley.VisibilityPrivate, taken},
		"by its own settings": {"k", store.Named{Agent: true, Visibility: true}, w.agent.ID,
			parley.VisibilityWorkspace, taken},
		"as one of another agent": {"k", store.Named{Agent: true}, agent, parley.VisibilityWorkspace, parley.ID{}},
		"as a private one": {"k", store.Named{Visibility: true}, w.agent.ID, parley.VisibilityPrivate,
			parley.ID{}},
		"that they may not look at": {"hidden", store.Named{}, w.agent.ID, parley.VisibilityPrivate, parley.ID{}},
	} {
		session := w.newSession()
		session.OwnerID, session.Key, session.AgentID, session.Visibility = guest.ViewerID, try.key, try.agent, try.sees
		first := w.say("mine")
		opened, err := w.store.EnsureSession(
			w.ctx,
			guest,
			store.NewSession{Session: session, Named: try.named, First: &first},
			parley.ID{},
		)
		if try.want.IsZero() {
			refused(t, "asking for it "+what, err, parley.CodeConflict)
			continue
		}
		must(t, "EnsureSession", err)
		if opened.Session.ID != try.want || opened.Created {
			t.Errorf("%s: %s, created %t", what, opened.Session.ID, opened.Created)
		}
	}
	if got := w.sessionState(t, hidden).LastSequence; got != 0 {
		t.Errorf("the hidden session has %d messages", got)
	}
}

func testHeads(t *testing.T, w *world) {
	deleted := w.session(t)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, deleted))
	asked := []parley.ID{parley.NewID(), deleted}
	want := map[parley.ID]store.HeadState{}
	for i := range 40 {
		id := w.session(t, func(s *parley.Session) {
			if i%2 == 0 {
				s.Visibility = parley.VisibilityWorkspace
			}
		})
		if i%8 == 0 {
			w.exchange(t, id, "question "+strconv.Itoa(i), "answer")
		}
		asked = append(asked, id)
		state := w.sessionState(t, id)
		want[id] = store.HeadState{
			SessionID:  id,
			LastEvent:  state.LastEvent,
			OwnerID:    state.OwnerID,
			Visibility: state.Visibility,
		}
	}
	got, err := w.store.Heads(w.ctx, asked)
	must(t, "Heads", err)
	if len(got) != len(asked) {
		t.Fatalf("%d heads; want %d", len(got), len(asked))
	}
	for _, state := range got {
		if known, ok := want[state.SessionID]; ok != !state.Deleted || ok && known != state {
			t.Errorf("head %+v; want %+v (known %t)", state, known, ok)
		}
	}
	if none, err := w.store.Heads(w.ctx, nil); err != nil || len(none) != 0 {
		t.Errorf("no sessions have %d heads, %v", len(none), err)
	}
}

// testSessionsLarge: a page of sessions or approvals ends with the row that makes it large.
func testSessionsLarge(t *testing.T, w *world) {
	large := strings.Repeat("x", parley.MaxPageBytes/2)
	for range 3 {
		_, err := w.store.UpdateSession(w.ctx, w.scope, w.session(t), store.SessionChange{Instructions: &large})
		must(t, "UpdateSession", err)
	}
	sessions, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{Limit: parley.MaxPage})
	must(t, "Sessions", err)
	if len(sessions) != 2 {
		t.Errorf("a page of %d large sessions", len(sessions))
	}
	claim := w.started(t, "one")
	asked := askedCall{tool: "write", arguments: `{"n":"` + large + `"}`}
	w.callEach(t, claim.Fence, asked, asked, asked)
	for _, of := range []parley.ID{{}, claim.Session.ID} {
		approvals, err := w.store.Approvals(w.ctx, w.scope, store.ApprovalQuery{SessionID: of, Limit: parley.MaxPage})
		must(t, "Approvals", err)
		if len(approvals) != 2 {
			t.Errorf("a page of %d large approvals", len(approvals))
		}
	}
}
