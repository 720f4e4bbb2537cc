package engine

import (
	"context"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// accepts collects what opening a session of an agent, or making a version of it,
// agrees to let run unasked: the agent as it is, the agents among its tools, and the
// server's tools of all of them. More are further tools that the session gets.
func (e *Engine) accepts(
	ctx context.Context,
	scope store.Scope,
	agent *parley.Agent,
	more []parley.ToolRef,
) (*parley.Accepted, error) {
	accepted := &parley.Accepted{Agents: map[parley.ID]int{agent.ID: agent.Version}}
	pending := [][]parley.ToolRef{parley.ValueOf(agent.Tools), more}
	var digests []string
	for len(pending) > 0 {
		refs := pending[0]
		pending = pending[1:]
		for i := range refs {
			digests = append(digests, e.digestsOf(ctx, &refs[i])...)
			if refs[i].Agent == nil || len(accepted.Agents) >= parley.MaxAcceptedAgents {
				continue
			}
			below, err := e.agent(ctx, scope, refs[i].Agent.Agent)
			if parley.ErrorCode(err) == parley.CodeNotFound {
				continue // its calls will say so
			} else if err != nil {
				return nil, err
			}
			if _, seen := accepted.Agents[below.ID]; !seen {
				accepted.Agents[below.ID] = below.Version
				pending = append(pending, parley.ValueOf(below.Tools))
			}
		}
	}
	accepted.AddTools(digests)
	return accepted, nil
}

// acceptsPatch is what a person accepts by making the next version of an agent: what the
// patch sets, and what they accepted by their latest version before. What others changed
// meanwhile is not accepted by a patch that does not name it.
func (e *Engine) acceptsPatch(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	next *parley.Agent,
	patch *AgentPatch,
) (*parley.Accepted, error) {
	own, err := e.store.AgentVersionBy(ctx, scope.WorkspaceID, next.ID, principal.ID, next.Version-1)
	if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
		return nil, err
	}
	accepted := own.Accepted.Clone()
	if accepted == nil {
		accepted = &parley.Accepted{}
	}
	if patch.Tools.Set {
		now, err := e.accepts(ctx, scope, next, nil)
		if err != nil {
			return nil, err
		}
		accepted.Agents, accepted.Tools = now.Agents, now.Tools
	}
	if patch.Grants.Set {
		accepted.Grants = next.Grants
	}
	return accepted, nil
}

// digestsOf are the tools that an entry stands for at present, as they are.
func (e *Engine) digestsOf(ctx context.Context, ref *parley.ToolRef) (digests []string) {
	if own := ref.Digest(); own != "" {
		return []string{own}
	}
	if e.tools == nil {
		return nil
	}
	prefix, pattern := ref.Pattern()
	if pattern || e.tools.Expects(ref.Name) {
		e.awaitTools(ctx)
	}
	if !pattern {
		if one, ok := e.tools.Tool(ref.Name); ok {
			digests = append(digests, tool.Digest(one))
		}
		return digests
	}
	for _, one := range e.tools.Tools() {
		if strings.HasPrefix(one.Definition().Name, prefix) {
			digests = append(digests, tool.Digest(one))
		}
	}
	return digests
}

// toolsPatience is how long servers of tools may take at the process's start, before
// a session begins without theirs.
const toolsPatience = 10 * time.Second

// awaitTools returns at once when the servers of tools were all tried.
func (e *Engine) awaitTools(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, toolsPatience)
	defer stop()
	e.tools.Await(ctx)
}

// accept has a new session begin with what its owner accepts: its agent as it is.
func (e *Engine) accept(ctx context.Context, scope store.Scope, session *parley.Session) error {
	agent, err := e.store.Agent(ctx, scope.WorkspaceID, session.AgentID.String())
	if err != nil {
		return err
	}
	session.Accepted, err = e.accepts(ctx, scope, &agent, parley.ValueOf(session.Tools))
	return err
}

// acceptedBy are the tools that the owner of a session accepts with a patch: those
// that it names, and those that a grant of it allows. Of another's patch nothing.
func (e *Engine) acceptedBy(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	id parley.ID,
	patch *SessionPatch,
) ([]string, error) {
	if !patch.Tools.Set && !patch.Grants.Set {
		return nil, nil
	}
	session, err := e.store.Session(ctx, scope, id)
	if err != nil || session.OwnerID != principal.ID {
		return nil, err
	}
	var digests []string
	if patch.Tools.Value != nil {
		for i := range *patch.Tools.Value {
			digests = append(digests, e.digestsOf(ctx, &(*patch.Tools.Value)[i])...)
		}
	}
	if patch.Grants.Value == nil || e.tools == nil {
		return digests, nil
	}
	for _, one := range e.tools.Tools() {
		for _, grant := range *patch.Grants.Value {
			if grant.Effect == parley.GrantAllow && grant.Concerns(one.Definition().Name) {
				digests = append(digests, tool.Digest(one))
				break
			}
		}
	}
	return digests, nil
}
