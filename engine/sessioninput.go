package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// newSession validates the input and fills in the defaults.
func (e *Engine) newSession(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	input SessionInput,
) (parley.Session, error) {
	var none parley.Session
	if err := checkTexts(
		textBound{"type", input.Type, parley.MaxKeyBytes},
		textBound{"feature", input.Feature, parley.MaxKeyBytes},
		textBound{"task", input.Task, parley.MaxKeyBytes},
		textBound{"key", input.Key, maxSessionKeyBytes},
		textBound{"title", input.Title, parley.MaxNameBytes},
		textBound{"instructions", input.Instructions, parley.MaxTextBytes},
	); err != nil {
		return none, err
	}
	visibility, err := e.visibilityOf(ctx, scope, &input)
	if err != nil {
		return none, err
	}
	session := parley.Session{
		ID: parley.NewID(), WorkspaceID: scope.WorkspaceID, OwnerID: principal.ID, LogID: parley.NewID(),
		ProjectID: input.ProjectID, ParentSessionID: input.ParentSessionID, ParentMessageID: input.ParentMessageID,
		Visibility: visibility, Kind: either(input.Kind, parley.KindAgent),
		Mode: either(input.Mode, parley.ModeForeground), Type: input.Type, Feature: input.Feature, Task: input.Task,
		Key: input.storedKey(), Title: input.Title, Instructions: input.Instructions, Pinned: input.Pinned,
		Settings: input.Settings, During: input.During,
	}
	if err := checkSessionWords(session); err != nil {
		return none, err
	}
	if !session.ParentMessageID.IsZero() && session.ParentSessionID.IsZero() {
		return none, parley.InvalidField("parent_session_id", "is missing beside parent_message_id")
	}
	if session.Tags, err = checkTags(input.Tags); err != nil {
		return none, err
	}
	if session.Metadata, err = checkMetadata(input.Metadata); err != nil {
		return none, err
	}
	if err := e.checkSettings(setting.Session, &session.Settings); err != nil {
		return none, err
	}
	if err := e.findAgents(ctx, scope, parley.ValueOf(session.Tools)); err != nil {
		return none, err
	}
	agent, err := e.agent(ctx, scope, either(input.AgentID, parley.BuiltinAgentSlug))
	if err != nil && input.AgentID == "" && parley.ErrorCode(err) == parley.CodeNotFound {
		return none, parley.Errorf(
			parley.CodeNotFound,
			"The workspace no longer has the agent %q, the default of sessions; give agent_id.",
			parley.BuiltinAgentSlug,
		)
	}
	if err != nil {
		return none, err
	}
	if input.AgentID == "" && agent.Status == parley.AgentArchived {
		return none, parley.Errorf(
			parley.CodeArchived,
			"the agent %q, the default of sessions, is archived; reactivate it with "+
				"PATCH /v1/agents/%s {\"status\": \"active\"}, or give agent_id",
			agent.Slug,
			agent.Slug,
		)
	}
	session.AgentID = agent.ID
	session.Accepted, err = e.accepts(ctx, scope, &agent, parley.ValueOf(session.Tools))
	return session, err
}

// maxSessionKeyBytes leaves room for keys made of type, feature and task.
const maxSessionKeyBytes = 4 * parley.MaxKeyBytes

// either returns the value, or the default if it is the zero value.
func either[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// checkSessionWords checks the fields with closed lists of values.
func checkSessionWords(session parley.Session) error {
	if err := checkVisibility(session.Visibility); err != nil {
		return err
	}
	if err := checkKind(session.Kind); err != nil {
		return err
	}
	if err := checkMode(session.Mode); err != nil {
		return err
	}
	if session.During != "" && !session.During.Valid() {
		return parley.InvalidField(
			"during",
			"%q is not one of queue, steer, interrupt, reject",
			parley.Clip(string(session.During), 32),
		)
	}
	return nil
}

func checkKind(kind parley.SessionKind) error {
	if kind != parley.KindAgent && kind != parley.KindTool {
		return parley.InvalidField("kind", "%q is not one of agent, tool", parley.Clip(string(kind), 32))
	}
	return nil
}

func checkMode(mode parley.Mode) error {
	if mode != parley.ModeForeground && mode != parley.ModeBackground {
		return parley.InvalidField("mode", "%q is not one of foreground, background", parley.Clip(string(mode), 32))
	}
	return nil
}

// sessionQueries validates a list's filters and returns its queries.
func (e *Engine) sessionQueries(
	ctx context.Context,
	scope store.Scope,
	list SessionList,
	query store.SessionQuery,
) ([]store.SessionQuery, error) {
	query.Pinned, query.CreatedFrom, query.CreatedTo = list.Pinned, list.CreatedFrom, list.CreatedTo
	if err := checkAll(
		textsBound{"type", list.Types, parley.MaxKeyBytes}, textsBound{"feature", list.Features, parley.MaxKeyBytes},
		textsBound{"task", list.Tasks, parley.MaxKeyBytes}, textsBound{"tag", list.Tags, parley.MaxNameBytes},
	); err != nil {
		return nil, err
	}
	for _, kind := range list.Kinds {
		if err := checkKind(kind); err != nil {
			return nil, err
		}
	}
	for _, mode := range list.Modes {
		if err := checkMode(mode); err != nil {
			return nil, err
		}
	}
	for _, status := range list.Statuses {
		switch status {
		case parley.SessionPending,
			parley.SessionRunning,
			parley.SessionWaiting,
			parley.SessionCompleted,
			parley.SessionFailed,
			parley.SessionCancelled:
		default:
			return nil, parley.InvalidField(
				"status",
				"%q is not one of pending, running, waiting, completed, failed, cancelled",
				parley.Clip(string(status), 32),
			)
		}
	}
	hidden, only := false, true
	switch list.Archived {
	case "", ArchivedHidden:
		query.Archived = &hidden
	case ArchivedOnly:
		query.Archived = &only
	case ArchivedAny:
	default:
		return nil, parley.InvalidField(
			"archived",
			"%q is not one of false, true, any",
			parley.Clip(string(list.Archived), 32),
		)
	}
	agents, err := e.agentIDs(ctx, scope, list.Agents)
	if err != nil {
		return nil, err
	}
	all := []store.SessionQuery{query}
	all = apart(all, agents, func(q *store.SessionQuery, id parley.ID) { q.AgentID = id })
	all = apart(all, list.ProjectIDs, func(q *store.SessionQuery, id parley.ID) { q.ProjectID = id })
	all = apart(all, list.ParentIDs, func(q *store.SessionQuery, id parley.ID) { q.ParentID = id })
	all = apart(all, list.Types, func(q *store.SessionQuery, text string) { q.Type = text })
	all = apart(all, list.Features, func(q *store.SessionQuery, text string) { q.Feature = text })
	all = apart(all, list.Tasks, func(q *store.SessionQuery, text string) { q.Task = text })
	all = apart(all, list.Tags, func(q *store.SessionQuery, text string) { q.Tag = text })
	all = apart(all, list.Kinds, func(q *store.SessionQuery, kind parley.SessionKind) { q.Kind = kind })
	all = apart(all, list.Modes, func(q *store.SessionQuery, mode parley.Mode) { q.Mode = mode })
	return apart(
		all,
		list.Statuses,
		func(q *store.SessionQuery, status parley.SessionStatus) { q.Status = status },
	), nil
}

// agentIDs finds the agents of a filter, by id or slug.
func (e *Engine) agentIDs(ctx context.Context, scope store.Scope, named []string) (ids []parley.ID, err error) {
	if err := checkCount("agent", len(named)); err != nil {
		return nil, err
	}
	for _, one := range named {
		agent, err := e.agent(ctx, scope, one)
		if err != nil {
			return nil, err
		}
		ids = append(ids, agent.ID)
	}
	return ids, nil
}

// sessionChange validates a patch. It reads the session only if the patch is for its owner alone.
func (e *Engine) sessionChange(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	id parley.ID,
	patch SessionPatch,
) (store.SessionChange, error) {
	if patch.Visibility.Set { // null makes it private, whatever new sessions are
		patch.Visibility.Value = either(patch.Visibility.Value, parley.VisibilityPrivate)
	}
	change := store.SessionChange{If: patch.If}
	set(patch.Title, &change.Title)
	set(patch.Instructions, &change.Instructions)
	set(patch.Pinned, &change.Pinned)
	set(patch.ProjectID, &change.ProjectID)
	set(patch.During, &change.During)
	set(patch.Visibility, &change.Visibility)
	set(patch.Archived, &change.Archived)
	if err := checkTexts(
		textBound{"title", patch.Title.Value, parley.MaxNameBytes},
		textBound{"instructions", patch.Instructions.Value, parley.MaxTextBytes},
	); err != nil {
		return change, err
	}
	if patch.Tags.Set {
		tags, err := checkTags(patch.Tags.Value)
		if err != nil {
			return change, err
		}
		change.Tags = &tags
	}
	if patch.Metadata.Set {
		metadata, err := checkMetadata(patch.Metadata.Value)
		if err != nil {
			return change, err
		}
		change.Metadata = &metadata
	}
	if patch.During.Set && patch.During.Value != "" && !patch.During.Value.Valid() {
		return change, parley.InvalidField(
			"during",
			"%q is not one of queue, steer, interrupt, reject",
			parley.Clip(string(patch.During.Value), 32),
		)
	}
	if patch.Visibility.Set {
		if err := checkVisibility(patch.Visibility.Value); err != nil {
			return change, err
		}
	}
	change.Settings = patch.SettingsPatch
	changed := setting.Patched(parley.Settings{}, &change.Settings) // each is valid or not by itself
	if err := e.checkSettings(setting.Session, &changed); err != nil {
		return change, err
	}
	if err := e.findAgents(ctx, scope, parley.ValueOf(changed.Tools)); err != nil {
		return change, err
	}
	if !patch.Visibility.Set || ReachOf(principal.Role, ShareSessions) == ReachAll {
		return change, nil
	}
	session, err := e.store.Session(ctx, scope, id)
	if err != nil {
		return change, err
	}
	if session.Visibility != patch.Visibility.Value {
		return change, owns(principal, ShareSessions, session)
	}
	return change, nil
}

// set sets a field of a store change if the patch names it.
func set[T any](change parley.Change[T], to **T) {
	if change.Set {
		*to = &change.Value
	}
}
