package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testTransforms(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"OpenedWithItsSessionAndReadAlike": transformOpened,
		"ItFollowsItsTurn":                 transformFollows,
		"ItsVersionIsWrittenWithItsEnd":    transformWrites,
		"AMovedBaseIsAConflict":            transformConflict,
		"AnArchivedOneKeepsItsVersion":     transformArchived,
		"WhatItMayNotSeeIsNotWritten":      transformBlind,
		"ADeletedOutputIsMarked":           transformPurged,
		"LaterTurnsLeaveItAlone":           transformLater,
		"ListsAndWorkspaces":               transformLists,
		"Definitions":                      definitionsKept,
	})
}

// newTransform returns a transform that reads and writes artifacts, with its session.
func (w *world) newTransform(name string, reads []parley.Artifact, outputs ...parley.TransformOutput) store.NewSession {
	session := w.newSession()
	session.Kind = parley.KindTool
	first := w.say("write")
	made := parley.Transform{
		ID: parley.NewID(),
		TransformSpec: parley.TransformSpec{
			Name: name, AgentID: w.agent.ID, Instructions: "write", Model: "sim/echo",
			Parameters: parley.Parameters{MaxTokens: new(7)}, Cite: true,
		},
		Inputs: []parley.TransformInput{}, Outputs: outputs, CreatedByID: w.owner.ID,
		TriggerSessionID: parley.NewID(), TriggerMessageID: parley.NewID(), RetryOfID: parley.NewID(),
	}
	for i := range reads {
		made.Inputs = append(made.Inputs, parley.TransformInput{
			Name: "input", ArtifactID: reads[i].ID, Version: reads[i].Version, Pointer: "/a",
		})
	}
	return store.NewSession{Session: session, First: &first, Transform: &made}
}

// replaces is an output that replaces the current version of an artifact; creating is one that creates one.
func replaces(a *parley.Artifact) parley.TransformOutput {
	return parley.TransformOutput{
		TransformTarget: parley.TransformTarget{Name: "text", Kind: a.Kind, Title: a.Name},
		ArtifactID:      a.ID, BaseVersion: a.Version, Sources: []parley.TransformSource{},
	}
}

func creating(title string) parley.TransformOutput {
	return parley.TransformOutput{
		TransformTarget: parley.TransformTarget{
			Name: "made", Kind: parley.ArtifactJSON, Title: title, Schema: []byte(`{"type":"object"}`),
		},
		ArtifactID: parley.NewID(), Creates: true, Sources: []parley.TransformSource{},
	}
}

// transform opens a transform and returns it as it is stored.
func (w *world) transform(t reporter, wanted store.NewSession) parley.Transform {
	t.Helper()
	_, err := w.store.EnsureSession(w.ctx, w.scope, wanted, parley.ID{})
	must(t, "EnsureSession", err)
	return w.readTransform(t, wanted.Transform.ID)
}

func (w *world) readTransform(t reporter, id parley.ID) parley.Transform {
	t.Helper()
	read, err := w.store.Transform(w.ctx, w.scope, id)
	must(t, "Transform", err)
	return read
}

// ends runs the turn of a transform to its end, writing a text to each output.
func (w *world) ends(t reporter, claim store.Claim, of *parley.Transform, texts ...string) parley.Transform {
	t.Helper()
	begin := w.begin(t, claim.Fence, claim.Turn.Step+1)
	settle := settlement(begin, "made")
	end := &store.TransformEnd{Transform: *of, Author: w.author(), MessageID: begin.Call.MessageID, Chunks: 2}
	for i, text := range texts {
		end.Written = append(end.Written, store.TransformWriting{
			Output: of.Outputs[i], Content: contentFor(text, nil),
			Sources: []parley.TransformSource{{Target: "/b", ArtifactID: parley.NewID(), Version: 1, Pointer: "/a"}},
		})
	}
	settle.End = completed()
	settle.End.Transform = end
	w.settle(t, claim.Fence, settle)
	return w.readTransform(t, of.ID)
}

func transformOpened(t *testing.T, w *world) {
	a := w.artifact(t, "read", "text")
	wanted := w.newTransform("summary", []parley.Artifact{a}, replaces(&a), creating("new"))
	read := w.transform(t, wanted)
	want := *wanted.Transform
	want.Kind, want.WorkspaceID, want.SessionID = parley.TransformGeneration, a.WorkspaceID, wanted.Session.ID
	want.OwnerID = w.owner.ID
	want.TurnID, want.Status, want.CreatedAt = wanted.First.TurnID, parley.TransformPending, read.CreatedAt
	for i := range want.Inputs {
		in := &want.Inputs[i]
		in.TransformID, in.WorkspaceID, in.Position = want.ID, a.WorkspaceID, i+1
	}
	for i := range want.Outputs {
		out := &want.Outputs[i]
		out.TransformID, out.WorkspaceID, out.Position = want.ID, a.WorkspaceID, i+1
	}
	if diff := cmp.Diff(want, read); diff != "" || read.CreatedAt == 0 {
		t.Errorf("read (-opened +read):\n%s", diff)
	}
	_, err := w.store.Transform(w.ctx, w.neighbour(t, "other").scope, read.ID)
	refused(t, "a transform of another workspace", err, parley.CodeNotFound)
}

func transformFollows(t *testing.T, w *world) {
	wanted := w.newTransform("one", nil, creating("new"))
	opened := w.transform(t, wanted)
	claim := w.claim(t)
	if claim.Turn.TransformID != opened.ID {
		t.Fatalf("the claimed turn is of the transform %s; want %s", claim.Turn.TransformID, opened.ID)
	}
	running := w.readTransform(t, opened.ID)
	if running.Status != parley.TransformStreaming || running.StartedAt == 0 || running.EndedAt != 0 {
		t.Errorf("while it runs: %+v", running)
	}
	begin := w.begin(t, claim.Fence, 1)
	settle := settlement(begin, "text")
	settle.End = failed(parley.ClassSchema)
	settle.End.Transform = &store.TransformEnd{Transform: running, Chunks: 3}
	w.settle(t, claim.Fence, settle)
	ended := w.readTransform(t, opened.ID)
	if ended.Status != parley.TransformFailed || ended.Chunks != 3 || ended.LastChunkAt == 0 || ended.EndedAt == 0 ||
		ended.Failure == nil || ended.Failure.Class != parley.ClassSchema || ended.StartedAt != running.StartedAt {
		t.Errorf("after it has failed: %+v", ended)
	}

	cancelled := w.transform(t, w.newTransform("two", nil, creating("new")))
	claim = w.claim(t)
	w.begin(t, claim.Fence, 1)
	_, err := w.store.RequestCancel(w.ctx, w.scope, cancelled.SessionID, parley.ID{}, false)
	must(t, "RequestCancel", err)
	_, err = w.store.TakeCancel(w.ctx, w.scope, cancelled.SessionID, claim.Turn.ID)
	must(t, "TakeCancel", err)
	if got := w.readTransform(t, cancelled.ID); got.Status != parley.TransformCancelled || got.EndedAt == 0 {
		t.Errorf("after its cancel: %+v", got)
	}
}

func transformWrites(t *testing.T, w *world) {
	a := w.artifact(t, "plan", "old")
	opened := w.transform(t, w.newTransform("one", []parley.Artifact{a}, replaces(&a), creating("new")))
	ended := w.ends(t, w.claim(t), &opened, "new text", `{"b":1}`)
	if ended.Status != parley.TransformCompleted || ended.Failure != nil || ended.Chunks != 2 {
		t.Fatalf("ended: %+v", ended)
	}
	for i, number := range []int{2, 1} {
		out := &ended.Outputs[i]
		if out.Version != number || out.Conflict || out.Purged || len(out.Sources) != 1 ||
			out.Sources[0].Target != "/b" {
			t.Errorf("output %d: %+v", i+1, out)
		}
		version, err := w.store.ArtifactVersion(w.ctx, w.scope, out.ArtifactID, number)
		must(t, "ArtifactVersion", err)
		if version.TransformID != ended.ID || version.SessionID != ended.SessionID || version.Author != w.author() ||
			version.MessageID.IsZero() || version.Parent != out.BaseVersion || version.Conflict {
			t.Errorf("version of output %d: %+v", i+1, version)
		}
	}
	for i, want := range []string{"new text", `{"b":1}`} {
		written, err := w.store.Artifact(w.ctx, w.scope, ended.Outputs[i].ArtifactID)
		must(t, "Artifact", err)
		if written.ContentHash != parley.HashOf([]byte(want)) || written.Version != ended.Outputs[i].Version ||
			written.Newest != written.Version || written.OwnerID != w.owner.ID {
			t.Errorf("artifact of output %d: %+v", i+1, written)
		}
	}
}

func transformConflict(t *testing.T, w *world) {
	a := w.artifact(t, "plan", "old")
	opened := w.transform(t, w.newTransform("one", nil, replaces(&a)))
	claim := w.claim(t)
	_, _, err := w.store.WriteArtifact(w.ctx, w.version(&a, 1, "by hand", nil))
	must(t, "WriteArtifact", err)
	ended := w.ends(t, claim, &opened, "generated")
	if out := ended.Outputs[0]; ended.Status != parley.TransformCompleted || out.Version != 3 || !out.Conflict {
		t.Fatalf("ended: %+v", ended)
	}
	kept, err := w.store.ArtifactVersion(w.ctx, w.scope, a.ID, 3)
	must(t, "ArtifactVersion", err)
	if !kept.Conflict || kept.Parent != 1 || kept.ContentHash != parley.HashOf([]byte("generated")) {
		t.Errorf("the version in conflict: %+v", kept)
	}
	now, err := w.store.Artifact(w.ctx, w.scope, a.ID)
	must(t, "Artifact", err)
	if now.Version != 2 || now.Newest != 3 || now.ContentHash != parley.HashOf([]byte("by hand")) {
		t.Errorf("the artifact: %+v", now)
	}
	next, _, err := w.store.WriteArtifact(w.ctx, w.version(&a, 2, "again by hand", nil))
	must(t, "WriteArtifact", err)
	if now, err = w.store.Artifact(w.ctx, w.scope, a.ID); err != nil || next.Number != 4 || now.Version != 4 ||
		now.Newest != 4 {
		t.Errorf("the next version is %d of %+v, %v", next.Number, now, err)
	}
}

func transformArchived(t *testing.T, w *world) {
	a := w.artifact(t, "plan", "old")
	opened := w.transform(t, w.newTransform("one", nil, replaces(&a)))
	claim := w.claim(t)
	a.ArchivedAt = 1
	_, err := w.store.UpdateArtifact(w.ctx, a)
	must(t, "UpdateArtifact", err)
	if out := w.ends(t, claim, &opened, "generated").Outputs[0]; out.Version != 2 || !out.Conflict {
		t.Errorf("the output: %+v", out)
	}
}

func transformBlind(t *testing.T, w *world) {
	a := w.artifact(t, "theirs", "old", func(a *parley.Artifact) { a.OwnerID = parley.NewID() })
	opened := w.transform(t, w.newTransform("one", nil, replaces(&a)))
	ended := w.ends(t, w.claim(t), &opened, "generated")
	if ended.Status != parley.TransformCompleted || ended.Outputs[0].Version != 0 {
		t.Errorf("ended: %+v", ended)
	}
	if now, err := w.store.Artifact(w.ctx, w.scope, a.ID); err != nil || now.Newest != 1 {
		t.Errorf("somebody else's private artifact: %+v, %v", now, err)
	}
}

func transformPurged(t *testing.T, w *world) {
	a, b := w.artifact(t, "read", "x"), w.artifact(t, "written", "y")
	opened := w.transform(t, w.newTransform("one", []parley.Artifact{a}, replaces(&b), creating("new")))
	claim := w.claim(t)
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, b.ID))
	if before := w.readTransform(t, opened.ID); before.Inputs[0].Purged || !before.Outputs[0].Purged ||
		before.Outputs[1].Purged {
		t.Errorf("before its end: %+v", before)
	}
	ended := w.ends(t, claim, &opened, "generated", "{}")
	if ended.Outputs[0].Version != 0 || ended.Outputs[1].Version != 1 {
		t.Errorf("ended: %+v", ended)
	}
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, a.ID))
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, ended.Outputs[1].ArtifactID))
	w.drainOutbox(t)
	if after := w.readTransform(t, opened.ID); !after.Inputs[0].Purged || !after.Outputs[0].Purged ||
		!after.Outputs[1].Purged {
		t.Errorf("after its artifacts are gone: %+v", after)
	} else if after.Inputs[0].Name != "" || after.Outputs[0].Title != "" || after.Outputs[1].Title != "" {
		t.Errorf("the names of its artifacts are left: %+v", after)
	}
	if stored, err := w.store.Storage(w.ctx, a.WorkspaceID, w.owner.ID); err != nil || stored != (parley.Storage{}) {
		t.Errorf("still stored: %+v, %v", stored, err)
	}
}

func transformLater(t *testing.T, w *world) {
	opened := w.transform(t, w.newTransform("one", nil, creating("new")))
	ended := w.ends(t, w.claim(t), &opened, "{}")
	w.exchange(t, opened.SessionID, "why?", "because")
	if diff := cmp.Diff(ended, w.readTransform(t, opened.ID)); diff != "" {
		t.Errorf("a later turn changed the transform (-before +after):\n%s", diff)
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, opened.SessionID))
	w.drainOutbox(t)
	ended.Name, ended.Instructions, ended.Parameters, ended.Failure = "", "", parley.Parameters{}, nil
	for i := range ended.Outputs {
		ended.Outputs[i].Title, ended.Outputs[i].Schema = "", nil
	}
	if diff := cmp.Diff(ended, w.readTransform(t, opened.ID)); diff != "" {
		t.Errorf("after the purge of its session the transform is (-want +got):\n%s", diff)
	}
}

func transformLists(t *testing.T, w *world) {
	project, session, definition, run := parley.NewID(), parley.NewID(), parley.NewID(), parley.NewID()
	var ids []parley.ID
	for _, change := range []func(*store.NewSession){
		func(s *store.NewSession) { s.Transform.ProjectID, s.Transform.RunID = project, run },
		func(s *store.NewSession) { s.Transform.TriggerSessionID = session },
		func(s *store.NewSession) {
			s.Transform.DefinitionID, s.Session.Visibility = definition, parley.VisibilityWorkspace
		},
	} {
		wanted := w.newTransform("one", nil, creating("new"))
		change(&wanted)
		ids = append(ids, w.transform(t, wanted).ID)
	}
	listed := func(scope store.Scope, q store.TransformQuery) (found []parley.ID) {
		t.Helper()
		page, err := w.store.Transforms(w.ctx, scope, q)
		must(t, "Transforms", err)
		for i := range page {
			if len(page[i].Outputs) != 1 {
				t.Errorf("listed without its outputs: %+v", page[i])
			}
			found = append(found, page[i].ID)
		}
		return found
	}
	none := []parley.ID(nil)
	for name, c := range map[string]struct {
		scope store.Scope
		query store.TransformQuery
		want  []parley.ID
	}{
		"all":           {w.scope, store.TransformQuery{}, []parley.ID{ids[2], ids[1], ids[0]}},
		"ascending":     {w.scope, store.TransformQuery{Ascending: true, Limit: 2}, ids[:2]},
		"after":         {w.scope, store.TransformQuery{AfterID: ids[1]}, ids[:1]},
		"of a project":  {w.scope, store.TransformQuery{ProjectID: project}, ids[:1]},
		"of a run":      {w.scope, store.TransformQuery{RunID: run}, ids[:1]},
		"of a session":  {w.scope, store.TransformQuery{TriggerSessionID: session}, ids[1:2]},
		"by definition": {w.scope, store.TransformQuery{DefinitionID: definition}, ids[2:]},
		"pending":       {w.scope, store.TransformQuery{Status: parley.TransformPending, Limit: 1}, ids[2:]},
		"completed":     {w.scope, store.TransformQuery{Status: parley.TransformCompleted}, none},
		"of a stranger": {
			store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}, store.TransformQuery{}, ids[2:],
		},
		"of another workspace": {w.neighbour(t, "other").scope, store.TransformQuery{}, none},
	} {
		if diff := cmp.Diff(c.want, listed(c.scope, c.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func definitionsKept(t *testing.T, w *world) {
	made := parley.TransformDefinition{
		ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Slug: "summary",
		TransformSpec: parley.TransformSpec{Name: "Summary", AgentID: w.agent.ID, Instructions: "sum up"},
		Outputs: []parley.TransformTarget{
			{Name: "summary", Kind: parley.ArtifactJSON, Title: "Summary", Schema: []byte(`{"type":"object"}`)},
		},
		Status: parley.AgentActive, OwnerID: w.owner.ID, ChangedByID: w.owner.ID,
	}
	key := store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))}
	first, repeat, err := w.store.CreateTransformDefinition(w.ctx, made, key)
	must(t, "CreateTransformDefinition", err)
	if repeat || first.Version != 1 || first.CreatedAt == 0 {
		t.Errorf("created: %v, %+v", repeat, first)
	}
	again := made
	again.ID = parley.NewID()
	second, repeat, err := w.store.CreateTransformDefinition(w.ctx, again, key)
	if err != nil || !repeat || second.ID != first.ID {
		t.Errorf("the repeat: %v, %+v, %v", repeat, second, err)
	}
	_, _, err = w.store.CreateTransformDefinition(w.ctx, again, store.Idempotency{})
	refused(t, "a slug that is taken", err, parley.CodeConflict)
	key.Fingerprint = parley.HashOf([]byte("other"))
	_, _, err = w.store.CreateTransformDefinition(w.ctx, again, key)
	refused(t, "another body under the key", err, parley.CodeKeyReused)

	changed := first
	changed.Instructions, changed.Status = "sum up briefly", parley.AgentArchived
	next, err := w.store.UpdateTransformDefinition(w.ctx, changed)
	must(t, "UpdateTransformDefinition", err)
	_, err = w.store.UpdateTransformDefinition(w.ctx, changed)
	refused(t, "a change of an older version", err, parley.CodeConflict)
	for _, name := range []string{first.ID.String(), "summary"} {
		read, err := w.store.TransformDefinition(w.ctx, w.scope.WorkspaceID, name)
		must(t, "TransformDefinition", err)
		if diff := cmp.Diff(next, read); diff != "" || read.Version != 2 {
			t.Errorf("read by %s (-written +read):\n%s", name, diff)
		}
	}
	old, err := w.store.TransformDefinitionVersion(w.ctx, w.scope.WorkspaceID, first.ID, 1)
	must(t, "TransformDefinitionVersion", err)
	if diff := cmp.Diff(first, old); diff != "" {
		t.Errorf("the first version (-written +read):\n%s", diff)
	}
	versions, err := w.store.TransformDefinitionVersions(w.ctx, w.scope.WorkspaceID, first.ID,
		store.AgentVersionQuery{After: 2})
	if err != nil || len(versions) != 1 || versions[0].Version != 1 {
		t.Errorf("the versions before the second: %+v, %v", versions, err)
	}
	for status, want := range map[parley.AgentStatus]int{"": 1, parley.AgentArchived: 1, parley.AgentActive: 0} {
		listed, err := w.store.TransformDefinitions(w.ctx, w.scope.WorkspaceID,
			store.TransformDefinitionQuery{Status: status})
		if err != nil || len(listed) != want {
			t.Errorf("status %q lists %d, %v; want %d", status, len(listed), err, want)
		}
	}
	other := w.neighbour(t, "other").scope.WorkspaceID
	_, err = w.store.TransformDefinition(w.ctx, other, first.ID.String())
	refused(t, "a definition of another workspace", err, parley.CodeNotFound)
	_, err = w.store.TransformDefinitionVersion(w.ctx, other, first.ID, 1)
	refused(t, "a version of another workspace's", err, parley.CodeNotFound)
	changed.WorkspaceID = other
	_, err = w.store.UpdateTransformDefinition(w.ctx, changed)
	refused(t, "a change of another workspace's", err, parley.CodeNotFound)
}
