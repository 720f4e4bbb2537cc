package engine

import (
	"bytes"
	"context"
	"encoding/json"
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
// in it. A change of visibility is checked by its value (ShareSessions), one of tags and metadata by what programs of
// the owner read there.
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
	if len(named) == 0 && !patch.Metadata.Set {
		return nil
	}
	theirs, err := e.ownersSession(ctx, scope, principal, sessionID)
	if err != nil || theirs {
		return err
	}
	if len(named) == 0 {
		patch.If = keepsPrograms(patch.If, patch.Metadata.Value)
		return nil
	}
	return mayNotPatch(strings.Join(named, ", "))
}

func mayNotPatch(what string) error {
	return parley.Errorf(
		parley.CodeForbidden,
		"Only the session's owner or an admin may change %s of it. You can post to it, change how it is listed, or "+
			"fork it.",
		what,
	)
}

// The members of a session's metadata that programs of its owner act by: where an editor's conversation continues and
// which program answers its tools, and which worker has the session. Nobody else may change them.
const (
	EditorMember = "acp"
	WorkMember   = "parley_work"
)

// keepsPrograms adds to a patch's condition that the new metadata leave those members as they are.
func keepsPrograms(also func(*parley.Session) error, next json.RawMessage) func(*parley.Session) error {
	return func(current *parley.Session) error {
		if also != nil {
			if err := also(current); err != nil {
				return err
			}
		}
		var before, after map[string]json.RawMessage
		_ = json.Unmarshal(current.Metadata, &before) // none are an empty object
		_ = json.Unmarshal(next, &after)
		for _, member := range []string{EditorMember, WorkMember} {
			if !sameMember(before[member], after[member]) {
				return mayNotPatch("the member " + member + " of the metadata")
			}
		}
		return nil
	}
}

// sameMember reports whether two values are the same; nil is the same as nil alone.
func sameMember(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var left, right bytes.Buffer
	return json.Compact(&left, a) == nil && json.Compact(&right, b) == nil && bytes.Equal(left.Bytes(), right.Bytes())
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
