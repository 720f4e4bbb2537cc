package engine

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// SessionInput is a new session. Every field is optional: without an agent it gets the workspace's built-in one.
type SessionInput struct {
	AgentID         string             `json:"agent_id,omitempty" doc:"Id or slug; parley by default."`
	ProjectID       parley.ID          `json:"project_id,omitzero"`
	ParentSessionID parley.ID          `json:"parent_session_id,omitzero"`
	ParentMessageID parley.ID          `json:"parent_message_id,omitzero"`
	Visibility      parley.Visibility  `json:"visibility,omitempty" enum:"private,workspace" doc:"That of the workspace by default, which is private unless an admin changes it; a tool session is private by default."`
	Kind            parley.SessionKind `json:"kind,omitempty" enum:"agent,tool" doc:"agent by default."`
	Mode            parley.Mode        `json:"mode,omitempty" enum:"foreground,background" doc:"foreground by default."`
	Type            string             `json:"type,omitempty"`
	Feature         string             `json:"feature,omitempty"`
	Task            string             `json:"task,omitempty"`
	Key             string             `json:"key,omitempty" doc:"Unique in the workspace: a session with this key is returned instead of a new one. 409 when it is somebody else's, and of another agent than named, seen by more people than named, or not yours to see. Null for a session named by type, feature and task, whose names are apart from keys."`
	Title           string             `json:"title,omitempty" doc:"Made from the first message when absent."`
	Instructions    string             `json:"instructions,omitempty"`
	Tags            []string           `json:"tags,omitempty"`
	Pinned          bool               `json:"pinned,omitempty"`
	Metadata        json.RawMessage    `json:"metadata,omitempty"`
	parley.Settings
	During   parley.During `json:"during,omitempty" enum:"queue,steer,interrupt,reject" doc:"What happens to a message that arrives during a turn; queue by default."`
	ClientID string        `json:"client_id,omitempty" doc:"The client (window, tab) that has the session open from now on."`
	Message  *MessageInput `json:"message,omitempty" doc:"The first message: it is stored, and its turn started, in the same transaction."`
	DryInput

	derivedKey string // of an input named otherwise than by Key
}

// Named returns the input with the name that a principal's client of another protocol gives a conversation: if the
// principal has a session with that name, it is returned instead of a new one. Nobody else can name a session so.
func (input SessionInput) Named(protocol string, principalID parley.ID, name string) SessionInput {
	input.derivedKey = parley.ConversationKey(protocol, principalID, name)
	return input
}

// storedKey returns the key under which the session is stored.
func (input *SessionInput) storedKey() string {
	return either(input.derivedKey, parley.OpaqueKey(input.Key))
}

func (input *SessionInput) named() store.Named {
	return store.Named{Agent: input.AgentID != "", Visibility: input.Visibility != ""}
}

// SessionPatch changes a session: absent fields stay, null clears them.
type SessionPatch struct {
	Title        parley.Change[string]          `json:"title,omitzero"`
	Instructions parley.Change[string]          `json:"instructions,omitzero"`
	Pinned       parley.Change[bool]            `json:"pinned,omitzero"`
	Tags         parley.Change[[]string]        `json:"tags,omitzero"`
	ProjectID    parley.Change[parley.ID]       `json:"project_id,omitzero"`
	Metadata     parley.Change[json.RawMessage] `json:"metadata,omitzero"`
	parley.SettingsPatch
	During     parley.Change[parley.During]     `json:"during,omitzero" enum:"queue,steer,interrupt,reject"`
	Visibility parley.Change[parley.Visibility] `json:"visibility,omitzero" enum:"private,workspace"`
	Archived   parley.Change[bool]              `json:"archived,omitzero"`

	// If refuses the patch unless the session is as the caller expects; nil: any is. The patch's transaction calls it,
	// perhaps several times.
	If func(current *parley.Session) error `json:"-"`
}

// SessionList selects sessions, last activity first by default. Archived ones are left out unless Archived includes
// them. Several values of a filter are alternatives.
type SessionList struct {
	Paging
	Agents                 []string // ids or slugs
	ProjectIDs             []parley.ID
	ParentIDs              []parley.ID
	Types                  []string
	Features               []string
	Tasks                  []string
	Kinds                  []parley.SessionKind
	Modes                  []parley.Mode
	Statuses               []parley.SessionStatus
	Archived               ArchivedFilter
	Pinned                 *bool
	Tags                   []string
	CreatedFrom, CreatedTo parley.Time // [from, to)
}

// ArchivedFilter says which sessions a list shows.
type ArchivedFilter string

// The filters; "" is ArchivedHidden.
const (
	ArchivedHidden ArchivedFilter = "false"
	ArchivedOnly   ArchivedFilter = "true"
	ArchivedAny    ArchivedFilter = "any"
)

// FeatureArchived is the result of archiving a feature.
type FeatureArchived struct {
	Archived []parley.ID `json:"archived"`
	Busy     []parley.ID `json:"busy"` // left alone because a turn is unfinished
}

// OpenSession creates a session, with its first message if Input.Message is set. If a session with the key exists in
// the workspace, it is returned and the message posted there; the result is CodeConflict if it is somebody else's and
// does not match the input. A turn that may run starts here immediately.
func (e *Engine) OpenSession(
	ctx context.Context,
	principal parley.Principal,
	input SessionInput,
	idempotency store.Idempotency,
) (_ store.Opened, err error) {
	ctx, call, err := e.enter(ctx, principal, "createSession", OpenSessions)
	if err != nil {
		return store.Opened{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := checkIdempotency(idempotency); err != nil {
		return store.Opened{}, err
	}
	if err := input.notDry("dry_run"); err != nil {
		return store.Opened{}, err
	}
	session, err := e.newSession(ctx, scope, principal, input)
	if err != nil {
		return store.Opened{}, err
	}
	if err := parley.CheckText("client_id", input.ClientID, parley.MaxNameBytes); err != nil {
		return store.Opened{}, err
	}
	creation := store.NewSession{
		Session:     session,
		ClientID:    input.ClientID,
		Quota:       e.sessionsQuota(principal),
		Named:       input.named(),
		Idempotency: idempotency,
	}
	if input.Message != nil {
		first, err := e.newMessage(principal, *input.Message)
		if err == nil {
			err = input.Message.notDry("dry_run")
		}
		if err == nil {
			err = e.findAgents(ctx, scope, parley.ValueOf(input.Message.Tools))
		}
		if err == nil {
			err = e.checkAnswerableIn(ctx, scope, session, &first)
		}
		if err != nil {
			return store.Opened{}, inside("message", err)
		}
		if err := traced(ctx, &first); err != nil {
			return store.Opened{}, err
		}
		creation.First = &first
	}
	run := e.offer(
		scope.WorkspaceID,
		creation.First != nil && !creation.First.TurnID.IsZero() && !creation.First.Streaming,
	)
	opened, err := e.store.EnsureSession(ctx, scope, creation, run.processID())
	call.opened(&opened, err)
	if err != nil || opened.Posted == nil {
		run.settle(nil)
		return opened, err
	}
	run.settle(opened.Posted.Claim)
	return opened, nil
}

// EnsureSession is OpenSession for callers that name the session: by Key, or by Type, Feature and optionally Task,
// which the server turns into a key.
func (e *Engine) EnsureSession(
	ctx context.Context,
	principal parley.Principal,
	input SessionInput,
	idempotency store.Idempotency,
) (_ store.Opened, err error) {
	ctx, call, err := e.enter(ctx, principal, "ensureSession", OpenSessions)
	if err != nil {
		return store.Opened{}, err
	}
	defer call.end(ctx, &err)
	if err := input.name(); err != nil {
		return store.Opened{}, err
	}
	return e.OpenSession(ctx, principal, input, idempotency)
}

// name makes the key of an input that has none from type, feature and task.
func (input *SessionInput) name() error {
	if input.Key != "" {
		return nil
	}
	if input.Type == "" || input.Feature == "" {
		return errUnnamed()
	}
	input.derivedKey = parley.KeyFor(input.Type, input.Feature, input.Task)
	return nil
}

// Session reads a session.
func (e *Engine) Session(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Session, err error) {
	ctx, call, err := e.enter(ctx, principal, "getSession", ReadSessions, of(id))
	if err != nil {
		return parley.Session{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.Session(ctx, scope, id)
}

// SessionOfAgent reads a session by a path that names its agent too; CodeNotFound if it belongs to another agent.
func (e *Engine) SessionOfAgent(
	ctx context.Context, principal parley.Principal, agentIDOrSlug string, id parley.ID,
) (_ parley.Session, err error) {
	ctx, call, err := e.enter(ctx, principal, "getSession", ReadSessions, of(id))
	if err != nil {
		return parley.Session{}, err
	}
	defer call.end(ctx, &err)
	session, err := e.store.Session(ctx, call.Scope, id)
	if err != nil {
		return parley.Session{}, err
	}
	if session.AgentID.String() == agentIDOrSlug {
		return session, nil
	}
	agent, err := e.agent(ctx, call.Scope, agentIDOrSlug)
	if err != nil {
		return parley.Session{}, err
	}
	if agent.ID != session.AgentID {
		return parley.Session{}, parley.Errorf(parley.CodeNotFound, "This agent does not have this session.")
	}
	return session, nil
}

// ExportSession reads a session for an export, and takes a place for it, which leave gives back. It returns
// CodeRateLimited if there is none.
func (e *Engine) ExportSession(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Session, leave func(), err error) {
	ctx, call, err := e.enter(ctx, principal, "exportSession", ReadSessions, of(id))
	if err != nil {
		return parley.Session{}, nil, err
	}
	defer call.end(ctx, &err)
	session, err := e.store.Session(ctx, call.Scope, id)
	if err != nil {
		return parley.Session{}, nil, err
	}
	leave, err = e.exports.enter(principal)
	return session, leave, err
}

// SessionName names a session: by an opaque key, or by type, feature and optionally task.
type SessionName struct{ Key, Type, Feature, Task string }

// SessionByKey reads a session by its name.
func (e *Engine) SessionByKey(
	ctx context.Context,
	principal parley.Principal,
	name SessionName,
) (_ parley.Session, err error) {
	ctx, call, err := e.enter(ctx, principal, "getSessionByKey", ReadSessions)
	if err != nil {
		return parley.Session{}, err
	}
	defer call.end(ctx, &err)
	if err := checkTexts(
		textBound{"key", name.Key, maxSessionKeyBytes},
		textBound{"type", name.Type, parley.MaxKeyBytes},
		textBound{"feature", name.Feature, parley.MaxKeyBytes},
		textBound{"task", name.Task, parley.MaxKeyBytes},
	); err != nil {
		return parley.Session{}, err
	}
	stored := parley.OpaqueKey(name.Key)
	if stored == "" {
		if name.Type == "" || name.Feature == "" {
			return parley.Session{}, errUnnamed()
		}
		stored = parley.KeyFor(name.Type, name.Feature, name.Task)
	}
	session, err := e.store.SessionByKey(ctx, call.Scope, stored)
	if err == nil {
		call.about(of(session.ID))
	}
	return session, err
}

// errUnnamed asks for a session's name.
func errUnnamed() error {
	return parley.InvalidField("key", "is missing: name the session by key, or by type and feature (and task)")
}

// Sessions lists sessions.
func (e *Engine) Sessions(
	ctx context.Context,
	principal parley.Principal,
	list SessionList,
) (_ Page[parley.Session], err error) {
	ctx, call, err := e.enter(ctx, principal, "listSessions", ReadSessions)
	if err != nil {
		return Page[parley.Session]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	from, order, limit, err := list.start("sessions", Descending)
	if err != nil {
		return Page[parley.Session]{}, err
	}
	queries, err := e.sessionQueries(ctx, scope, list, store.SessionQuery{
		Ascending: order == Ascending, AfterUpdated: from.At, AfterID: from.ID, Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.Session]{}, err
	}
	rows, err := joined(union[parley.Session]{
		limit: limit + 1, size: sizeOf[parley.Session],
		compare: byTime(order, func(s *parley.Session) (parley.Time, parley.ID) { return s.UpdatedAt, s.ID }),
	}, queries, func(query store.SessionQuery) ([]parley.Session, error) { return e.store.Sessions(ctx, scope, query) })
	if err != nil {
		return Page[parley.Session]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Session) cursor {
		return cursor{List: "sessions", Order: order, At: last.UpdatedAt, ID: last.ID}
	}), nil
}

// UpdateSession applies a patch. It returns CodeConflict when archiving with an unfinished turn, and CodeForbidden if a
// member changes fields of somebody else's session that are reserved for its owner.
func (e *Engine) UpdateSession(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	patch SessionPatch,
) (_ parley.Session, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateSession", PatchSessions, of(id))
	if err != nil {
		return parley.Session{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := e.mayPatch(ctx, scope, principal, id, &patch); err != nil {
		return parley.Session{}, err
	}
	change, err := e.sessionChange(ctx, scope, principal, id, patch)
	if err != nil {
		return parley.Session{}, err
	}
	if change.AcceptTools, err = e.acceptedBy(ctx, scope, principal, id, &patch); err != nil {
		return parley.Session{}, err
	}
	return e.store.UpdateSession(ctx, scope, id, change)
}

// ClearContext empties what the model sees of a session: its window begins at the next message. The record stays.
func (e *Engine) ClearContext(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Session, err error) {
	ctx, call, err := e.enter(ctx, principal, "clearContext", PostMessages, of(id))
	if err != nil {
		return parley.Session{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.ClearContext(ctx, scope, id)
}

// ArchiveFeature archives all idle sessions of a feature.
func (e *Engine) ArchiveFeature(
	ctx context.Context,
	principal parley.Principal,
	feature string,
) (_ FeatureArchived, err error) {
	ctx, call, err := e.enter(ctx, principal, "archiveFeature", PatchSessions)
	if err != nil {
		return FeatureArchived{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if feature == "" {
		return FeatureArchived{}, parley.InvalidField("feature", "is empty; name the feature whose sessions to archive")
	}
	if err := parley.CheckText("feature", feature, parley.MaxKeyBytes); err != nil {
		return FeatureArchived{}, err
	}
	archived, busy, err := e.store.ArchiveFeature(ctx, scope, feature)
	if err != nil {
		return FeatureArchived{}, err
	}
	for _, id := range archived {
		call.about(of(id))
	}
	return FeatureArchived{Archived: orEmpty(archived), Busy: orEmpty(busy)}, nil
}

// DeleteSession purges a session. Only its owner or an admin may.
func (e *Engine) DeleteSession(ctx context.Context, principal parley.Principal, id parley.ID) (err error) {
	ctx, call, err := e.enter(ctx, principal, "deleteSession", DropSessions, of(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if ReachOf(principal.Role, DropSessions) != ReachAll {
		session, err := e.store.Session(ctx, scope, id)
		if err != nil {
			return err
		}
		if err := owns(principal, DropSessions, session); err != nil {
			return err
		}
	}
	return e.store.DeleteSession(ctx, scope, id)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
