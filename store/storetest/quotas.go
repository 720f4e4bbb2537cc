package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testQuotas(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"sessions of a workspace":     quotaOfWorkspace,
		"sessions of an owner":        quotaOfOwner,
		"tool sessions":               quotaOfToolSessions,
		"forks are sessions":          quotaOfForks,
		"bytes of a workspace":        quotaOfStorage,
		"bytes of an uploader":        quotaOfUploader,
		"the same bytes hold no more": quotaOfSameBytes,
	})
}

// opens creates a session under a quota.
func (w *world) opens(quota parley.Quota, changes ...func(*store.NewSession)) (store.Opened, error) {
	creation := store.NewSession{Session: w.newSession(), Quota: quota}
	for _, change := range changes {
		change(&creation)
	}
	return w.store.EnsureSession(w.ctx, w.scope, creation, parley.ID{})
}

func quotaOfWorkspace(t *testing.T, w *world) {
	quota := parley.Quota{Workspace: 2}
	keyed := func(c *store.NewSession) { c.Session.Key = "same" }
	repeated := func(c *store.NewSession) {
		c.Idempotency = store.Idempotency{Key: "again", Fingerprint: parley.HashOf([]byte("again"))}
	}
	first, err := w.opens(quota, repeated)
	must(t, "EnsureSession", err)
	_, err = w.opens(quota, keyed)
	must(t, "EnsureSession", err)
	_, err = w.opens(quota)
	refused(t, "a third session", err, parley.CodeConflict)
	if opened, err := w.opens(quota, keyed); err != nil || opened.Created {
		t.Errorf("the existing session: %+v, %v", opened, err)
	}
	if opened, err := w.opens(
		quota,
		repeated,
	); err != nil || !opened.Replayed ||
		opened.Session.ID != first.Session.ID {
		t.Errorf("the first answer again: %+v, %v", opened, err)
	}
	if _, err := w.neighbour(t, "neighbour").opens(quota); err != nil {
		t.Errorf("another workspace's: %v", err)
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, first.Session.ID))
	_, err = w.opens(quota)
	must(t, "EnsureSession after a deletion", err)
	_, err = w.opens(quota)
	refused(t, "a third session again", err, parley.CodeConflict)
	_, err = w.opens(parley.Quota{})
	must(t, "EnsureSession without a quota", err)
}

func quotaOfOwner(t *testing.T, w *world) {
	other := func(c *store.NewSession) { c.Session.OwnerID = parley.NewID() }
	quota := parley.Quota{Principal: 1, Workspace: 4}
	_, err := w.opens(quota)
	must(t, "EnsureSession", err)
	_, err = w.opens(quota)
	refused(t, "the owner's second", err, parley.CodeConflict)
	for range 3 {
		_, err = w.opens(quota, other)
		must(t, "another owner's", err)
	}
	_, err = w.opens(quota, other)
	refused(t, "the workspace's fifth", err, parley.CodeConflict)
}

// quotaOfToolSessions: a turn opens no more sessions than the quotas of its workspace and of its session's owner allow.
func quotaOfToolSessions(t *testing.T, w *world) {
	claim := w.started(t, "go")
	calls := w.callAgents(t, claim.Fence, 1, 3)
	limited := newKey(parley.DefaultWorkspace, "limited", parley.RoleMember)
	limited.Key.MaxSessions = new(int64(1))
	key, err := w.store.CreateKey(w.ctx, limited)
	must(t, "CreateKey", err)
	opens := func(call agentCall, of int64, owner parley.ID) error {
		child := w.child(call)
		child.Quota.Workspace, child.Session.OwnerID = of, owner
		_, err := w.store.OpenChild(w.ctx, claim.Fence, child)
		return err
	}
	refused(t, "beyond the workspace's quota", opens(calls[0], 1, w.owner.ID), parley.CodeConflict)
	must(t, "OpenChild", opens(calls[0], 2, w.owner.ID))
	must(t, "the same again", opens(calls[0], 2, w.owner.ID))
	must(t, "OpenChild of the key", opens(calls[1], 0, key.PrincipalID))
	refused(t, "beyond the key's quota", opens(calls[2], 0, key.PrincipalID), parley.CodeConflict)
	must(t, "OpenChild of somebody without a key", opens(calls[2], 0, w.owner.ID))
}

func quotaOfForks(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "question", "answer")
	limited := func(most int64) func(*store.NewFork) {
		return func(f *store.NewFork) { f.Quota = parley.Quota{Workspace: most} }
	}
	_, err := w.store.Fork(w.ctx, w.scope, w.newFork(parent, 2, limited(1)), parley.ID{})
	refused(t, "a fork", err, parley.CodeConflict)
	_, err = w.store.Fork(w.ctx, w.scope, w.newFork(parent, 2, limited(2)), parley.ID{})
	must(t, "Fork", err)
}

// finishes uploads bytes under a quota.
func (w *world) finishes(t reporter, name string, data [][]byte, quota parley.Quota, owner parley.ID) error {
	t.Helper()
	file := w.newFile(name, data)
	file.OwnerID = owner
	w.append(t, file.BlobID, data)
	_, _, err := w.store.FinishUpload(w.ctx, file, quota)
	if err != nil {
		must(t, "AbandonUpload", w.store.AbandonUpload(w.ctx, w.scope.WorkspaceID, file.BlobID))
	}
	return err
}

func (w *world) stores(t reporter, owner parley.ID, want parley.Storage) {
	t.Helper()
	got, err := w.store.Storage(w.ctx, w.scope.WorkspaceID, owner)
	must(t, "Storage", err)
	if got != want {
		t.Errorf("storage %+v, want %+v", got, want)
	}
}

func quotaOfStorage(t *testing.T, w *world) {
	data, owner := pieces('a'), w.owner.ID
	size := int64(len(data[0]) + len(data[1]))
	quota := parley.Quota{Workspace: 2 * size}
	w.stores(t, owner, parley.Storage{})
	must(t, "the first", w.finishes(t, "a", data, quota, owner))
	open := parley.NewID()
	w.append(t, open, pieces('o'))
	w.stores(t, owner, parley.Storage{Workspace: 2 * size, Principal: size}) // uploads under way count
	refused(t, "one beside an upload under way", w.finishes(t, "b", pieces('b'), quota, owner), parley.CodeConflict)
	must(t, "AbandonUpload", w.store.AbandonUpload(w.ctx, w.scope.WorkspaceID, open))
	must(t, "the second", w.finishes(t, "b", pieces('b'), quota, parley.NewID()))
	refused(t, "the third", w.finishes(t, "c", [][]byte{{1}}, quota, owner), parley.CodeConflict)
	w.stores(t, owner, parley.Storage{Workspace: 2 * size, Principal: size})
	if err := w.neighbour(t, "neighbour").finishes(t, "c", data, quota, owner); err != nil {
		t.Errorf("another workspace's: %v", err)
	}
}

func quotaOfUploader(t *testing.T, w *world) {
	data, owner := pieces('a'), w.owner.ID
	size := int64(len(data[0]) + len(data[1]))
	quota := parley.Quota{Principal: size}
	must(t, "the first", w.finishes(t, "a", data, quota, owner))
	refused(t, "one more byte", w.finishes(t, "b", [][]byte{{1}}, quota, owner), parley.CodeConflict)
	must(t, "another principal's", w.finishes(t, "b", [][]byte{{1}}, quota, parley.NewID()))
	files, err := w.store.Files(w.ctx, store.Scope{WorkspaceID: w.scope.WorkspaceID}, store.FileQuery{Limit: 10})
	must(t, "Files", err)
	for i := range files {
		if files[i].OwnerID == owner {
			must(t, "DeleteFile", w.store.DeleteFile(w.ctx, w.scope, files[i].ID))
		}
	}
	must(t, "after a deletion", w.finishes(t, "b", [][]byte{{1}}, quota, owner))
}

func quotaOfSameBytes(t *testing.T, w *world) {
	data, owner := pieces('a'), w.owner.ID
	size := int64(len(data[0]) + len(data[1]))
	quota := parley.Quota{Workspace: size, Principal: 2 * size}
	must(t, "the first", w.finishes(t, "a", data, quota, owner))
	must(t, "the same under another name", w.finishes(t, "b", data, quota, owner))
	must(t, "the same file", w.finishes(t, "b", data, quota, owner)) // returns the existing file and adds nothing
	w.stores(t, owner, parley.Storage{Workspace: size, Principal: 2 * size})
	refused(t, "a third name", w.finishes(t, "c", data, quota, owner), parley.CodeConflict)
}
