package worker

import (
	"slices"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// accepted holds what the owner of a turn's session has accepted. A run fills it in as far as it needs it.
type accepted struct {
	parley.Accepted
	agent parley.Agent // the version that the owner accepted; it has no grants if the owner accepted none
	// any is false if neither the session nor its agent records acceptances, or the version predates them
	any bool
	// the latest version that the owner made; set once looked up, without a version if there is none
	own *parley.Agent
}

// readAccepted reads what the session's owner has accepted, once per run. Only a run with a call that would run without
// a question, or that opens a session, needs it.
func (r *rules) readAccepted() error {
	if r.accepted != nil {
		return nil
	}
	kept, err := r.w.store.Accepted(r.writes, r.fence.WorkspaceID, r.fence.SessionID)
	if err != nil {
		return err
	}
	a := &accepted{Accepted: kept}
	switch version, known := kept.Agents[r.claim.Agent.ID]; {
	case known && version == r.claim.Agent.Version:
		a.agent = r.claim.Agent
	case known:
		if a.agent, err = r.w.store.AgentVersion(r.writes, r.fence.WorkspaceID, r.claim.Agent.ID, version); err != nil {
			return err
		}
	case kept.Before && len(kept.Agents) == 0:
		a.agent, a.any = r.claim.Agent, true
	}
	r.accepted = a
	return nil
}

// forChild returns the acceptances that a call's session begins with. Opening it accepts nothing; neither does opening
// one of an agent newer than the parent session.
func (a *accepted) forChild() *parley.Accepted {
	if a.any {
		return nil
	}
	return a.Clone()
}

// changed says why a call must be approved although the rules allow it: somebody other than the session's owner changed
// the tool, or the agent's rules that allow the call, and the owner has not accepted the change. It returns "" if the
// call may run.
func (r *rules) changed(call *toolCall, ruling parley.Ruling) (parley.ApprovalReason, error) {
	if err := r.readAccepted(); err != nil || r.accepted.any {
		return "", err
	}
	digest := r.digestOf(call)
	known := call.own || r.accepted.HasTool(digest) || r.accepted.Before && r.offeredBefore(call) || r.chosen()
	ruled := ruling.BySession || r.allowed(call, parley.ValueOf(r.accepted.agent.Grants))
	change := parley.AcceptedChange{
		AgentID: r.claim.Agent.ID,
		Tool:    call.name,
		Digest:  digest,
		Rules:   parley.RulesAbout(call.name, parley.ValueOf(r.claim.Agent.Grants)),
	}
	if known && ruled || digest != "" && r.accepted.HasChange(change) {
		return "", nil
	}
	own, err := r.ownVersion()
	if err != nil {
		return "", err
	}
	if accepted := own.Accepted; accepted != nil {
		known = known || accepted.HasTool(digest)
		ruled = ruled || accepted.Grants != nil && r.allowed(call, *accepted.Grants)
	}
	switch {
	case !known:
		return parley.AskedToolChange, nil
	case !ruled:
		return parley.AskedAgentChange, nil
	}
	return "", nil
}

// approvedInTree reports whether the call's tool, as it is now and under the rules that this agent has about it, was
// approved for the tree of the session: in the session itself, or at the tree's root if that has the same owner.
func (r *rules) approvedInTree(call *toolCall) (approved bool, err error) {
	digest := r.digestOf(call)
	if digest == "" {
		return false, nil
	}
	if err := r.readAccepted(); err != nil {
		return false, err
	}
	wanted := parley.AcceptedChange{
		Tool: call.name, Digest: digest, Rules: parley.RulesAbout(call.name, parley.ValueOf(r.claim.Agent.Grants)),
	}
	session := &r.claim.Session
	if r.accepted.InTree(wanted) || session.RootID.IsZero() || session.RootID == session.ID {
		return r.accepted.InTree(wanted), nil
	}
	root, err := r.w.store.Session(r.writes, store.Scope{WorkspaceID: r.fence.WorkspaceID}, session.RootID)
	if err == nil && root.OwnerID == session.OwnerID {
		var kept parley.Accepted
		kept, err = r.w.store.Accepted(r.writes, r.fence.WorkspaceID, root.ID)
		approved = kept.InTree(wanted)
	}
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return false, nil
	}
	return approved, err
}

// digestOf returns the digest of the call's tool as it is now.
func (r *rules) digestOf(call *toolCall) string {
	if served := call.served(); served != nil {
		return tool.Digest(served)
	}
	return call.ref.Digest()
}

// allowed reports whether the rules would allow the call under the given grants.
func (r *rules) allowed(call *toolCall, grants []parley.Grant) bool {
	rules := r.grants
	rules.Agent = grants
	return rules.Decide(call.name, call.arguments, call.annotations()).Effect == parley.GrantAllow
}

// offeredBefore reports whether a session that predates acceptances already had the called tool, through its agent's
// version then or by itself. The server's tools compare by name, tools defined inline by their definition.
func (r *rules) offeredBefore(call *toolCall) bool {
	own := call.ref.Digest()
	offers := func(ref parley.ToolRef) bool { return ref.Offers(call.name) && ref.Digest() == own }
	return slices.ContainsFunc(parley.ValueOf(r.accepted.agent.Tools), offers) ||
		slices.ContainsFunc(parley.ValueOf(r.claim.Session.Tools), offers)
}

// chosen reports whether the session's owner named the tools of this turn in the
// message that began it.
func (r *rules) chosen() bool {
	trigger := &r.claim.Trigger
	return trigger.Settings.Tools != nil && trigger.Author.ID == r.claim.Session.OwnerID
}

// ownVersion returns the latest version of the agent that the session's owner made. By making it, the owner accepted
// its contents.
func (r *rules) ownVersion() (*parley.Agent, error) {
	if r.accepted.own != nil {
		return r.accepted.own, nil
	}
	agent := &r.claim.Agent
	own, err := r.w.store.AgentVersionBy(
		r.writes,
		r.fence.WorkspaceID,
		agent.ID,
		r.claim.Session.OwnerID,
		agent.Version,
	)
	if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
		return nil, err
	}
	r.accepted.own = &own
	return &own, nil
}
