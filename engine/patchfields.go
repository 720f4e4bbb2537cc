package engine

import (
	"context"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// patchField is a field of a SessionPatch, and whether the patch names it.
type patchField struct {
	name  string
	named bool
}

// anybodysFields are the fields that everybody who sees a session may change: how it is found and listed, not what runs
// in it. A change of visibility is checked by its value (ShareSessions).
func (p *SessionPatch) anybodysFields() []patchField {
	return []patchField{
		{"title", p.Title.Set}, {"pinned", p.Pinned.Set}, {"tags", p.Tags.Set}, {"metadata", p.Metadata.Set},
		{"archived", p.Archived.Set}, {"visibility", p.Visibility.Set},
	}
}

// ownersFields are the fields that only a session's owner and admins may change (GrantSessions): they decide what runs
// in it, where, at whose cost, and what a provider sees of it.
func (p *SessionPatch) ownersFields() []patchField {
	return []patchField{
		{"instructions", p.Instructions.Set}, {"system_prompt", p.SystemPrompt.Set}, {"model", p.Model.Set},
		{"temperature", p.Temperature.Set}, {"top_p", p.TopP.Set}, {"max_tokens", p.MaxTokens.Set},
		{"seed", p.Seed.Set}, {"reasoning_effort", p.ReasoningEffort.Set},
		{"tool_choice", p.ToolChoice.Set}, {"parallel_tool_calls", p.ParallelToolCalls.Set},
		{"response_format", p.ResponseFormat.Set}, {"stop", p.Stop.Set}, {"end_user", p.EndUser.Set},
		{"request_metadata", p.RequestMetadata.Set}, {"service_tier", p.ServiceTier.Set},
		{"tools", p.Tools.Set}, {"grants", p.Grants.Set}, {"approval_timeout", p.ApprovalTimeout.Set},
		{"project_id", p.ProjectID.Set}, {"limits", p.Limits.Set}, {"middleware", p.Middleware.Set},
		{"response_cache", p.ResponseCache.Set}, {"context_policy", p.Policy.Set}, {"compaction", p.Compaction.Set},
		{"retry_policy", p.Retry.Set}, {"during", p.During.Set},
	}
}

// mayPatch returns CodeForbidden for a patch of somebody else's session that names fields reserved for its owner.
func (e *Engine) mayPatch(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	sessionID parley.ID,
	patch *SessionPatch,
) error {
	var named []string
	for _, field := range patch.ownersFields() {
		if field.named {
			named = append(named, field.name)
		}
	}
	if len(named) == 0 {
		return nil
	}
	theirs, err := e.ownersSession(ctx, scope, principal, sessionID)
	if err != nil || theirs {
		return err
	}
	return parley.Errorf(
		parley.CodeForbidden,
		"Only the session's owner or an admin may change %s of it. You can post to it, change how it is listed, or "+
			"fork it.",
		strings.Join(named, ", "),
	)
}

// ownersSession reports whether a principal may say what runs in a session: as its owner or as an admin.
func (e *Engine) ownersSession(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	sessionID parley.ID,
) (bool, error) {
	if ReachOf(principal.Role, GrantSessions) == ReachAll {
		return true, nil
	}
	session, err := e.store.Session(ctx, scope, sessionID)
	if err != nil {
		return false, err
	}
	return owns(principal, GrantSessions, session) == nil, nil
}
