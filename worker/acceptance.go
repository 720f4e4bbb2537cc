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

// digestOf is the call's tool as it is.
func (r *rules) digestOf(call *toolCall) string {
	if call.tool != nil {
		return tool.Digest(call.tool)
	}
	return call.ref.Digest()
}

// allowed reports whether the rules let the call run if the agent had other grants.
func (r *rules) allowed(call *toolCall, grants []parley.Grant) bool {
	var annotations parley.ToolAnnotations
	if call.tool != nil {
		annotations = call.tool.Annotations()
	}
	rules := r.grants
	rules.Agent = grants
	return rules.Decide(call.name, call.arguments, annotations).Effect == parley.GrantAllow
}

// offeredBefore reports whether a session from before acceptances were kept has had
// the tool that is called, by its agent then or by itself: one of the server's by its
// name, one that is defined there as it is.
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

// ownVersion is the latest version of the agent that the session's owner made: it
// keeps what the owner accepted by making it.
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
