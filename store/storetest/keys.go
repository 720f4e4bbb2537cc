package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func newKey(workspace, name string, role parley.PrincipalRole) store.NewKey {
	return store.NewKey{
		Key:  parley.Key{ID: parley.NewID(), Workspace: workspace, Name: name, Role: role, Prefix: "test_" + name},
		Hash: parley.HashOf([]byte(workspace + "/" + name)),
	}
}

func testKeys(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"workspaces are made once":            testWorkspaces,
		"a change of a workspace":             testUpdateWorkspace,
		"a key is its principal":              testAuthenticate,
		"a name is taken until it is revoked": testKeyNames,
		"keys are their workspace's":          testKeyScope,
	})
}

// testUpdateWorkspace: a change reaches its workspace alone, and a refused one changes nothing.
func testUpdateWorkspace(t *testing.T, w *world) {
	other, err := w.store.Workspace(w.ctx, "team")
	must(t, "Workspace", err)
	shared := parley.VisibilityWorkspace
	before, err := w.store.WorkspaceOf(w.ctx, w.scope.WorkspaceID)
	must(t, "WorkspaceOf", err)
	if before.ID != w.scope.WorkspaceID || before.Visibility != parley.VisibilityPrivate || before.CreatedAt == 0 {
		t.Errorf("a new workspace is %+v", before)
	}
	_, err = w.store.UpdateWorkspace(w.ctx, other, store.WorkspaceChange{
		Visibility: &shared,
		If:         func(parley.Workspace) error { return parley.Errorf(parley.CodeChanged, "it changed") },
	})
	refused(t, "a change whose condition fails", err, parley.CodeChanged)
	for range 2 { // the second changes nothing
		changed, err := w.store.UpdateWorkspace(w.ctx, w.scope.WorkspaceID, store.WorkspaceChange{Visibility: &shared})
		must(t, "UpdateWorkspace", err)
		want := before
		want.Visibility = shared
		read, err := w.store.WorkspaceOf(w.ctx, w.scope.WorkspaceID)
		must(t, "WorkspaceOf", err)
		if changed != want || read != want {
			t.Errorf("changed to %+v, read as %+v, want %+v", changed, read, want)
		}
	}
	if theirs, err := w.store.WorkspaceOf(w.ctx, other); err != nil || theirs.Visibility != parley.VisibilityPrivate {
		t.Errorf("another workspace is %+v, %v", theirs, err)
	}
	_, err = w.store.UpdateWorkspace(w.ctx, parley.NewID(), store.WorkspaceChange{Visibility: &shared})
	refused(t, "a change of no workspace", err, parley.CodeNotFound)
}

func testWorkspaces(t *testing.T, w *world) {
	first, err := w.store.Workspace(w.ctx, "team")
	must(t, "Workspace", err)
	again, err := w.store.Workspace(w.ctx, "team")
	must(t, "Workspace", err)
	if first != again || first == w.scope.WorkspaceID {
		t.Errorf("workspace team is %s, then %s; default is %s", first, again, w.scope.WorkspaceID)
	}
	owner, err := w.store.LocalOwner(w.ctx, first)
	must(t, "LocalOwner", err)
	twice, err := w.store.LocalOwner(w.ctx, first)
	must(t, "LocalOwner", err)
	if owner != twice || owner.WorkspaceID != first || owner.Workspace != "team" || owner.Kind != parley.AuthorPerson ||
		owner.Role != parley.RoleAdmin || owner.Name == "" || owner.ID.IsZero() {
		t.Errorf("the local owner: %+v, then %+v", owner, twice)
	}
	_, err = w.store.LocalOwner(w.ctx, parley.NewID())
	refused(t, "the owner of no workspace", err, parley.CodeNotFound)
}

func testAuthenticate(t *testing.T, w *world) {
	if has, err := w.store.HasKeys(w.ctx); err != nil || has {
		t.Fatalf("an empty store has keys: %t, %v", has, err)
	}
	given := newKey("fresh", "ci", parley.RoleReader)
	given.Key.RequestsPerMinute, given.Key.MaxSessions, given.Key.MaxStorage = new(7), new(int64(8)), new(int64(1<<40))
	key, err := w.store.CreateKey(w.ctx, given)
	must(t, "CreateKey", err)
	workspace, err := w.store.Workspace(w.ctx, "fresh")
	must(t, "Workspace", err)
	want := given.Key
	want.WorkspaceID, want.PrincipalID, want.CreatedAt = workspace, key.PrincipalID, key.CreatedAt
	if diff := cmp.Diff(want, key); diff != "" || key.CreatedAt == 0 || key.PrincipalID.IsZero() {
		t.Errorf("the key (-want +got):\n%s", diff)
	}
	if _, err := w.store.Agent(w.ctx, workspace, parley.BuiltinAgentSlug); err != nil {
		t.Errorf("the new workspace has no built-in agent: %v", err)
	}
	principal, err := w.store.Authenticate(w.ctx, given.Hash)
	must(t, "Authenticate", err)
	if diff := cmp.Diff(
		parley.Principal{
			ID:                key.PrincipalID,
			WorkspaceID:       workspace,
			Workspace:         "fresh",
			Name:              "ci",
			Kind:              parley.AuthorService,
			Role:              parley.RoleReader,
			RequestsPerMinute: 7,
			MaxSessions:       8,
			MaxStorage:        1 << 40,
		},
		principal,
	); diff != "" {
		t.Errorf("the principal (-want +got):\n%s", diff)
	}
	for name, hash := range map[string]parley.Hash{"an unknown key": parley.HashOf([]byte("guess")), "no key": {}} {
		_, err := w.store.Authenticate(w.ctx, hash)
		refused(t, name, err, parley.CodeUnauthenticated)
	}
	for name, hash := range map[string]parley.Hash{"an unknown key": parley.HashOf([]byte("guess")),
		"a key that is not revoked": given.Hash} {
		_, err := w.store.RevokedKey(w.ctx, hash)
		refused(t, name, err, parley.CodeNotFound)
	}
	if has, err := w.store.HasKeys(w.ctx); err != nil || !has {
		t.Errorf("HasKeys with a key: %t, %v", has, err)
	}
	revoked, err := w.store.RevokeKey(w.ctx, workspace, key.ID)
	must(t, "RevokeKey", err)
	again, err := w.store.RevokeKey(w.ctx, workspace, key.ID)
	must(t, "RevokeKey again", err)
	if revoked.RevokedAt == 0 || !cmp.Equal(again, revoked) {
		t.Errorf("revoked %+v, then %+v", revoked, again)
	}
	_, err = w.store.Authenticate(w.ctx, given.Hash)
	refused(t, "a revoked key", err, parley.CodeUnauthenticated)
	if known, err := w.store.RevokedKey(w.ctx, given.Hash); err != nil || !cmp.Equal(known, revoked) {
		t.Errorf("the revoked key is known as %+v, %v; want %+v", known, err, revoked)
	}
	if has, err := w.store.HasKeys(w.ctx); err != nil || has {
		t.Errorf("HasKeys with the only key revoked: %t, %v", has, err)
	}
}

func testKeyNames(t *testing.T, w *world) {
	first, err := w.store.CreateKey(w.ctx, newKey("default", "ci", parley.RoleMember))
	must(t, "CreateKey", err)
	second := newKey("default", "ci", parley.RoleMember)
	second.Hash = parley.HashOf([]byte("another secret"))
	_, err = w.store.CreateKey(w.ctx, second)
	refused(t, "a second key of the name", err, parley.CodeConflict)
	_, err = w.store.RevokeKey(w.ctx, w.scope.WorkspaceID, first.ID)
	must(t, "RevokeKey", err)
	key, err := w.store.CreateKey(w.ctx, second)
	must(t, "CreateKey after the revocation", err)
	keys, err := w.store.Keys(w.ctx, w.scope.WorkspaceID)
	must(t, "Keys", err)
	if len(keys) != 2 || !cmp.Equal(keys[0], key) || keys[1].ID != first.ID || keys[1].RevokedAt == 0 {
		t.Errorf("keys, newest first: %+v", keys)
	}
}

func testKeyScope(t *testing.T, w *world) {
	key, err := w.store.CreateKey(w.ctx, newKey("default", "ci", parley.RoleAdmin))
	must(t, "CreateKey", err)
	other := w.neighbour(t, "neighbour")
	_, err = w.store.RevokeKey(w.ctx, other.scope.WorkspaceID, key.ID)
	refused(t, "revoking another workspace's key", err, parley.CodeNotFound)
	if keys, err := w.store.Keys(w.ctx, other.scope.WorkspaceID); err != nil || len(keys) != 0 {
		t.Errorf("the neighbour lists %d keys, %v", len(keys), err)
	}
	theirs, err := w.store.CreateKey(w.ctx, newKey("neighbour", "ci", parley.RoleAdmin))
	must(t, "the same name in another workspace", err)
	if theirs.WorkspaceID != other.scope.WorkspaceID || theirs.PrincipalID == key.PrincipalID {
		t.Errorf("the neighbour's key: %+v", theirs)
	}
}
