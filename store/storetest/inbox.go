package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testInbox(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ABriefing":                    inboxBriefing,
		"ABriefingDuringATurn":         inboxQueued,
		"ABriefingReopensTheSession":   inboxReopened,
		"ABriefingForAFullSession":     inboxFull,
		"AQuestionAndItsAnswer":        inboxAnswered,
		"AQuestionThatEndsOtherwise":   inboxEnded,
		"AQuestionForASubordinate":     inboxRefused,
		"AnApprovalOfBackgroundWork":   inboxApproval,
		"TheListAndItsFilters":         inboxList,
		"NobodyElsesInbox":             inboxScope,
		"WhoGetsWhatTheOwnerCannotGet": inboxRecipient,
		"WhoIsBriefedForTheOwner":      inboxBriefTo,
		"CitationsAreChecked":          inboxCitations,
		"APersonsAnswerIsCited":        inboxCitesPersons,
		"AFailedRunIsAnAlert":          alertFailedRun,
		"AFailedDelegateIsNone":        alertFailedDelegate,
		"SkippedRunsAreAnAlert":        alertSkipped,
		"RefusedRunsAreAnAlert":        alertRefused,
		"ASpentBudgetIsAnAlert":        alertBudget,
		"AStoppedChainIsAnAlert":       alertChain,
	})
}

func briefing(title string) parley.Sending {
	return parley.Sending{
		Kind: parley.DelegationBriefing, Title: title, Summary: "It is " + title, Text: "All about " + title,
	}
}

func asks(question string) parley.Sending {
	return parley.Sending{Kind: parley.DelegationQuestion, Text: question}
}

// inbox lists the owner's inbox, newest first.
func (w *world) inbox(t reporter, q store.InboxQuery) []parley.InboxItem {
	t.Helper()
	q.PrincipalID = w.owner.ID
	items, err := w.store.InboxItems(w.ctx, w.scope.WorkspaceID, q)
	must(t, "InboxItems", err)
	return items
}

// item returns the one item of the owner's inbox.
func (w *world) item(t reporter) parley.InboxItem {
	t.Helper()
	items := w.inbox(t, store.InboxQuery{})
	if len(items) != 1 {
		t.Fatalf("the inbox has %d items: %+v", len(items), items)
	}
	return items[0]
}

func (w *world) answers(id parley.ID, text string) (parley.InboxItem, error) {
	return w.store.AnswerInboxItem(w.ctx, w.scope, id, store.InboxAnswer{By: w.owner.Author(), Text: text})
}

// feed returns the types of what the owner's inbox was told of.
func (p *tape) inbox(owner parley.ID) (types []parley.EventType) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.commits {
		for _, told := range p.commits[i].Feed {
			if told.PrincipalID == owner {
				types = append(types, told.Type)
			}
		}
	}
	return types
}

// inboxBriefing: a briefing is an item and, in the session in which the owner talks with the agent, its whole text; it
// ends at its delivery.
func inboxBriefing(t *testing.T, w *world) {
	c := w.crew(t)
	tape := c.record()
	id := c.hands(t, briefing("the harvest"))[0]
	d := c.is(t, id, parley.DelegationDelivered)
	listed, err := c.store.Delegations(c.ctx, c.scope, store.DelegationQuery{AgentID: c.lead.ID})
	must(t, "Delegations", err)
	if len(listed) != 1 { // it is from the agent, and to a person through the same agent
		t.Errorf("the agent's delegations are %+v", listed)
	}
	item := c.item(t)
	session, err := c.store.Session(c.ctx, c.scope, item.SessionID)
	must(t, "Session", err)
	if session.Mode != parley.ModeForeground || session.OwnerID != c.owner.ID || session.AgentID != c.lead.ID ||
		session.OpaqueKey() != "" || session.Title != "the harvest" {
		t.Errorf("the session is %+v", session)
	}
	m := c.message(t, item.MessageID)
	var said parley.AssistantContent
	must(t, "Unmarshal", json.Unmarshal(m.Content, &said))
	if m.Role != parley.RoleAssistant || m.Author.ID != c.lead.ID || said.Text != "All about the harvest" ||
		m.Sequence != 1 {
		t.Errorf("the message is %+v", m)
	}
	want := parley.InboxItem{
		ID: parley.InboxItemID(id), WorkspaceID: c.scope.WorkspaceID, PrincipalID: c.owner.ID,
		Type: parley.InboxBriefing, Title: "the harvest", Summary: "It is the harvest", AgentID: c.lead.ID,
		SessionID: d.ToSessionID, MessageID: d.MessageID, SourceSessionID: c.at, SourceMessageID: d.CallMessageID,
		DelegationID: id, Citations: []parley.InboxCitation{}, CreatedAt: d.DeliveredAt,
	}
	if diff := cmp.Diff(want, item); diff != "" {
		t.Errorf("the item (-want +got):\n%s", diff)
	}
	if wait := d.DeadlineAt - d.CreatedAt; wait != parley.Time(parley.DefaultDelegationDeadline.Milliseconds()) {
		t.Errorf("the briefing waits %d ms for a place", wait)
	}
	if d.FinishedAt == 0 || d.ToPrincipalID != c.owner.ID {
		t.Errorf("the briefing is %+v", d)
	}
	c.check(t, item.SessionID)
	for _, read := range []bool{true, true, false} {
		changed, err := c.store.MarkInboxItem(c.ctx, c.scope, c.owner.ID, item.ID, read)
		must(t, "MarkInboxItem", err)
		if changed.ReadAt != 0 != read {
			t.Errorf("marked %v: %+v", read, changed)
		}
	}
	told := []parley.EventType{parley.FeedInboxCreated, parley.FeedInboxUpdated, parley.FeedInboxUpdated}
	if diff := cmp.Diff(told, tape.inbox(c.owner.ID)); diff != "" {
		t.Errorf("the feed told the owner (-want +got):\n%s", diff)
	}
	_, err = c.answers(item.ID, "Well.")
	refused(t, "answering a briefing", err, parley.CodeInvalid)
	c.claimsNothing(t) // nothing runs for it
}

// inboxQueued: while a turn runs, a briefing waits in the queue and cannot be taken out of it.
func inboxQueued(t *testing.T, w *world) {
	c := w.crew(t)
	c.hands(t, briefing("the harvest"))
	at := c.item(t).SessionID
	c.post(t, at, c.say("What else?"))
	talk := c.claim(t)
	c.hands(t, briefing("the storm"))
	item := c.inbox(t, store.InboxQuery{Limit: 1})[0]
	m := c.message(t, item.MessageID)
	if item.SessionID != at || m.Status != parley.MessageQueued {
		t.Errorf("the second briefing is %+v as %+v", item, m)
	}
	_, err := c.store.RemoveQueued(c.ctx, c.scope, m.ID)
	refused(t, "removing a briefing", err, parley.CodeConflict)
	c.answer(t, talk, "Nothing.")
	record := c.check(t, at).Record
	if last := record[len(record)-1]; last.ID != m.ID || len(record) != 4 {
		t.Errorf("the record ends with %+v", last)
	}
	c.claimsNothing(t)
}

// inboxReopened: a briefing reopens the archived session with the agent.
func inboxReopened(t *testing.T, w *world) {
	c := w.crew(t)
	c.hands(t, briefing("the harvest"))
	at := c.item(t).SessionID
	archived := true
	_, err := c.store.UpdateSession(c.ctx, c.scope, at, store.SessionChange{Archived: &archived})
	must(t, "UpdateSession", err)
	c.hands(t, briefing("the storm"))
	session, err := c.store.Session(c.ctx, c.scope, at)
	must(t, "Session", err)
	if items := c.inbox(t, store.InboxQuery{}); session.ArchivedAt != 0 || len(items) != 2 || items[0].SessionID != at {
		t.Errorf("the session is %+v, the inbox %+v", session, items)
	}
	must(t, "DeleteSession", c.store.DeleteSession(c.ctx, c.scope, at))
	_, err = c.store.MarkInboxItem(c.ctx, c.scope, c.owner.ID, c.inbox(t, store.InboxQuery{})[0].ID, true)
	refused(t, "an item of a deleted session", err, parley.CodeNotFound)
	c.errands(t)
	if items := c.inbox(t, store.InboxQuery{}); len(items) != 0 {
		t.Errorf("a deleted session leaves %+v", items)
	}
	c.hands(t, briefing("the frost"))
	if item := c.item(t); item.SessionID == at {
		t.Error("a briefing went into a deleted session")
	}
}

// inboxFull: a briefing waits while the queue of the session with its recipient is full. At its deadline only the inbox
// gets it, with the call that has its text, and the sender is told; the recipient may read all of it.
func inboxFull(t *testing.T, w *world) {
	robot, err := w.store.CreateKey(w.ctx, newKey("default", "robot", parley.RoleMember))
	must(t, "CreateKey", err)
	recipient, err := w.store.CreateKey(w.ctx, newKey("default", "reader", parley.RoleMember))
	must(t, "CreateKey", err)
	reader := w.scope
	reader.ViewerID = recipient.PrincipalID
	c := &crew{world: w}
	c.lead = w.worker(t, "lead", func(a *parley.Agent) {
		a.OwnerID, a.ChangedByID, a.BriefToID = robot.PrincipalID, robot.PrincipalID, recipient.PrincipalID
	})
	c.at = w.background(t, &c.lead).ID
	c.hands(t, briefing("the frost"))
	items, err := c.store.InboxItems(c.ctx, c.scope.WorkspaceID, store.InboxQuery{PrincipalID: recipient.PrincipalID})
	must(t, "InboxItems", err)
	if len(items) != 1 {
		t.Fatalf("the recipient's inbox has %+v", items)
	}
	c.fills(t, items[0].SessionID)
	c.claim(t)
	large := briefing("the storm")
	large.Text = strings.Repeat("All about it. ", parley.MaxDelegationBytes/14)
	c.is(t, c.hands(t, large)[0], parley.DelegationSent)
	late := large
	late.Title, late.Deadline = "the harvest", -time.Second
	id := c.hands(t, late)[0]
	d := c.is(t, id, parley.DelegationFailed)
	if !strings.Contains(d.Reason, "full") || d.FinishedAt == 0 {
		t.Errorf("the briefing is %+v", d)
	}
	item, err := c.store.InboxItem(c.ctx, c.scope.WorkspaceID, recipient.PrincipalID, parley.InboxItemID(id))
	must(t, "InboxItem", err)
	want := parley.InboxItem{
		ID: parley.InboxItemID(id), WorkspaceID: c.scope.WorkspaceID, PrincipalID: recipient.PrincipalID,
		Type: parley.InboxBriefing, Title: "the harvest", Summary: late.Summary, AgentID: c.lead.ID,
		SessionID: c.at, MessageID: d.CallMessageID, SourceSessionID: c.at, SourceMessageID: d.CallMessageID,
		DelegationID: id, Citations: []parley.InboxCitation{}, CreatedAt: d.FinishedAt,
	}
	if diff := cmp.Diff(want, item); diff != "" {
		t.Errorf("the item (-want +got):\n%s", diff)
	}
	if read, err := c.store.Delegation(c.ctx, reader, id); err != nil || read.Text != late.Text {
		t.Errorf("the recipient reads %+v, %v", read, err)
	}
	reader.ViewerID = parley.NewID()
	_, err = c.store.Delegation(c.ctx, reader, id)
	refused(t, "reading what is for somebody else", err, parley.CodeNotFound)
	c.answer(t, c.claim(t), "Pity.")
	c.hears(t, c.at, `No answer to your briefing to the person you work for, "`+d.Title()+`": it failed: `+d.Reason+`.`)
}

// inboxAnswered: the question of a lead without a lead goes to its owner; the answer wakes the lead, once.
func inboxAnswered(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, asks("Which field?"))[0]
	d := c.is(t, id, parley.DelegationDelivered)
	if wait := d.DeadlineAt - d.CreatedAt; wait != parley.Time(parley.PersonDeadline.Milliseconds()) {
		t.Errorf("the question waits %d ms", wait)
	}
	item := c.item(t)
	if item.Type != parley.InboxQuestion || item.Title != "Which field?" || !item.Waits() {
		t.Errorf("the item is %+v", item)
	}
	c.claimsNothing(t)
	answered, err := c.answers(item.ID, "The northern one.")
	must(t, "AnswerInboxItem", err)
	if answered.AnsweredAt == 0 || answered.ReadAt == 0 || answered.Waits() {
		t.Errorf("answered: %+v", answered)
	}
	_, err = c.answers(item.ID, "The southern one.")
	refused(t, "answering twice", err, parley.CodeConflict)
	c.errands(t)
	home := c.claim(t)
	var said parley.UserContent
	must(t, "Unmarshal", json.Unmarshal(home.Trigger.Content, &said))
	if home.Fence.SessionID != c.at || home.Trigger.Author != c.owner.Author() ||
		citedAs.ReplaceAllString(said.Text, "") !=
			"Answer to your question to the person you work for, \"Which field?\":\n\nThe northern one." {
		t.Errorf("the lead was woken by %+v: %q", home.Trigger.Author, said.Text)
	}
	d = c.is(t, id, parley.DelegationAnswered)
	if d.ReturnMessageID != home.Trigger.ID || d.ReturnTurnID != home.Turn.ID || d.AnswerMessageID.IsZero() {
		t.Errorf("answered: %+v", d)
	}
	c.answer(t, home, "Done.")
	c.errands(t)
	c.claimsNothing(t)
	record := c.check(t, item.SessionID).Record
	if len(record) != 2 || record[1].ID != d.AnswerMessageID || record[1].Role != parley.RoleUser {
		t.Errorf("the session with the owner has %+v", record)
	}
}

// inboxEnded: the item of a question that expires or is cancelled ends, and the lead is told.
func inboxEnded(t *testing.T, w *world) {
	c := w.crew(t)
	ids := c.hands(t, asks("Which field?"))
	_, err := c.store.CancelDelegation(c.ctx, c.scope, ids[0])
	must(t, "CancelDelegation", err)
	item := c.item(t)
	if item.ClosedAt == 0 || item.Waits() {
		t.Errorf("the item is %+v", item)
	}
	_, err = c.answers(item.ID, "The northern one.")
	refused(t, "answering a question that has ended", err, parley.CodeConflict)
	c.errands(t)
	c.answer(t, c.claim(t), "Then not.")
	c.hears(t, c.at, `No answer to your question to the person you work for, "Which field?": it was cancelled.`)
}

// inboxRefused: an agent with a lead asks its lead, not a person.
func inboxRefused(t *testing.T, w *world) {
	c := w.crew(t)
	c.hands(t, c.task(c.scout, "Look."))
	work := c.claimed(t)["scout"]
	question := asks("Where?")
	settle := c.toolSettle(1, c.callTools(t, work.Fence, 1, 1)[0])
	settle.Send = &question
	_, err := c.store.SettleTool(c.ctx, work.Fence, settle)
	refused(t, "a subordinate's question to a person", err, parley.CodeInvalid)
	if items := c.inbox(t, store.InboxQuery{}); len(items) != 0 {
		t.Errorf("the inbox has %+v", items)
	}
}

// inboxApproval: a call of background work that waits for an approval is in its owner's inbox, until it is decided.
func inboxApproval(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	ask := anHour()
	c.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	_, err := c.store.ParkTurn(c.ctx, claim.Fence, parley.WaitApproval)
	must(t, "ParkTurn", err)
	approval := ask.ApprovalID
	c.errands(t)
	item := c.item(t)
	if item.Type != parley.InboxApproval || item.ApprovalID != approval || item.SessionID != c.at || !item.Waits() {
		t.Errorf("the item is %+v", item)
	}
	_, err = c.answers(item.ID, "Yes.")
	refused(t, "answering an approval with a text", err, parley.CodeInvalid)
	c.decide(t, approval, yes())
	c.errands(t)
	if item = c.item(t); item.AnsweredAt == 0 || item.ReadAt == 0 {
		t.Errorf("decided: %+v", item)
	}
}

// inboxList: the list is that of one principal, by time, with its filters.
func inboxList(t *testing.T, w *world) {
	c := w.crew(t)
	c.hands(t, briefing("one"), briefing("two"), asks("Three?"))
	all := c.inbox(t, store.InboxQuery{Ascending: true})
	titles := func(items []parley.InboxItem) (titles []string) {
		for i := range items {
			titles = append(titles, items[i].Title)
		}
		slices.Sort(titles)
		return titles
	}
	_, err := c.store.MarkInboxItem(c.ctx, c.scope, c.owner.ID, all[0].ID, true)
	must(t, "MarkInboxItem", err)
	for name, query := range map[string]struct {
		store.InboxQuery
		want []string
	}{
		"all":       {store.InboxQuery{}, []string{"Three?", "one", "two"}},
		"questions": {store.InboxQuery{Type: parley.InboxQuestion}, []string{"Three?"}},
		"lead":      {store.InboxQuery{AgentID: c.lead.ID}, []string{"Three?", "one", "two"}},
		"scout":     {store.InboxQuery{AgentID: c.scout.ID}, nil},
		"unread":    {store.InboxQuery{Unread: true}, titles(all[1:])},
		"second": {
			store.InboxQuery{Ascending: true, AfterCreated: all[0].CreatedAt, AfterID: all[0].ID}, titles(all[1:]),
		},
		"older": {store.InboxQuery{AfterCreated: all[2].CreatedAt, AfterID: all[2].ID}, titles(all[:2])},
	} {
		if diff := cmp.Diff(query.want, titles(c.inbox(t, query.InboxQuery))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// inboxScope: nobody sees, marks or answers what is in another's inbox, an admin neither.
func inboxScope(t *testing.T, w *world) {
	c := w.crew(t)
	c.hands(t, asks("Which field?"))
	item := c.item(t)
	other := parley.Principal{ID: parley.NewID(), WorkspaceID: c.scope.WorkspaceID, Name: "eve", Role: parley.RoleAdmin}
	items, err := c.store.InboxItems(c.ctx, c.scope.WorkspaceID, store.InboxQuery{PrincipalID: other.ID})
	must(t, "InboxItems", err)
	if len(items) != 0 {
		t.Errorf("another principal sees %+v", items)
	}
	_, err = c.store.InboxItem(c.ctx, c.scope.WorkspaceID, other.ID, item.ID)
	refused(t, "reading another's item", err, parley.CodeNotFound)
	_, err = c.store.MarkInboxItem(c.ctx, c.scope, other.ID, item.ID, true)
	refused(t, "marking another's item", err, parley.CodeNotFound)
	_, err = c.store.AnswerInboxItem(c.ctx, c.scope, item.ID, store.InboxAnswer{By: other.Author(), Text: "No."})
	refused(t, "answering another's item", err, parley.CodeNotFound)
	away := c.neighbour(t, "elsewhere")
	_, err = away.store.InboxItem(c.ctx, away.scope.WorkspaceID, c.owner.ID, item.ID)
	refused(t, "reading from another workspace", err, parley.CodeNotFound)
	_, err = away.store.MarkInboxItem(c.ctx, away.scope, c.owner.ID, item.ID, true)
	refused(t, "marking from another workspace", err, parley.CodeNotFound)
}

// inboxRecipient: what is for an owner who cannot sign in any more goes to the oldest admin who can.
func inboxRecipient(t *testing.T, w *world) {
	left, err := w.store.CreateKey(w.ctx, newKey("default", "left", parley.RoleMember))
	must(t, "CreateKey", err)
	lead := w.worker(
		t,
		"orphan",
		func(a *parley.Agent) { a.OwnerID, a.ChangedByID = left.PrincipalID, left.PrincipalID },
	)
	at := w.background(t, &lead).ID
	brief := func(title string) {
		t.Helper()
		w.post(t, at, w.say("Off you go."))
		claim := w.claim(t)
		w.sends(t, claim, 1, briefing(title))
		claim.Turn.Step = 1
		w.answer(t, claim, "Done.")
		w.errands(t)
	}
	brief("before")
	if items := w.inbox(t, store.InboxQuery{}); len(items) != 0 {
		t.Errorf("the admin got %+v", items)
	}
	_, err = w.store.RevokeKey(w.ctx, w.scope.WorkspaceID, left.ID)
	must(t, "RevokeKey", err)
	brief("after")
	if item := w.item(t); item.Title != "after" {
		t.Errorf("the admin got %+v", item)
	}
}
