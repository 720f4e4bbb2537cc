package cli

import "slices"

// kind is the kind of a verb.
type kind int

const (
	list   kind = iota // prints rows of a list, a page or all of it
	show               // prints one thing
	ask                // prints the answer to a query
	create             // makes a thing from an input, or does something to one
	update             // sends a patch from flags
	change             // sends a patch that is always the same
	remove             // sends a request without an answer
)

// verb is the command for one operation.
type verb struct {
	noun, name string // parley NOUN NAME
	bare       bool   // parley NOUN, without the name
	kind       kind
	operation  string
	says       string // line of the help; if empty, the operation's summary

	place      string            // the argument that names the thing, as AGENT
	positional string            // the member of an input, or of a patch, that is an argument
	flags      map[string]string // flags by the names of members and parameters; "-" leaves one out
	columns    []column          // of a list, or of show: of a single row
	settings   string            // scope whose settings become flags and rows: Agent, Session
	most       int               // rows of a list without --limit; 0: all
	always     string            // of change: the patch, as Go, unless an argument is all of it

	words    string            // the parameter that is all arguments, joined by spaces
	shows    string            // ends the line of the help: flags that are worth naming there
	required []string          // flags that must be given
	kinds    map[string]string // of create: functions of cmd/parley that make the values of flags, by their names

	// The rest are functions of cmd/parley that do by hand what the verb adds to its operation.
	reads  string // of show: reads more beside the thing, func(ctx, server, *thing) (whole, error)
	sends  string // of create: sends the input, func(ctx, server, shared, input) (answer, error)
	prints string // prints for people, func(terminal, *thing) error; JSON is printed without it
}

// column is a column of a table: a member of the row by its path in JSON, or a function of cmd/parley that formats a
// pointer to the row.
type column struct{ title, member, cell string }

// noun is a command whose verbs are all generated; the others are written in cmd/parley.
type noun struct{ name, says string }

// nouns returns the generated nouns.
func nouns() []noun {
	return []noun{
		{"projects", "List, choose, show, change and delete projects"},
		{"schedules", "Make agents work at set times"},
		{"knowledge", "See and change what agents know"},
	}
}

// verbs returns the generated verbs.
func verbs() []verb {
	return slices.Concat(conversationVerbs(), documentVerbs(), workspaceVerbs())
}

// conversationVerbs are about agents, sessions and what happens in them.
func conversationVerbs() []verb {
	session := map[string]string{"created_from": "since", "created_to": "until"}
	return []verb{
		{
			noun: "agents", name: "list", kind: list, operation: "listAgents",
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
			positional: "name", settings: "Agent", flags: map[string]string{
				"tags": "tag", "lead_id": "lead", "brief_to_id": "brief-to",
			},
		},
		{
			noun: "agents", name: "update", kind: update, operation: "updateAgent",
			says: "Change an agent: what no flag names stays as it is", place: "AGENT", settings: "Agent",
			flags: map[string]string{
				"lead_id": "lead", "brief_to_id": "brief-to", "status": "-", "owner_id": "-", // archive, reopen, give
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
			noun: "team", name: "list", kind: list, operation: "listTeams", says: "List teams by their leads",
			columns: []column{
				{
					"LEAD",
					"slug",
					"",
				},
				{"NAME", "name", ""},
				{"MEMBERS", "member_count", ""},
				{"OWNER", "owner_name", ""},
			},
		},
		{
			noun: "team", name: "show", kind: show, operation: "getTeam", place: "LEAD", prints: "printTeam",
			says: "Show who works below LEAD, on what, and what it has cost",
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
			noun: "sessions", name: "show", kind: show, operation: "getSession", place: "SESSION",
			says: "Show a session's conversation", reads: "conversationOf", prints: "printConversation",
		},
		{
			noun: "sessions", name: "shares", kind: list, operation: "listShares", place: "SESSION",
			says: "List the sessions that may read SESSION",
			columns: []column{
				{"SESSION", "session_id", ""}, {"READ BY", "reader_id", ""}, {"SHARED BY", "shared_by.name", ""},
				{"SHARED", "created_at", ""},
			},
		},
		{
			noun: "sessions", name: "create", kind: create, operation: "createSession",
			says: "Make a session, or find the one with a key", settings: "Session",
			flags: map[string]string{
				"agent_id": "agent", "tags": "tag", "project_id": "project", "parent_session_id": "parent",
				"parent_message_id": "parent-message", "client_id": "client", "dry_run": "-", // its answer is another
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
			noun: "sessions", name: "rename", kind: change, operation: "updateSession", place: "SESSION",
			says: "Give a session another title", settings: "Session", positional: "title",
		},
		{
			noun: "sessions", name: "pin", kind: change, operation: "updateSession", place: "SESSION",
			says: "Pin a session", settings: "Session", always: "Pinned: changeTo(true)",
		},
		{
			noun: "sessions", name: "unpin", kind: change, operation: "updateSession", place: "SESSION",
			says: "Unpin a session", settings: "Session", always: "Pinned: changeTo(false)",
		},
		{
			noun: "sessions", name: "move", kind: change, operation: "updateSession", place: "SESSION",
			says: "Move a session to a project", settings: "Session", positional: "project_id",
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
			noun: "projects", name: "update", kind: update, operation: "updateProject", place: "PROJECT",
			says: "Change a project: what no flag names stays as it is",
		},
		{
			noun: "projects", name: "rename", kind: change, operation: "updateProject", place: "PROJECT",
			says: "Give a project another name", positional: "name",
		},
		{
			noun: "projects", name: "delete", kind: remove, operation: "deleteProject", place: "PROJECT",
			says: "Delete a project; its directory is not touched",
		},

		{
			noun: "messages", name: "list", kind: list, operation: "listMessages", place: "SESSION",
			says:  "List a session's messages by sequence",
			flags: map[string]string{"view": "-", "from_sequence": "from"},
			columns: []column{
				{"ID", "id", ""}, {"SEQUENCE", "sequence", ""}, {"ROLE", "role", ""}, {"STATUS", "status", ""},
				{"CREATED", "created_at", ""}, {"TEXT", "", "messageText"},
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
			noun: "messages", name: "pin", kind: change, operation: "markMessage", place: "MESSAGE",
			says: "Pin a message: it stays in the agent's context", always: "Pinned: new(true)",
		},
		{
			noun: "messages", name: "unpin", kind: change, operation: "markMessage", place: "MESSAGE",
			says: "Unpin a message", always: "Pinned: new(false)",
		},
		{
			noun: "messages", name: "set-aside", kind: change, operation: "markMessage", place: "MESSAGE",
			says: "Set a message aside: agents no longer see it", always: "SetAside: new(true)",
		},
		{
			noun: "messages", name: "bring-back", kind: change, operation: "markMessage", place: "MESSAGE",
			says: "Bring back a message that was set aside", always: "SetAside: new(false)",
		},
		{
			noun: "messages", name: "branches", kind: list, operation: "listBranches", place: "MESSAGE",
			says: "List the sessions that were forked at a message or ask it again",
			columns: []column{
				{"SESSION", "id", ""}, {"FORKED FROM", "parent_session_id", ""}, {"SHARED UP TO", "", "forkedThrough"},
				{"STATUS", "status", ""}, {"TITLE", "title", ""},
			},
		},
		{
			noun: "messages", name: "versions", kind: list, operation: "listVersions", place: "MESSAGE",
			says: "List the pieces in which a message was streamed",
			columns: []column{
				{"N", "n", ""}, {"KIND", "kind", ""}, {"BYTES", "", "versionSpan"}, {"CHUNKS", "chunks", ""},
				{"CREATED", "created_at", ""}, {"TEXT", "", "versionText"},
			},
		},
		{
			noun: "search", name: "messages", bare: true, kind: ask, operation: "search", words: "q",
			says:   "Find messages and titles, best match first",
			flags:  map[string]string{"created_from": "since", "created_to": "until"},
			prints: "printHits",
		},
		{
			noun: "queue", name: "list", kind: list, operation: "listMessages", place: "SESSION",
			says: "List a session's queued messages in their order",
			flags: map[string]string{ // but for status, which the command sets
				"order": "-", "view": "-", "role": "-", "internal": "-", "turn": "-", "iteration": "-",
				"tool": "-", "agent_type": "-", "from_sequence": "-",
			},
			columns: []column{{"MESSAGE", "id", ""}, {"MODE", "", "messageWay"}, {"TEXT", "", "messageText"}},
		},
		{
			noun: "turns", name: "list", kind: list, operation: "listTurns", place: "SESSION", most: 20,
			says: "List a session's turns, newest first",
			columns: []column{
				{"TURN", "id", ""}, {"STATUS", "status", ""}, {"STEPS", "step", ""}, {"IN", "usage.input_tokens", ""},
				{"CACHED", "usage.cached_tokens", ""}, {"COST", "cost", ""}, {"CREATED", "created_at", ""},
				{"REASON", "", "turnWhy"},
			},
		},
		{noun: "turns", name: "show", kind: show, operation: "getTurn", says: "Show a turn", place: "TURN"},
		{
			noun: "calls", name: "list", kind: list, operation: "listCalls", place: "SESSION", most: 20,
			says: "List a session's model calls, newest first",
			columns: []column{
				{"ID", "id", ""}, {"MODEL", "", "callModel"}, {"STEP", "", "callStep"}, {"OUTCOME", "outcome", ""},
				{"IN", "usage.input_tokens", ""}, {"CACHED", "usage.cached_tokens", ""},
				{"OUT", "usage.output_tokens", ""}, {"COST", "cost", ""}, {"CREATED", "created_at", ""},
			},
		},
		{
			noun: "approvals", name: "list", kind: list, operation: "listApprovals", most: 20,
			says: "List approvals, newest first: those that wait, unless --status says otherwise",
			columns: []column{
				{"ID", "id", ""}, {"STATE", "", "stateOf"}, {"TOOL", "tool_name", ""}, {"ARGUMENTS", "arguments", ""},
				{"EXPIRES", "expires_at", ""}, {"SESSION", "session_id", ""},
			},
		},
		{
			noun: "approvals", name: "show", kind: show, operation: "getApproval", place: "APPROVAL",
			says: "Show an approval with the exact arguments of its call", prints: "printApproval",
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
			noun: "loops", name: "show", kind: show, operation: "getLoop", place: "LOOP", says: "Show a loop",
			prints: "asRow(loopsTable())",
		},
		{
			noun: "webhooks", name: "list", kind: list, operation: "listWebhooks",
			says: "List webhooks, oldest first", columns: webhookColumns(),
		},
		{
			noun: "webhooks", name: "show", kind: show, operation: "getWebhook", place: "WEBHOOK",
			says: "Show a webhook", prints: "asRow(webhooksTable())",
		},
		{
			noun: "webhooks", name: "create", kind: create, operation: "createWebhook", positional: "url",
			says:   "Post the events of sessions to an address, and print the signing secret, this once",
			prints: "printWebhookSecret",
		},
		{
			noun: "webhooks", name: "update", kind: update, operation: "updateWebhook", place: "WEBHOOK",
			says: "Change a webhook: what no flag names stays as it is", prints: "asRow(webhooksTable())",
		},
		{
			noun: "webhooks", name: "rotate", kind: create, operation: "rotateWebhookSecret", place: "WEBHOOK",
			says: "Give a webhook a new secret, and print it, this once", prints: "printWebhookSecret",
		},
		{
			noun: "webhooks", name: "delete", kind: remove, operation: "deleteWebhook", place: "WEBHOOK",
			says: "Delete a webhook with its deliveries",
		},
		{
			noun: "webhooks", name: "ping", kind: show, operation: "pingWebhook", place: "WEBHOOK",
			says: "Send a webhook a request now, and say what came of it", prints: "printWebhookAnswer",
		},
		{
			noun: "webhooks", name: "deliveries", kind: list, operation: "listWebhookDeliveries", place: "WEBHOOK",
			says: "List the deliveries that failed at first, latest events first",
			columns: []column{
				{"ID", "id", ""}, {"STATUS", "status", ""}, {"EVENT", "event_type", ""}, {"SESSION", "session_id", ""},
				{"ATTEMPTS", "attempts", ""}, {"NEXT", "next_at", ""}, {"ERROR", "error", ""},
			},
		},
		{
			noun: "schedules", name: "list", kind: list, operation: "listSchedules",
			says: "List schedules, oldest first", columns: scheduleColumns(),
		},
		{
			noun: "schedules", name: "show", kind: show, operation: "getSchedule", place: "SCHEDULE",
			says: "Show a schedule", prints: "asRow(schedulesTable())",
		},
		{
			noun: "schedules", name: "create", kind: create, operation: "createSchedule", positional: "message",
			says: "Make an agent work at set times", required: []string{"agent"},
			flags: map[string]string{"agent_id": "agent"},
			shows: "--agent AGENT --cron '0 9 * * 1-5'", kinds: map[string]string{"at": "timeFlag"},
			prints: "asRow(schedulesTable())",
		},
		{
			noun: "schedules", name: "update", kind: update, operation: "updateSchedule", place: "SCHEDULE",
			says:   "Change a schedule: what no flag names stays as it is",
			prints: "asRow(schedulesTable())",
		},
		{
			noun: "schedules", name: "delete", kind: remove, operation: "deleteSchedule", place: "SCHEDULE",
			says: "Delete a schedule; what it posted stays",
		},
		{
			noun: "schedules", name: "preview", kind: create, operation: "previewSchedule",
			says:  "Print the next five times of a schedule before it is made",
			kinds: map[string]string{"at": "timeFlag"}, prints: "printTimes",
		},
		{
			noun: "schedules", name: "runs", kind: list, operation: "listScheduleRuns", place: "SCHEDULE",
			says: "List what came of a schedule, the latest run first",
			columns: []column{
				{"DUE", "due_at", ""}, {"STATE", "state", ""}, {"REASON", "reason", ""}, {"TURN", "turn_id", ""},
				{"AT", "created_at", ""},
			},
		},
	}
}

// workspaceVerbs are about what a workspace has and knows.
func workspaceVerbs() []verb {
	return []verb{
		{
			noun: "knowledge", name: "list", kind: list, operation: "listKnowledgeItems",
			says: "List what agents know, newest first", columns: knowledgeColumns(),
		},
		{
			noun: "knowledge", name: "show", kind: show, operation: "getKnowledgeItem", place: "ITEM",
			says: "Show a knowledge item", prints: "asRow(knowledgeTable())",
		},
		{
			noun: "knowledge", name: "create", kind: create, operation: "createKnowledgeItem", positional: "text",
			says: "Tell an agent something", required: []string{"agent"},
			flags: map[string]string{"agent_id": "agent"}, shows: "--agent AGENT [--kind preference]",
			prints: "asRow(knowledgeTable())",
		},
		{
			noun: "knowledge", name: "update", kind: update, operation: "updateKnowledgeItem", place: "ITEM",
			says:   "Change a knowledge item: what no flag names stays as it is",
			prints: "asRow(knowledgeTable())",
		},
		{
			noun: "knowledge", name: "pin", kind: change, operation: "updateKnowledgeItem", place: "ITEM",
			says: "Have prompts told an item before others", always: "Pinned: changeTo(true)",
		},
		{
			noun: "knowledge", name: "approve", kind: change, operation: "updateKnowledgeItem", place: "ITEM",
			says: "Let a procedure be used that an agent noted", always: "Approved: changeTo(true)",
		},
		{
			noun: "knowledge", name: "forget", kind: remove, operation: "forgetKnowledgeItem", place: "ITEM",
			says: "Forget a knowledge item: no later prompt is told it",
		},
		{
			noun: "agents", name: "task", kind: create, operation: "giveTask", place: "AGENT", positional: "text",
			says: "Give an agent work, to be done in the background", flags: map[string]string{"files": "file"},
			kinds: map[string]string{"file": "addUploads"}, prints: "printTask",
		},
		{noun: "workspace", name: "show", kind: show, operation: "getWorkspace", says: "Show the workspace"},
		{
			noun: "workspace", name: "update", kind: update, operation: "updateWorkspace",
			says: "Change the workspace: what no flag names stays as it is",
		},
		{
			noun: "loops", name: "stop", kind: create, operation: "stopLoop", place: "LOOP",
			says: "Stop a loop after its running iteration", prints: "asRow(loopsTable())",
		},
		{
			noun: "delegations", name: "list", kind: list, operation: "listDelegations", most: 20,
			says: "List what the agents of teams handed to each other, newest first", columns: delegationColumns(),
		},
		{
			noun: "delegations", name: "show", kind: show, operation: "getDelegation", place: "DELEGATION",
			says: "Show a delegation with its text, and the budget of its chain", prints: "printDelegationDetail",
		},
		{
			noun: "inbox", name: "list", kind: list, operation: "listInbox", most: 20,
			says: "List what agents want you to read or to answer, newest first", columns: inboxColumns(),
		},
		{
			noun: "inbox", name: "show", kind: show, operation: "getInboxItem", place: "ITEM",
			says: "Show an item with its whole text", reads: "inboxTextOf", prints: "printInboxItem",
		},
		{
			noun: "inbox", name: "read", kind: change, operation: "updateInboxItem", place: "ITEM",
			says: "Mark an item as read", always: "Read: changeTo(true)",
		},
		{
			noun: "cache", name: "show", kind: show, operation: "getResponseCache",
			says: "Show what the response cache holds and saved",
			columns: []column{
				{"ENTRIES", "entries", ""}, {"BYTES", "bytes", ""}, {"HITS", "hits", ""}, {"MISSES", "misses", ""},
				{"STORED", "stored", ""}, {"EVICTED", "evicted", ""}, {"SAVED", "saved", ""},
			},
		},
		{
			noun: "cache", name: "clear", kind: remove, operation: "clearResponseCache",
			says: "Drop all cached answers of the workspace; for admins",
		},
		{
			noun: "keys", name: "create", kind: create, operation: "createKey",
			says: "Make an API key and print it, this once", shows: "--name NAME [--workspace W]",
			flags:    map[string]string{"workspace": "-"}, // a flag of all commands
			required: []string{"name"}, kinds: map[string]string{"max-storage": "sizeFlag"},
			sends: "createKey", prints: "printSecret",
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
				{"ID", "id", ""}, {"WHO", "principal_name", ""}, {"SIGNED IN", "created_at", ""},
				{"LAST USED", "last_used_at", ""}, {"EXPIRES", "expires_at", ""},
			},
		},
		{
			noun: "audit", name: "list", bare: true, kind: list, operation: "listAudit", most: 50,
			says: "List who did what, newest first",
			columns: []column{
				{"TIME", "at", ""}, {"WHO", "principal_name", ""}, {"ACTION", "action", ""},
				{"SESSION", "session_id", ""}, {"TARGET", "target_id", ""},
			},
		},
		{
			noun: "limits", name: "show", bare: true, kind: show, operation: "getBudget", place: "SESSION",
			says: "Show the limits of a session and its agent, and what is spent", prints: "printBudget",
		},
		{
			noun: "models", name: "list", bare: true, kind: list, operation: "listModels",
			says: "List the models that the server knows, with their prices",
			columns: []column{
				{"MODEL", "id", ""}, {"CONTEXT", "", "modelContext"}, {"MAX ANSWER", "", "modelAnswer"},
				{"$ PER MILLION TOKENS IN / OUT", "", "modelPrice"},
			},
		},
		{
			noun: "providers", name: "list", bare: true, kind: list, operation: "listProviders",
			says: "List the providers of models, and how to configure those that are missing",
			columns: []column{
				{"PROVIDER", "name", ""}, {"STATE", "", "providerState"}, {"DEFAULT MODEL", "default_model", ""},
				{"KNOWN MODELS", "models", ""},
			},
		},
		{
			noun: "tool-servers", name: "list", kind: list, operation: "listToolServers",
			says: "List the servers of tools, and what to do about those that cannot be used",
			columns: []column{
				{"NAME", "name", ""}, {"STATE", "state", ""}, {"TOOLS", "tools", ""}, {"SINCE", "authorized_at", ""},
				{"WHAT TO DO", "", "toolServerTrouble"},
			},
		},
		{
			noun:      "tool-servers",
			name:      "forget",
			kind:      remove,
			operation: "forgetToolServerAuthorization",
			place:     "SERVER",
			says:      "Delete what the workspace has authorized at a server of tools",
		},
		{
			noun:      "tool-servers",
			name:      "resources",
			kind:      list,
			operation: "listToolServerResources",
			place:     "SERVER",
			says:      "List what a server of tools has to read",
			columns: []column{
				{"URI", "uri", ""},
				{"NAME", "name", ""},
				{"TYPE", "media_type", ""},
				{"BYTES", "size", ""},
			},
		},
		{
			noun: "tool-servers", name: "attach", kind: create, operation: "attachToolServerResource", place: "SERVER",
			says: "Make a file of a resource, which messages can show", positional: "uri",
		},
		{
			noun: "tools", name: "list", bare: true, kind: list, operation: "listTools",
			says: "List the tools that agents may use",
			columns: []column{
				{"TOOL", "name", ""}, {"FROM", "source", ""}, {"EFFECT", "", "toolEffect"},
				{"DESCRIPTION", "", "toolSummary"},
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

func inboxColumns() []column {
	return []column{
		{"ID", "id", ""}, {"TYPE", "type", ""}, {"AGENT", "agent_id", ""}, {"TITLE", "title", ""},
		{"STATE", "", "inboxState"},
		{"CREATED", "created_at", ""},
	}
}

func delegationColumns() []column {
	return []column{
		{"ID", "id", ""}, {"KIND", "kind", ""}, {"STATUS", "status", ""}, {"FROM", "from_agent_id", ""},
		{"TO", "to_agent_id", "delegationReceiver"}, {"TEXT", "", "delegationTitle"}, {"CREATED", "created_at", ""},
	}
}

func loopColumns() []column {
	return []column{
		{"LOOP", "id", ""}, {"STATE", "state", ""}, {"REASON", "reason", ""}, {"ITERATION", "", "loopIteration"},
		{"UNTIL", "", "loopUntil"}, {"PROMPT", "", "loopPrompt"},
	}
}

func artifactColumns() []column {
	return []column{
		{"ID", "id", ""}, {"KIND", "kind", ""}, {"NAME", "name", ""}, {"VERSION", "version", ""},
		{"LABELS", "", "artifactLabels"}, {"CHANGED", "updated_at", ""},
	}
}

func transformColumns() []column {
	return []column{
		{"ID", "id", ""}, {"KIND", "kind", ""}, {"NAME", "name", ""}, {"STATUS", "status", ""},
		{"WRITES", "", "transformWrites"},
		{"SESSION", "session_id", ""}, {"CREATED", "created_at", ""},
	}
}

func definitionColumns() []column {
	return []column{
		{"SLUG", "slug", ""}, {"NAME", "name", ""}, {"VERSION", "version", ""}, {"STATUS", "status", ""},
		{"CHANGED", "updated_at", ""},
	}
}

func knowledgeColumns() []column {
	return []column{
		{"ID", "id", ""}, {"KIND", "kind", ""}, {"STATE", "", "knowledgeState"}, {"TEXT", "", "knowledgeText"},
		{"SOURCE", "", "knowledgeSource"}, {"CHANGED", "changed_at", ""},
	}
}

func webhookColumns() []column {
	return []column{
		{"ID", "id", ""}, {"NAME", "name", ""}, {"URL", "url", ""}, {"EVENTS", "", "webhookEvents"},
		{"STATE", "", "webhookState"},
	}
}

func pipelineColumns() []column {
	return []column{
		{"ID", "id", ""}, {"NAME", "name", ""}, {"STATUS", "status", ""}, {"DONE", "", "pipelineDone"},
		{"COST", "", "pipelineCost"}, {"CREATED", "created_at", ""},
	}
}

func scheduleColumns() []column {
	return []column{
		{"ID", "id", ""}, {"NAME", "name", ""}, {"WHEN", "", "scheduleWhen"}, {"NEXT", "", "scheduleNext"},
		{"LAST", "", "scheduleLast"},
	}
}
