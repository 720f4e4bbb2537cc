package storetest

import (
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// noted returns settings with fields of user_context.
func noted(fields ...parley.ContextField) *parley.MiddlewareSettings {
	return &parley.MiddlewareSettings{UserContext: &fields}
}

// postNote: the context of a message from agent or session is written once, at the post; it is part of the hash and
// never changes, not even in the queue.
func postNote(t *testing.T, w *world) {
	agent := w.newAgent("telling")
	agent.Middleware = noted(parley.ContextFields()...)
	agent, _, err := w.store.CreateAgent(w.ctx, agent, store.Idempotency{})
	must(t, "CreateAgent", err)
	project := w.choose(t, "/tmp/notes")
	session := w.session(t, func(s *parley.Session) { s.AgentID, s.ProjectID = agent.ID, project.ID })
	before := time.Now().Add(-time.Second)
	first := w.post(
		t,
		session,
		w.say("one", func(m *store.NewMessage) { m.Title, m.ContextNote = "Plans", "It rains." }),
	).Message
	lines := strings.Split(first.ContextNote, "\n")
	if len(lines) != 7 || lines[0] != "<context>" || lines[1] != "project: "+project.Name+" (/tmp/notes)" ||
		lines[2] != "user: "+w.owner.Name ||
		lines[4] != "</context>" || lines[5] != "" ||
		lines[6] != "It rains." {
		t.Fatalf("the note is %q", first.ContextNote)
	}
	at, err := time.Parse("time: "+time.RFC3339, lines[3])
	if err != nil || at.Before(before.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("the time is told as %q", lines[3])
	}
	queued := w.post(t, session, w.say("two")).Message
	if queued.Sequence != 0 || !strings.Contains(queued.ContextNote, "request: Plans\nproject: ") ||
		strings.Contains(queued.ContextNote, "rains") {
		t.Errorf("the queued message's note is %q", queued.ContextNote)
	}
	if hidden := w.post(
		t,
		session,
		w.say("three", alone, func(m *store.NewMessage) { m.Internal = true }),
	).Message; hidden.ContextNote != "" {
		t.Errorf("a message hidden from models has the note %q", hidden.ContextNote)
	}

	// Later changes affect no note; a session's setting replaces its agent's.
	agent.Middleware = noted()
	_, err = w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	_, err = w.store.EditQueued(w.ctx, w.scope, w.owner.ID, queued.ID, w.say("two, better").Content)
	must(t, "EditQueued", err)
	if third := w.post(t, session, w.say("four")).Message; third.ContextNote != "" {
		t.Errorf("of an agent without user_context: %q", third.ContextNote)
	}
	_, err = w.store.UpdateSession(
		w.ctx,
		w.scope,
		session,
		store.SessionChange{Settings: parley.SettingsPatch{Middleware: to(noted(parley.ContextUser))}},
	)
	must(t, "UpdateSession", err)
	if last := w.post(
		t,
		session,
		w.say("five"),
	).Message; last.ContextNote != "<context>\nuser: "+w.owner.Name+"\n</context>" {
		t.Errorf("of a session that gives only the user: %q", last.ContextNote)
	}
	if kept := w.message(t, queued.ID); kept.ContextNote != queued.ContextNote {
		t.Errorf("an edit made the note %q of %q", kept.ContextNote, queued.ContextNote)
	}
	if kept := w.message(t, first.ID); kept.ContextNote != first.ContextNote {
		t.Errorf("the note became %q", kept.ContextNote)
	}
	w.check(t, session)
}

// loopNote: each iteration of a loop gets its own time and context.
func loopNote(t *testing.T, w *world) {
	told := noted(parley.ContextUser)
	session := w.session(t, func(s *parley.Session) { s.Middleware = told })
	w.loop(t, session, 2)
	for iteration := 1; iteration <= 2; iteration++ {
		claim := w.claim(t)
		if claim.Trigger.Iteration != iteration ||
			claim.Trigger.ContextNote != "<context>\nuser: "+claim.Trigger.Author.Name+"\n</context>" {
			t.Errorf("iteration %d has the note %q", iteration, claim.Trigger.ContextNote)
		}
		begin := w.begin(t, claim.Fence, 1)
		settle := settlement(begin, "done")
		settle.End = completed()
		w.settle(t, claim.Fence, settle)
	}
	w.check(t, session)
}
