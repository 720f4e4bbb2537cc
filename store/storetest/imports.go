package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testImports(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AnImportIsWholeAndHappensOnce": importOnce,
		"APlanWritesNothing":            importPlanned,
		"AWrongHashWritesNothing":       importWrongHash,
		"ImportsCountAgainstQuotas":     importQuota,
		"AnImportGoesOnLikeAnySession":  importGoesOn,
	})
}

// newImport describes a session of three messages: a question, a call and its result.
func (w *world) newImport(t reporter, key, record string) store.NewImport {
	t.Helper()
	session := w.newSession()
	session.Status, session.ArchivedAt = parley.SessionFailed, 5000
	session.CreatedAt, session.UpdatedAt, session.StartedAt, session.FinishedAt = 1000, 4000, 1000, 4000
	session.Statistics.Tokens.InputTokens, session.Statistics.Cost = 7, 11
	message := func(role parley.Role, content string) parley.Message {
		canonical, err := parley.ValidateContent(role, []byte(content))
		must(t, "ValidateContent", err)
		return parley.Message{
			ID: parley.NewID(), Role: role, Status: parley.MessageCompleted, Content: canonical,
			Author: parley.Author{Kind: parley.AuthorPerson, Name: "Ada"}, ChainVersion: parley.ChainVersion,
			CreatedAt: 2000, ToolName: "look",
		}
	}
	asked := message(parley.RoleUser, `{"text":"`+record+`"}`)
	asked.Marks.Pinned = true
	call := message(parley.RoleToolCall, `{"id":"c","name":"look","arguments":{}}`)
	result := message(parley.RoleToolResult, `{"result":1}`)
	call.ToolCallID, result.ToolCallID = "c", "c"
	return store.NewImport{
		Session: session, Messages: []parley.Message{asked, call, result},
		Origin: store.Idempotency{Key: key, Fingerprint: parley.HashOf([]byte(record))},
	}
}

func importOnce(t *testing.T, w *world) {
	made, err := w.store.ImportSession(w.ctx, w.scope, w.newImport(t, "one", "hello"))
	must(t, "ImportSession", err)
	again, err := w.store.ImportSession(w.ctx, w.scope, w.newImport(t, "one", "hello"))
	must(t, "ImportSession", err)
	if !made.Created || again.Created || again.Session.ID != made.Session.ID {
		t.Errorf("the second import returned %+v; want %s again", again, made.Session.ID)
	}
	_, err = w.store.ImportSession(w.ctx, w.scope, w.newImport(t, "one", "another record"))
	refused(t, "another record", err, parley.CodeConflict)
	session, err := w.store.Session(w.ctx, w.scope, made.Session.ID)
	must(t, "Session", err)
	if session.Status != parley.SessionFailed || session.ArchivedAt != 5000 || session.CreatedAt != 1000 ||
		session.UpdatedAt != 4000 || session.Statistics.Messages != 3 || session.Statistics.InputTokens != 7 ||
		session.Statistics.Cost != 11 || session.LastSequence != 3 {
		t.Errorf("the session is %+v", session)
	}
	messages, err := w.store.Messages(w.ctx, w.scope, session.ID, store.MessageQuery{Limit: 10})
	must(t, "Messages", err)
	var last parley.Hash
	for i, m := range messages {
		hash, err := parley.ChainHash(last, m.ChainInput())
		must(t, "ChainHash", err)
		if m.Sequence != int64(i+1) || m.ContentHash != hash || m.CreatedAt != 2000 || m.Marks.Pinned != (i == 0) {
			t.Errorf("message %d is %+v", i, m)
		}
		last = hash
	}
	if len(messages) != 3 || messages[2].CallOrdinal != 1 {
		t.Errorf("%d messages were stored", len(messages))
	}
}

func importPlanned(t *testing.T, w *world) {
	planned, err := w.store.PlanImport(w.ctx, w.scope, w.newImport(t, "one", "hello"))
	must(t, "PlanImport", err)
	sessions, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{Limit: 10})
	must(t, "Sessions", err)
	if !planned.Created || len(sessions) != 0 {
		t.Errorf("the plan is %+v, and %d sessions exist", planned, len(sessions))
	}
}

func importWrongHash(t *testing.T, w *world) {
	wanted := w.newImport(t, "one", "hello")
	wanted.Messages[1].ContentHash = parley.HashOf([]byte("something else"))
	_, err := w.store.ImportSession(w.ctx, w.scope, wanted)
	refused(t, "a wrong hash", err, parley.CodeInvalid)
	sessions, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{Limit: 10})
	must(t, "Sessions", err)
	if len(sessions) != 0 {
		t.Errorf("%d sessions exist", len(sessions))
	}
}

func importQuota(t *testing.T, w *world) {
	w.session(t)
	wanted := w.newImport(t, "one", "hello")
	wanted.Quota = parley.Quota{Workspace: 1}
	_, err := w.store.ImportSession(w.ctx, w.scope, wanted)
	if err == nil {
		t.Error("an import exceeds the quota")
	}
}

func importGoesOn(t *testing.T, w *world) {
	wanted := w.newImport(t, "one", "hello")
	wanted.Session.ArchivedAt = 0
	made, err := w.store.ImportSession(w.ctx, w.scope, wanted)
	must(t, "ImportSession", err)
	w.exchange(t, made.Session.ID, "and now?", "this")
	messages, err := w.store.Messages(w.ctx, w.scope, made.Session.ID, store.MessageQuery{Limit: 10})
	must(t, "Messages", err)
	if len(messages) != 5 || messages[4].Sequence != 5 {
		t.Errorf("the record has %d messages", len(messages))
	}
}
