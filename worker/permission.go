package worker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/setting"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// The results of calls that a rule or a person did not allow.
const (
	resultForbidden = "Denied: a rule of this agent or session does not allow this call."
	resultDenied    = "Denied by %s."
	resultDeniedWhy = "Denied by %s: %s"
	resultNoAnswer  = "Not run: nobody approved this call in time."
	resultOtherCall = "Not run: this is not the call that was approved."
	resultOtherTool = "Not run: the tool was changed after this call was approved. Call it again."
	resultAskerGone = "Approved, but not run: the process that asked had ended when the decision came. " +
		"Ask again to run it."
	resultNoQuestion = `Not run: ask_user takes an object {"question": text, "options": [text, …]}; options may be ` +
		`left out.`
)

// maxAncestors bounds the ancestors of a tool session whose denials are read.
const maxAncestors = 64

// read collects the rules that apply to the turn's calls. The denials of a tool session's ancestors, and of their
// agents, apply too.
func (r *rules) read() error {
	session := &r.claim.Session
	r.grants = parley.Grants{Agent: parley.ValueOf(r.claim.Agent.Grants), Session: parley.ValueOf(session.Grants)}
	if session.Kind != parley.KindTool {
		return nil
	}
	above := session.ParentSessionID
	for range maxAncestors {
		if above.IsZero() {
			break
		}
		parent, err := r.w.store.Session(r.writes, store.Scope{WorkspaceID: r.fence.WorkspaceID}, above)
		if parley.ErrorCode(err) == parley.CodeNotFound {
			break
		} else if err != nil {
			return err
		}
		agent, err := r.w.store.Agent(r.writes, r.fence.WorkspaceID, parent.AgentID.String())
		if err != nil {
			return err
		}
		r.grants.Inherited = append(r.grants.Inherited, parley.ValueOf(parent.Grants)...)
		r.grants.Inherited = append(r.grants.Inherited, parley.ValueOf(agent.Grants)...)
		above = parent.ParentSessionID
		if parent.Kind != parley.KindTool {
			break
		}
	}
	return nil
}

// decide applies the rules to a call. A question to a person needs no permission. A call that would run without a
// question, although somebody else has changed the agent or the tool since, must be approved; changed then says why. An
// approval for the tree answers both questions, unless a rule of this session asks or a rule says who approves.
func (r *rules) decide(call *toolCall) (ruling parley.Ruling, changed parley.ApprovalReason, err error) {
	annotations := call.annotations()
	ruling = r.grants.Decide(call.name, call.arguments, annotations)
	switch {
	case ruling.Effect == parley.GrantDeny:
	case call.question:
		ruling = parley.Ruling{Effect: parley.GrantAllow}
	case call.own && !annotations.Destructive: // the runtime does it by itself
		ruling = parley.Ruling{Effect: parley.GrantAllow}
	case ruling.Effect == parley.GrantAllow && r.w.script == nil && !call.recall:
		changed, err = r.changed(call, ruling)
		if changed != "" {
			ruling = parley.Ruling{Effect: parley.GrantAsk}
		}
	}
	mayHold := ruling.Effect == parley.GrantAsk && !ruling.Named() && !ruling.BySession
	if err != nil || !mayHold || r.w.script != nil {
		return ruling, changed, err
	}
	approved, err := r.approvedInTree(call)
	if approved {
		return parley.Ruling{Effect: parley.GrantAllow}, "", nil
	}
	return ruling, changed, err
}

// permits reports whether a rule allows the agent's runtime, which is named like a tool. The session's owner must have
// accepted both the runtime and the rule. A rule of the session that names the runtime counts as accepting both; a rule
// for everything does not cover a runtime that somebody else chose.
func (r *rules) permits(name string) (bool, error) {
	ruling := r.grants.Decide(name, json.RawMessage("{}"), parley.ToolAnnotations{Destructive: true})
	named := slices.ContainsFunc(r.grants.Session, func(g parley.Grant) bool {
		return g.Tool == name && g.Effect == parley.GrantAllow
	})
	if ruling.Effect != parley.GrantAllow || ruling.BySession && named {
		return ruling.Effect == parley.GrantAllow, nil
	}
	if err := r.readAccepted(); err != nil || r.accepted.any {
		return r.accepted != nil && r.accepted.any, err
	}
	accepts := func(agent *parley.Agent) bool {
		return agent.Runtime == r.claim.Agent.Runtime &&
			(ruling.BySession || r.names(name, parley.ValueOf(agent.Grants)))
	}
	if accepts(&r.accepted.agent) {
		return true, nil
	}
	own, err := r.ownVersion()
	if err != nil {
		return false, err
	}
	return accepts(own), nil
}

// names reports whether grants allow something by name.
func (r *rules) names(name string, grants []parley.Grant) bool {
	rules := r.grants
	rules.Agent = grants
	ruling := rules.Decide(name, json.RawMessage("{}"), parley.ToolAnnotations{Destructive: true})
	return ruling.Effect == parley.GrantAllow
}

// permit decides about a call that the model has just made: run it, refuse it, or ask.
func (r *rules) permit(call *toolCall) error {
	if call.lost {
		call.refusal = parley.EffectUnknown
	}
	if call.refusal != "" {
		return nil
	}
	ruling, changed, err := r.decide(call)
	if err != nil {
		return err
	}
	switch ruling.Effect {
	case parley.GrantDeny:
		call.refusal = resultForbidden
	case parley.GrantAsk:
		if r.w.script != nil { // nothing runs, so nobody is asked
			return nil
		}
		call.approval = &parley.Approval{
			ID: parley.NewID(), State: parley.ApprovalPending, Reason: changed, Approvers: ruling.Approvers,
			Named: ruling.Approvers > 0 || ruling.ByOthers, Digest: r.digestOf(call),
			Rules: parley.RulesAbout(call.name, parley.ValueOf(r.claim.Agent.Grants)),
		}
		if ruling.ByOthers {
			call.approval.RequesterIDs, err = r.requesters.all()
		}
	}
	return err
}

// timeout is how long people may take.
func (r *rules) timeout() time.Duration {
	return time.Duration(cmp.Or(
		parley.ValueOf(setting.ApprovalTimeout.Nearest(&r.claim.Agent.Settings, &r.claim.Session.Settings)),
		parley.DefaultApprovalTimeout,
	)) * time.Second
}

// asks returns the questions of a step that is settling.
func (r *rules) asks(calls []toolCall) (asks []store.Ask) {
	for i := range calls {
		if calls[i].approval != nil {
			a := calls[i].approval
			asks = append(
				asks,
				store.Ask{
					ApprovalID:   a.ID,
					ToolCallID:   calls[i].id,
					Timeout:      r.timeout(),
					Reason:       a.Reason,
					Approvers:    a.Approvers,
					RequesterIDs: a.RequesterIDs,
					Named:        a.Named,
					Digest:       a.Digest,
					Rules:        a.Rules,
				},
			)
		}
	}
	return asks
}

// takeUp decides about a call of an earlier run that has no result. A call that was never asked about may have run: it
// runs again only if its tool may be repeated.
func (r *rules) takeUp(call *toolCall, approvals []parley.Approval, unusable bool) error {
	call.approval = nil
	for i := range approvals {
		if approvals[i].ToolCallID == call.id {
			call.approval = &approvals[i]
		}
	}
	if call.refusal != "" {
		return nil
	}
	ruling, _, err := r.decide(call)
	if err != nil {
		return err
	}
	effect := ruling.Effect
	// A call's session opens only once, so opening it again is safe.
	again := call.tool == nil && !call.lost && (!call.inSession() || !unusable) ||
		call.tool != nil && !unusable && call.tool.Annotations().Repeatable()
	switch {
	case call.approval != nil:
		r.heed(call, effect, again)
	case !again || call.tool != nil && effect == parley.GrantAsk:
		call.refusal = parley.EffectUnknown
	case effect == parley.GrantDeny:
		call.refusal = resultForbidden
	}
	return nil
}

// heed applies the answer to the question about a call.
func (r *rules) heed(call *toolCall, effect parley.GrantEffect, again bool) {
	a := call.approval
	switch {
	case a.State == parley.ApprovalPending && effect == parley.GrantDeny:
		call.refusal = resultForbidden
	case a.State == parley.ApprovalPending:
	case a.Question != nil && a.State != parley.ApprovalCancelled: // the tool hears what came of it
		r.heedAnswer(call, effect, again)
	case a.State == parley.ApprovalExpired:
		call.refusal = resultNoAnswer
	case a.State == parley.ApprovalCancelled:
		call.refusal = parley.NotDecided
	case a.State == parley.ApprovalDenied:
		call.refusal = deniedText(a)
	case a.UsedAt != 0 && !again:
		call.refusal = parley.EffectUnknown
	case effect == parley.GrantDeny:
		call.refusal = resultForbidden
	case a.UsedAt != 0:
		call.cleared = true
	default:
		fingerprint, err := parley.Fingerprint(call.name, call.arguments)
		switch {
		case err != nil || fingerprint != a.Fingerprint:
			call.refusal = resultOtherCall
		case a.State == parley.ApprovalApproved && call.lost:
			call.refusal = resultAskerGone
		case a.State == parley.ApprovalApproved && a.Digest != "" && a.Digest != r.digestOf(call):
			call.refusal = resultOtherTool
		}
	}
}

// heedAnswer applies the answer to a tool's question: the call goes on with it.
func (r *rules) heedAnswer(call *toolCall, effect parley.GrantEffect, again bool) {
	a := call.approval
	switch {
	case call.lost:
		call.refusal = resultAskerGone
	case a.UsedAt != 0 && !again:
		call.refusal = parley.EffectUnknown
	case effect == parley.GrantDeny:
		call.refusal = resultForbidden
	case a.UsedAt != 0:
		call.cleared = true
	case a.Digest != r.digestOf(call):
		call.refusal = resultOtherTool
	}
}

func deniedText(a *parley.Approval) string {
	by := "a person"
	if a.DecidedBy != nil && a.DecidedBy.Name != "" {
		by = a.DecidedBy.Name
	}
	if a.Comment == "" {
		return fmt.Sprintf(resultDenied, by)
	}
	return fmt.Sprintf(resultDeniedWhy, by, a.Comment)
}

// useApprovals records, before the calls run, that their approvals are used now.
func (t *tools) useApprovals(calls []toolCall) error {
	var uses []store.ApprovalUse
	for i := range calls {
		if !calls[i].approved() {
			continue
		}
		fingerprint, err := parley.Fingerprint(calls[i].name, calls[i].arguments)
		if err != nil {
			return err
		}
		uses = append(uses, store.ApprovalUse{ApprovalID: calls[i].approval.ID, Fingerprint: fingerprint})
	}
	if len(uses) == 0 {
		return nil
	}
	if err := t.persist(func() error { return t.w.store.UseApprovals(t.writes, t.fence, uses) }); err != nil {
		return err
	}
	for i := range calls {
		calls[i].cleared = calls[i].cleared || calls[i].approved()
	}
	return nil
}

// approved reports whether a person has allowed the call and it has not begun.
func (c *toolCall) approved() bool {
	return !c.settled && c.refusal == "" && !c.cleared && c.approval != nil &&
		c.approval.Runs()
}

// runs reports whether the server may run the call now.
func (c *toolCall) runs() bool {
	return c.tool != nil && !c.settled && c.refusal == "" && (c.approval == nil || c.cleared)
}

// inSession reports whether a tool session answers the call.
func (c *toolCall) inSession() bool { return c.child != nil || c.transform != nil }

// annotations are those of the server's tool that was called; none for another one.
func (c *toolCall) annotations() (annotations parley.ToolAnnotations) {
	if served := c.served(); served != nil {
		annotations = served.Annotations()
	}
	return annotations
}

// served is the server's tool that was called; nil for another one.
func (c *toolCall) served() tool.Tool {
	if c.tool == nil {
		return c.transform
	}
	return c.tool
}

// opens reports whether a tool session may answer the call now.
func (c *toolCall) opens() bool {
	return c.inSession() && !c.settled && c.refusal == "" && (c.approval == nil || c.cleared)
}

// waitsFor returns what an open call waits for; "" if it does not wait.
func (c *toolCall) waitsFor() parley.WaitReason {
	switch {
	case c.settled || c.refusal != "":
		return ""
	case c.approval != nil && !c.cleared:
		return parley.WaitApproval
	case c.question:
		return parley.WaitInput
	case c.client:
		return parley.WaitToolResult
	case c.inSession():
		return parley.WaitChild
	}
	return ""
}

// waitReason returns what a turn with these calls waits for: the first of approval, input, tool_result and child; "" if
// all calls have their results.
func waitReason(calls []toolCall) parley.WaitReason {
	waiting := map[parley.WaitReason]bool{}
	for i := range calls {
		waiting[calls[i].waitsFor()] = true
	}
	for _, reason := range []parley.WaitReason{parley.WaitApproval, parley.WaitInput, parley.WaitToolResult,
		parley.WaitChild} {
		if waiting[reason] {
			return reason
		}
	}
	return ""
}
