package postgres

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// streamed returns a claimed turn with an open step, and the first version of its text.
func (t *talker) streamed(session parley.ID, text string) store.FencedVersion {
	t.tb.Helper()
	ctx := t.tb.Context()
	posted, err := t.store.PostMessage(ctx, t.scope, session, t.said("go"), t.process)
	if err != nil || posted.Claim == nil {
		t.tb.Fatalf("PostMessage: %v", err)
	}
	begin := store.StepBegin{
		Call: parley.Call{
			ID:             parley.NewID(),
			MessageID:      parley.NewID(),
			Step:           1,
			Attempt:        1,
			Model:          "sim/echo",
			EncoderVersion: 1,
			Manifest:       parley.Manifest{Policy: "all"},
		},
		Author: parley.Author{Kind: parley.AuthorAgent, Name: "Writer"},
	}
	if _, err := t.store.BeginStep(ctx, posted.Claim.Fence, begin); err != nil {
		t.tb.Fatal(err)
	}
	return store.FencedVersion{
		Fence: posted.Claim.Fence,
		Version: parley.Version{
			MessageID: begin.Call.MessageID,
			N:         1,
			Kind:      parley.KindText,
			End:       len(text),
			Text:      text,
			Chunks:    1,
		},
	}
}

// TestFlushSkipsLockedSessions: a locked session delays neither the flush of others nor their transitions. Its
// versions are not written, the flush reports that, and a repeat writes them.
func TestFlushSkipsLockedSessions(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	ctx, talk := t.Context(), newTalker(t, db, 3)
	versions := make([]store.FencedVersion, len(talk.sessions))
	for i, session := range talk.sessions {
		versions[i] = talk.streamed(session, "text")
	}
	lost, kept, void := versions[0], versions[1], versions[2]
	if err := db.ReleaseTurn(ctx, void.Fence); err != nil {
		t.Fatal(err)
	}
	count := func(v store.FencedVersion) int {
		t.Helper()
		found, err := db.Versions(ctx, talk.scope, v.Version.MessageID)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	stopped := connected(t, url)
	run(
		t,
		stopped,
		"BEGIN",
		"SET LOCAL ROLE parley_system",
		"SELECT 1 FROM parley.heads WHERE session_id = '"+lost.Fence.SessionID.String()+"' FOR UPDATE",
	)
	appended, err := db.AppendVersions(ctx, versions)
	if err != nil || len(appended.Locked) != 1 || appended.Locked[0] != lost.Fence || len(appended.Fenced) != 1 ||
		appended.Fenced[0] != void.Fence {
		t.Fatalf("beside a locked session: %+v, %v", appended, err)
	}
	if count(lost) != 0 || count(kept) != 1 || count(void) != 0 {
		t.Errorf(
			"%d, %d and %d versions stored; want only that of the unlocked session with a valid claim",
			count(lost),
			count(kept),
			count(void),
		)
	}
	run(
		t,
		stopped,
		"SELECT 1 FROM parley.heads WHERE session_id = '"+kept.Fence.SessionID.String()+"' FOR UPDATE NOWAIT",
		"ROLLBACK",
	)
	appended, err = db.AppendVersions(ctx, []store.FencedVersion{lost, kept})
	if err != nil || len(appended.Locked)+len(appended.Fenced) != 0 || count(lost) != 1 || count(kept) != 1 {
		t.Errorf("flushed again: %+v, %v, %d and %d versions", appended, err, count(lost), count(kept))
	}
}
