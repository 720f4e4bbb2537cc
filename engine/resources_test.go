package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

func TestAgentPatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	ctx := t.Context()
	_, _, err := h.CreateAgent(
		ctx,
		h.member,
		engine.AgentInput{
			Name:     "One",
			Settings: parley.Settings{Parameters: parley.Parameters{Temperature: ptr(0.5), Seed: ptr(int64(7))}},
		},
		store.Idempotency{},
	)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := h.UpdateAgent(ctx, h.member, "one", engine.AgentPatch{
		Name:          parley.Change[string]{Set: true, Value: "Two"},
		SettingsPatch: parley.SettingsPatch{Temperature: parley.Change[*float64]{Set: true}},
	})
	if err != nil || patched.Version != 2 || patched.Name != "Two" || patched.Slug != "one" ||
		patched.Temperature != nil ||
		*patched.Seed != 7 {
		t.Fatalf("UpdateAgent = %+v, %v", patched, err)
	}
	old, err := h.AgentVersion(ctx, h.reader, "one", 1)
	if err != nil || old.Name != "One" || *old.Temperature != 0.5 {
		t.Errorf("version 1 = %+v, %v", old, err)
	}
	_, err = h.UpdateAgent(
		ctx,
		h.member,
		"one",
		engine.AgentPatch{Slug: parley.Change[string]{Set: true, Value: parley.BuiltinAgentSlug}},
	)
	wantCode(t, err, parley.CodeConflict, "")
	_, err = h.UpdateAgent(
		ctx,
		h.member,
		"one",
		engine.AgentPatch{LeadID: parley.Change[string]{Set: true, Value: "one"}},
	)
	wantCode(t, err, parley.CodeInvalid, "lead_id")

	// Patches of different fields at the same time all survive; those that change nothing make no version.
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			patch := engine.AgentPatch{Description: parley.Change[string]{Set: true, Value: "d"}}
			if i%2 == 0 {
				patch = engine.AgentPatch{
					SettingsPatch: parley.SettingsPatch{TopP: parley.Change[*float64]{Set: true, Value: ptr(0.9)}},
				}
			}
			if _, err := h.UpdateAgent(ctx, h.member, "one", patch); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	now, err := h.Agent(ctx, h.member, "one")
	if err != nil || now.Version != 4 || now.Description != "d" || now.TopP == nil || now.Name != "Two" {
		t.Errorf("after concurrent patches: %+v, %v", now, err)
	}
	archived, err := h.ArchiveAgent(ctx, h.member, "one")
	if err != nil || archived.Status != parley.AgentArchived {
		t.Fatalf("ArchiveAgent = %+v, %v", archived, err)
	}
	again, err := h.ArchiveAgent(ctx, h.member, "one")
	if err != nil || again.Version != archived.Version {
		t.Errorf("archiving twice made version %d, %v", again.Version, err)
	}
	_, err = h.OpenSession(ctx, h.member, engine.SessionInput{AgentID: "one"}, store.Idempotency{})
	wantCode(t, err, parley.CodeArchived, "")
	page, err := h.Agents(ctx, h.member, engine.AgentList{})
	if err != nil || len(page.Data) != 1 || page.Data[0].Slug != parley.BuiltinAgentSlug {
		t.Errorf("active agents: %+v, %v", page.Data, err)
	}
}

func TestSessionPatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	ctx := t.Context()
	session := h.open(
		t,
		engine.SessionInput{
			Settings: parley.Settings{Model: "sim/echo", Parameters: parley.Parameters{Seed: ptr(int64(1))}},
		},
	)
	var wg sync.WaitGroup
	for _, patch := range []engine.SessionPatch{
		{SettingsPatch: parley.SettingsPatch{Model: parley.Change[parley.ModelID]{Set: true, Value: "sim/reason"}}},
		{SettingsPatch: parley.SettingsPatch{Temperature: parley.Change[*float64]{Set: true, Value: ptr(0.0)}}},
		{SettingsPatch: parley.SettingsPatch{SystemPrompt: parley.Change[*string]{Set: true, Value: ptr("Be brief.")}}},
		{Tags: parley.Change[[]string]{Set: true, Value: []string{"a", "a", " b "}}},
		{Pinned: parley.Change[bool]{Set: true, Value: true}},
	} {
		wg.Go(func() {
			if _, err := h.UpdateSession(ctx, h.member, session.ID, patch); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := h.Session(ctx, h.member, session.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := parley.Settings{
		Model:        "sim/reason",
		SystemPrompt: ptr("Be brief."),
		Parameters:   parley.Parameters{Seed: ptr(int64(1)), Temperature: ptr(0.0)},
	}
	if diff := cmp.Diff(want, got.Settings); diff != "" {
		t.Errorf("overrides (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got.Tags); diff != "" || !got.Pinned {
		t.Errorf("pinned %v, tags:\n%s", got.Pinned, diff)
	}
	cleared, err := h.UpdateSession(
		ctx,
		h.member,
		session.ID,
		engine.SessionPatch{
			SettingsPatch: parley.SettingsPatch{
				SystemPrompt: parley.Change[*string]{Set: true},
				Model:        parley.Change[parley.ModelID]{Set: true},
			},
		},
	)
	if err != nil || cleared.SystemPrompt != nil || cleared.Model != "" || cleared.Seed == nil {
		t.Errorf("clearing: %+v, %v", cleared.Settings, err)
	}
	for field, patch := range map[string]engine.SessionPatch{
		"model": {SettingsPatch: parley.SettingsPatch{Model: parley.Change[parley.ModelID]{Set: true,
			Value: "nobody/x"}}},
		"visibility": {Visibility: parley.Change[parley.Visibility]{Set: true, Value: "all"}},
		"during":     {During: parley.Change[parley.During]{Set: true, Value: "x"}},
		"system_prompt": {SettingsPatch: parley.SettingsPatch{SystemPrompt: parley.Change[*string]{Set: true,
			Value: ptr("{{bad}}")}}},
	} {
		_, err := h.UpdateSession(ctx, h.member, session.ID, patch)
		wantCode(t, err, parley.CodeInvalid, field)
	}
}

func TestSessionLists(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	ctx := t.Context()
	var ids []parley.ID
	for i := range 5 {
		ids = append(ids, h.open(t, engine.SessionInput{Feature: "login", Task: fmt.Sprint(i), Type: "dev-task"}).ID)
	}
	busy := ids[4]
	h.post(t, busy, say("hold on"))
	count := func(list engine.SessionList) (n int) {
		list.Limit = 2
		for {
			page, err := h.Sessions(ctx, h.member, list)
			if err != nil {
				t.Fatal(err)
			}
			n += len(page.Data)
			if page.Next == nil {
				return n
			}
			list.Cursor = *page.Next
		}
	}
	result, err := h.ArchiveFeature(ctx, h.member, "login")
	if err != nil || len(result.Archived) != 4 || len(result.Busy) != 1 || result.Busy[0] != busy {
		t.Fatalf("ArchiveFeature = %+v, %v", result, err)
	}
	for want, list := range map[int]engine.SessionList{
		1: {Features: []string{"login"}}, 4: {Features: []string{"login"}, Archived: engine.ArchivedOnly},
		5: {Agents: []string{"parley"}, Archived: engine.ArchivedAny},
	} {
		if got := count(list); got != want {
			t.Errorf("%+v lists %d, want %d", list, got, want)
		}
	}
	_, err = h.PostMessage(ctx, h.member, ids[0], say("anyone?"), store.Idempotency{})
	wantCode(t, err, parley.CodeArchived, "")
	if _, err := h.SessionOfAgent(ctx, h.member, "parley", ids[0]); err != nil {
		t.Error(err)
	}
	other, _, err := h.CreateAgent(ctx, h.member, engine.AgentInput{Name: "Other"}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"other", other.ID.String(), "nobody"} {
		_, err := h.SessionOfAgent(ctx, h.member, agent, ids[0])
		wantCode(t, err, parley.CodeNotFound, "")
	}
}

func TestProjectsStayInsideTheirRoots(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	base := t.TempDir()
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "root-not")
	for _, dir := range []string{filepath.Join(root, "work"), outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"escape": outside, "alias": filepath.Join(root, "work")} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	e := engine.New(engine.Options{Store: h.store, Models: models(t), Projects: policyOf(t, root)})
	for _, path := range []string{
		"", "work", outside, filepath.Join(root, "escape"), filepath.Join(root, "..", "root-not"),
		root + "/inside/../../root-not",
		filepath.Join(root, "file"), filepath.Join(root, "missing"), "/", root + "/\x00",
	} {
		_, _, err := e.ChooseProject(t.Context(), h.member, engine.ProjectInput{Path: path})
		wantCode(t, err, parley.CodeInvalid, "path")
	}
	first, isNew, err := e.ChooseProject(t.Context(), h.member, engine.ProjectInput{Path: filepath.Join(root, "work")})
	if err != nil || !isNew || first.Name != "work" {
		t.Fatalf("ChooseProject = %+v, %v, %v", first, isNew, err)
	}
	again, isNew, err := e.ChooseProject(
		t.Context(),
		h.member,
		engine.ProjectInput{Path: filepath.Join(root, "alias") + "/"},
	)
	if err != nil || isNew || again.ID != first.ID {
		t.Errorf("the same directory by a link = %+v, %v, %v", again, isNew, err)
	}
	recent, err := e.Projects(t.Context(), h.reader, engine.Paging{Limit: 1})
	if err != nil || len(recent.Data) != 1 || recent.Data[0].ID != first.ID {
		t.Errorf("recent = %+v, %v", recent, err)
	}
	if err := e.DeleteProject(t.Context(), h.member, first.ID, engine.Detach); err != nil {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	ctx := t.Context()
	key, err := h.CreateKey(ctx, h.admin, engine.KeyInput{Name: "robot", Role: parley.RoleReader})
	if err != nil || len(key.Secret) != len(engine.SecretPrefix)+64 || key.Secret[:len(key.Prefix)] != key.Prefix {
		t.Fatalf("CreateKey = %+v, %v", key.Key, err)
	}
	for range 2 { // the second time from the cache
		if principal, err := h.Authenticate(
			ctx,
			key.Secret,
		); err != nil || principal.Role != parley.RoleReader ||
			principal.Name != "robot" {
			t.Fatalf("Authenticate = %+v, %v", principal, err)
		}
	}
	if _, err := h.RevokeKey(ctx, h.admin, key.ID); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{key.Secret, "", "pk_", "sk_1", engine.SecretPrefix + string(make([]byte, 5000))} {
		_, err := h.Authenticate(ctx, secret)
		wantCode(t, err, parley.CodeUnauthenticated, "")
	}
	for field, input := range map[string]engine.KeyInput{"name": {}, "role": {Name: "x", Role: "king"}} {
		_, err := h.CreateKey(ctx, h.admin, input)
		wantCode(t, err, parley.CodeInvalid, field)
	}
	_, err = h.CreateKeyIn(ctx, "Not A Name", engine.KeyInput{Name: "x"})
	wantCode(t, err, parley.CodeInvalid, "workspace")
	keys, err := h.Keys(ctx, h.admin)
	if err != nil || len(keys.Data) != 5 {
		t.Errorf("%d keys, %v", len(keys.Data), err)
	}
	owner, err := h.LocalOwner(ctx, "")
	if err != nil || owner.Role != parley.RoleAdmin || owner.Workspace != parley.DefaultWorkspace {
		t.Errorf("LocalOwner = %+v, %v", owner, err)
	}
}

func TestClients(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	ctx := t.Context()
	session := h.open(t, engine.SessionInput{ClientID: "tab-1"})
	if open, err := h.ClientSession(ctx, h.member, "tab-1"); err != nil || open.ID != session.ID {
		t.Errorf("created with a client id, it has %s open, %v", open.ID, err)
	}
	_, err := h.ClientSession(ctx, h.other, "tab-1")
	wantCode(t, err, parley.CodeNotFound, "")
	if err := h.ClearClientSession(ctx, h.member, "tab-1"); err != nil {
		t.Fatal(err)
	}
	_, err = h.ClientSession(ctx, h.member, "tab-1")
	wantCode(t, err, parley.CodeNotFound, "")
	wantCode(t, h.SetClientSession(ctx, h.member, "", session.ID), parley.CodeInvalid, "client")
}
