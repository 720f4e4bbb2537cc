package engine

import (
	"context"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// accepts collects what a person agrees to run without a question by opening a session of an agent, or by making a
// version of it: the agent as it is, the agents among its tools, and the server's tools of all of them. more are
// further tools that the session gets.
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
			digests = append(digests, e.digestsOf(ctx, scope, &refs[i])...)
			if refs[i].Agent == nil || len(accepted.Agents) >= parley.MaxAcceptedAgents {
				continue
			}
			below, err := e.agent(ctx, scope, refs[i].Agent.Agent)
			if parley.ErrorCode(err) == parley.CodeNotFound {
				continue // its calls will report it
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

// acceptsPatch returns what a person accepts by making an agent's next version: what the patch sets, and what they
// accepted with their latest version. A patch does not accept changes by others that it does not name.
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

// digestsOf returns the digests of the tools that an entry matches now.
func (e *Engine) digestsOf(ctx context.Context, scope store.Scope, ref *parley.ToolRef) (digests []string) {
	if own := ref.Digest(); own != "" {
		return []string{own}
	}
	if e.tools == nil {
		return nil
	}
	tools := e.tools.For(scope.WorkspaceID)
	prefix, pattern := ref.Pattern()
	if pattern || tools.Expects(ref.Name) {
		awaitTools(ctx, tools)
	}
	if !pattern {
		if one, ok := tools.Tool(ref.Name); ok {
			digests = append(digests, tool.Digest(one))
		}
		return digests
	}
	for _, one := range tools.Tools() {
		if strings.HasPrefix(one.Definition().Name, prefix) {
			digests = append(digests, tool.Digest(one))
		}
	}
	return digests
}

// toolsPatience is how long tool servers may take at the start of the process before a session begins without their
// tools.
const toolsPatience = 10 * time.Second

// awaitTools returns immediately once every tool server has been tried.
func awaitTools(ctx context.Context, tools tool.Source) {
	ctx, stop := context.WithTimeout(ctx, toolsPatience)
	defer stop()
	tools.Await(ctx)
}

// accept lets a new session begin with what its owner accepts: its agent as it is.
func (e *Engine) accept(ctx context.Context, scope store.Scope, session *parley.Session) error {
	agent, err := e.store.Agent(ctx, scope.WorkspaceID, session.AgentID.String())
	if err != nil {
		return err
	}
	session.Accepted, err = e.accepts(ctx, scope, &agent, parley.ValueOf(session.Tools))
	return err
}

// acceptedBy returns the tools that a session's owner accepts with a patch: those that it names, and those that one of
// its grants allows. A patch by somebody else accepts nothing.
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
			digests = append(digests, e.digestsOf(ctx, scope, &(*patch.Tools.Value)[i])...)
		}
	}
	if patch.Grants.Value == nil || e.tools == nil {
		return digests, nil
	}
	for _, one := range e.tools.For(scope.WorkspaceID).Tools() {
		for _, grant := range *patch.Grants.Value {
			if grant.Effect == parley.GrantAllow && grant.Concerns(one.Definition().Name) {
				digests = append(digests, tool.Digest(one))
				break
			}
		}
	}
	return digests, nil
}
