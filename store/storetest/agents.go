package storetest

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// newAgent returns an agent that is not stored yet.
func (w *world) newAgent(slug string, tags ...string) parley.Agent {
	if tags == nil {
		tags = []string{}
	}
	agent := parley.Agent{
		ID:          parley.NewID(),
		WorkspaceID: w.scope.WorkspaceID,
		Slug:        slug,
		Name:        slug,
		Runtime:     parley.StandardRuntime,
		Tags:        tags,
		Status:      parley.AgentActive,
	}
	setting.Complete(&agent.Settings)
	return agent
}

func (w *world) createAgent(t reporter, slug string, tags ...string) parley.Agent {
	t.Helper()
	agent, _, err := w.store.CreateAgent(w.ctx, w.newAgent(slug, tags...), store.Idempotency{})
	must(t, "CreateAgent", err)
	return agent
}

func slugs(agents []parley.Agent) []string {
	out := []string{}
	for _, agent := range agents {
		out = append(out, agent.Slug)
	}
	return out
}

func testAgents(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"every workspace has the built-in one": testBuiltinAgent,
		"what is stored is read back":          testAgentRoundTrip,
		"its versions are listed by number":    testAgentVersionList,
		"each change is a version":             testAgentVersions,
		"two at once: one is told":             testAgentConflict,
		"slugs are unique in a workspace":      testAgentSlugs,
		"a key creates once":                   testAgentIdempotency,
		"lists by slug, status and tag":        testAgentLists,
		"owners, and who made a version":       testAgentOwners,
		"large ones end a page":                testAgentsLarge,
	})
}

// testAgentsLarge: a page ends with the row that makes it large, but not before the second.
func testAgentsLarge(t *testing.T, w *world) {
	for _, slug := range []string{"a1", "a2", "a3", "a4"} {
		agent := w.newAgent(slug)
		agent.SystemPrompt = new(strings.Repeat("x", parley.MaxPageBytes/2))
		_, _, err := w.store.CreateAgent(w.ctx, agent, store.Idempotency{})
		must(t, "CreateAgent", err)
	}
	for after, want := range map[string][]string{"": {"a1", "a2"}, "a1": {"a2", "a3"},
		"a3": {"a4", parley.BuiltinAgentSlug}} {
		agents, err := w.store.Agents(
			w.ctx,
			w.scope.WorkspaceID,
			store.AgentQuery{AfterSlug: after, Limit: parley.MaxPage},
		)
		must(t, "Agents", err)
		if got := slugs(agents); !slices.Equal(got, want) {
			t.Errorf("after %q: %q, want %q", after, got, want)
		}
	}
}

func testBuiltinAgent(t *testing.T, w *world) {
	for _, name := range []string{"default", "another"} {
		id, err := w.store.Workspace(w.ctx, name)
		must(t, "Workspace", err)
		agent, err := w.store.Agent(w.ctx, id, parley.BuiltinAgentSlug)
		must(t, "Agent", err)
		if agent.Name != "Parley" || agent.Runtime != parley.StandardRuntime || agent.Version != 1 ||
			agent.WorkspaceID != id ||
			*agent.SystemPrompt == "" ||
			len(*agent.Tools) != 1 ||
			(*agent.Tools)[0].Name != "current_time" {
			t.Errorf("the built-in agent of %s: %+v", name, agent)
		}
	}
}

func testAgentRoundTrip(t *testing.T, w *world) {
	temperature, seed, effort, retries := 0.7, int64(1)<<62, "high", 0
	agent := w.newAgent("full", "x", "y")
	agent.OwnerID, agent.LeadID = w.owner.ID, w.worker(t, "a-lead").ID
	agent.Description, agent.SystemPrompt, agent.Model = "What it does", new("You are {{agent.name}}."), "sim/echo"
	agent.Parameters = parley.Parameters{Temperature: &temperature, Seed: &seed, ReasoningEffort: &effort}
	agent.Tools = &[]parley.ToolRef{
		{Name: "current_time"},
		{
			Name: "ask",
			Definition: &parley.ToolDefinition{
				Name:        "ask",
				Description: "asks",
				Parameters:  []byte(`{"type":"object"}`),
			},
		},
	}
	agent.Policy = &parley.Policy{Kind: parley.PolicyRecent, Limit: 3}
	agent.Retry = &parley.RetryPolicy{
		Retries:   &retries,
		Sentences: map[parley.ErrorClass]string{parley.ClassInternal: "Oh."},
	}
	created, repeat, err := w.store.CreateAgent(w.ctx, agent, store.Idempotency{})
	must(t, "CreateAgent", err)
	if repeat || created.Version != 1 || created.CreatedAt == 0 || created.UpdatedAt != created.CreatedAt {
		t.Errorf(
			"created: repeat %t, version %d, at %v and %v",
			repeat,
			created.Version,
			created.CreatedAt,
			created.UpdatedAt,
		)
	}
	want := agent
	want.Version, want.CreatedAt, want.UpdatedAt = 1, created.CreatedAt, created.UpdatedAt
	for _, ref := range []string{created.ID.String(), "full"} {
		got, err := w.store.Agent(w.ctx, w.scope.WorkspaceID, ref)
		must(t, "Agent", err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", ref, diff)
		}
	}
	other := w.neighbour(t, "neighbour")
	for _, ref := range []string{created.ID.String(), "full", parley.NewID().String(), "", "no-such"} {
		_, err := w.store.Agent(w.ctx, other.scope.WorkspaceID, ref)
		refused(t, "an agent of another workspace", err, parley.CodeNotFound)
	}
}

func testAgentVersions(t *testing.T, w *world) {
	agent := w.createAgent(t, "worker")
	versions := []parley.Agent{agent}
	for i := range 3 {
		agent.Description = "change " + strconv.Itoa(i)
		next, err := w.store.UpdateAgent(w.ctx, agent)
		must(t, "UpdateAgent", err)
		if next.Version != agent.Version+1 || next.CreatedAt != agent.CreatedAt {
			t.Errorf(
				"version %d created %v after version %d created %v",
				next.Version,
				next.CreatedAt,
				agent.Version,
				agent.CreatedAt,
			)
		}
		agent = next
		versions = append(versions, agent)
	}
	for i, want := range versions {
		got, err := w.store.AgentVersion(w.ctx, w.scope.WorkspaceID, agent.ID, i+1)
		must(t, "AgentVersion", err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", i+1, diff)
		}
	}
	other := w.neighbour(t, "neighbour")
	_, err := w.store.AgentVersion(w.ctx, other.scope.WorkspaceID, agent.ID, 1)
	refused(t, "a version in another workspace", err, parley.CodeNotFound)
	_, err = w.store.AgentVersion(w.ctx, w.scope.WorkspaceID, agent.ID, 99)
	refused(t, "a version that never existed", err, parley.CodeNotFound)
}

func testAgentConflict(t *testing.T, w *world) {
	agent := w.createAgent(t, "worker")
	mine, yours := agent, agent
	mine.Description, yours.Description = "mine", "yours"
	_, err := w.store.UpdateAgent(w.ctx, mine)
	must(t, "UpdateAgent", err)
	_, err = w.store.UpdateAgent(w.ctx, yours)
	refused(t, "a change to an old version", err, parley.CodeConflict)
	got, err := w.store.Agent(w.ctx, w.scope.WorkspaceID, "worker")
	must(t, "Agent", err)
	if got.Description != "mine" || got.Version != 2 {
		t.Errorf("after the refusal: version %d, %q", got.Version, got.Description)
	}
	foreign := got
	foreign.WorkspaceID = w.neighbour(t, "neighbour").scope.WorkspaceID
	_, err = w.store.UpdateAgent(w.ctx, foreign)
	refused(t, "a change from another workspace", err, parley.CodeNotFound)
}

func testAgentSlugs(t *testing.T, w *world) {
	w.createAgent(t, "taken")
	_, _, err := w.store.CreateAgent(w.ctx, w.newAgent("taken"), store.Idempotency{})
	refused(t, "a second agent with the slug", err, parley.CodeConflict)
	second := w.createAgent(t, "free")
	second.Slug = "taken"
	_, err = w.store.UpdateAgent(w.ctx, second)
	refused(t, "a change to a taken slug", err, parley.CodeConflict)
	second.Slug = "freed"
	_, err = w.store.UpdateAgent(w.ctx, second)
	must(t, "a change of slug", err)
	_, err = w.store.Agent(w.ctx, w.scope.WorkspaceID, "free")
	refused(t, "the old slug", err, parley.CodeNotFound)
	w.createAgent(t, "free")
	w.neighbour(t, "neighbour").createAgent(t, "taken")
}

func testAgentIdempotency(t *testing.T, w *world) {
	key := store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))}
	first, repeat, err := w.store.CreateAgent(w.ctx, w.newAgent("once"), key)
	must(t, "CreateAgent", err)
	if repeat {
		t.Error("the first creation is called a repeat")
	}
	changed := first
	changed.Description = "changed since"
	_, err = w.store.UpdateAgent(w.ctx, changed)
	must(t, "UpdateAgent", err)
	again, repeat, err := w.store.CreateAgent(w.ctx, w.newAgent("once"), key)
	must(t, "the repeat", err)
	if diff := cmp.Diff(first, again); diff != "" || !repeat {
		t.Errorf("repeat %t; the first answer (-want +got):\n%s", repeat, diff)
	}
	_, _, err = w.store.CreateAgent(
		w.ctx,
		w.newAgent("twice"),
		store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("another"))},
	)
	refused(t, "another body under the key", err, parley.CodeKeyReused)
	other := w.neighbour(t, "neighbour")
	if _, repeat, err := w.store.CreateAgent(w.ctx, other.newAgent("once"), key); err != nil || repeat {
		t.Errorf("the key of another workspace: repeat %t, %v", repeat, err)
	}
}

func testAgentLists(t *testing.T, w *world) {
	for _, slug := range []string{"delta", "alpha", "charlie", "bravo"} {
		w.createAgent(t, slug, "team", slug)
	}
	w.neighbour(t, "neighbour").createAgent(t, "foreign", "team")
	gone, err := w.store.Agent(w.ctx, w.scope.WorkspaceID, "charlie")
	must(t, "Agent", err)
	gone.Status, gone.Tags = parley.AgentArchived, []string{"team", "old"}
	_, err = w.store.UpdateAgent(w.ctx, gone)
	must(t, "UpdateAgent", err)
	for name, test := range map[string]struct {
		query store.AgentQuery
		want  []string
	}{
		"all":    {store.AgentQuery{}, []string{"alpha", "bravo", "charlie", "delta", "parley"}},
		"a page": {store.AgentQuery{AfterSlug: "alpha", Limit: 2}, []string{"bravo", "charlie"}},
		"the page before": {store.AgentQuery{AfterSlug: "delta", Limit: 2, Descending: true},
			[]string{"charlie", "bravo"}},
		"active": {store.AgentQuery{Status: parley.AgentActive},
			[]string{"alpha", "bravo", "delta", "parley"}},
		"archived": {store.AgentQuery{Status: parley.AgentArchived}, []string{"charlie"}},
		"tag":      {store.AgentQuery{Tag: "team"}, []string{"alpha", "bravo", "charlie", "delta"}},
		"tag and status": {store.AgentQuery{Tag: "team", Status: parley.AgentActive, AfterSlug: "alpha"},
			[]string{"bravo", "delta"}},
		"a tag that is new": {store.AgentQuery{Tag: "old"}, []string{"charlie"}},
		"a tag taken off":   {store.AgentQuery{Tag: "charlie"}, []string{}},
	} {
		got, err := w.store.Agents(w.ctx, w.scope.WorkspaceID, test.query)
		must(t, name, err)
		if diff := cmp.Diff(test.want, slugs(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if slices.ContainsFunc(got, func(a parley.Agent) bool { return a.WorkspaceID != w.scope.WorkspaceID }) {
			t.Errorf("%s lists an agent of another workspace", name)
		}
	}
}

func testAgentVersionList(t *testing.T, w *world) {
	agent, err := w.store.Agent(w.ctx, w.scope.WorkspaceID, w.agent.ID.String())
	must(t, "Agent", err)
	for version := 2; version <= 4; version++ {
		agent.Description = strconv.Itoa(version)
		agent, err = w.store.UpdateAgent(w.ctx, agent)
		must(t, "UpdateAgent", err)
	}
	other, err := w.store.Workspace(w.ctx, "another")
	must(t, "Workspace", err)
	for _, test := range []struct {
		name      string
		workspace parley.ID
		query     store.AgentVersionQuery
		want      []int
	}{
		{"all", w.scope.WorkspaceID, store.AgentVersionQuery{Limit: 10}, []int{4, 3, 2, 1}},
		{"the latest two", w.scope.WorkspaceID, store.AgentVersionQuery{Limit: 2}, []int{4, 3}},
		{"those before 3", w.scope.WorkspaceID, store.AgentVersionQuery{After: 3, Limit: 10}, []int{2, 1}},
		{
			"two after the first", w.scope.WorkspaceID,
			store.AgentVersionQuery{Ascending: true, After: 1, Limit: 2},
			[]int{2, 3},
		},
		{"of another workspace", other, store.AgentVersionQuery{Limit: 10}, []int{}},
	} {
		versions, err := w.store.AgentVersions(w.ctx, test.workspace, agent.ID, test.query)
		must(t, "AgentVersions", err)
		got := []int{}
		for _, version := range versions {
			got = append(got, version.Version)
			if version.Version > 1 && version.Description != strconv.Itoa(version.Version) {
				t.Errorf("%s: version %d is described as %q", test.name, version.Version, version.Description)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
