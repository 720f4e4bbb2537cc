package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// WorkspacePatch changes the caller's workspace: absent fields stay, null clears them.
type WorkspacePatch struct {
	Visibility parley.Change[parley.Visibility] `json:"visibility,omitzero" enum:"private,workspace" doc:"Who sees sessions that are created without a visibility: their owners and admins (private, also for null), or everybody in the workspace. Existing sessions stay as they are."`

	// If refuses the patch unless the workspace is as the caller expects; nil: any is. It may be called several times.
	If func(current parley.Workspace) error `json:"-"`
}

// Workspace reads the principal's workspace.
func (e *Engine) Workspace(ctx context.Context, principal parley.Principal) (_ parley.Workspace, err error) {
	ctx, call, err := e.enter(ctx, principal, "getWorkspace", ReadWorkspace, on(principal.WorkspaceID))
	if err != nil {
		return parley.Workspace{}, err
	}
	defer call.end(ctx, &err)
	return e.store.WorkspaceOf(ctx, call.Scope.WorkspaceID)
}

// UpdateWorkspace applies a patch to the principal's workspace; one that changes nothing leaves no trace.
func (e *Engine) UpdateWorkspace(
	ctx context.Context,
	principal parley.Principal,
	patch WorkspacePatch,
) (_ parley.Workspace, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateWorkspace", WriteWorkspace, on(principal.WorkspaceID))
	if err != nil {
		return parley.Workspace{}, err
	}
	defer call.end(ctx, &err)
	patch.Visibility.Value = either(patch.Visibility.Value, parley.VisibilityPrivate)
	if err := checkVisibility(patch.Visibility.Value); err != nil {
		return parley.Workspace{}, err
	}
	change := store.WorkspaceChange{If: patch.If}
	set(patch.Visibility, &change.Visibility)
	return e.store.UpdateWorkspace(ctx, call.Scope.WorkspaceID, change)
}

// visibilityOf returns who sees a new session: what the input names, otherwise the workspace's default. A tool session
// is private by default.
func (e *Engine) visibilityOf(
	ctx context.Context,
	scope store.Scope,
	input *SessionInput,
) (parley.Visibility, error) {
	switch {
	case input.Visibility != "":
		return input.Visibility, nil
	case input.Kind == parley.KindTool:
		return parley.VisibilityPrivate, nil
	}
	workspace, err := e.store.WorkspaceOf(ctx, scope.WorkspaceID)
	return workspace.Visibility, err
}

func checkVisibility(visibility parley.Visibility) error {
	switch visibility {
	case parley.VisibilityPrivate, parley.VisibilityWorkspace:
		return nil
	}
	return parley.InvalidField(
		"visibility",
		"%q is not one of private, workspace",
		parley.Clip(string(visibility), 32),
	)
}
