package engine

import (
	"context"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// Verb is something that a principal may do.
type Verb string

// The verbs. Reading covers every list, view and stream.
const (
	ReadAgents      Verb = "agents.read"
	WriteAgents     Verb = "agents.write"
	GrantAgents     Verb = "agents.grant"
	ReadSessions    Verb = "sessions.read"
	OpenSessions    Verb = "sessions.open"
	PostMessages    Verb = "sessions.post"
	CancelTurns     Verb = "sessions.cancel"
	AnswerApprovals Verb = "approvals.answer"
	ReadInbox       Verb = "inbox.read"
	AnswerInbox     Verb = "inbox.answer"
	PatchSessions   Verb = "sessions.patch"
	GrantSessions   Verb = "sessions.grant"
	ShareSessions   Verb = "sessions.share"
	ShareForReading Verb = "sessions.share_for_reading"
	DropSessions    Verb = "sessions.delete"
	ReadProjects    Verb = "projects.read"
	WriteProjects   Verb = "projects.write"
	DropProjects    Verb = "projects.delete"
	ReadFiles       Verb = "files.read"
	WriteFiles      Verb = "files.write"
	DropFiles       Verb = "files.delete"
	ReadArtifacts   Verb = "artifacts.read"
	WriteArtifacts  Verb = "artifacts.write"
	DropArtifacts   Verb = "artifacts.delete"
	ReadTransforms  Verb = "transforms.read"
	RunTransforms   Verb = "transforms.run"
	StopTransforms  Verb = "transforms.cancel"
	SetTransforms   Verb = "transforms.define"
	ReadPipelines   Verb = "pipelines.read"
	RunPipelines    Verb = "pipelines.run"
	ReadModels      Verb = "models.read"
	ReadTools       Verb = "tools.read"
	SetClients      Verb = "clients.write"
	ReadWorkspace   Verb = "workspace.read"
	WriteWorkspace  Verb = "workspace.write"
	ReadKeys        Verb = "keys.read"
	WriteKeys       Verb = "keys.write"
	ReadSignIns     Verb = "sign_ins.read"
	EndSignIns      Verb = "sign_ins.end"
	ReadCache       Verb = "cache.read"
	ClearCache      Verb = "cache.clear"
	ReadAudit       Verb = "audit.read"
	ReadMetrics     Verb = "server.metrics"
	ReadRaw         Verb = "raw.read"
	ReadWebhooks    Verb = "webhooks.read"
	WriteWebhooks   Verb = "webhooks.write"
	AuthorizeTools  Verb = "tools.authorize"
	ReadToolServers Verb = "tools.read_resources"
)

// Reach says on which sessions, agents and files a role may use a verb.
type Reach string

// The reaches, from none to all.
const (
	ReachNone    Reach = "no"
	ReachOwn     Reach = "own"     // what the principal owns
	ReachVisible Reach = "visible" // its own sessions and those shared with the workspace
	ReachAll     Reach = "all"     // everything in the workspace
)

// Permission is one row of the table of verbs and roles.
type Permission struct {
	Verb   Verb
	About  string // for the documentation
	Reader Reach
	Member Reach
	Admin  Reach
}

// Permissions returns the one table of who may do what. A target outside a role's reach is CodeNotFound if the
// principal may not see it, and CodeForbidden if it may see it but not do this.
func Permissions() []Permission { return slices.Clone(permissions[:]) }

//nolint:gochecknoglobals // the one table; it is never written
var permissions = [...]Permission{
	{ReadAgents, "read and list agents and their versions", ReachAll, ReachAll, ReachAll},
	{
		WriteAgents,
		"create agents; change and archive them, their schedules, tasks and knowledge; warm their providers' caches",
		ReachNone,
		ReachOwn,
		ReachAll,
	},
	{GrantAgents, "set what an agent may run: its tools, grants, runtime", ReachNone, ReachOwn, ReachAll},
	{
		ReadSessions,
		"read, list and search sessions, messages, turns, calls, approvals, delegations and events; watch",
		ReachVisible,
		ReachVisible,
		ReachAll,
	},
	{OpenSessions, "create and fork sessions; ask messages anew in a fork", ReachNone, ReachAll, ReachAll},
	{PostMessages, "post, edit, remove and mark messages; compact sessions", ReachNone, ReachVisible, ReachAll},
	{CancelTurns, "cancel turns and delegations", ReachNone, ReachVisible, ReachAll},
	{ReadInbox, "read one's own inbox, and mark what is read", ReachAll, ReachAll, ReachAll},
	{AnswerInbox, "answer questions in one's own inbox", ReachNone, ReachAll, ReachAll},
	{AnswerApprovals, "approve and deny tool calls", ReachNone, ReachVisible, ReachAll},
	{
		PatchSessions,
		"change how sessions are listed (title, tags, pinned, metadata); archive them",
		ReachNone,
		ReachVisible,
		ReachAll,
	},
	{
		GrantSessions,
		"set what a session runs and what a provider sees of it: all its other settings, and approvals that hold for " +
			"all of it; revise its summary",
		ReachNone,
		ReachOwn,
		ReachAll,
	},
	{ShareSessions, "change who sees a session", ReachNone, ReachOwn, ReachAll},
	{ShareForReading, "let another visible session read a session; end that", ReachNone, ReachVisible, ReachAll},
	{DropSessions, "delete sessions", ReachNone, ReachOwn, ReachAll},
	{ReadProjects, "read and list projects", ReachAll, ReachAll, ReachAll},
	{
		WriteProjects,
		"list the directories that may be projects and choose some; rename projects that only one's own sessions " +
			"use, admins any",
		ReachNone,
		ReachAll,
		ReachAll,
	},
	{
		DropProjects,
		"delete projects that only one's own sessions use; admins any, and with their sessions",
		ReachNone,
		ReachAll,
		ReachAll,
	},
	{ReadFiles, "read, list and download files", ReachVisible, ReachVisible, ReachAll},
	{WriteFiles, "upload files", ReachNone, ReachAll, ReachAll},
	{DropFiles, "delete files", ReachNone, ReachOwn, ReachAll},
	{ReadArtifacts, "read, list and compare artifacts and their versions", ReachVisible, ReachVisible, ReachAll},
	{
		WriteArtifacts,
		"create artifacts; write and restore versions; rename, label and archive artifacts; with the right to choose " +
			"directories, export and import them",
		ReachNone,
		ReachVisible,
		ReachAll,
	},
	{DropArtifacts, "delete artifacts; change who sees them", ReachNone, ReachOwn, ReachAll},
	{ReadTransforms, "read and list transforms and their definitions", ReachVisible, ReachVisible, ReachAll},
	{
		RunTransforms,
		"run transforms on artifacts that one sees, and run visible ones again",
		ReachNone,
		ReachVisible,
		ReachAll,
	},
	{StopTransforms, "cancel transforms", ReachNone, ReachVisible, ReachAll},
	{SetTransforms, "define transforms; change and archive definitions", ReachNone, ReachOwn, ReachAll},
	{ReadPipelines, "read and list runs of pipelines", ReachVisible, ReachVisible, ReachAll},
	{RunPipelines, "start, cancel and retry runs of pipelines", ReachNone, ReachVisible, ReachAll},
	{ReadModels, "list models", ReachAll, ReachAll, ReachAll},
	{ReadTools, "list tools and tool servers", ReachAll, ReachAll, ReachAll},
	{ReadToolServers, "list the resources of tool servers, and make files of them", ReachNone, ReachAll, ReachAll},
	{AuthorizeTools, "authorize tool servers for the workspace, and end that", ReachNone, ReachNone, ReachAll},
	{SetClients, "set what a client of one's own has open", ReachVisible, ReachVisible, ReachAll},
	{ReadWorkspace, "read the workspace's settings", ReachAll, ReachAll, ReachAll},
	{WriteWorkspace, "change the workspace's settings", ReachNone, ReachNone, ReachAll},
	{ReadKeys, "list keys", ReachNone, ReachNone, ReachAll},
	{WriteKeys, "create and revoke keys", ReachNone, ReachNone, ReachAll},
	{ReadSignIns, "list sign-ins of browsers: one's own, admins all", ReachVisible, ReachVisible, ReachAll},
	{EndSignIns, "end sign-ins of browsers", ReachVisible, ReachVisible, ReachAll},
	{ReadCache, "read what the response cache holds and saved", ReachAll, ReachAll, ReachAll},
	{ClearCache, "clear the response cache", ReachNone, ReachNone, ReachAll},
	{ReadAudit, "list who did what", ReachNone, ReachNone, ReachAll},
	{ReadMetrics, "read the server's metrics", ReachNone, ReachNone, ReachAll},
	{
		ReadWebhooks,
		"read and list webhooks and their deliveries: one's own, admins all",
		ReachNone,
		ReachVisible,
		ReachAll,
	},
	{
		WriteWebhooks,
		"create webhooks; change, test and delete one's own, and send their deliveries again, admins all",
		ReachNone,
		ReachVisible,
		ReachAll,
	},
	{ReadRaw, "watch what providers send, unprocessed", ReachNone, ReachNone, ReachAll},
}

// ReachOf looks the reach up in the table; ReachNone for an unknown role or verb.
func ReachOf(role parley.PrincipalRole, verb Verb) Reach {
	for i := range permissions {
		if permissions[i].Verb != verb {
			continue
		}
		switch role {
		case parley.RoleAdmin:
			return permissions[i].Admin
		case parley.RoleMember:
			return permissions[i].Member
		case parley.RoleReader:
			return permissions[i].Reader
		}
	}
	return ReachNone
}

// scopeOf returns what a principal sees: admins all of their workspace, others their own sessions and those shared with
// the workspace.
func scopeOf(principal parley.Principal) store.Scope {
	scope := store.Scope{WorkspaceID: principal.WorkspaceID}
	if principal.Role != parley.RoleAdmin {
		scope.ViewerID = principal.ID
	}
	return scope
}

// authorise checks the table and returns the scope to ask the store with. The verb itself checks ReachOwn, with owns.
func authorise(principal parley.Principal, verb Verb) (store.Scope, error) {
	if principal.ID.IsZero() || principal.WorkspaceID.IsZero() {
		return store.Scope{}, parley.Errorf(
			parley.CodeUnauthenticated,
			"Authenticate: send a key in the header Authorization: Bearer.",
		)
	}
	if ReachOf(principal.Role, verb) == ReachNone {
		return store.Scope{}, parley.Errorf(
			parley.CodeForbidden,
			"A %s may not use %s. Ask an admin of the workspace for another role.",
			principal.Role,
			verb,
		)
	}
	return scopeOf(principal), nil
}

// ownsAgent refuses what only an agent's owner or an admin may do. An agent without an owner belongs to the admins.
func ownsAgent(principal parley.Principal, verb Verb, agent *parley.Agent) error {
	if ReachOf(principal.Role, verb) == ReachAll || agent.OwnerID == principal.ID {
		return nil
	}
	return parley.Errorf(
		parley.CodeForbidden,
		"Only the agent's owner or an admin may do this. You can make an agent of your own.",
	)
}

// owns refuses what only a session's owner or an admin may do.
func owns(principal parley.Principal, verb Verb, session parley.Session) error {
	if ReachOf(principal.Role, verb) == ReachAll || session.OwnerID == principal.ID {
		return nil
	}
	return parley.Errorf(parley.CodeForbidden, "Only the session's owner or an admin may do this.")
}

// mayGrant refuses a lasting permission in somebody else's session: it could run what its owner was never asked about.
func (e *Engine) mayGrant(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	sessionID parley.ID,
) error {
	return e.ownersOnly(
		ctx,
		scope,
		principal,
		sessionID,
		"let it run calls unasked. You may answer each of its questions once.",
	)
}
