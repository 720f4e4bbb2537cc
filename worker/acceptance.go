package worker

import (
	"slices"

	"example.org/parley"
	"example.org/parley/tool"
)

// accepted is what the owner of a turn's session has accepted, as far as a run has
// had to look.
type accepted struct {
	parley.Accepted
	agent parley.Agent // in the version that the owner accepted; without grants when none is
	// nobody keeps acceptances here: neither the session nor its agent has any, or a version from before
	any bool
	// the latest version that the owner made; set once looked for, without a version when there is none
	own *parley.Agent
}

// readAccepted reads what the session's owner has accepted, once a run. Only a run
// with a call that would run unasked, or opens a session, comes here.
func (t *turn) readAccepted() error {
	if t.accepted != nil {
		return nil
	}
	kept, err := t.w.store.Accepted(t.writes, t.fence.WorkspaceID, t.fence.SessionID)
	if err != nil {
		return err
	}
	a := &accepted{Accepted: kept}
	switch version, known := kept.Agents[t.claim.Agent.ID]; {
	case known && version == t.claim.Agent.Version:
		a.agent = t.claim.Agent
	case known:
		if a.agent, err = t.w.store.AgentVersion(t.writes, t.fence.WorkspaceID, t.claim.Agent.ID, version); err != nil {
			return err
		}
	case kept.Before && len(kept.Agents) == 0:
		a.agent, a.any = t.claim.Agent, true
	}
	t.accepted = a
	return nil
}

// forChild is what the session of a call begins with: it accepts nothing by being
// opened, nor does one of an agent that is newer than the session above.
func (a *accepted) forChild() *parley.Accepted {
	if a.any {
		return nil
	}
	return a.Clone()
}

// changed says why a call that the rules let run is asked about all the same: the
// session's owner has not accepted the tool as it is, or the agent's rules that let it
// run, and somebody else made them. "" for a call that may run.
func (t *turn) changed(call *toolCall, ruling parley.Ruling) (parley.ApprovalReason, error) {
	if err := t.readAccepted(); err != nil || t.accepted.any {
		return "", err
	}
	digest := t.digestOf(call)
	known := t.accepted.HasTool(digest) || t.accepted.Before && t.offeredBefore(call) || t.chosen()
	ruled := ruling.BySession || t.allowed(call, parley.ValueOf(t.accepted.agent.Grants))
	change := parley.AcceptedChange{
		AgentID: t.claim.Agent.ID,
		Tool:    call.name,
		Digest:  digest,
		Rules:   parley.RulesAbout(call.name, parley.ValueOf(t.claim.Agent.Grants)),
	}
	if known && ruled || digest != "" && t.accepted.HasChange(change) {
		return "", nil
	}
	own, err := t.ownVersion()
	if err != nil {
		return "", err
	}
	if accepted := own.Accepted; accepted != nil {
		known = known || accepted.HasTool(digest)
		ruled = ruled || accepted.Grants != nil && t.allowed(call, *accepted.Grants)
	}
	switch {
	case !known:
		return parley.AskedToolChange, nil
	case !ruled:
		return parley.AskedAgentChange, nil
	}
	return "", nil
}

// digestOf is the call's tool as it is.
func (t *turn) digestOf(call *toolCall) string {
	if call.tool != nil {
		return tool.Digest(call.tool)
	}
	return call.ref.Digest()
}

// allowed reports whether the rules let the call run if the agent had other grants.
func (t *turn) allowed(call *toolCall, grants []parley.Grant) bool {
	var annotations parley.ToolAnnotations
	if call.tool != nil {
		annotations = call.tool.Annotations()
	}
	rules := t.grants
	rules.Agent = grants
	return rules.Decide(call.name, call.arguments, annotations).Effect == parley.GrantAllow
}

// offeredBefore reports whether a session from before acceptances were kept has had
// the tool that is called, by its agent then or by itself: one of the server's by its
// name, one that is defined there as it is.
func (t *turn) offeredBefore(call *toolCall) bool {
	own := call.ref.Digest()
	offers := func(ref parley.ToolRef) bool { return ref.Offers(call.name) && ref.Digest() == own }
	return slices.ContainsFunc(parley.ValueOf(t.accepted.agent.Tools), offers) ||
		slices.ContainsFunc(parley.ValueOf(t.claim.Session.Tools), offers)
}

// chosen reports whether the session's owner named the tools of this turn in the
// message that began it.
func (t *turn) chosen() bool {
	trigger := &t.claim.Trigger
	return trigger.Settings.Tools != nil && trigger.Author.ID == t.claim.Session.OwnerID
}

// ownVersion is the latest version of the agent that the session's owner made: it
// keeps what the owner accepted by making it.
func (t *turn) ownVersion() (*parley.Agent, error) {
	if t.accepted.own != nil {
		return t.accepted.own, nil
	}
	agent := &t.claim.Agent
	own, err := t.w.store.AgentVersionBy(
		t.writes,
		t.fence.WorkspaceID,
		agent.ID,
		t.claim.Session.OwnerID,
		agent.Version,
	)
	if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
		return nil, err
	}
	t.accepted.own = &own
	return &own, nil
}
