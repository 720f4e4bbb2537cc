package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testKnowledge(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"CreatedAndReadAlike":                 knowledgeCreated,
		"ARepeatGivesTheFirstItem":            knowledgeRepeated,
		"TheSameWordsConfirm":                 knowledgeConfirmed,
		"AContradictionSupersedes":            knowledgeSuperseded,
		"WhatAPersonWroteIsNotSuperseded":     knowledgeOfPeople,
		"AChangeNamesItsRevision":             knowledgeChanged,
		"ManyChangesChangeOnce":               knowledgeRaces,
		"ListsAndWorkspaces":                  knowledgeLists,
		"OnlyWhoReadsAllSourcesIsTold":        knowledgeSources,
		"APurgedSourceRemovesTheItem":         knowledgePurged,
		"ATeamIsToldWhatItsLeadsKnow":         knowledgeOfTeams,
		"AProcedureIsUsedOnlyWhenApproved":    knowledgeProcedures,
		"WhatIsNewComesOnceInTheContextNote":  knowledgeNews,
		"OnlyPeopleBringBackWhatWasForgotten": knowledgeForgotten,
		"OfManyTheSameIsConfirmed":            knowledgeOfMany,
		"ABlockIsChosenUnderTheClaim":         knowledgeBlocks,
		"WorkIsDrawnFromOnce":                 knowledgeDrawn,
		"NothingIsDrawnUnlessWanted":          knowledgeUndrawn,
		"AnAnswerThatFitsNothingIsNotLearned": knowledgeMisfit,
		"ChangesAreAudited":                   knowledgeAudited,
		"TheFeedHearsEveryChange":             knowledgeTold,
		"OnlyReadersHearOfAnItem":             knowledgeToldReaders,
	})
}

func (w *world) newKnowledge(
	agent parley.ID, text string, changes ...func(*parley.KnowledgeItem),
) parley.KnowledgeItem {
	item := parley.KnowledgeItem{
		ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, AgentID: agent, Scope: parley.KnowledgeOfAgent,
		Kind: parley.KnowledgeFact, Text: text, Confidence: 80,
		Author: parley.Author{Kind: parley.AuthorAgent, ID: agent, Name: "digger"},
	}
	for _, change := range changes {
		change(&item)
	}
	return item
}

func (w *world) learn(
	t reporter, agent parley.ID, text string, changes ...func(*parley.KnowledgeItem),
) parley.KnowledgeItem {
	t.Helper()
	made, _, err := w.store.CreateKnowledge(w.ctx, store.NewKnowledge{Item: w.newKnowledge(agent, text, changes...)})
	must(t, "CreateKnowledge", err)
	return made
}

func (w *world) knowledge(t reporter, id parley.ID) parley.KnowledgeItem {
	t.Helper()
	item, err := w.store.KnowledgeItem(w.ctx, w.scope, id)
	must(t, "KnowledgeItem", err)
	return item
}

// usable returns the texts that prompts of an agent are told in the sessions of a principal.
func (w *world) usable(t reporter, agent, owner parley.ID) (texts []string) {
	t.Helper()
	items, err := w.store.UsableKnowledge(w.ctx, store.KnowledgeReach{
		WorkspaceID: w.scope.WorkspaceID, AgentID: agent, ReaderID: owner, Limit: parley.MaxPage,
	})
	must(t, "UsableKnowledge", err)
	for i := range items {
		texts = append(texts, items[i].Text)
	}
	return texts
}

// wantTexts compares texts in their order.
func wantTexts(t reporter, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// from makes a message of a session the source of an item.
func from(session parley.ID, message parley.Message) func(*parley.KnowledgeItem) {
	return func(k *parley.KnowledgeItem) {
		k.Sources = append(k.Sources, parley.KnowledgeSource{
			SessionID: session, MessageID: message.ID, Sequence: message.Sequence, Role: message.Role,
		})
	}
}

func byPerson(w *world) func(*parley.KnowledgeItem) {
	return func(k *parley.KnowledgeItem) { k.Author = w.owner.Author() }
}

func supersedes(id parley.ID) func(*parley.KnowledgeItem) {
	return func(k *parley.KnowledgeItem) { k.SupersedesID = id }
}

func ofKind(kind parley.KnowledgeKind) func(*parley.KnowledgeItem) {
	return func(k *parley.KnowledgeItem) { k.Kind = kind }
}

func knowledgeCreated(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.session(t)
	source := w.exchange(t, session, "Where is it?", "In the north.").Message
	made := w.learn(t, agent.ID, "It is in the north.", from(session, source))
	if diff := cmp.Diff(made, w.knowledge(t, made.ID)); diff != "" {
		t.Errorf("as created and as read (-created +read):\n%s", diff)
	}
	if made.Status != parley.KnowledgeActive || made.CreatedAt == 0 || made.ChangedAt != made.CreatedAt ||
		len(made.Sources) != 1 || made.Sources[0].MessageID != source.ID {
		t.Errorf("created: %+v", made)
	}
	_, _, err := w.store.CreateKnowledge(w.ctx, store.NewKnowledge{Item: w.newKnowledge(parley.NewID(), "x")})
	refused(t, "knowledge of no agent", err, parley.CodeNotFound)
}

func knowledgeRepeated(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	creating := store.NewKnowledge{
		Item:        w.newKnowledge(agent.ID, "It rains."),
		Idempotency: store.Idempotency{Key: "once", Fingerprint: parley.HashOf([]byte("body"))},
	}
	first, replayed, err := w.store.CreateKnowledge(w.ctx, creating)
	must(t, "CreateKnowledge", err)
	if replayed {
		t.Error("the first creation is a repeat")
	}
	byID := creating
	byID.Idempotency = store.Idempotency{}
	other := creating
	other.Item.ID = parley.NewID()
	for name, again := range map[string]store.NewKnowledge{"its key": other, "its id": byID} {
		if got, replayed, err := w.store.CreateKnowledge(w.ctx, again); err != nil || !replayed || got.ID != first.ID {
			t.Errorf("the repeat by %s gave %s, %t, %v", name, got.ID, replayed, err)
		}
	}
	other.Idempotency.Fingerprint = parley.HashOf([]byte("another body"))
	_, _, err = w.store.CreateKnowledge(w.ctx, other)
	refused(t, "another body under the key", err, parley.CodeKeyReused)
}

func knowledgeConfirmed(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	first := w.learn(t, agent.ID, "The gate opens at nine.")
	again := w.learn(t, agent.ID, "the gate opens at NINE", func(k *parley.KnowledgeItem) { k.Confidence = 95 })
	if again.ID != first.ID || again.Confidence != 95 || w.knowledge(t, first.ID).Confidence != 95 {
		t.Errorf("the same words made %+v of %+v", again, first)
	}
	if other := w.learn(t, agent.ID, "The gate opens at ten."); other.ID == first.ID {
		t.Error("other words confirmed the item")
	}
	person := w.learn(t, agent.ID, "The gate opens at nine.", byPerson(w))
	if person.ID == first.ID || w.knowledge(t, first.ID).SupersededByID != person.ID {
		t.Errorf("a person's words made %+v", person)
	}
}

// forget forgets an item, as a person does.
func (w *world) forget(t reporter, item parley.KnowledgeItem) {
	t.Helper()
	item.Status = parley.KnowledgeForgotten
	_, err := w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{item})
	must(t, "UpdateKnowledge", err)
}

// knowledgeForgotten: an agent that notes, or draws from its work, what was forgotten makes no new item of it.
func knowledgeForgotten(t *testing.T, w *world) {
	agent := w.worker(t, "digger", draws)
	w.forget(t, w.learn(t, agent.ID, "The gate opens at nine."))
	_, _, err := w.store.CreateKnowledge(w.ctx, store.NewKnowledge{
		Item: w.newKnowledge(agent.ID, "the gate opens at nine", ofKind(parley.KnowledgePreference)),
	})
	refused(t, "what was forgotten, noted again by the agent", err, parley.CodeConflict)
	work, drawing := w.drawing(t, &agent)
	w.answer(t, drawing, fmt.Sprintf(`{"items":[
{"text":"The gate opens at nine.","kind":"fact","confidence":90,"sources":[%d],"confirms":null,"replaces":null},
{"text":"The north has gold.","kind":"fact","confidence":90,"sources":[%[1]d],"confirms":null,"replaces":null}]}`,
		work.Trigger.Sequence))
	w.drainOutbox(t)
	wantTexts(t, "prompts are told", w.usable(t, agent.ID, w.owner.ID), "The north has gold.")
	w.learn(t, agent.ID, "The gate opens at nine.", byPerson(w))
	wantTexts(t, "prompts are told", w.usable(t, agent.ID, w.owner.ID), "The gate opens at nine.",
		"The north has gold.")
}

// knowledgeOfMany: an item is confirmed however many the agent has noted since.
func knowledgeOfMany(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	first := w.learn(t, agent.ID, "The gate opens at nine.")
	for i := range parley.KnowledgeCandidates {
		w.learn(t, agent.ID, fmt.Sprintf("Field %d has iron.", i))
	}
	if again := w.learn(t, agent.ID, "The gate opens at nine."); again.ID != first.ID {
		t.Errorf("the same words made %+v of %+v", again, first)
	}
}

func knowledgeSuperseded(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	old := w.learn(t, agent.ID, "The gate opens at nine.")
	next := w.learn(t, agent.ID, "The gate opens at ten.", supersedes(old.ID))
	if got := w.knowledge(t, old.ID); got.Status != parley.KnowledgeSuperseded || got.SupersededByID != next.ID ||
		got.Text != old.Text {
		t.Errorf("the old item is %+v", got)
	}
	wantTexts(t, "prompts are told", w.usable(t, agent.ID, w.owner.ID), next.Text)
	_, _, err := w.store.CreateKnowledge(w.ctx, store.NewKnowledge{
		Item: w.newKnowledge(agent.ID, "No.", supersedes(parley.NewID())),
	})
	refused(t, "to supersede nothing", err, parley.CodeNotFound)
}

func knowledgeOfPeople(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	written := w.learn(t, agent.ID, "Releases are cut on Tuesdays.", byPerson(w))
	pinned := w.learn(t, agent.ID, "The river is wide.", func(k *parley.KnowledgeItem) { k.Pinned = true })
	for _, id := range []parley.ID{written.ID, pinned.ID} {
		w.learn(t, agent.ID, "Not "+id.String(), supersedes(id))
		if got := w.knowledge(t, id); got.Status != parley.KnowledgeActive {
			t.Errorf("an agent superseded %q", got.Text)
		}
	}
	w.learn(t, agent.ID, "Releases are cut on Mondays.", byPerson(w), supersedes(written.ID))
	if got := w.knowledge(t, written.ID); got.Status != parley.KnowledgeSuperseded {
		t.Errorf("a person's contradiction left %+v", got)
	}
}

func knowledgeChanged(t *testing.T, w *world) {
	made := w.learn(t, w.worker(t, "digger").ID, "It rains.")
	changed := made
	changed.Text, changed.Pinned, changed.ChangedAt = "It snows.", true, made.ChangedAt+5
	got, err := w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{changed})
	must(t, "UpdateKnowledge", err)
	if diff := cmp.Diff(got[0], w.knowledge(t, made.ID)); diff != "" || got[0].Text != "It snows." {
		t.Errorf("as changed and as read (-changed +read):\n%s", diff)
	}
	_, err = w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{made})
	refused(t, "a change of an older state", err, parley.CodeConflict)
	missing := made
	missing.ID = parley.NewID()
	_, err = w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{got[0], missing})
	refused(t, "a change of nothing", err, parley.CodeNotFound)
	if again := w.knowledge(t, made.ID); again.Revision != got[0].Revision {
		t.Error("a refused change was written in part")
	}
}

func knowledgeRaces(t *testing.T, w *world) {
	made := w.learn(t, w.worker(t, "digger").ID, "It rains.")
	const writers = 8
	won := make(chan string, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			mine := made
			mine.Text = fmt.Sprint("text ", i)
			if _, err := w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{mine}); err == nil {
				won <- mine.Text
			} else if parley.ErrorCode(err) != parley.CodeConflict {
				t.Errorf("UpdateKnowledge: %v", err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d writers changed one state", len(won))
	}
	if got := w.knowledge(t, made.ID).Text; got != <-won {
		t.Errorf("the text is %q, not the winner's", got)
	}
}

func knowledgeLists(t *testing.T, w *world) {
	digger, scout := w.worker(t, "digger"), w.worker(t, "scout")
	one := w.learn(t, digger.ID, "one")
	two := w.learn(t, digger.ID, "two", ofKind(parley.KnowledgePreference), supersedes(one.ID))
	three := w.learn(t, scout.ID, "three", func(k *parley.KnowledgeItem) { k.Scope = parley.KnowledgeOfTeam })
	list := func(q store.KnowledgeQuery) (texts []string) {
		t.Helper()
		q.Limit = 10
		items, err := w.store.KnowledgeItems(w.ctx, w.scope, q)
		must(t, "KnowledgeItems", err)
		for i := range items {
			texts = append(texts, items[i].Text)
		}
		return texts
	}
	wantTexts(t, "all", list(store.KnowledgeQuery{}), three.Text, two.Text, one.Text)
	wantTexts(t, "oldest first", list(store.KnowledgeQuery{Ascending: true}), one.Text, two.Text, three.Text)
	wantTexts(t, "of an agent", list(store.KnowledgeQuery{AgentID: digger.ID}), two.Text, one.Text)
	wantTexts(t, "of a kind", list(store.KnowledgeQuery{Kind: parley.KnowledgePreference}), two.Text)
	wantTexts(t, "of a status", list(store.KnowledgeQuery{Status: parley.KnowledgeSuperseded}), one.Text)
	wantTexts(t, "of teams", list(store.KnowledgeQuery{Scope: parley.KnowledgeOfTeam}), three.Text)
	wantTexts(t, "after the second", list(store.KnowledgeQuery{AfterID: two.ID}), one.Text)
	scope := w.scope
	w.enter(t, "another")
	wantTexts(t, "elsewhere", list(store.KnowledgeQuery{}))
	_, err := w.store.KnowledgeItem(w.ctx, w.scope, one.ID)
	refused(t, "an item of another workspace", err, parley.CodeNotFound)
	wantTexts(t, "an agent of another workspace is told", w.usable(t, digger.ID, parley.ID{}))
	w.scope = scope
}

// knowledgeSources: an item is there for those who may read every session that it comes from.
func knowledgeSources(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	ada, bea := parley.NewID(), parley.NewID()
	mine := w.session(t, func(s *parley.Session) { s.OwnerID, s.Visibility = ada, parley.VisibilityPrivate })
	open := w.session(t, func(s *parley.Session) { s.OwnerID, s.Visibility = bea, parley.VisibilityWorkspace })
	hers := w.session(t, func(s *parley.Session) { s.OwnerID, s.Visibility = bea, parley.VisibilityPrivate })
	said := func(session parley.ID) func(*parley.KnowledgeItem) {
		return from(session, w.exchange(t, session, "a", "b").Message)
	}
	both := w.learn(t, agent.ID, "from both", said(mine), said(open))
	secret := w.learn(t, agent.ID, "from hers too", said(mine), said(hers))
	wantTexts(t, "Ada is told", w.usable(t, agent.ID, ada), both.Text)
	wantTexts(t, "Bea is told", w.usable(t, agent.ID, bea))
	wantTexts(t, "all is", w.usable(t, agent.ID, parley.ID{}), secret.Text, both.Text)
	_, err := w.store.KnowledgeItem(w.ctx, store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: ada}, secret.ID)
	refused(t, "an item from a foreign session", err, parley.CodeNotFound)
	byID, err := w.store.KnowledgeByID(w.ctx, store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: ada},
		[]parley.ID{both.ID, secret.ID})
	must(t, "KnowledgeByID", err)
	if len(byID) != 1 || byID[0].ID != both.ID {
		t.Errorf("by id Ada finds %+v", byID)
	}
	session, err := w.store.Session(w.ctx, w.scope, hers)
	must(t, "Session", err)
	if session.OwnerID != bea {
		t.Fatal("the session is not hers")
	}
}

func knowledgePurged(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.session(t)
	made := w.learn(t, agent.ID, "It rains.", from(session, w.exchange(t, session, "a", "b").Message))
	kept := w.learn(t, agent.ID, "It snows.")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	wantTexts(t, "right after the deletion", w.usable(t, agent.ID, parley.ID{}), kept.Text)
	w.drainOutbox(t)
	items, err := w.store.KnowledgeByID(w.ctx, w.scope, []parley.ID{made.ID, kept.ID})
	must(t, "KnowledgeByID", err)
	if len(items) != 1 || items[0].ID != kept.ID {
		t.Errorf("after the purge there are %+v", items)
	}
	again, replayed, err := w.store.CreateKnowledge(w.ctx, store.NewKnowledge{Item: made})
	if err != nil || replayed {
		t.Errorf("the item's row is still there: %+v, %t, %v", again, replayed, err)
	}
}

func knowledgeOfTeams(t *testing.T, w *world) {
	lead := w.worker(t, "lead")
	scout := w.worker(t, "scout", func(a *parley.Agent) { a.LeadID = lead.ID })
	digger := w.worker(t, "digger", func(a *parley.Agent) { a.LeadID = scout.ID })
	own := w.learn(t, lead.ID, "the lead's own")
	team := w.learn(t, lead.ID, "the team's", func(k *parley.KnowledgeItem) { k.Scope = parley.KnowledgeOfTeam })
	deep := w.learn(t, digger.ID, "the digger's")
	wantTexts(t, "the lead is told", w.usable(t, lead.ID, w.owner.ID), team.Text, own.Text)
	wantTexts(t, "the scout is told", w.usable(t, scout.ID, w.owner.ID), team.Text)
	wantTexts(t, "the digger is told", w.usable(t, digger.ID, w.owner.ID), deep.Text, team.Text)
	wantTexts(t, "others are told", w.usable(t, w.worker(t, "stranger").ID, w.owner.ID))
}

func knowledgeProcedures(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	old := w.learn(t, agent.ID, "Build with make.")
	made := w.learn(t, agent.ID, "Build with go.", ofKind(parley.KnowledgeProcedure), supersedes(old.ID))
	wantTexts(t, "before", w.usable(t, agent.ID, w.owner.ID), old.Text)
	if again := w.learn(t, agent.ID, "build with go", ofKind(parley.KnowledgeProcedure)); again.ID != made.ID {
		t.Error("a procedure to be approved was noted twice")
	}
	made = w.knowledge(t, made.ID)
	made.ApprovedAt, made.ApprovedByID = parley.Now(), w.owner.ID
	_, err := w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{made})
	must(t, "UpdateKnowledge", err)
	wantTexts(t, "approved", w.usable(t, agent.ID, w.owner.ID), made.Text, old.Text)
}

// chosen stores a block for a background session's next turn, and ends that turn.
func (w *world) chosen(t reporter, session parley.ID, text string) parley.KnowledgeBlock {
	t.Helper()
	w.post(t, session, w.say("work"))
	claim := w.claim(t)
	block := parley.KnowledgeBlock{
		ID: parley.NewID(), Beginning: "0", Text: text,
		Items: []parley.KnowledgeShown{}, Told: []parley.KnowledgeTold{},
	}
	must(t, "ChooseKnowledge", w.store.ChooseKnowledge(w.ctx, claim.Fence, block))
	w.answer(t, claim, "done")
	found, err := w.store.ChosenKnowledge(w.ctx, w.scope.WorkspaceID, session)
	must(t, "ChosenKnowledge", err)
	if found == nil || found.ID != block.ID || found.Text != text {
		t.Fatalf("the block in use is %+v", found)
	}
	return *found
}

func knowledgeNews(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent).ID
	note := func(text string) string {
		t.Helper()
		message := w.post(t, session, w.say(text)).Message
		w.answer(t, w.claim(t), "done")
		return message.ContextNote
	}
	w.learn(t, agent.ID, "known before")
	if got := note("without a block"); got != "" {
		t.Errorf("without a block the note is %q", got)
	}
	w.chosen(t, session, "") // which has not told of what was known before
	item := w.learn(t, agent.ID, "the gate is shut")
	first := note("first")
	if first == "" || first != parley.KnowledgeNewsText(
		[]parley.KnowledgeItem{item, w.usableItem(t, agent.ID, 1)}, 1) {
		t.Errorf("the first note is %q", first)
	}
	if got := note("second"); got != "" {
		t.Errorf("the second note is %q", got)
	}
	item = w.knowledge(t, item.ID)
	item.Text, item.ChangedAt = "the gate is open", item.ChangedAt+1
	_, err := w.store.UpdateKnowledge(w.ctx, []parley.KnowledgeItem{item})
	must(t, "UpdateKnowledge", err)
	if got := note("third"); got != parley.KnowledgeNewsText([]parley.KnowledgeItem{item}, 1) {
		t.Errorf("after a change the note is %q", got)
	}
	w.learn(t, agent.ID, "how it is done", ofKind(parley.KnowledgeProcedure))
	if got := note("fourth"); got != "" {
		t.Errorf("a procedure that nobody approved is told: %q", got)
	}
}

// usableItem returns the nth item that prompts of an agent are told.
func (w *world) usableItem(t reporter, agent parley.ID, n int) parley.KnowledgeItem {
	t.Helper()
	items, err := w.store.UsableKnowledge(w.ctx, store.KnowledgeReach{
		WorkspaceID: w.scope.WorkspaceID, AgentID: agent, Limit: parley.MaxPage,
	})
	must(t, "UsableKnowledge", err)
	return items[n]
}

func knowledgeBlocks(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent).ID
	if found, err := w.store.ChosenKnowledge(w.ctx, w.scope.WorkspaceID, session); err != nil || found != nil {
		t.Fatalf("a session without a block has %+v, %v", found, err)
	}
	first := w.chosen(t, session, "first")
	second := w.chosen(t, session, "second")
	if first.N != 1 || second.N != 2 {
		t.Errorf("the blocks are numbered %d and %d", first.N, second.N)
	}
	for _, block := range []parley.KnowledgeBlock{first, second} {
		if got, err := w.store.KnowledgeBlock(w.ctx, w.scope, block.ID); err != nil || got.Text != block.Text {
			t.Errorf("the block %d reads as %+v, %v", block.N, got, err)
		}
	}
	_, err := w.store.KnowledgeBlock(w.ctx, store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()},
		first.ID)
	refused(t, "a block of a foreign session", err, parley.CodeNotFound)
	w.post(t, session, w.say("work"))
	claim := w.claim(t)
	w.answer(t, claim, "done")
	refused(t, "a block after the turn's end", w.store.ChooseKnowledge(w.ctx, claim.Fence, parley.KnowledgeBlock{
		ID: parley.NewID(), Items: []parley.KnowledgeShown{}, Told: []parley.KnowledgeTold{},
	}), parley.CodeFenced)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	w.drainOutbox(t)
	if found, err := w.store.ChosenKnowledge(w.ctx, w.scope.WorkspaceID, session); err != nil || found != nil {
		t.Errorf("a purged session has the block %+v, %v", found, err)
	}
}

// drawing has a turn of background work drawn from, and returns the claim of the tool session.
func (w *world) drawing(t reporter, agent *parley.Agent) (work store.Claim, drawing store.Claim) {
	t.Helper()
	session := w.background(t, agent).ID
	w.post(t, session, w.say("dig"))
	work = w.claim(t)
	w.answer(t, work, "I found gold in the north.")
	w.drainOutbox(t)
	return work, w.claim(t)
}

// draws leaves the setting out: knowledge is drawn.
func draws(a *parley.Agent) { a.DrawKnowledge = nil }

func knowledgeDrawn(t *testing.T, w *world) {
	agent := w.worker(t, "digger", draws)
	w.learn(t, agent.ID, "There is silver.")
	known := w.usableItem(t, agent.ID, 0)
	work, drawing := w.drawing(t, &agent)
	if drawing.Session.ID != parley.DrawingID(work.Turn.ID) || drawing.Session.Kind != parley.KindTool ||
		drawing.Session.ParentSessionID != work.Session.ID || drawing.Session.Tools == nil {
		t.Fatalf("drawn in the session %+v", drawing.Session)
	}
	answer := `{"items":[{"text":"There is gold in the north.","kind":"fact","confidence":90,"sources":[2],` +
		`"confirms":null,"replaces":"` + known.ID.String() + `"},{"text":"nothing behind it","kind":"fact",` +
		`"confidence":90,"sources":[99],"confirms":null,"replaces":null},{"text":"Dig at night.","kind":"procedure",` +
		`"confidence":50,"sources":[1,2],"confirms":null,"replaces":null}]}`
	w.answer(t, drawing, "```json\n"+answer+"\n```")
	tape := w.record()
	w.drainOutbox(t)
	wantTold(t, "what was contradicted", tape.of(known.ID),
		told{parley.FeedKnowledgeUpdated, "superseded", parley.ID{}, parley.VisibilityWorkspace})
	wantTold(t, "what was drawn", tape.of(parley.DrawnKnowledgeID(drawing.Session.ID, 0)),
		told{parley.FeedKnowledgeCreated, "active", work.Session.OwnerID, work.Session.Visibility})
	wantTexts(t, "prompts are told", w.usable(t, agent.ID, w.owner.ID), "There is gold in the north.")
	items, err := w.store.KnowledgeItems(w.ctx, w.scope, store.KnowledgeQuery{Limit: 10})
	must(t, "KnowledgeItems", err)
	if len(items) != 3 {
		t.Fatalf("there are %d items: %+v", len(items), items)
	}
	if old := w.knowledge(t, known.ID); old.Status != parley.KnowledgeSuperseded {
		t.Errorf("what was contradicted is %+v", old)
	}
	if item := w.usableItem(t, agent.ID, 0); len(item.Sources) != 1 || item.Sources[0].SessionID != work.Session.ID ||
		item.Sources[0].Sequence != 2 || item.Sources[0].Role != parley.RoleAssistant || item.Person() {
		t.Errorf("drawn: %+v", item)
	}
}

func knowledgeUndrawn(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent).ID
	w.post(t, session, w.say("dig"))
	w.answer(t, w.claim(t), "I found gold in the north.")
	chats := w.worker(t, "talker", draws)
	chat := w.session(t, func(s *parley.Session) { s.AgentID = chats.ID })
	w.exchange(t, chat, "Hello", "Hello")
	w.drainOutbox(t)
	sessions, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{Kind: parley.KindTool, Limit: 10})
	must(t, "Sessions", err)
	if len(sessions) != 0 {
		t.Errorf("knowledge is drawn in %+v", sessions)
	}
}

func knowledgeMisfit(t *testing.T, w *world) {
	agent := w.worker(t, "digger", draws)
	for _, answer := range []string{"I noted nothing.", `{"items":[{"text":"","kind":"fact","sources":[2]}]}`, `[]`} {
		_, drawing := w.drawing(t, &agent)
		w.answer(t, drawing, answer)
		w.drainOutbox(t)
	}
	wantTexts(t, "prompts are told", w.usable(t, agent.ID, w.owner.ID))
}

func knowledgeAudited(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	ctx, _ := w.calls("create")
	made, _, err := w.store.CreateKnowledge(ctx, store.NewKnowledge{Item: w.newKnowledge(agent.ID, "It rains.")})
	must(t, "CreateKnowledge", err)
	w.tells(t, "create", concern{session.ID, made.ID})
	ctx, _ = w.calls("update")
	_, err = w.store.UpdateKnowledge(ctx, []parley.KnowledgeItem{made})
	must(t, "UpdateKnowledge", err)
	w.tells(t, "update", concern{Target: made.ID})
	ctx, _ = w.calls("stale")
	_, err = w.store.UpdateKnowledge(ctx, []parley.KnowledgeItem{made})
	refused(t, "an older revision", err, parley.CodeConflict)
	w.tells(t, "stale")
}
