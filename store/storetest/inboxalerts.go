package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

func briefings() store.InboxQuery { return store.InboxQuery{Type: parley.InboxBriefing} }

// alerts lists the alerts in the owner's inbox, newest first.
func (w *world) alerts(t reporter) []parley.InboxItem {
	t.Helper()
	return w.inbox(t, store.InboxQuery{Type: parley.InboxAlert})
}

// alert requires the one alert in the owner's inbox: where it stands, what it is about, and that it is not read.
func (w *world) alert(t reporter, session, message parley.ID, title, summary string) parley.InboxItem {
	t.Helper()
	items := w.alerts(t)
	if len(items) != 1 {
		t.Fatalf("there are %d alerts; want one: %+v", len(items), items)
	}
	item := items[0]
	if item.SessionID != session || item.MessageID != message || item.Title != title ||
		!strings.Contains(item.Summary, summary) || item.ReadAt != 0 {
		t.Errorf("the alert is %+v\nwant %q (%q) about %s in %s", item, title, summary, message, session)
	}
	return item
}

// reads marks an item of the owner's inbox as read.
func (w *world) reads(t reporter, item parley.InboxItem) {
	t.Helper()
	_, err := w.store.MarkInboxItem(w.ctx, w.scope, w.owner.ID, item.ID, true)
	must(t, "MarkInboxItem", err)
}

// alertFailedRun: a scheduled run that fails is one alert, which the next failure brings back unread. Other failed
// turns raise none.
func alertFailedRun(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made, at := w.schedule(t, agent.ID), w.background(t, &agent).ID
	fails := func() parley.ID {
		t.Helper()
		claim := w.claim(t)
		_, err := w.store.FinishTurn(w.ctx, claim.Fence, store.TurnEnd{
			Status: parley.TurnFailed, Failure: &parley.Failure{Class: parley.ClassNetwork, Sentence: "No network."},
		})
		must(t, "FinishTurn", err)
		return claim.Trigger.ID
	}
	w.post(t, at, w.say("Dig."))
	fails()
	if items := w.alerts(t); len(items) != 0 {
		t.Fatalf("a person's turn that failed is an alert: %+v", items)
	}
	tape := w.record()
	w.due(t, made.ID)
	first := w.alert(t, at, fails(), "A scheduled run failed: daily", "No network.")
	w.reads(t, first)
	w.due(t, made.ID)
	again := w.alert(t, at, fails(), "A scheduled run failed: daily", "No network.")
	if again.ID != first.ID {
		t.Error("the second failure is another item")
	}
	if told := tape.inbox(w.owner.ID); len(told) != 3 || told[0] != parley.FeedInboxCreated ||
		told[2] != parley.FeedInboxUpdated {
		t.Errorf("the owner was told %v", told)
	}
	w.due(t, made.ID)
	w.answer(t, w.claim(t), "Dug.")
	w.alert(t, at, again.MessageID, "A scheduled run failed: daily", "")
}

// alertFailedDelegate: the failure of what a scheduled run handed on is told to the agent that waits, not to the owner.
func alertFailedDelegate(t *testing.T, w *world) {
	c := w.crew(t)
	made := c.schedule(t, c.lead.ID)
	c.due(t, made.ID)
	claim := c.claim(t)
	c.sends(t, claim, 1, c.task(c.scout, "Look."))
	claim.Turn.Step = 1
	c.answer(t, claim, "It is at work.")
	c.errands(t)
	failed := store.TurnEnd{Status: parley.TurnFailed, Failure: &parley.Failure{Class: parley.ClassNetwork}}
	_, err := c.store.FinishTurn(c.ctx, c.claim(t).Fence, failed)
	must(t, "FinishTurn", err)
	c.errands(t)
	if items := c.alerts(t); len(items) != 0 {
		t.Fatalf("the subordinate's failure is an alert: %+v", items)
	}
	home := c.claim(t)
	_, err = c.store.FinishTurn(c.ctx, home.Fence, failed)
	must(t, "FinishTurn", err)
	c.alert(t, c.at, home.Trigger.ID, "A scheduled run failed: daily", "")
}

// alertSkipped: a schedule that is skipped three times in a row raises one alert.
func alertSkipped(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made, at := w.schedule(t, agent.ID), w.background(t, &agent).ID
	w.due(t, made.ID)
	for range parley.ScheduleAlertAfter - 1 {
		w.due(t, made.ID)
	}
	if items := w.alerts(t); len(items) != 0 {
		t.Fatalf("two skipped runs are an alert: %+v", items)
	}
	const title = "A schedule is skipped again and again: daily"
	w.due(t, made.ID)
	w.due(t, made.ID)
	first := w.alert(t, at, parley.ID{}, title, "3 runs in a row were skipped, the last one because its previous run")
	w.reads(t, first)
	w.answer(t, w.claim(t), "Dug.")
	for range parley.ScheduleAlertAfter + 1 {
		w.due(t, made.ID)
	}
	if again := w.alert(t, at, parley.ID{}, title, "3 runs"); again.ID != first.ID {
		t.Error("the second series is another item")
	}
}

// alertRefused: so are runs that are refused because the agent is nobody's.
func alertRefused(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made, at := w.schedule(t, agent.ID), w.background(t, &agent).ID
	agent.OwnerID = parley.ID{}
	_, err := w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	for range parley.ScheduleAlertAfter {
		if items := w.alerts(t); len(items) != 0 {
			t.Fatalf("fewer than three refused runs are an alert: %+v", items)
		}
		schedule := w.scheduleState(t, made.ID)
		post := scheduledPost(&schedule)
		_, err := w.store.PostScheduled(w.ctx, post)
		refused(t, "a run of nobody's agent", err, parley.CodeConflict)
		post.Refused = true
		run, err := w.store.PostScheduled(w.ctx, post)
		must(t, "PostScheduled", err)
		runSkipped(t, run, parley.SkipRefused)
	}
	w.alert(t, at, parley.ID{}, "A schedule is skipped again and again: daily",
		"3 runs in a row were skipped, the last one because its message was refused")
	schedule := w.scheduleState(t, made.ID)
	schedule.Author.ID = parley.NewID()
	schedule, err = w.store.UpdateSchedule(w.ctx, schedule)
	must(t, "UpdateSchedule", err)
	post := scheduledPost(&schedule)
	post.Refused = true
	_, err = w.store.PostScheduled(w.ctx, post)
	refused(t, "a run beside no session", err, parley.CodeNotFound)
}

// waits parks a turn because its budget is spent.
func (w *world) waits(t reporter, claim store.Claim) {
	t.Helper()
	_, err := w.store.ParkRefused(w.ctx, claim.Fence, store.Refusal{
		Reason: parley.WaitBudget, Sentence: "No room.", Session: claim.Session.Limits, Model: claim.Session.Model,
	})
	must(t, "ParkRefused", err)
}

// alertBudget: background work that waits for a budget is one alert for each message that began it, also if a tool
// session below it waits; a conversation raises none.
func alertBudget(t *testing.T, w *world) {
	c := w.crew(t)
	c.waits(t, c.started(t, "hello"))
	c.errands(t)
	if items := c.alerts(t); len(items) != 0 {
		t.Fatalf("a conversation that waits is an alert: %+v", items)
	}
	const title = "Background work waits for its budget"
	claim := c.begins(t)
	c.waits(t, claim)
	first := c.alert(t, c.at, claim.Trigger.ID, title, "No room.")
	c.reads(t, first)
	_, err := c.store.RequestCancel(c.ctx, c.scope, c.at, parley.ID{}, false)
	must(t, "RequestCancel", err)
	c.begins(t)
	below := c.session(t, func(s *parley.Session) {
		s.Kind, s.ParentSessionID, s.Mode = parley.KindTool, c.at, parley.ModeBackground
	})
	c.post(t, below, c.say("work"))
	inner := c.claim(t)
	c.waits(t, inner)
	c.errands(t)
	item := c.alert(t, c.at, inner.Trigger.ID, title, "No room.")
	if item.ID != first.ID || item.SourceSessionID != below || item.SourceMessageID != inner.Trigger.ID {
		t.Errorf("the alert about the tool session is %+v", item)
	}
}

// alertChain: work that reaches a bound of its chain is one alert, in the session where it began; what is refused for
// another reason is none.
func alertChain(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	c.sends(t, claim, 1, c.task(c.scout, "Look."))
	c.errands(t)
	work := c.claimed(t)["scout"]
	refuses := func(step int, sending parley.Sending) {
		t.Helper()
		settle := c.toolSettle(step, c.callTools(t, work.Fence, step, 1)[0])
		settle.Send = &sending
		_, err := c.store.SettleTool(c.ctx, work.Fence, settle)
		refused(t, "sending it", err, parley.CodeInvalid)
		settle.Send, settle.Refused = nil, &sending
		_, err = c.store.SettleTool(c.ctx, work.Fence, settle)
		must(t, "SettleTool", err)
		c.errands(t)
	}
	refuses(1, c.task(c.clerk, "Count."))
	if items := c.alerts(t); len(items) != 0 {
		t.Fatalf("a task for an agent of another is an alert: %+v", items)
	}
	for i := range parley.MaxDelegationPair {
		c.sends(t, work, 2+i, c.task(c.runner, "Run."))
	}
	refuses(10, c.task(c.runner, "Run."))
	item := c.alert(t, c.at, claim.Trigger.ID, "Agents were stopped from passing work on",
		"scout (scout) could not send a task: you have sent this receiver 8 things")
	if item.AgentID != c.lead.ID || item.SourceSessionID != work.Fence.SessionID {
		t.Errorf("the alert is %+v", item)
	}
	for _, session := range []parley.ID{work.Fence.SessionID, c.background(t, &c.runner).ID} {
		told := c.refusals(t, session)
		if len(told) != 1 || told[0].Kind != parley.DelegationTask || told[0].FromAgentID != c.scout.ID ||
			told[0].ToAgentID != c.runner.ID || told[0].RootID != claim.Trigger.ID || told[0].Hop != 2 ||
			!strings.Contains(told[0].Reason, "the maximum") || told[0].Title != "Run." {
			t.Errorf("session %s is told %+v", session, told)
		}
	}
	c.reads(t, item)
	refuses(11, c.task(c.runner, "Run."))
	if items := c.alerts(t); len(items) != 1 || items[0].ReadAt == 0 {
		t.Errorf("the same chain raised %+v", items)
	}
	runner := c.background(t, &c.runner).ID
	counts := func(what string, sender, receiver int) {
		t.Helper()
		by, to := len(c.refusals(t, work.Fence.SessionID)), len(c.refusals(t, runner))
		if by != sender || to != receiver {
			t.Errorf("%s: the sender's session has %d events and the receiver's %d, want %d and %d",
				what, by, to, sender, receiver)
		}
	}
	counts("both work", 2, 2)
	c.runner.Status = parley.AgentArchived
	c.updates(t, &c.runner)
	refuses(12, c.task(c.runner, "Run."))
	counts("the receiver is archived", 3, 2)
	c.runner.Status, c.runner.LeadID = parley.AgentActive, parley.ID{}
	c.updates(t, &c.runner)
	refuses(13, c.task(c.runner, "Run."))
	counts("the receiver has left the team", 3, 2)
}

// updates stores an agent as a new version.
func (w *world) updates(t reporter, agent *parley.Agent) {
	t.Helper()
	changed, err := w.store.UpdateAgent(w.ctx, *agent)
	must(t, "UpdateAgent", err)
	*agent = changed
}

// refusals returns what a session was told of delegations that were not sent.
func (w *world) refusals(t reporter, session parley.ID) (told []event.DelegationRefused) {
	t.Helper()
	for _, e := range w.check(t, session).Events {
		if e.Type == parley.EventDelegationRefused {
			var one event.DelegationRefused
			must(t, "reading the event", json.Unmarshal(e.Data, &one))
			told = append(told, one)
		}
	}
	return told
}

// inboxBriefTo: what is for an owner whose key may be a program's goes to whom the agent, or its nearest lead that says
// so, names, as long as they can sign in; approvals do not, and nothing that is for a person does.
func inboxBriefTo(t *testing.T, w *world) {
	robot, err := w.store.CreateKey(w.ctx, newKey("default", "robot", parley.RoleMember))
	must(t, "CreateKey", err)
	anna, err := w.store.CreateKey(w.ctx, newKey("default", "anna", parley.RoleMember))
	must(t, "CreateKey", err)
	made := func(slug string, changes ...func(*parley.Agent)) parley.Agent {
		return w.worker(t, slug, append(changes, func(a *parley.Agent) {
			if a.OwnerID == w.owner.ID {
				a.OwnerID, a.ChangedByID = robot.PrincipalID, robot.PrincipalID
			}
		})...)
	}
	lead := made("lead", func(a *parley.Agent) { a.BriefToID = anna.PrincipalID })
	scout := made("scout", func(a *parley.Agent) { a.LeadID = lead.ID })
	made("runner", func(a *parley.Agent) { a.LeadID = scout.ID })
	brief := func(agent parley.Agent, title string) {
		t.Helper()
		w.post(t, w.background(t, &agent).ID, w.say("Off you go."))
		claim := w.claim(t)
		w.sends(t, claim, 1, briefing(title))
		claim.Turn.Step = 1
		w.answer(t, claim, "Done.")
		w.errands(t)
	}
	gets := func(principal parley.ID, want ...string) {
		t.Helper()
		items, err := w.store.InboxItems(w.ctx, w.scope.WorkspaceID, store.InboxQuery{
			PrincipalID: principal, Ascending: true,
		})
		must(t, "InboxItems", err)
		var titles []string
		for i := range items {
			titles = append(titles, items[i].Title)
			session, err := w.store.Session(w.ctx, w.scope, items[i].SessionID)
			must(t, "Session", err)
			if items[i].Type == parley.InboxBriefing && session.OwnerID != principal {
				t.Errorf("%q stands in a session of %s", items[i].Title, session.OwnerID)
			}
		}
		if strings.Join(titles, ", ") != strings.Join(want, ", ") {
			t.Errorf("the inbox has %q; want %q", titles, want)
		}
	}
	brief(lead, "of the lead")
	brief(scout, "of its subordinate")
	gets(anna.PrincipalID, "of the lead", "of its subordinate")
	w.post(t, w.background(t, &lead).ID, w.say("Off you go."))
	ask := anHour()
	asking := w.claim(t).Fence
	w.callAsking(t, asking, 1, 1, map[int]store.Ask{0: ask})
	_, err = w.store.ParkTurn(w.ctx, asking, parley.WaitApproval)
	must(t, "ParkTurn", err)
	w.errands(t)
	gets(robot.PrincipalID, "May tool1 run?")
	_, err = w.store.RequestCancel(w.ctx, w.scope, w.background(t, &lead).ID, parley.ID{}, false)
	must(t, "RequestCancel", err)
	_, err = w.store.RevokeKey(w.ctx, w.scope.WorkspaceID, anna.ID)
	must(t, "RevokeKey", err)
	brief(lead, "without her")
	gets(robot.PrincipalID, "May tool1 run?", "without her")
	own := w.worker(t, "own", func(a *parley.Agent) { a.BriefToID = robot.PrincipalID })
	brief(own, "of a person's agent")
	gets(w.owner.ID, "of a person's agent")
}
