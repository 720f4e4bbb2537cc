package cli

// kind is the kind of a verb.
type kind int

const (
	list   kind = iota // rows of a list, a page or all of it
	show               // the fields of one thing
	create             // a new thing from an input
	update             // a patch from flags
	change             // a patch that is always the same
	remove             // an operation without an answer
)

// verb is a command for one operation.
type verb struct {
	noun, name string // parley NOUN NAME
	kind       kind
	operation  string
	says       string // line of the help; if empty, the operation's summary

	place      string            // name of the argument that identifies the thing: AGENT
	positional string            // member of the input that is an argument
	flags      map[string]string // flag names by member or parameter; "-" omits one
	columns    []column          // of a list
	settings   string            // scope whose settings become flags and rows: Agent, Session
	most       int               // rows of a list without --limit; 0: all
	always     string            // of change: the patch, in Go
}

// column is a column of a table: a member of the row by its path in JSON, or a function of cmd/parley that formats a
// pointer to the row.
type column struct{ title, member, cell string }

// verbs returns the generated verbs.
func verbs() []verb {
	session := map[string]string{
		"agent_id": "-", "project_id": "project", "parent_session_id": "parent", "created_from": "since",
		"created_to": "until",
	}
	return []verb{
		{
			noun: "agents", name: "list", kind: list, operation: "listAgents",
			flags: map[string]string{"owner_id": "owner"},
			columns: []column{
				{
					"SLUG",
					"slug",
					"",
				},
				{"NAME", "name", ""},
				{"MODEL", "", "agentModel"},
				{"VERSION", "", "agentVersion"},
				{"STATUS", "status", ""},
				{"OWNER", "", "ownerOf"},
			},
		},
		{
			noun: "agents", name: "show", kind: show, operation: "getAgent", says: "Show an agent by slug or id",
			place: "AGENT", settings: "Agent",
		},
		{
			noun: "agents", name: "create", kind: create, operation: "createAgent", says: "Make an agent",
			positional: "name", settings: "Agent", flags: map[string]string{"tags": "tag", "lead_id": "lead"},
		},
		{
			noun: "agents", name: "update", kind: update, operation: "updateAgent",
			says: "Change an agent: what no flag names stays as it is", place: "AGENT", settings: "Agent",
			flags: map[string]string{
				"lead_id": "lead", "status": "-", "owner_id": "-", // archive, reopen, give
			},
		},
		{
			noun: "agents", name: "archive", kind: remove, operation: "archiveAgent", place: "AGENT",
			says: "Archive an agent: its sessions stay, new ones are refused",
		},
		{
			noun: "agents", name: "reopen", kind: change, operation: "updateAgent", place: "AGENT", settings: "Agent",
			says: "Bring an archived agent back", always: "Status: changeTo(parley.AgentActive)",
		},

		{
			noun: "sessions", name: "list", kind: list, operation: "listSessions", flags: session, most: 20,
			says: "List sessions, last activity first",
			columns: []column{
				{"ID", "id", ""}, {"STATUS", "status", ""}, {"MESSAGES", "statistics.messages", ""},
				{"LAST ACTIVITY", "updated_at", ""}, {"TITLE", "title", ""},
			},
		},
		{
			noun: "sessions", name: "create", kind: create, operation: "createSession",
			says: "Make a session, or find the one with a key", settings: "Session",
			flags: map[string]string{
				"agent_id": "agent", "tags": "tag", "project_id": "project", "parent_session_id": "parent",
				"parent_message_id": "parent-message", "client_id": "client",
			},
		},
		{
			noun:      "sessions",
			name:      "update",
			kind:      update,
			operation: "updateSession",
			place:     "SESSION",
			settings:  "Session",
			says:      "Change a session: what no flag names stays as it is",
			flags:     map[string]string{"project_id": "project", "archived": "-"}, // archive, reopen
		},
		{
			noun: "sessions", name: "archive", kind: change, operation: "updateSession", place: "SESSION",
			says: "Archive a session", settings: "Session", always: "Archived: changeTo(true)",
		},
		{
			noun: "sessions", name: "reopen", kind: change, operation: "updateSession", place: "SESSION",
			says: "Bring an archived session back", settings: "Session", always: "Archived: changeTo(false)",
		},
		{
			noun: "sessions", name: "delete", kind: remove, operation: "deleteSession", place: "SESSION",
			says: "Purge a session: its messages, events and calls are gone for good",
		},

		{
			noun:      "projects",
			name:      "list",
			kind:      list,
			operation: "listProjects",
			says:      "List projects, last access first",
			flags:     map[string]string{"recent": "-"}, // --limit
			columns: []column{
				{"ID", "id", ""}, {"NAME", "name", ""}, {"PATH", "path", ""}, {"LAST ACCESS", "last_access_at", ""},
			},
		},
		{
			noun:      "projects",
			name:      "show",
			kind:      show,
			operation: "getProject",
			says:      "Show a project",
			place:     "PROJECT",
		},
		{
			noun: "projects", name: "create", kind: create, operation: "chooseProject", positional: "path",
			says: "Choose a directory of the server's machine as a project",
		},
		{
			noun: "projects", name: "delete", kind: remove, operation: "deleteProject", place: "PROJECT",
			says: "Delete a project; its directory is not touched",
		},

		{
			noun: "messages", name: "list", kind: list, operation: "listMessages", place: "SESSION",
			says:  "List a session's messages by sequence",
			flags: map[string]string{"view": "-", "turn_id": "turn", "from_sequence": "from", "tool_name": "tool"},
			columns: []column{
				{"ID", "id", ""}, {"SEQUENCE", "sequence", ""}, {"ROLE", "role", ""}, {"STATUS", "status", ""},
				{"AT", "created_at", ""}, {"TEXT", "", "messageText"},
			},
		},
		{
			noun:      "messages",
			name:      "show",
			kind:      show,
			operation: "getMessage",
			says:      "Show a message",
			place:     "MESSAGE",
		},
		{
			noun: "turns", name: "list", kind: list, operation: "listTurns", place: "SESSION", most: 20,
			says: "List a session's turns, newest first",
			columns: []column{
				{"TURN", "id", ""}, {"STATUS", "status", ""}, {"STEPS", "step", ""}, {"IN", "usage.input_tokens", ""},
				{"CACHED", "usage.cached_tokens", ""}, {"COST", "cost", ""}, {"CREATED", "created_at", ""},
				{"WHY", "", "turnWhy"},
			},
		},
		{noun: "turns", name: "show", kind: show, operation: "getTurn", says: "Show a turn", place: "TURN"},
		{
			noun: "calls", name: "list", kind: list, operation: "listCalls", place: "SESSION", most: 20,
			says: "List a session's model calls, newest first", flags: map[string]string{"turn_id": "turn"},
			columns: []column{
				{"ID", "id", ""}, {"MODEL", "", "callModel"}, {"STEP", "", "callStep"}, {"OUTCOME", "outcome", ""},
				{"IN", "usage.input_tokens", ""}, {"CACHED", "usage.cached_tokens", ""},
				{"OUT", "usage.output_tokens", ""}, {"COST", "cost", ""}, {"AT", "created_at", ""},
			},
		},
		{
			noun: "approvals", name: "list", kind: list, operation: "listApprovals", most: 20,
			says:  "List approvals, newest first: those that wait, unless --state says otherwise",
			flags: map[string]string{"session_id": "session"},
			columns: []column{
				{"ID", "id", ""}, {"STATE", "", "stateOf"}, {"TOOL", "tool_name", ""}, {"ARGUMENTS", "arguments", ""},
				{"EXPIRES", "expires_at", ""}, {"SESSION", "session_id", ""},
			},
		},
		{
			noun: "files", name: "list", kind: list, operation: "listFiles", says: "List files, newest first",
			columns: fileColumns(),
		},
		{
			noun:      "files",
			name:      "show",
			kind:      show,
			operation: "getFile",
			says:      "Show what is known of a file",
			place:     "FILE",
		},
		{
			noun: "files", name: "delete", kind: remove, operation: "deleteFile", place: "FILE",
			says: "Delete a file that no message uses",
		},
		{
			noun: "loops", name: "list", kind: list, operation: "listLoops", place: "SESSION",
			says: "List a session's loops, newest first", columns: loopColumns(),
		},
		{
			noun: "keys", name: "list", kind: list, operation: "listKeys", says: "List the keys of a workspace",
			columns: []column{
				{"ID", "id", ""}, {"NAME", "name", ""}, {"ROLE", "role", ""}, {"KEY", "", "keyPrefix"},
				{"LIMITS", "", "keyLimits"}, {"CREATED", "created_at", ""}, {"STATE", "", "keyState"},
			},
		},
		{noun: "keys", name: "revoke", kind: remove, operation: "revokeKey", place: "KEY", says: "End a key"},
		{
			noun: "sign-ins", name: "list", kind: list, operation: "listSignIns",
			says: "List the browsers that are signed in: one's own, to admins all of the workspace",
			columns: []column{
				{"ID", "id", ""}, {"WHO", "principal_name", ""}, {"SINCE", "created_at", ""},
				{"LAST USED", "last_used_at", ""}, {"UNTIL", "expires_at", ""},
			},
		},
		{
			noun: "sign-ins", name: "end", kind: remove, operation: "endSignIn", place: "SIGN_IN",
			says: "End the sign-in of a browser",
		},
	}
}

func fileColumns() []column {
	return []column{{"ID", "id", ""}, {"NAME", "name", ""}, {"TYPE", "media_type", ""}, {"BYTES", "size", ""}}
}

func loopColumns() []column {
	return []column{
		{"LOOP", "id", ""}, {"STATE", "state", ""}, {"WHY", "reason", ""}, {"ITERATION", "", "loopIteration"},
		{"UNTIL", "", "loopUntil"}, {"PROMPT", "", "loopPrompt"},
	}
}
