package transition

import (
	"encoding/json"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// Deliveries of approval events to the root session of a tree; their keys are approval ids.
const (
	rootHeardCreated  = "approval_created"
	rootHeardResolved = "approval_resolved"
)

// ask records the approvals of a step that settles, each with the exact call as the record now has it.
func (t *Tx) ask(h *Head, turn *parley.Turn, asks []store.Ask, rows []OpenRow, blocks []store.BlockSettled) error {
	for _, ask := range asks {
		at := rowOfCall(rows, ask.ToolCallID)
		if at < 0 {
			return parley.Errorf(
				parley.CodeConflict,
				"the step has no call %q to ask about",
				parley.Clip(ask.ToolCallID, 64),
			)
		}
		arguments, fingerprint, err := exactCall(blocks[at].Content)
		if err != nil {
			return err
		}
		t.newApproval(h, turn, &ask, &parley.Approval{
			MessageID: rows[at].ID, ToolName: rows[at].ToolName, Arguments: arguments, Fingerprint: fingerprint,
		})
	}
	return nil
}

// newApproval records a question about the call that a names.
func (t *Tx) newApproval(h *Head, turn *parley.Turn, ask *store.Ask, a *parley.Approval) {
	a.ID, a.WorkspaceID, a.SessionID, a.RootID = ask.ApprovalID, h.WorkspaceID, h.ID, h.RootID
	a.AgentID, a.TurnID, a.ToolCallID, a.State = turn.AgentID, turn.ID, ask.ToolCallID, parley.ApprovalPending
	a.CreatedAt, a.ExpiresAt = t.now, t.now+parley.Time(ask.Timeout/time.Millisecond)
	a.Reason, a.Approvers, a.RequesterIDs, a.Named = ask.Reason, ask.Approvers, ask.RequesterIDs, ask.Named
	a.Digest, a.Rules, a.Question, a.Carried = ask.Digest, ask.Rules, ask.Question, ask.State
	if a.RootID.IsZero() { // the session is older than trees
		a.RootID = h.ID
	}
	h.Changes.NewApprovals = append(h.Changes.NewApprovals, a)
	t.tellApproval(h, event.ApprovalCreated{Approval: approvalTold(a)}.Encode(), a)
}

// AskTool implements the transition of store.Approvals.
func (t *Tx) AskTool(fence store.Fence, ask store.Ask) error {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return err
	}
	call, err := t.unanswered(h, ask.ToolCallID)
	if err != nil {
		return err
	}
	approvals, err := t.rows.TurnApprovals(h, turn.ID)
	if err != nil || approvalOf(approvals, ask.ApprovalID) != nil {
		return err
	}
	arguments, fingerprint, err := exactCall(call.Content)
	if err != nil {
		return err
	}
	t.newApproval(h, turn, &ask, &parley.Approval{
		MessageID: call.ID, ToolName: call.ToolName, Arguments: arguments, Fingerprint: fingerprint,
	})
	return nil
}

func rowOfCall(rows []OpenRow, callID string) int {
	for i := range rows {
		if rows[i].Role == parley.RoleToolCall && rows[i].ToolCallID == callID {
			return i
		}
	}
	return -1
}

// exactCall reads arguments and fingerprint from a tool_call's content.
func exactCall(content json.RawMessage) (json.RawMessage, parley.Hash, error) {
	var call parley.ToolCallContent
	if err := json.Unmarshal(content, &call); err != nil {
		return nil, parley.Hash{}, parley.WrapError(parley.CodeInternal, err, "a tool_call's content cannot be read")
	}
	fingerprint, err := parley.Fingerprint(call.Name, call.Arguments)
	return call.Arguments, fingerprint, err
}

// tellApproval writes an approval's event, also to the feed, and leaves an errand for the root session.
func (t *Tx) tellApproval(h *Head, told event.Encoded, a *parley.Approval) {
	t.event(h, a.TurnID, told)
	t.feed(h, told)
	if a.RootID != a.SessionID {
		h.Changes.Outbox = append(h.Changes.Outbox, Errand{
			WorkspaceID: h.WorkspaceID, Work: TellRoot{ApprovalID: a.ID, RootID: a.RootID, OwnerID: h.OwnerID},
		})
	} else if h.InBackground() {
		h.leave(TellInbox{ApprovalID: a.ID, SessionID: h.ID}, 0)
	}
}

// lockApproval locks the session of an approval and reads it.
func (t *Tx) lockApproval(scope store.Scope, id parley.ID) (*Head, *parley.Approval, error) {
	sessionID, err := t.rows.SessionOfApproval(scope.WorkspaceID, id)
	if err != nil {
		return nil, nil, err
	}
	if sessionID.IsZero() {
		return nil, nil, NotFound("approval")
	}
	h, err := t.lock(scope, sessionID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil, nil, NotFound("approval")
	} else if err != nil {
		return nil, nil, err
	}
	a, err := t.rows.Approval(h.WorkspaceID, id)
	if err == nil && a == nil {
		err = NotFound("approval")
	}
	return h, a, err
}

// DecideApproval implements the transition of store.Approvals.
func (t *Tx) DecideApproval(
	scope store.Scope,
	id parley.ID,
	decision parley.Decision,
	claimBy parley.ID,
) (decided store.Decided, err error) {
	h, a, err := t.lockApproval(scope, id)
	if err != nil {
		return decided, err
	}
	state := a.State
	if state == parley.ApprovalPending && a.ExpiresAt <= t.now { // the sweep has not expired it yet
		state = parley.ApprovalExpired
	}
	if state != parley.ApprovalPending {
		return decided, parley.Conflict(
			state,
			"this approval is %s: it was decided or has expired, or its turn has ended",
			state,
		)
	}
	if decision.Decision == parley.DecideDismiss && a.Question == nil {
		return decided, parley.InvalidField("decision", "only the question of a tool can be dismissed; approve or deny")
	}
	if decision.Decision == parley.DecideApprove {
		if err := mayApprove(h, a, &decision); err != nil {
			return decided, err
		}
		a.ApprovedBy = append(slices.Clone(a.ApprovedBy), parley.Approver{Author: decision.By, At: t.now})
		if a.StillMissing() > 0 {
			h.Changes.Approvals = append(h.Changes.Approvals, a)
			t.tellApproval(h, event.ApprovalApproved{Approval: approvalTold(a)}.Encode(), a)
			decided.Approval = *a
			return decided, nil
		}
	}
	if err := t.settleDecided(h, a, decision); err != nil {
		return decided, err
	}
	decided.Approval = *a
	decided.Claim, err = t.wakeDecided(h, a.TurnID, claimBy)
	return decided, err
}

// mayApprove refuses a yes from a principal who asked for the call or has already approved it, and a scope that the
// approval does not offer: a rule with named approvers wants each call examined, and only the session's owner may
// accept a change.
func mayApprove(h *Head, a *parley.Approval, decision *parley.Decision) error {
	if err := a.MayBeApprovedBy(decision.By.ID); err != nil {
		return err
	}
	switch {
	case !decision.Lasts():
		return nil
	case a.Question != nil:
		return parley.InvalidField("scope", "an answer to a tool's question is for this call only")
	case a.Named:
		return parley.InvalidField("scope", "a rule says who approves this tool, so an approval is for this call only")
	case decision.Scope == parley.ScopeTree && a.Digest == "":
		return parley.InvalidField("scope", "the tool's definition is not known, so approve this call once")
	case decision.Scope == parley.ScopeChange && !a.Changed():
		return parley.InvalidField("scope", "nothing was changed that you could accept: a rule asks about this call")
	case a.Changed() && decision.By.ID != h.OwnerID:
		return parley.Errorf(
			parley.CodeForbidden,
			"Only the conversation's owner may accept what somebody else changed. You may approve this call once.",
		)
	}
	return nil
}

// settleDecided settles an approval with its final decision and records any grant or acceptance.
func (t *Tx) settleDecided(h *Head, a *parley.Approval, decision parley.Decision) error {
	by := decision.By
	a.DecidedBy, a.Comment, a.DecidedAt, a.State = &by, decision.Comment, t.now, parley.ApprovalDenied
	if decision.Decision != parley.DecideApprove {
		if decision.Decision == parley.DecideDismiss {
			a.State = parley.ApprovalExpired
		}
		t.resolved(h, a)
		return nil
	}
	a.State, a.Scope = parley.ApprovalApproved, parley.ScopeOnce
	if a.Question != nil {
		a.Answer = decision.Answer
	}
	switch decision.Scope {
	case parley.ScopeSession, parley.ScopeTree:
		if err := t.grantSession(h, a, decision); err != nil {
			return err
		}
		if a.Digest != "" && by.ID == h.OwnerID {
			if err := t.acceptTools(h, []string{a.Digest}); err != nil {
				return err
			}
		}
		if a.Scope == parley.ScopeTree {
			if err := t.acceptInTree(h, a); err != nil {
				return err
			}
		}
	case parley.ScopeChange:
		a.Scope = parley.ScopeChange
		if err := t.acceptChange(h, a); err != nil {
			return err
		}
	}
	t.resolved(h, a)
	if a.Scope == parley.ScopeOnce {
		return nil
	}
	return t.approveAlike(h, a)
}

// grantSession adds the session grant of an approval.
func (t *Tx) grantSession(h *Head, a *parley.Approval, decision parley.Decision) error {
	a.Scope, a.Covers = decision.Scope, parley.CoversCall
	fingerprint := a.Fingerprint
	if decision.Covers == parley.CoversTool || a.Scope == parley.ScopeTree {
		a.Covers, fingerprint = parley.CoversTool, parley.Hash{}
	}
	grants, err := parley.WithAllowed(parley.ValueOf(h.Grants), a.ToolName, fingerprint)
	if err != nil {
		return err
	}
	h.Grants = &grants
	h.Changes.Setting = &Setting{TagsBefore: h.Tags}
	t.updatedFeed(h)
	return nil
}

// approveAlike approves the turn's other pending approvals that a lasting yes covers, so nobody has to decide the same
// question twice.
func (t *Tx) approveAlike(h *Head, a *parley.Approval) error {
	approvals, err := t.rows.TurnApprovals(h, a.TurnID)
	if err != nil {
		return err
	}
	for i := range approvals {
		other := &approvals[i]
		if other.ID == a.ID || other.State != parley.ApprovalPending || other.ExpiresAt <= t.now ||
			!covers(h, a, other) {
			continue
		}
		other.State, other.Scope, other.Covers = a.State, a.Scope, a.Covers
		other.DecidedBy, other.Comment, other.DecidedAt = a.DecidedBy, a.Comment, a.DecidedAt
		other.ApprovedBy = slices.Clone(a.ApprovedBy)
		t.resolved(h, other)
	}
	return nil
}

// covers reports whether a lasting decision about one approval also answers another.
func covers(h *Head, a, other *parley.Approval) bool {
	switch {
	case other.ToolName != a.ToolName, other.Named, other.Question != nil:
		return false
	case a.Scope == parley.ScopeChange:
		return other.Changed() && other.Change() == a.Change()
	case other.Changed() && (a.DecidedBy.ID != h.OwnerID || other.Digest != a.Digest):
		return false
	}
	return a.Covers == parley.CoversTool || other.Fingerprint == a.Fingerprint
}

// resolved records an approval in its final state.
func (t *Tx) resolved(h *Head, a *parley.Approval) {
	h.Changes.Approvals = append(h.Changes.Approvals, a)
	t.tellApproval(h, event.ApprovalResolved{Approval: approvalTold(a)}.Encode(), a)
}

// wakeDecided makes a turn ready that waits for answers, after one of its approvals settled, and claims it if possible.
func (t *Tx) wakeDecided(h *Head, turnID, claimBy parley.ID) (*store.Claim, error) {
	if h.TurnID != turnID || h.TurnStatus != parley.TurnWaiting {
		return nil, nil
	}
	turn, err := t.currentTurn(h)
	if err != nil || !turn.WaitReason.Answered() {
		return nil, err
	}
	return t.wake(h, turn, claimBy)
}

// wake makes a waiting turn ready and claims it for a process with a free slot.
func (t *Tx) wake(h *Head, turn *parley.Turn, claimBy parley.ID) (*store.Claim, error) {
	if err := t.answer(h, turn); err != nil {
		return nil, err
	}
	claimed, err := t.claimsDirectly(h, claimBy)
	if err != nil || !claimed {
		return nil, err
	}
	claim, err := t.claim(h, claimBy)
	if err != nil {
		return nil, err
	}
	return &claim, nil
}

// resultArrived updates the turn after a result from outside: it becomes ready if no call is open, or else waits for
// the next reason.
func (t *Tx) resultArrived(h *Head, turn *parley.Turn, call *parley.Message, claimBy parley.ID) (*store.Claim, error) {
	if turn.Status != parley.TurnWaiting || !turn.WaitReason.Answered() {
		return nil, nil
	}
	open, err := t.rows.OpenToolCalls(h)
	if err != nil {
		return nil, err
	}
	open = slices.DeleteFunc(open, func(other parley.Message) bool { return other.ID == call.ID })
	if len(open) == 0 {
		return t.wake(h, turn, claimBy)
	}
	reason := openReason(open)
	if turn.WaitReason == parley.WaitApproval || turn.WaitReason == reason { // only a decision ends an approval
		return nil, nil
	}
	turn.WaitReason, h.WaitReason = reason, reason
	t.event(h, turn.ID, waiting(turn.ID, turn.WaitReason))
	h.saveTurn(turn)
	return nil, nil
}

// openReason returns the wait reason for open calls that need no approval.
func openReason(open []parley.Message) parley.WaitReason {
	reason := parley.WaitChild
	for i := range open {
		switch {
		case !childOf(&open[i]).IsZero():
		case open[i].ToolName == parley.AskUserTool:
			return parley.WaitInput
		default:
			reason = parley.WaitToolResult
		}
	}
	return reason
}

// UseApprovals implements the transition of store.Approvals.
func (t *Tx) UseApprovals(fence store.Fence, uses []store.ApprovalUse) error {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return err
	}
	approvals, err := t.rows.TurnApprovals(h, turn.ID)
	if err != nil {
		return err
	}
	for _, use := range uses {
		a := approvalOf(approvals, use.ApprovalID)
		switch {
		case a == nil:
			return NotFound("approval")
		case !a.Runs() || a.UsedAt != 0:
			return parley.Errorf(
				parley.CodeConflict,
				"the approval of the call %q is %s and used %t",
				parley.Clip(a.ToolCallID, 64),
				a.State,
				a.UsedAt != 0,
			)
		}
		call, err := t.unanswered(h, a.ToolCallID)
		if err != nil {
			return err
		}
		_, fingerprint, err := exactCall(call.Content)
		if err != nil {
			return err
		}
		if call.ID != a.MessageID || fingerprint != a.Fingerprint || use.Fingerprint != a.Fingerprint {
			return parley.Errorf(
				parley.CodeConflict,
				"the call %q is not the one that was approved",
				parley.Clip(a.ToolCallID, 64),
			)
		}
		a.UsedAt = t.now
		h.Changes.Approvals = append(h.Changes.Approvals, a)
		t.event(h, turn.ID, toolStarted(turn.ID, call.ID, a.ToolCallID, a.ToolName))
	}
	return nil
}

func approvalOf(approvals []parley.Approval, id parley.ID) *parley.Approval {
	for i := range approvals {
		if approvals[i].ID == id {
			return &approvals[i]
		}
	}
	return nil
}

// settleApprovals ends the pending approvals of a turn that ends.
func (t *Tx) settleApprovals(h *Head, turn *parley.Turn) ([]parley.Approval, error) {
	if turn.Step == 0 { // it never reached a call
		return nil, nil
	}
	approvals, err := t.rows.TurnApprovals(h, turn.ID)
	if err != nil {
		return nil, err
	}
	for i := range approvals {
		t.cancelApproval(h, &approvals[i])
	}
	return approvals, nil
}

// cancelApproval cancels an approval that is no longer needed.
func (t *Tx) cancelApproval(h *Head, a *parley.Approval) {
	if a.State == parley.ApprovalPending {
		a.State, a.DecidedAt = parley.ApprovalCancelled, t.now
		t.resolved(h, a)
	}
}

// ExpireApproval expires an approval whose deadline has passed; false if there is nothing to do.
func (t *Tx) ExpireApproval(sessionID, approvalID parley.ID) (bool, error) {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.DeletedAt != 0 {
		return false, err
	}
	a, err := t.rows.Approval(h.WorkspaceID, approvalID)
	if err != nil || a == nil || a.State != parley.ApprovalPending || a.ExpiresAt > t.now {
		return false, err
	}
	a.State, a.DecidedAt = parley.ApprovalExpired, t.now
	t.resolved(h, a)
	_, err = t.wakeDecided(h, a.TurnID, parley.ID{})
	return true, err
}

// by returns who owns the tool session of an approval: what is approved there holds only for sessions of theirs.
func (w TellRoot) by(a *parley.Approval) parley.ID {
	if w.OwnerID.IsZero() && a.DecidedBy != nil { // the errand is older than this field
		return a.DecidedBy.ID
	}
	return w.OwnerID
}

// TellRoot tells the root session of a tree about an approval in a tool session, once. It ignores a root that is gone.
func (t *Tx) TellRoot(workspaceID parley.ID, what TellRoot) error {
	rootID := what.RootID
	if rootID.IsZero() { // the errand is older than its payload
		found, err := t.rows.Approval(workspaceID, what.ApprovalID)
		if err != nil || found == nil {
			return err
		}
		rootID = found.RootID
	}
	h, err := t.load(rootID)
	if err != nil || h == nil || h.DeletedAt != 0 {
		return err
	}
	a, err := t.rows.Approval(workspaceID, what.ApprovalID) // read under the lock
	if err != nil || a == nil {
		return err
	}
	if h.InBackground() {
		if err := t.noteApproval(h, a); err != nil {
			return err
		}
	}
	first, err := t.deliver(h, Delivery{rootHeardCreated, a.ID})
	if err != nil {
		return err
	}
	if first {
		t.event(h, parley.ID{}, event.ApprovalCreated{Approval: approvalTold(a)}.Encode())
	}
	if a.State == parley.ApprovalPending {
		return nil
	}
	if first, err = t.deliver(h, Delivery{rootHeardResolved, a.ID}); err != nil || !first {
		return err
	}
	if a.State == parley.ApprovalApproved && what.by(a) == h.OwnerID { // later tool sessions start with its acceptances
		switch a.Scope {
		case parley.ScopeChange:
			err = t.acceptChange(h, a)
		case parley.ScopeTree: // the present ones read the root's
			err = t.acceptInTree(h, a)
		}
		if err != nil {
			return err
		}
	}
	t.event(h, parley.ID{}, event.ApprovalResolved{Approval: approvalTold(a)}.Encode())
	return nil
}
