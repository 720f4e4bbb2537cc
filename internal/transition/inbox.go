package transition

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// An item of an inbox moves under the lock of the session in which it stands: a person's foreground session with the
// agent for what the agent says to them, the background session for an approval of its work.

// TellInbox puts an approval of background work into its owner's inbox, or notes there that it is answered.
type TellInbox struct {
	ApprovalID parley.ID `json:"-"`
	SessionID  parley.ID `json:"session_id"` // the background session
}

// Kind implements Work.
func (TellInbox) Kind() string { return "approval_to_inbox" }

// Target implements Work.
func (w TellInbox) Target() parley.ID { return w.ApprovalID }

func (w TellInbox) do(workspaceID parley.ID, by Doer) (bool, error) {
	return once(by, workspaceID, func(t *Tx) error {
		h, err := t.load(w.SessionID)
		if err != nil || h == nil || h.DeletedAt != 0 {
			return err
		}
		a, err := t.rows.Approval(workspaceID, w.ApprovalID) // read under the lock
		if err != nil || a == nil {
			return err
		}
		return t.noteApproval(h, a)
	})
}

// noteApproval makes the item of an approval in a background session or in a tool session below it, or brings it up to
// date.
func (t *Tx) noteApproval(h *Head, a *parley.Approval) error {
	item, err := t.rows.InboxItem(h.WorkspaceID, parley.InboxItemID(a.ID))
	switch {
	case err != nil:
		return err
	case item == nil && a.State == parley.ApprovalPending:
		// whoever else is briefed could not decide it
		principalID, err := t.rows.Recipient(h.WorkspaceID, h.OwnerID, parley.ID{})
		if err != nil {
			return err
		}
		made := t.itemOf(h, principalID)
		made.ID, made.Type, made.ApprovalID = parley.InboxItemID(a.ID), parley.InboxApproval, a.ID
		made.Title = parley.Clip(fmt.Sprintf("May %s run?", a.ToolName), parley.MaxInboxTitleBytes)
		made.MessageID, made.SourceMessageID, made.SourceSessionID = a.MessageID, a.MessageID, a.SessionID
		t.addItem(h, made)
		return nil
	case item == nil || !item.Waits() || a.State == parley.ApprovalPending:
		return nil
	}
	switch a.State {
	case parley.ApprovalApproved, parley.ApprovalDenied:
		item.AnsweredAt = t.now
	default:
		item.ClosedAt = t.now
	}
	if item.ReadAt == 0 {
		item.ReadAt = t.now
	}
	t.changeItem(h, item)
	return nil
}

// itemOf returns a new item of a background session for the inbox of a principal.
func (t *Tx) itemOf(h *Head, principalID parley.ID) *parley.InboxItem {
	return &parley.InboxItem{
		WorkspaceID: h.WorkspaceID, PrincipalID: principalID, AgentID: h.AgentID, SessionID: h.ID,
		SourceSessionID: h.ID, Citations: []parley.InboxCitation{}, CreatedAt: t.now,
	}
}

// recipient returns the principal who gets what a background session has for a person: the nearest brief_to_id of the
// agent and its leads takes part in the choice.
func (t *Tx) recipient(h *Head) (parley.ID, error) {
	agentID, briefTo := h.AgentID, parley.ID{}
	for range parley.MaxTeamDepth {
		agent, err := t.agentNow(h.WorkspaceID, agentID)
		if err != nil {
			return parley.ID{}, err
		}
		if agent == nil {
			break
		}
		if briefTo, agentID = agent.BriefToID, agent.LeadID; !briefTo.IsZero() || agentID.IsZero() {
			break
		}
	}
	return t.rows.Recipient(h.WorkspaceID, h.OwnerID, briefTo)
}

func (t *Tx) addItem(h *Head, item *parley.InboxItem) {
	h.Changes.Head = true
	h.Changes.NewInbox = append(h.Changes.NewInbox, item)
	t.feedTo(h, item.PrincipalID, event.InboxCreated{Item: *item}.Encode())
}

func (t *Tx) changeItem(h *Head, item *parley.InboxItem) {
	h.Changes.Head = true
	h.Changes.Inbox = append(h.Changes.Inbox, item)
	t.feedTo(h, item.PrincipalID, event.InboxUpdated{Item: *item}.Encode())
}

// deliverToPerson brings a briefing or a question into a person's inbox: the item, and the whole text as the agent's
// message in the person's foreground session with it, which is made or reopened for it. It reports whether it must be
// tried again because the session's queue is full.
func (t *Tx) deliverToPerson(d *parley.Delegation, from *parley.Agent) (again bool, err error) {
	call, err := t.rows.Message(d.WorkspaceID, d.CallMessageID)
	if err != nil {
		return false, err
	}
	h, err := t.foreground(from, d.ToPrincipalID)
	if err != nil {
		return false, err
	}
	content, err := parley.EncodeContent(parley.AssistantContent{Text: d.Text})
	if err != nil {
		return false, err
	}
	m := t.messageOf(h, store.NewMessage{
		ID: parley.DelegationMessageID(d.ID), Role: parley.RoleAssistant,
		Author:  parley.Author{Kind: parley.AuthorAgent, ID: from.ID, Name: from.Name},
		Content: content, Metadata: parley.LinkDelegation(d.ID),
	})
	item, err := t.itemSent(d, call)
	if err != nil {
		return false, err
	}
	item.ID, item.AgentID, item.CreatedAt = parley.InboxItemID(d.ID), from.ID, t.now
	item.SessionID, item.MessageID = h.ID, m.ID
	t.reopen(h)
	if !h.TurnID.IsZero() {
		if _, full := refusal(t.checkQueue(h, m)); full {
			return true, nil
		}
	}
	t.touch(h)
	if h.Title == "" {
		h.Title = parley.TitleFrom(item.Title)
		t.updatedFeed(h)
	}
	if err := t.postAlone(h, m, store.NewMessage{}); err != nil {
		return false, err
	}
	t.addItem(h, item)
	d.Status, d.ToSessionID, d.MessageID, d.DeliveredAt = parley.DelegationDelivered, h.ID, m.ID, t.now
	if d.Finished() {
		d.FinishedAt = t.now
	}
	h.moved(d, parley.DelegationSent)
	t.tellDelegation(h, d)
	return false, nil
}

// keepBriefing brings a briefing that could not be delivered into the inbox all the same. It stands in the sender's
// session, as the call that has its text.
func (t *Tx) keepBriefing(h *Head, d *parley.Delegation) error {
	if h.DeletedAt != 0 {
		return nil // the item would go with the session
	}
	call, err := t.rows.Message(d.WorkspaceID, d.CallMessageID)
	if err != nil {
		return err
	}
	item, err := t.itemSent(d, call)
	if err != nil {
		return err
	}
	item.ID, item.AgentID, item.CreatedAt = parley.InboxItemID(d.ID), d.FromAgentID, t.now
	item.SessionID, item.MessageID = h.ID, d.CallMessageID
	t.addItem(h, item)
	return nil
}

// itemSent returns the item of what an agent sends to a person, with the title and the summary that its call gave.
func (t *Tx) itemSent(d *parley.Delegation, call *parley.Message) (*parley.InboxItem, error) {
	item := &parley.InboxItem{
		Citations: []parley.InboxCitation{},

		WorkspaceID: d.WorkspaceID, PrincipalID: d.ToPrincipalID, Type: parley.InboxQuestion, Title: d.Title(),
		SourceSessionID: d.FromSessionID, SourceMessageID: d.CallMessageID, DelegationID: d.ID,
	}
	if d.Kind != parley.DelegationBriefing {
		return item, nil
	}
	item.Type = parley.InboxBriefing
	given, known := briefingOf(call)
	if !known {
		return item, nil
	}
	if title := parley.TitleFrom(given.Title); title != "" {
		item.Title = parley.Clip(title, parley.MaxInboxTitleBytes)
	}
	item.Summary = parley.Clip(given.Summary, parley.MaxInboxSummaryBytes)
	if given.Type == parley.InboxAlert {
		item.Type = parley.InboxAlert
	}
	sender, err := t.rows.Cited(d.WorkspaceID, d.FromSessionID, call.Sequence)
	if err != nil || sender == nil {
		return item, err
	}
	by := citing{d.WorkspaceID, d.FromSessionID, sender.OwnerID, d.RootID}
	item.Citations, _, err = t.citations(by, given.Title, given.Summary, d.Text) // all were right when it was sent
	return item, err
}

// givenBriefing is what a call of create_inbox_item said, apart from the text.
type givenBriefing struct {
	Title   string           `json:"title"`
	Summary string           `json:"summary"`
	Type    parley.InboxType `json:"type"`
}

// briefingOf reads the call that sent a briefing; false if it is gone or has no arguments.
func briefingOf(call *parley.Message) (given givenBriefing, known bool) {
	var content parley.ToolCallContent
	if call == nil || json.Unmarshal(call.Content, &content) != nil ||
		json.Unmarshal(content.Arguments, &given) != nil {
		return givenBriefing{}, false
	}
	return given, true
}

// foreground locks the session in which a principal talks with an agent, and makes it if there is none.
func (t *Tx) foreground(agent *parley.Agent, principalID parley.ID) (*Head, error) {
	h, err := t.keyed(agent.WorkspaceID, parley.ForegroundKey(agent.ID, principalID))
	if err != nil || h != nil {
		return h, err
	}
	session := parley.ForegroundSession(agent, principalID)
	session.ID, session.LogID = parley.NewID(), parley.NewID()
	h = t.createSession(store.NewSession{Session: session})
	t.updatedFeed(h)
	return h, nil
}

// reopen brings an archived session back.
func (t *Tx) reopen(h *Head) {
	if h.ArchivedAt != 0 {
		h.ArchivedAt, h.Changes.Setting = 0, &Setting{TagsBefore: h.Tags}
		t.updatedFeed(h)
	}
}

// closeItem ends the item of a question to a person that ended without their answer.
func (t *Tx) closeItem(h *Head, d *parley.Delegation) error {
	item, err := t.rows.InboxItem(h.WorkspaceID, parley.InboxItemID(d.ID))
	if err != nil || item == nil || !item.Waits() {
		return err
	}
	item.ClosedAt = t.now
	t.changeItem(h, item)
	return nil
}

// lockItem locks the session of an item of a principal's inbox and reads the item: CodeNotFound for anybody else's.
func (t *Tx) lockItem(scope store.Scope, principalID, id parley.ID) (*Head, *parley.InboxItem, error) {
	item, err := t.rows.InboxItem(scope.WorkspaceID, id)
	if err != nil {
		return nil, nil, err
	}
	if item == nil || item.PrincipalID != principalID {
		return nil, nil, NotFound("inbox item")
	}
	h, err := t.lock(scope, item.SessionID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil, nil, NotFound("inbox item")
	} else if err != nil {
		return nil, nil, err
	}
	item, err = t.rows.InboxItem(scope.WorkspaceID, id) // read under the lock
	if err == nil && item == nil {
		err = NotFound("inbox item")
	}
	if err != nil {
		return nil, nil, err
	}
	t.about.TargetID = item.ID
	return h, item, nil
}

// MarkInboxItem implements the transition of store.Inbox.
func (t *Tx) MarkInboxItem(scope store.Scope, principalID, id parley.ID, read bool) (parley.InboxItem, error) {
	h, item, err := t.lockItem(scope, principalID, id)
	if err != nil {
		return parley.InboxItem{}, err
	}
	if read != (item.ReadAt != 0) {
		item.ReadAt = 0
		if read {
			item.ReadAt = t.now
		}
		t.changeItem(h, item)
	}
	return *item, nil
}

// AnswerInboxItem implements the transition of store.Inbox.
func (t *Tx) AnswerInboxItem(scope store.Scope, id parley.ID, answer store.InboxAnswer) (parley.InboxItem, error) {
	h, item, err := t.lockItem(scope, answer.By.ID, id)
	if err != nil {
		return parley.InboxItem{}, err
	}
	switch {
	case item.Type == parley.InboxApproval:
		return parley.InboxItem{}, parley.Errorf(
			parley.CodeInvalid,
			"this item is an approval; decide it with POST /v1/approvals/%s",
			item.ApprovalID,
		)
	case item.Type != parley.InboxQuestion:
		return parley.InboxItem{}, parley.Errorf(
			parley.CodeInvalid,
			"only a question can be answered, and this is %s; post to its session to talk about it",
			map[parley.InboxType]string{parley.InboxBriefing: "a briefing", parley.InboxAlert: "an alert"}[item.Type],
		)
	}
	d, err := t.rows.Delegation(h.WorkspaceID, item.DelegationID)
	if err != nil {
		return parley.InboxItem{}, err
	}
	switch {
	case d == nil:
		return parley.InboxItem{}, parley.Errorf(parley.CodeConflict, "the agent that asked does not wait any more")
	case d.Finished():
		return parley.InboxItem{}, parley.Conflict(d.Status, "this question has already ended: it is %s", d.Status)
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: answer.Text})
	if err != nil {
		return parley.InboxItem{}, err
	}
	m := t.messageOf(h, store.NewMessage{
		ID: parley.InboxAnswerID(d.ID), Role: parley.RoleUser, Author: answer.By, Content: content,
		Metadata: parley.LinkDelegation(d.ID), TokenEstimate: answer.TokenEstimate,
	})
	t.reopen(h)
	t.touch(h)
	if err := t.postAlone(h, m, store.NewMessage{}); err != nil {
		return parley.InboxItem{}, err
	}
	d.AnswerMessageID = m.ID
	if err := t.finishDelegation(h, d, parley.DelegationAnswer, ""); err != nil {
		return parley.InboxItem{}, err
	}
	item.AnsweredAt = t.now
	if item.ReadAt == 0 {
		item.ReadAt = t.now
	}
	t.changeItem(h, item)
	return *item, nil
}

// CarriesDelegation reports whether a message may carry a delegation or its answer. Users write metadata too, so the
// delegation itself decides.
func CarriesDelegation(m *parley.Message) bool {
	return m.Author.Kind == parley.AuthorAgent || !linked(m).IsZero()
}

// linked returns the delegation that a message's metadata names; zero for none.
func linked(m *parley.Message) parley.ID { return linkedBy(m.Metadata) }

// checkQueued refuses to change what an agent told a person, or they answered, before it enters the record: it has been
// sent.
func (t *Tx) checkQueued(h *Head, m *parley.Message) error {
	id := linked(m)
	if id.IsZero() || h.Mode != parley.ModeForeground {
		return nil
	}
	d, err := t.rows.Delegation(h.WorkspaceID, id)
	if err != nil || d == nil || d.MessageID != m.ID && d.AnswerMessageID != m.ID {
		return err
	}
	return parley.Conflict(m.Status, "this message belongs to an item of an inbox and cannot be changed or removed")
}
