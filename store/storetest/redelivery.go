package storetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// OutboxRows are operations on the rows of a store's outbox, behind the port.
type OutboxRows struct {
	Keep   func() // remembers the rows
	Repeat func() // inserts the remembered rows again, due now
	Age    func() // turns them into rows of a program without payloads
	Spoil  func() // makes their payloads unreadable
	Mend   func() // gives the spoiled ones the payloads that were remembered, due now
	// Hurry makes those due that wait for a person's conversation, and returns for how many milliseconds the last one
	// was to rest.
	Hurry func() int64
	Left  func(kind string, target parley.ID) int64 // counts the rows of an errand
}

// Redelivery repeats finished errands to other sessions, as after a crash between the work and the deletion of the
// errand's row, including errands that an older program left.
func Redelivery(t *testing.T, db store.Store, outbox OutboxRows) {
	t.Helper()
	t.Run("DeadlinesWithoutASchedule", func(t *testing.T) {
		w := &world{ctx: t.Context(), store: db}
		w.enter(t, "DeadlinesWithoutASchedule")
		w.process = w.register(t)
		w.deadlineWithoutSchedule(t, outbox)
	})
	for name, left := range map[string]func(){"Errands": func() {}, "ErrandsFromBefore": outbox.Age} {
		t.Run(name, func(t *testing.T) {
			w := &world{ctx: t.Context(), store: db}
			w.enter(t, name)
			w.process = w.register(t)
			w.resultAgain(t, left, outbox)
			w.approvalAgain(t, left, outbox)
			w.delegationAgain(t, left, outbox)
			w.inboxAgain(t, outbox)
		})
	}
	t.Run("UnreadableErrands", func(t *testing.T) {
		w := &world{ctx: t.Context(), store: db}
		w.enter(t, "UnreadableErrands")
		w.process = w.register(t)
		w.unreadableErrand(t, outbox)
	})
	t.Run("ErrandsThatWait", func(t *testing.T) {
		w := &world{ctx: t.Context(), store: db}
		w.enter(t, "ErrandsThatWait")
		w.process = w.register(t)
		w.waitingErrand(t, outbox)
	})
}

// deadlineWithoutSchedule: a turn that goes on with a run has a deadline also if the schedule was deleted meanwhile;
// one that goes on with what a person said has none.
func (w *world) deadlineWithoutSchedule(t *testing.T, outbox OutboxRows) {
	t.Helper()
	c := w.crew(t)
	goesOn := func() parley.ID {
		t.Helper()
		c.errands(t)
		c.answer(t, c.claimed(t)["scout"], "It is green.")
		c.errands(t)
		home := c.claimed(t)["lead"]
		c.answer(t, home, "Thanks.")
		return home.Turn.ID
	}
	sends := func(claim store.Claim) {
		t.Helper()
		c.sends(t, claim, 1, c.task(c.scout, "Look."))
		claim.Turn.Step = 1
		c.answer(t, claim, "They are at work.")
	}
	made := c.schedule(t, c.lead.ID)
	c.due(t, made.ID)
	sends(c.claim(t))
	must(t, "DeleteSchedule", c.store.DeleteSchedule(c.ctx, c.scope.WorkspaceID, made.ID))
	if turn := goesOn(); outbox.Left("expire_run", turn) != 1 {
		t.Errorf("the run of a deleted schedule goes on without a deadline")
	}
	sends(c.begins(t))
	if turn := goesOn(); outbox.Left("expire_run", turn) != 0 {
		t.Errorf("what a person said has a deadline")
	}
}

// unreadableErrand spoils the errand that brings a result home: others go on, it stays,
// and it is done once it can be read again.
func (w *world) unreadableErrand(t *testing.T, outbox OutboxRows) {
	t.Helper()
	spoiled, _ := w.asking(t, 1)
	w.answer(t, w.claim(t), "All quiet.")
	outbox.Keep()
	outbox.Spoil()
	other, _ := w.asking(t, 1)
	w.answer(t, w.claim(t), "All quiet.")
	came := func(claim store.Claim, want int) {
		t.Helper()
		w.errands(t)
		if results, _ := w.results(t, claim.Fence.SessionID); len(results) != want {
			t.Fatalf("%d results came home, want %d: %+v", len(results), want, results)
		}
		w.check(t, claim.Fence.SessionID)
	}
	came(other, 1)
	came(spoiled, 0)
	if turn := w.turn(t, spoiled.Turn.ID); turn.Status != parley.TurnWaiting {
		t.Errorf("the turn without its result is %s", turn.Status)
	}
	w.answer(t, w.claim(t), "done")
	outbox.Mend()
	came(spoiled, 1)
	w.answer(t, w.claim(t), "done")
	w.claimsNothing(t)
}

// waitingErrand tries to bring a briefing into a conversation whose queue is full: it rests longer each time, up to a
// minute.
func (w *world) waitingErrand(t *testing.T, outbox OutboxRows) {
	t.Helper()
	agent := w.worker(t, "herald")
	at := w.background(t, &agent).ID
	w.post(t, at, w.say("Off you go."))
	claim := w.claim(t)
	w.sends(t, claim, 1, briefing("the frost"))
	w.errands(t)
	items := w.inbox(t, store.InboxQuery{AgentID: agent.ID})
	if len(items) != 1 {
		t.Fatalf("a briefing made %+v", items)
	}
	w.fills(t, items[0].SessionID)
	large := briefing("the storm")
	large.Text = strings.Repeat("All about it. ", parley.MaxDelegationBytes/14)
	w.sends(t, claim, 2, large)
	var rests []int64
	for range 8 {
		w.errands(t)
		rests = append(rests, outbox.Hurry())
	}
	const first, last = 2_000, 60_000 // milliseconds; a slow machine sees less of each
	if rests[0] > first || rests[len(rests)-1] <= last/2 || slices.Max(rests) > last {
		t.Errorf("it rests %d ms", rests)
	}
}

// resultAgain brings a call's result home twice, and once more after its turn.
func (w *world) resultAgain(t *testing.T, left func(), outbox OutboxRows) {
	t.Helper()
	parent, _ := w.asking(t, 1)
	w.answer(t, w.claim(t), "All quiet.")
	left()
	outbox.Keep()
	w.errands(t)
	home := w.check(t, parent.Fence.SessionID)
	if results, _ := w.results(t, parent.Fence.SessionID); len(results) != 1 {
		t.Fatalf("came home: %+v", results)
	}
	outbox.Repeat()
	w.errands(t)
	w.unchanged(t, "a result that came home", parent.Fence.SessionID, home)
	w.answer(t, w.claim(t), "done")
	over := w.check(t, parent.Fence.SessionID)
	outbox.Repeat()
	w.errands(t)
	w.unchanged(t, "a result for a turn that is over", parent.Fence.SessionID, over)
	w.claimsNothing(t)
}

// delegationAgain delivers a task twice, and brings its answer home twice.
func (w *world) delegationAgain(t *testing.T, left func(), outbox OutboxRows) {
	t.Helper()
	c := w.crew(t)
	claim := c.begins(t)
	id := c.sends(t, claim, 1, c.task(c.scout, "Look."))[0]
	claim.Turn.Step = 1
	c.answer(t, claim, "It is at work.")
	left()
	outbox.Keep()
	c.errands(t)
	there := c.is(t, id, parley.DelegationDelivered).ToSessionID
	delivered := c.check(t, there)
	outbox.Repeat()
	c.errands(t)
	c.unchanged(t, "a delivered task", there, delivered)
	c.answer(t, c.claim(t), "All quiet.")
	left()
	outbox.Keep()
	c.errands(t)
	home := c.check(t, c.at)
	outbox.Repeat()
	c.errands(t)
	c.unchanged(t, "an answer that came home", c.at, home)
	c.answer(t, c.claim(t), "Done.")
	c.claimsNothing(t)
	c.hears(t, c.at, lookAnswer)
}

// inboxAgain brings a briefing, a question, an alert and an approval into the owner's inbox twice each, and reads each
// in between: the second time changes nothing.
func (w *world) inboxAgain(t *testing.T, outbox OutboxRows) {
	t.Helper()
	agent := w.worker(t, "herald")
	at := w.background(t, &agent).ID
	twice := func(what string, kind parley.InboxType) {
		t.Helper()
		outbox.Keep()
		w.errands(t)
		items := w.inbox(t, store.InboxQuery{Type: kind, AgentID: agent.ID})
		if len(items) != 1 {
			t.Fatalf("%s made %d items: %+v", what, len(items), items)
		}
		w.reads(t, items[0])
		items = w.inbox(t, store.InboxQuery{Type: kind, AgentID: agent.ID})
		record := w.check(t, items[0].SessionID)
		outbox.Repeat()
		w.errands(t)
		if diff := cmp.Diff(items, w.inbox(t, store.InboxQuery{Type: kind, AgentID: agent.ID})); diff != "" {
			t.Errorf("%s again (-once +twice):\n%s", what, diff)
		}
		w.unchanged(t, what, items[0].SessionID, record)
	}
	w.post(t, at, w.say("Off you go."))
	claim := w.claim(t)
	w.sends(t, claim, 1, briefing("the harvest"))
	twice("a briefing", parley.InboxBriefing)
	w.sends(t, claim, 2, asks("Which field?"))
	twice("a question", parley.InboxQuestion)
	question := w.inbox(t, store.InboxQuery{Type: parley.InboxQuestion, AgentID: agent.ID})[0]
	_, err := w.answers(question.ID, "The northern one.") // so that its deadline passes at once
	must(t, "AnswerInboxItem", err)
	below := w.session(t, func(s *parley.Session) {
		s.Kind, s.ParentSessionID, s.Mode = parley.KindTool, at, parley.ModeBackground
	})
	w.post(t, below, w.say("work"))
	w.waits(t, w.claim(t))
	twice("an alert", parley.InboxAlert)
	w.callAsking(t, claim.Fence, 3, 1, map[int]store.Ask{0: anHour()})
	twice("an approval", parley.InboxApproval)
}

// approvalAgain tells a root twice about a question, and twice about its answer.
func (w *world) approvalAgain(t *testing.T, left func(), outbox OutboxRows) {
	t.Helper()
	root, approval := w.askedBelow(t)
	heard := func(what string, want ...parley.EventType) {
		t.Helper()
		left()
		outbox.Keep()
		for range 2 {
			w.errands(t)
			outbox.Repeat()
		}
		w.errands(t)
		events, err := w.store.Events(w.ctx, w.scope, root, 0, parley.MaxPage)
		must(t, "Events", err)
		var types []parley.EventType
		for _, e := range events {
			types = append(types, e.Type)
		}
		if diff := cmp.Diff(want, types); diff != "" {
			t.Errorf("%s: the root heard (-want +got):\n%s", what, diff)
		}
	}
	heard("a question", parley.EventApprovalCreated)
	w.decide(t, approval, yes())
	heard("an answer", parley.EventApprovalCreated, parley.EventApprovalResolved)
	w.check(t, root)
}

// askedBelow returns a session with a tool session that waits for an approval.
func (w *world) askedBelow(t *testing.T) (root, approval parley.ID) {
	t.Helper()
	root = w.session(t)
	child := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, root })
	w.post(t, child, w.say("work"))
	ask := anHour()
	w.callAsking(t, w.claim(t).Fence, 1, 1, map[int]store.Ask{0: ask})
	return root, ask.ApprovalID
}
