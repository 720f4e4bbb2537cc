package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testPosting(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"OnAnIdleSession":            postIdle,
		"ClaimedAtOnce":              postClaimed,
		"QueueDuringATurn":           postQueue,
		"SteerDuringATurn":           postSteer,
		"InterruptDuringATurn":       postInterrupt,
		"InterruptOfAWaitingTurn":    postInterruptWaiting,
		"RejectDuringATurn":          postReject,
		"AfterAGivenMessage":         postFollows,
		"InASessionOfAGivenAgent":    postOfAgent,
		"TheSessionsOwnPolicy":       postSessionPolicy,
		"AloneStartsNothing":         postAlone,
		"ToAnArchivedSession":        postArchived,
		"ToADeletedSession":          postDeleted,
		"FromAForeignScope":          postForeign,
		"FirstMessageOfANewSession":  postFirst,
		"FirstMessageByKey":          postFirstByKey,
		"OtherRolesAreRecorded":      postOtherRoles,
		"FieldsComeBack":             postFields,
		"ContextIsNotedOnce":         postNote,
		"TitleFromTheFirstMessage":   postTitle,
		"FullQueue":                  postFullQueue,
		"LongQueue":                  postLongQueue,
		"UnknownAgentProjectParent":  postUnknownReferences,
		"EventSequenceBeforeThePost": postEventSequence,
	})
}

func postIdle(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("hello"))
	if posted.Message.Sequence != 1 || posted.Message.Status != parley.MessageCompleted ||
		posted.Message.Position != nil {
		t.Errorf("the message is %+v; want it in the record", posted.Message)
	}
	if posted.Turn == nil || posted.Turn.Status != parley.TurnQueued ||
		posted.Turn.TriggerMessageID != posted.Message.ID ||
		posted.Message.TurnID != posted.Turn.ID {
		t.Errorf("the turn is %+v; want it queued for the message", posted.Turn)
	}
	if posted.Claim != nil || posted.Replayed || posted.EventSequence != 0 {
		t.Errorf("the answer is %+v", posted)
	}
	s := w.check(t, session)
	if s.Session.Status != parley.SessionRunning || s.Session.TurnID != posted.Turn.ID {
		t.Errorf("the session is %s with turn %s; a queued turn counts as running", s.Session.Status, s.Session.TurnID)
	}
}

func postClaimed(t *testing.T, w *world) {
	claim := w.started(t, "hello")
	if claim.Turn.Status != parley.TurnRunning || claim.Turn.Attempt != 1 ||
		claim.Turn.AgentVersion != w.agent.Version ||
		claim.Turn.AgentID != w.agent.ID {
		t.Errorf("the claimed turn is %+v", claim.Turn)
	}
	if claim.Agent.ID != w.agent.ID || claim.Session.ID != claim.Fence.SessionID || claim.Trigger.Sequence != 1 ||
		claim.Fence.TurnID != claim.Turn.ID ||
		claim.Fence.Epoch == 0 {
		t.Errorf("the claim is incomplete: %+v", claim)
	}
	w.claimsNothing(t)
	w.answer(t, claim, "hi")
	s := w.check(t, claim.Fence.SessionID)
	if s.Session.Status != parley.SessionCompleted || len(s.Record) != 2 {
		t.Errorf("after the turn the session is %s with %d messages", s.Session.Status, len(s.Record))
	}
}

func postQueue(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	second, third := w.post(t, session, w.say("two")), w.post(t, session, w.say("three"))
	for _, posted := range []store.Posted{second, third} {
		if posted.Message.Status != parley.MessageQueued || posted.Message.Position == nil ||
			posted.Message.Sequence != 0 ||
			posted.Message.Steer {
			t.Errorf("the message is %+v; want it queued", posted.Message)
		}
		if posted.Turn == nil || posted.Turn.Status != parley.TurnQueued || posted.Turn.ID == claim.Turn.ID {
			t.Errorf("the turn is %+v; want one of its own, queued", posted.Turn)
		}
	}
	if s := w.check(t, session); len(s.Queue) != 2 || s.Queue[0].ID != second.Message.ID {
		t.Errorf("the queue is out of order")
	}
	w.answer(t, claim, "1")
	for i, want := range []store.Posted{second, third} {
		next := w.claim(t)
		if next.Turn.ID != want.Turn.ID || next.Trigger.ID != want.Message.ID ||
			next.Trigger.Sequence != int64(2*i+3) ||
			next.Trigger.Status != parley.MessageCompleted {
			t.Fatalf("the claim is of %+v; want the turn of %s with its trigger in the record", next, want.Message.ID)
		}
		w.check(t, session)
		w.answer(t, next, "ok")
	}
	w.check(t, session)
	w.claimsNothing(t)
}

func postSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	posted := w.post(t, claim.Fence.SessionID, w.say("by the way", during(parley.DuringSteer)))
	if posted.Message.Status != parley.MessageQueued || !posted.Message.Steer || posted.Turn == nil ||
		posted.Turn.ID != claim.Turn.ID {
		t.Errorf("the steer is %+v of turn %+v; want it queued for the running turn", posted.Message, posted.Turn)
	}
	steers, err := w.store.PendingSteers(w.ctx, claim.Fence)
	must(t, "PendingSteers", err)
	if len(steers) != 1 || steers[0].ID != posted.Message.ID {
		t.Fatalf("PendingSteers reads %+v", steers)
	}
	begun, err := w.store.BeginStep(w.ctx, claim.Fence, w.stepBegin(1, 1, steers...))
	must(t, "BeginStep", err)
	if len(begun.Steered) != 1 || begun.Steered[0].Sequence != 2 || begun.Message.Sequence != 3 {
		t.Errorf("the step begins with %+v and %+v; want the steer before the answer", begun.Steered, begun.Message)
	}
	if s := w.check(t, claim.Fence.SessionID); len(s.Turns) != 1 || len(s.Queue) != 0 {
		t.Errorf("%d turns and %d queued messages", len(s.Turns), len(s.Queue))
	}

	idle := w.session(t)
	if posted := w.post(
		t,
		idle,
		w.say("first", during(parley.DuringSteer)),
	); posted.Message.Sequence != 1 || posted.Turn == nil ||
		posted.Turn.Status != parley.TurnQueued {
		t.Errorf("a steer of an idle session is %+v; want an ordinary turn", posted)
	}
}

func postInterrupt(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	queued := w.post(t, session, w.say("queued"))
	posted := w.post(t, session, w.say("stop that", during(parley.DuringInterrupt)))
	if posted.Message.Status != parley.MessageQueued || posted.Turn == nil || posted.Turn.ID == claim.Turn.ID {
		t.Errorf("the interrupting message is %+v of turn %+v", posted.Message, posted.Turn)
	}
	cancels, err := w.store.RenewLease(w.ctx, w.process, longLease)
	must(t, "RenewLease", err)
	if len(cancels) != 1 || cancels[0] != claim.Turn.ID {
		t.Errorf("the holder is told to cancel %v; want the turn %s", cancels, claim.Turn.ID)
	}
	settle := settlement(begin, "half")
	settle.Call.Outcome, settle.Blocks[0].Status = parley.CallCancelled, parley.MessageCancelled
	settle.End = &store.TurnEnd{Status: parley.TurnCancelled}
	w.settle(t, claim.Fence, settle)
	next := w.claim(t)
	if next.Turn.ID != posted.Turn.ID {
		t.Errorf(
			"after the interrupt turn %s runs; want the interrupting message's, %s (queued before: %s)",
			next.Turn.ID,
			posted.Turn.ID,
			queued.Turn.ID,
		)
	}
	w.check(t, session)
}

func postInterruptWaiting(t *testing.T, w *world) {
	claim := w.started(t, "one")
	calls := w.callTools(t, claim.Fence, 1, 1)
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	must(t, "ParkTurn", err)
	posted := w.post(t, claim.Fence.SessionID, w.say("never mind", during(parley.DuringInterrupt)))
	if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnCancelled {
		t.Fatalf(
			"the waiting turn is %s after an interrupt; it has no holder, so it must be cancelled immediately",
			turn.Status,
		)
	}
	if posted.Turn == nil || posted.Message.Sequence == 0 && posted.Message.Status != parley.MessageQueued {
		t.Errorf("the interrupting message is %+v", posted.Message)
	}
	if next := w.claim(t); next.Turn.ID != posted.Turn.ID {
		t.Errorf("turn %s runs; want %s", next.Turn.ID, posted.Turn.ID)
	}
	_, err = w.store.PostMessage(w.ctx, w.scope, claim.Fence.SessionID, w.result(calls[0]), parley.ID{})
	refused(t, "a result for the interrupted call", err, parley.CodeConflict)
	w.check(t, claim.Fence.SessionID)
}

// A post that follows a message is refused once the record has moved on.
func postFollows(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "one", "1")
	follows := func(sequence int64) func(*store.NewMessage) {
		return func(m *store.NewMessage) { m.Follows = sequence }
	}
	before := w.snapshot(t, session)
	for _, sequence := range []int64{1, 3} {
		_, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("two", follows(sequence)), parley.ID{})
		refused(t, "a post after another message", err, parley.CodeChanged)
		w.unchanged(t, "a post after another message", session, before)
	}
	keyed := w.say("two", follows(2), keyed("k", "body"))
	if posted := w.post(t, session, keyed); posted.Message.Sequence != 3 {
		t.Errorf("the post after the last message is %+v", posted.Message)
	}
	if again := w.post(t, session, keyed); !again.Replayed || again.Message.Sequence != 3 {
		t.Errorf("its repeat is %+v, want the first one", again)
	}
}

// A post for one agent is refused in a session of another.
func postOfAgent(t *testing.T, w *world) {
	session := w.session(t)
	agent := w.check(t, session).Session.AgentID
	of := func(agent parley.ID) func(*store.NewMessage) { return func(m *store.NewMessage) { m.OfAgent = agent } }
	before := w.snapshot(t, session)
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("one", of(parley.NewID())), parley.ID{})
	refused(t, "a post for another agent", err, parley.CodeInvalid)
	w.unchanged(t, "a post for another agent", session, before)
	w.post(t, session, w.say("one", of(agent)))
}

func postReject(t *testing.T, w *world) {
	claim := w.started(t, "one")
	before := w.snapshot(t, claim.Fence.SessionID)
	titled := func(m *store.NewMessage) { m.Title = "Refused" }
	_, err := w.store.PostMessage(
		w.ctx,
		w.scope,
		claim.Fence.SessionID,
		w.say("two", during(parley.DuringReject), titled),
		w.process,
	)
	refused(t, "a post with reject", err, parley.CodeBusy)
	w.unchanged(t, "a post with reject", claim.Fence.SessionID, before)
	w.answer(t, claim, "1")
	if title := w.check(t, claim.Fence.SessionID).Session.Title; title != "" {
		t.Errorf("the next transition wrote the title of the refused post, %q", title)
	}
	if posted := w.post(
		t,
		claim.Fence.SessionID,
		w.say("two", during(parley.DuringReject)),
	); posted.Message.Sequence != 3 {
		t.Errorf("with no turn unfinished, the post with reject is %+v", posted.Message)
	}
}

func postSessionPolicy(t *testing.T, w *world) {
	session := w.session(t, func(s *parley.Session) { s.During = parley.DuringReject })
	w.post(t, session, w.say("one"))
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("two"), parley.ID{})
	refused(t, "a post under the session's reject", err, parley.CodeBusy)
	if posted := w.post(
		t,
		session,
		w.say("three", during(parley.DuringQueue)),
	); posted.Message.Status != parley.MessageQueued {
		t.Errorf("the post's own policy does not win: %+v", posted.Message)
	}
}

func postAlone(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("note", alone))
	if posted.Turn != nil || posted.Message.Sequence != 1 || posted.Message.Status != parley.MessageCompleted ||
		!posted.Message.TurnID.IsZero() {
		t.Errorf("a message alone is %+v with turn %+v", posted.Message, posted.Turn)
	}
	w.claimsNothing(t)
	if s := w.check(t, session); s.Session.Status != parley.SessionPending {
		t.Errorf("a session without turns is %s", s.Session.Status)
	}
}

func postArchived(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "one", "1")
	archived, open := true, false
	_, err := w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Archived: &archived})
	must(t, "archiving", err)
	before := w.snapshot(t, session)
	for name, message := range map[string]store.NewMessage{"a post": w.say("two"),
		"a message alone": w.say("two", alone)} {
		_, err = w.store.PostMessage(w.ctx, w.scope, session, message, w.process)
		refused(t, name, err, parley.CodeArchived)
		w.unchanged(t, name, session, before)
	}
	_, err = w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Archived: &open})
	must(t, "reopening", err)
	w.exchange(t, session, "two", "2")
	w.check(t, session)

	claim := w.started(t, "busy")
	_, err = w.store.UpdateSession(w.ctx, w.scope, claim.Fence.SessionID, store.SessionChange{Archived: &archived})
	refused(t, "archiving with a turn unfinished", err, parley.CodeConflict)
}

func postDeleted(t *testing.T, w *world) {
	session := w.session(t)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	for name, id := range map[string]parley.ID{"deleted": session, "unknown": parley.NewID()} {
		_, err := w.store.PostMessage(w.ctx, w.scope, id, w.say("hello"), w.process)
		refused(t, "a post to a session that is "+name, err, parley.CodeNotFound)
	}
}

func postForeign(t *testing.T, w *world) {
	session := w.session(t)
	shared := w.session(t, func(s *parley.Session) { s.Visibility = parley.VisibilityWorkspace })
	before := w.snapshot(t, session)
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	for name, scope := range map[string]store.Scope{
		"another workspace": w.neighbour(t, "other").scope,
		"another principal": stranger,
		"no workspace":      {WorkspaceID: parley.NewID()},
	} {
		_, err := w.store.PostMessage(w.ctx, scope, session, w.say("hello"), parley.ID{})
		refused(t, "a post from "+name, err, parley.CodeNotFound)
	}
	w.unchanged(t, "a foreign post", session, before)
	if _, err := w.store.PostMessage(w.ctx, stranger, shared, w.say("hello"), parley.ID{}); err != nil {
		t.Errorf("a post to a session that is shared with the workspace: %v", err)
	}
	own := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: w.owner.ID}
	if _, err := w.store.PostMessage(w.ctx, own, session, w.say("hello"), parley.ID{}); err != nil {
		t.Errorf("the owner's post: %v", err)
	}
}

func postFirst(t *testing.T, w *world) {
	session, first := w.newSession(), w.say("hello")
	opened, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session, First: &first}, w.process)
	must(t, "EnsureSession", err)
	if !opened.Created || opened.Posted == nil || opened.Posted.Claim == nil || opened.Posted.Message.Sequence != 1 {
		t.Fatalf("a session with its first message is %+v", opened)
	}
	w.answer(t, *opened.Posted.Claim, "hi")
	w.check(t, session.ID)

	session, first = w.newSession(), w.say("hello")
	opened, err = w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session, First: &first}, parley.ID{})
	must(t, "EnsureSession", err)
	if opened.Posted == nil || opened.Posted.Claim != nil {
		t.Fatalf("without a free slot the first message is %+v", opened.Posted)
	}
	if claim := w.claim(t); claim.Fence.SessionID != session.ID {
		t.Errorf("the new session is not ready")
	}
	w.check(t, session.ID)
}

func postFirstByKey(t *testing.T, w *world) {
	keyed := func() parley.Session { s := w.newSession(); s.Key = "project-7"; return s }
	session := keyed()
	opened, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session}, parley.ID{})
	must(t, "EnsureSession", err)
	first := w.say("hello")
	again, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: keyed(), First: &first}, w.process)
	must(t, "EnsureSession by key", err)
	if !opened.Created || again.Created || again.Session.ID != session.ID || again.Posted == nil ||
		again.Posted.Claim == nil {
		t.Fatalf("get-or-create gave %+v and %+v", opened, again)
	}
	w.answer(t, *again.Posted.Claim, "hi")
	archived := true
	_, err = w.store.UpdateSession(w.ctx, w.scope, session.ID, store.SessionChange{Archived: &archived})
	must(t, "archiving", err)
	found, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: keyed()}, parley.ID{})
	if err != nil || found.Created || found.Session.ArchivedAt == 0 {
		t.Errorf("get-or-create of an archived session: %+v, %v; want it, marked", found, err)
	}
	before := w.snapshot(t, session.ID)
	next := w.say("more")
	_, err = w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: keyed(), First: &next}, parley.ID{})
	refused(t, "a first message to an archived session", err, parley.CodeArchived)
	w.unchanged(t, "a first message to an archived session", session.ID, before)

	elsewhere := w.neighbour(t, "other")
	other := elsewhere.newSession()
	other.Key = "project-7"
	opened, err = w.store.EnsureSession(w.ctx, elsewhere.scope, store.NewSession{Session: other}, parley.ID{})
	if err != nil || !opened.Created {
		t.Errorf("another workspace's key: %+v, %v; want a session of its own", opened, err)
	}
	w.check(t, session.ID)
}

func postOtherRoles(t *testing.T, w *world) {
	session := w.session(t)
	for i, role := range []parley.Role{parley.RoleAssistant, parley.RoleSummary} {
		posted := w.post(t, session, w.say("x", alone, func(m *store.NewMessage) {
			m.Role, m.Content = role, json.RawMessage(`{"text":"x"}`)
		}))
		if posted.Turn != nil || posted.Message.Sequence != int64(i+1) || posted.Message.Role != role {
			t.Errorf(
				"a posted %s is %+v with turn %+v; want it recorded, starting nothing",
				role,
				posted.Message,
				posted.Turn,
			)
		}
	}
	w.claimsNothing(t)
	w.check(t, session)
}

func postFields(t *testing.T, w *world) {
	prompt, heat := "Be brief.", 0.25
	message := w.say("hello", func(m *store.NewMessage) {
		m.ContextNote, m.Internal, m.AgentType, m.Iteration = "it is noon", true, "qa", 3
		m.Metadata = json.RawMessage(`{"a":[1]}`)
		m.Settings = parley.Settings{
			Model:        "sim/lorem-1-0",
			SystemPrompt: &prompt,
			Parameters:   parley.Parameters{Temperature: &heat},
		}
	})
	session := w.session(t)
	w.post(t, session, message)
	got := w.message(t, message.ID)
	if string(got.Content) != string(message.Content) || got.ContextNote != "it is noon" || !got.Internal ||
		got.AgentType != "qa" ||
		got.Iteration != 3 ||
		string(got.Metadata) != `{"a":[1]}` ||
		got.Author != message.Author {
		t.Errorf("the message came back as %+v", got)
	}
	claim := w.claim(t)
	if o := claim.Trigger.Settings; o.Model != "sim/lorem-1-0" || o.SystemPrompt == nil || *o.SystemPrompt != prompt ||
		o.Temperature == nil ||
		*o.Temperature != heat {
		t.Errorf("the trigger's overrides came back as %+v", o)
	}
	w.check(t, session)
}

func postTitle(t *testing.T, w *world) {
	titled := func(m *store.NewMessage) { m.Title = "Plans" }
	session := w.session(t)
	w.post(t, session, w.say("Plans", titled, alone))
	if got := w.sessionState(t, session).Title; got != "Plans" {
		t.Errorf("the title is %q", got)
	}
	session = w.session(t, func(s *parley.Session) { s.Title = "Own" })
	w.post(t, session, w.say("Plans", titled, alone))
	if got := w.sessionState(t, session).Title; got != "Own" {
		t.Errorf("the session's own title became %q", got)
	}
}

// What waits in a queue has a bound in bytes too, however it comes there.
func postLongQueue(t *testing.T, w *world) {
	const each = parley.MaxQueuedBytes / 8
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	long := func(size int) store.NewMessage { return w.say(strings.Repeat("x", size), during(parley.DuringSteer)) }
	var last parley.Message
	for range 7 {
		last = w.post(t, session, long(each-100)).Message
	}
	_, err := w.store.PostMessage(w.ctx, w.scope, session, long(each+1000), parley.ID{})
	refused(t, "a post beyond the bytes of a queue", err, parley.CodeConflict)
	_, err = w.store.EditQueued(w.ctx, w.scope, w.owner.ID, last.ID, long(2*each+1000).Content)
	refused(t, "an edit beyond the bytes of a queue", err, parley.CodeConflict)
	w.post(t, session, w.say("short"))
	_, err = w.store.RemoveQueued(w.ctx, w.scope, last.ID)
	must(t, "RemoveQueued", err)
	w.post(t, session, long(each+1000))
	if s := w.check(t, session); len(s.Queue) != 8 {
		t.Errorf("the queue holds %d messages", len(s.Queue))
	}
}

func postFullQueue(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	errs := make(chan error, parley.MaxQueued)
	for range parley.MaxQueued {
		go func() { // ends with its post
			_, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("more"), parley.ID{})
			errs <- err
		}()
	}
	for range parley.MaxQueued {
		must(t, "filling the queue", <-errs)
	}
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("too much"), parley.ID{})
	refused(t, "a post to a full queue", err, parley.CodeConflict)
	if s := w.check(t, session); len(s.Queue) != parley.MaxQueued {
		t.Errorf("the queue holds %d messages", len(s.Queue))
	}
	w.answer(t, claim, "1")
	w.claim(t) // one trigger enters the record, which makes room
	w.post(t, session, w.say("now"))
	_, err = w.store.PostMessage(w.ctx, w.scope, session, w.say("too much again"), parley.ID{})
	refused(t, "a post to a queue that is full again", err, parley.CodeConflict)
}

func postUnknownReferences(t *testing.T, w *world) {
	elsewhere := w.neighbour(t, "other")
	foreign := elsewhere.session(t)
	for name, change := range map[string]func(*parley.Session){
		"an unknown agent":             func(s *parley.Session) { s.AgentID = parley.NewID() },
		"another workspace's agent":    func(s *parley.Session) { s.AgentID = elsewhere.agent.ID },
		"an unknown project":           func(s *parley.Session) { s.ProjectID = parley.NewID() },
		"an unknown parent":            func(s *parley.Session) { s.ParentSessionID = parley.NewID() },
		"another workspace's sessions": func(s *parley.Session) { s.ParentSessionID = foreign },
	} {
		session := w.newSession()
		change(&session)
		_, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session}, parley.ID{})
		refused(t, "a session with "+name, err, parley.CodeNotFound)
		_, err = w.store.Session(w.ctx, w.scope, session.ID)
		refused(t, "reading the refused session", err, parley.CodeNotFound)
	}
}

func postEventSequence(t *testing.T, w *world) {
	session := w.session(t)
	first := w.exchange(t, session, "one", "1")
	before := w.sessionState(t, session).LastEvent
	second := w.post(t, session, w.say("two"))
	if first.EventSequence != 0 || second.EventSequence != before {
		t.Errorf(
			"the posts report the events %d and %d before them; want 0 and %d",
			first.EventSequence,
			second.EventSequence,
			before,
		)
	}
	events, err := w.store.Events(w.ctx, w.scope, session, second.EventSequence, 10)
	must(t, "Events", err)
	if len(events) == 0 || events[0].Type != parley.EventMessageCreated {
		t.Errorf("after the reported event comes %+v; want the post's own", events)
	}
}
