package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// Filled describes what Fill created.
type Filled struct {
	Scope    store.Scope
	Sessions []parley.ID // of that workspace, in any state
	Running  parley.ID   // the one with a running turn
}

// Fill puts rows of every kind into an empty store, through the port: two workspaces, agents with versions, keys,
// projects, clients, sessions in every state with n exchanges in one of them, a turn that a process with a lease is
// running, and work in the outbox. Afterwards no table is empty.
func Fill(t *testing.T, store store.Store, n int) Filled {
	t.Helper()
	w := &world{ctx: t.Context(), store: store}
	w.enter(t, parley.DefaultWorkspace)
	w.process = w.register(t)
	filled := Filled{Scope: w.scope}
	w.fillKeys(t)
	w.agent = w.createAgent(t, "écrivain", "slow", "Ж")
	w.agent.SystemPrompt = new("Sei freundlich. 😀")
	var err error
	w.agent, err = w.store.UpdateAgent(w.ctx, w.agent)
	must(t, "UpdateAgent", err)
	project := w.choose(t, "/tmp/projet")

	plain := w.session(t, func(s *parley.Session) {
		s.Key, s.Tags, s.ProjectID, s.Type, s.Instructions = "the key", []string{
			"b",
			"a",
			"é",
		}, project.ID, "chat", "short"
	})
	for range n {
		w.exchange(t, plain, "a question\t\"?\"", "an answer\nin lines 😀")
	}
	w.fillDelegations(t)
	w.fillKnowledge(t)
	w.fillArtifacts(t, project.ID, plain)
	w.fillSchedules(t)
	w.fillWebhooks(t, plain)
	w.authorization(t, "tickets")
	w.names(t, plain, "é 😀")
	w.askedBelow(t)
	w.drainOutbox(t) // announces it to its root
	must(t, "SetClientSession", w.store.SetClientSession(w.ctx, w.scope, w.owner.ID, "tab 1", plain))
	must(
		t,
		"AppendAudit",
		w.store.AppendAudit(w.ctx, []parley.AuditEntry{
			{
				ID:            parley.NewID(),
				WorkspaceID:   w.scope.WorkspaceID,
				At:            parley.Now(),
				PrincipalID:   w.owner.ID,
				PrincipalName: w.owner.Name,
				Action:        "createMessage",
				SessionID:     plain,
				TargetID:      parley.NewID(),
				RequestID:     parley.NewID(),
			},
		}),
	)
	w.loop(t, w.session(t), 3)
	tools, _ := w.parked(t, 2)
	asking, _, _ := w.asked(t)
	answered, _, approval := w.asked(t)
	w.decide(t, approval, no("not on Fridays"))
	stopped := w.started(t, "stop")
	w.cancel(t, stopped.Fence.SessionID)
	_, err = w.store.TakeCancel(w.ctx, w.scope, stopped.Fence.SessionID, stopped.Turn.ID)
	must(t, "TakeCancel", err)
	failing := w.session(t)
	lost, err := w.store.PostMessage(w.ctx, w.scope, failing, w.say("fail"), w.process)
	must(t, "PostMessage", err)
	_, err = w.store.FinishTurn(w.ctx, lost.Claim.Fence, *failed(parley.ClassStream))
	must(t, "FinishTurn", err)
	summed := w.session(t)
	w.exchange(t, summed, "a long story", "indeed")
	w.compacted(t, summed, 2, "A story was told.")
	w.replayed(t, plain, nil)
	w.tried(t, plain)
	opened, err := w.store.EnsureSession(w.ctx, w.scope, w.creation("once", "body"), parley.ID{})
	must(t, "EnsureSession", err)
	forked := w.fillHistory(t, plain)
	filled.Running = w.fillRunning(t)
	thrifty := w.fillBudgets(t)
	open, message := w.streaming(t)
	w.grow(t, message, parley.KindText, 0, "A half 😀")
	w.share(t, plain, open)
	filled.Sessions = []parley.ID{
		plain,
		tools.Fence.SessionID,
		asking.Fence.SessionID,
		answered.Fence.SessionID,
		stopped.Fence.SessionID,
		failing,
		summed,
		opened.Session.ID,
		forked,
		filled.Running,
		thrifty,
		open,
	}

	other := w.neighbour(t, "acme")
	w.fillFiles(t)
	other.exchange(t, other.session(t), "elsewhere", "there")
	doomed := other.session(t)
	other.exchange(t, doomed, "delete me", "gone")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, other.scope, doomed))
	linkAll(t, w.store)
	return filled
}

// fillHistory makes a fork with a mark on a shared message.
func (w *world) fillHistory(t *testing.T, parent parley.ID) parley.ID {
	t.Helper()
	first, err := w.store.MessageIDs(w.ctx, w.scope, parent, store.MessageQuery{Limit: 1})
	must(t, "MessageIDs", err)
	fork := w.fork(t, parent, 2)
	w.exchange(t, fork.ID, "another question", "another answer")
	_, err = w.store.MarkMessage(w.ctx, w.scope, fork.ID, first[0].ID, marked(parley.Marks{Pinned: true}))
	must(t, "MarkMessage", err)
	return fork.ID
}

// fillDelegations has a briefing delivered, and a task answered and read, in a chain with a budget.
func (w *world) fillDelegations(t *testing.T) {
	t.Helper()
	c := w.crew(t)
	c.limits(t, &c.lead, parley.Limits{ChainTokens: tokens(1_000_000)})
	sent, err := w.store.Delegation(w.ctx, w.scope, c.hands(t, briefing("the harvest"))[0])
	must(t, "Delegation", err)
	must(t, "MakeBudgets", w.store.MakeBudgets(w.ctx, w.scope.WorkspaceID, []store.BudgetSubject{ofChain(sent.RootID)}))
	c.hands(t, c.task(c.scout, "Look."))
	for range 2 { // the task's turn, and the one that reads its answer
		c.answer(t, c.claim(t), "All quiet.")
		c.errands(t)
	}
}

// fillSchedules has a schedule of an agent with an owner posted once.
func (w *world) fillSchedules(t *testing.T) {
	t.Helper()
	schedule := w.schedule(t, w.worker(t, "digger").ID)
	w.due(t, schedule.ID)
}

// fillWebhooks has a webhook with a lane and a dead delivery.
func (w *world) fillWebhooks(t *testing.T, session parley.ID) {
	t.Helper()
	hook := w.webhook(t, func(h *parley.Webhook) { h.Previous, h.PreviousUntil = []byte{0, 0xff}, 1_900_000_000_000 })
	w.webhook(t, pushOf(session, parley.NewID()))
	lane := laneOf(&hook, session)
	w.move(t, store.LaneMove{
		HeldLane: w.hold(t, lane), Noted: []parley.WebhookDelivery{failedDelivery(lane, 11, parley.DeliveryDead)},
	})
}

// fillKnowledge makes an item with a source, and chooses a block for a session.
func (w *world) fillKnowledge(t *testing.T) {
	t.Helper()
	agent := w.worker(t, "scribe")
	session := w.background(t, &agent).ID
	w.learn(t, agent.ID, "Ein Fluss heißt Ob. 😀", from(session, w.post(t, session, w.say("note it")).Message))
	claim := w.claim(t)
	must(t, "ChooseKnowledge", w.store.ChooseKnowledge(w.ctx, claim.Fence, parley.KnowledgeBlock{
		ID: parley.NewID(), Beginning: "0/0/0", Text: "known",
		Items: []parley.KnowledgeShown{}, Told: []parley.KnowledgeTold{},
	}))
	w.answer(t, claim, "noted")
}

// fillArtifacts makes an artifact in a project and one in a session, with versions on each other's contents.
func (w *world) fillArtifacts(t *testing.T, project, session parley.ID) {
	t.Helper()
	a := w.artifact(t, "Übersicht", "{}", func(a *parley.Artifact) {
		a.ProjectID, a.Kind, a.Schema = project, parley.ArtifactJSON, []byte(`{"type":"object"}`)
	})
	first := contentFor("{}", nil)
	writing := w.version(&a, 1, `{"a":1}`, &first)
	writing.Version.SessionID, writing.Version.MessageID = session, parley.NewID()
	writing.Idempotency = store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))}
	_, _, err := w.store.WriteArtifact(w.ctx, writing)
	must(t, "WriteArtifact", err)
	w.artifact(t, "notes", `{"a":1}`, func(a *parley.Artifact) { a.SessionID = session })
	byHand := w.edited(t, "Handschrift", "é")
	w.edit(t, &byHand, 1, 1, "è")
	w.edited(t, "in a session", "é", func(a *parley.Artifact) { a.SessionID = session })

	opened := w.transform(t, w.newTransform("Übersicht", []parley.Artifact{a}, replaces(&a), creating("new")))
	w.ends(t, w.claim(t), &opened, "old base", "made") // in conflict
	definition, _, err := w.store.CreateTransformDefinition(w.ctx, parley.TransformDefinition{
		ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Slug: "übersicht", OwnerID: w.owner.ID,
		TransformSpec: parley.TransformSpec{Name: "Übersicht", AgentID: w.agent.ID, Instructions: "write"},
		Outputs:       []parley.TransformTarget{}, Status: parley.AgentActive, ChangedByID: w.owner.ID,
	}, store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))})
	must(t, "CreateTransformDefinition", err)
	_, err = w.store.UpdateTransformDefinition(w.ctx, definition)
	must(t, "UpdateTransformDefinition", err)
	w.startRun(t, node("top"), node("Übersicht", "top"))
}

// fillFiles makes a file that a message uses, one with a thumbnail, and an upload under way.
func (w *world) fillFiles(t *testing.T) {
	t.Helper()
	used := w.upload(t, "used.bin", pieces('u'))
	_, err := w.store.PostMessage(w.ctx, w.scope, w.session(t), w.sayFiles(used.ID), parley.ID{})
	must(t, "PostMessage", err)
	must(t, "KeepThumbnail", w.store.KeepThumbnail(w.ctx, w.scope.WorkspaceID, used.BlobID, []byte{0xff, 0}))
	w.append(t, parley.NewID(), pieces('o'))
}

func (w *world) fillKeys(t *testing.T) {
	t.Helper()
	made, err := w.store.CreateKey(w.ctx, newKey(parley.DefaultWorkspace, "old", parley.RoleAdmin))
	must(t, "CreateKey", err)
	_, err = w.store.RevokeKey(w.ctx, w.scope.WorkspaceID, made.ID)
	must(t, "RevokeKey", err)
	fresh := newKey(parley.DefaultWorkspace, "new", parley.RoleMember)
	fresh.Hash, fresh.Key.MaxSessions, fresh.Key.MaxStorage = parley.HashOf(
		[]byte("another secret"),
	), new(
		int64(1000),
	), new(
		int64(1<<40),
	)
	_, err = w.store.CreateKey(w.ctx, fresh)
	must(t, "CreateKey", err)
}

// fillBudgets makes a session with limits whose second turn waits for room.
func (w *world) fillBudgets(t *testing.T) parley.ID {
	t.Helper()
	session := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	first, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("first"), w.process)
	must(t, "PostMessage", err)
	begin, err := w.budgeted(first.Claim.Fence, 1, w.asks(t, session, 80))
	must(t, "BeginStep", err)
	w.settle(t, first.Claim.Fence, used(begin, 70))
	second, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("second"), w.process)
	must(t, "PostMessage", err)
	_, err = w.park(second.Claim.Fence, w.asks(t, session, 80), second.Claim.Session.Limits)
	must(t, "ParkRefused", err)
	w.take(t, w.owner.ID, 60)
	return session
}

// fillRunning makes a session with a streaming second turn and a queue.
func (w *world) fillRunning(t *testing.T) parley.ID {
	t.Helper()
	session := w.session(t)
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("first", keyed("first", "body")), w.process)
	must(t, "PostMessage", err)
	begin := w.begin(t, posted.Claim.Fence, 1)
	w.flush(t, posted.Claim.Fence, begin.Call.MessageID, 1, 0, "an ans")
	settle := settlement(begin, "an answer")
	settle.Blocks[0].ProviderData = []byte{0, 0xff, '"', '\n', 0xc3, 0x28} // invalid UTF-8
	settle.End = completed()
	w.settle(t, posted.Claim.Fence, settle)

	second, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("second"), w.process)
	must(t, "PostMessage", err)
	streaming := w.begin(t, second.Claim.Fence, 1)
	w.flush(t, second.Claim.Fence, streaming.Call.MessageID, 1, 0, "Half a sen")
	w.post(t, session, w.say("queued"))
	removed := w.post(t, session, w.say("removed"))
	_, err = w.store.RemoveQueued(w.ctx, w.scope, removed.Message.ID)
	must(t, "RemoveQueued", err)
	w.steer(t, session, "steer")
	return session
}
