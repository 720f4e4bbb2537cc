package engine

import (
	"context"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/setting"
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
// in it, where, at whose cost, and what a provider sees of it. Every setting is one of them.
func (p *SessionPatch) ownersFields() []patchField {
	fields := []patchField{
		{"instructions", p.Instructions.Set},
		{"project_id", p.ProjectID.Set},
		{"during", p.During.Set},
	}
	for _, one := range setting.All(setting.Session) {
		fields = append(fields, patchField{one.Describe().Name, one.IsNamed(&p.SettingsPatch)})
	}
	return fields
}

// UnstoredTag marks a session that is purged once it is over, by a later request of its owner. Nobody else may set it,
// and no session inherits it: it would delete what its owner keeps.
const UnstoredTag = "openai-unstored"

// EnvironmentTag begins the tag of a session whose tools run where a worker of its owner polls for work. Nobody else
// may set it, and no session inherits it: its calls run on that machine.
const EnvironmentTag = "anthropic-environment:"

// keptTags returns tags without those that only a session's owner may set.
func keptTags(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool {
		tag = strings.TrimSpace(tag)
		return tag == UnstoredTag || strings.HasPrefix(tag, EnvironmentTag)
	})
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
	if patch.Tags.Set && len(keptTags(patch.Tags.Value)) < len(patch.Tags.Value) {
		named = append(named, "the tags "+UnstoredTag+" and "+EnvironmentTag)
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

// ownersOnly returns CodeForbidden unless a principal is a session's owner or an admin. what ends the sentence: what
// only they may do, and what others can do instead.
func (e *Engine) ownersOnly(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	sessionID parley.ID,
	what string,
) error {
	theirs, err := e.ownersSession(ctx, scope, principal, sessionID)
	if err != nil || theirs {
		return err
	}
	return parley.Errorf(parley.CodeForbidden, "Only the session's owner or an admin may %s", what)
}
