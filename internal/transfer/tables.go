package transfer

// Kind is what a column holds, in whatever type a database keeps it.
type Kind int

// The kinds. Times, money and counters are integers everywhere; JSON is text,
// because its bytes are hashed.
const (
	ID      Kind = iota + 1 // 16 bytes
	Bytes                   // hashes, provider data
	Text                    // UTF-8
	Integer                 // 64 bits
	Flag                    // 0 or 1
)

// Column is a column of a table in every store.
type Column struct {
	Name string
	Kind Kind
}

// Table is a table whose rows move, with all of its columns.
type Table struct {
	Name    string
	Columns []Column
}

// Tables are all tables that move, in the order in which they do. What a
// process has for itself (its lease, the schema's own tables) stays. A store's
// test holds this against its schema.
var Tables = []Table{ //nolint:gochecknoglobals // never written
	table("workspaces", ids("id"), texts("name"), integers("created_at")),
	table(
		"principals",
		ids("id", "workspace_id"),
		texts("name", "kind", "role"),
		flags("local_owner"),
		integers("created_at"),
	),
	table(
		"keys",
		ids("id", "workspace_id", "principal_id"),
		texts("name"),
		raw("hash"),
		texts("prefix"),
		integers("requests_per_minute", "max_sessions", "max_storage", "created_at", "revoked_at"),
	),
	table(
		"agents",
		ids("id", "workspace_id"),
		texts("slug", "status"),
		integers("version"),
		texts("tags", "body", "idempotency_key"),
		raw("fingerprint"),
		integers("created_at", "updated_at"),
		ids("owner_id"),
		integers("version_before"),
	),
	table("agent_tags", ids("workspace_id"), texts("tag"), ids("agent_id")),
	table(
		"agent_versions",
		ids("agent_id"),
		integers("version"),
		ids("workspace_id"),
		texts("body"),
		integers("created_at"),
		ids("changed_by"),
		texts("accepted"),
	),
	table(
		"projects",
		ids("id", "workspace_id"),
		texts("path", "name", "icon"),
		integers("created_at", "last_access_at"),
	),
	table(
		"sessions",
		ids("id", "workspace_id", "agent_id", "owner_id"),
		texts("visibility"),
		ids("project_id", "parent_session_id", "parent_message_id", "root_id", "log_id"),
		texts("kind", "mode", "type", "feature", "task", "key", "title", "instructions", "tags"),
		flags("pinned"),
		texts(
			"metadata",
			"overrides",
			"policy",
			"retry",
			"during",
			"status",
			"wait_reason",
		),
		integers("depth", "archived_at", "deleted_at"),
		texts(
			"idempotency_key",
		),
		raw("fingerprint"),
		integers("created_at", "updated_at", "started_at", "finished_at", "forked_through"),
		texts("accepted"),
	),
	table("session_logs", ids("session_id"), integers("through"), ids("workspace_id", "log_id", "writer_id")),
	table(
		"session_marks",
		ids("session_id"),
		integers("sequence"),
		ids("workspace_id", "message_id"),
		flags("pinned", "context_edge", "set_aside"),
		integers("pinned_event"),
	),
	table("session_tags", ids("workspace_id"), texts("tag"), ids("session_id")),
	table(
		"heads",
		ids("session_id", "workspace_id", "log_id"),
		integers("epoch"),
		ids("holder", "turn_id"),
		texts("turn_status"),
		ids("cancel_turn"),
		integers(
			"next_sequence",
			"next_event",
			"next_position",
			"front_position",
			"next_call",
			"queued",
			"steers",
		),
		raw("last_hash"),
		texts("mode"),
		integers(
			"messages",
			"user_facing",
			"turns",
			"input_tokens",
			"output_tokens",
			"cached_tokens",
			"unknown_calls",
			"cost",
			"unpriced_calls",
			"deleted_at",
			"calls",
			"cache_hits",
			"cache_write_tokens",
			"saved",
			"context_anchor",
			"context_messages",
			"context_tokens",
		),
		flags("context_cleared", "context_held"),
		integers("cleared_at", "cleared_event"),
	),
	table("ready", ids("session_id", "workspace_id"), integers("priority", "not_before", "ready_at")),
	table(
		"outside",
		ids("session_id", "workspace_id", "message_id", "turn_id"),
		integers("versions", "text_end", "reasoning_end", "timeout", "due_at"),
	),
	table(
		"shares",
		ids("session_id", "reader_id", "workspace_id"),
		texts("shared_kind"),
		ids("shared_by"),
		texts("shared_name"),
		integers("created_at"),
	),
	table(
		"messages",
		ids("id", "workspace_id", "session_id", "log_id"),
		integers("sequence", "position"),
		ids("turn_id"),
		integers("step"),
		texts(
			"role",
			"status",
			"author_kind",
		),
		ids("author_id"),
		texts("author_name", "content", "context_note", "tool_call_id", "tool_name"),
		integers(
			"covers_through",
		),
		flags("internal", "steer"),
		texts("model", "agent_type"),
		integers("iteration"),
		texts("usage"),
		raw("content_hash"),
		integers(
			"chain_version",
			"call_ordinal",
		),
		raw("provider_data"),
		texts("error", "metadata"),
		flags("pinned", "context_edge", "set_aside"),
		texts("overrides"),
		integers(
			"pinned_event",
			"token_estimate",
			"chunks",
			"revision",
		),
		texts("idempotency_key"),
		raw("fingerprint"),
		integers("posted_event", "created_at", "updated_at"),
	),
	table(
		"versions",
		ids("workspace_id", "message_id"),
		integers("n"),
		texts("kind"),
		integers("offset", "end", "chunks"),
		texts("text"),
		integers("created_at"),
	),
	table(
		"turns",
		ids("id", "workspace_id", "session_id", "trigger_message_id"),
		texts("status", "wait_reason"),
		integers("ordinal", "attempt", "takeovers", "step"),
		ids("agent_id"),
		integers("agent_version"),
		ids("loop_id"),
		integers("iteration"),
		texts("error"),
		integers(
			"input_tokens",
			"output_tokens",
			"cached_tokens",
			"unknown_calls",
			"cost",
			"created_at",
			"started_at",
			"finished_at",
		),
		ids(
			"continues_id",
		),
		texts("idempotency_key"),
		raw("fingerprint"),
		integers("posted_event"),
		ids("caught_by", "accused_by"),
	),
	table(
		"calls",
		ids("id", "workspace_id", "session_id", "turn_id", "message_id"),
		integers("ordinal", "step", "attempt"),
		texts("model", "parameters"),
		flags(
			"think",
			"search",
		),
		raw("system_hash", "tools_hash"),
		texts("manifest"),
		raw("request_hash"),
		integers("encoder_version"),
		texts("usage"),
		integers(
			"cost",
		),
		texts("finish_reason", "outcome", "error"),
		integers("created_at", "first_token_ms", "total_ms", "reserved_tokens", "reserved_cost"),
		raw("reserved_from"),
		flags("estimated"),
		texts("purpose"),
		raw("middleware_hash"),
		integers("saved"),
	),
	table(
		"approvals",
		ids("id", "workspace_id", "session_id", "root_id", "agent_id", "turn_id", "message_id"),
		texts("tool_call_id", "tool_name", "arguments"),
		raw(
			"fingerprint",
		),
		texts("state", "scope", "covers", "decided_kind"),
		ids("decided_id"),
		texts("decided_name", "comment"),
		integers("root_news", "created_at", "expires_at", "decided_at", "used_at"),
		texts("terms", "approved_by"),
	),
	table(
		"loops",
		ids("id", "workspace_id", "session_id"),
		integers("ordinal"),
		texts("prompt", "content"),
		integers("max"),
		texts("until", "context"),
		flags(
			"archive_done",
		),
		texts("author_kind"),
		ids("author_id"),
		texts("author_name", "state", "reason"),
		integers("iteration"),
		ids("turn_id"),
		texts("idempotency_key"),
		raw("fingerprint"),
		integers("posted_event", "created_at", "finished_at"),
	),
	table("call_texts", ids("workspace_id"), raw("hash", "text")),
	table(
		"events",
		ids("session_id"),
		integers("sequence"),
		ids("workspace_id"),
		texts("type"),
		ids("turn_id"),
		texts("data"),
		integers("created_at"),
	),
	table(
		"outbox",
		integers("id"),
		ids("workspace_id"),
		texts("kind"),
		ids("target_id"),
		integers("created_at", "due_at", "attempts"),
	),
	table(
		"audit",
		ids("workspace_id"),
		integers("at"),
		ids("id", "principal_id"),
		texts("principal_name", "action"),
		ids("session_id", "target_id", "request_id"),
	),
	table(
		"audit_links",
		integers("number", "linked_at"),
		ids("workspace_id"),
		integers("entry_at"),
		ids("entry_id"),
		texts("heads"),
		raw("hash"),
	),
	table("graves", ids("session_id", "workspace_id"), integers("deleted_at", "linked")),
	table(
		"budgets",
		ids("workspace_id", "subject_id"),
		integers(
			"revision",
			"tokens",
			"cost",
			"day",
			"day_tokens",
			"day_cost",
			"reserved_tokens",
			"reserved_cost",
			"warned",
		),
	),
	table(
		"replays",
		ids("call_id", "workspace_id", "session_id", "replay_of"),
		texts("answer"),
		integers("created_at"),
	),
	table(
		"compactions",
		ids("session_id", "workspace_id", "id"),
		texts("state", "reason"),
		integers("attempt"),
		ids("holder"),
		integers("epoch", "covers_from", "covers_through"),
		ids(
			"absorbs_id",
			"call_id",
			"message_id",
		),
		texts("error"),
		integers("not_before", "rests_until", "created_at", "updated_at", "finished_at"),
	),
	table("parked", ids("workspace_id", "subject_id", "session_id"), integers("parked_at")),
	table("rates", ids("workspace_id", "subject_id"), integers("used_until")),
	table(
		"blobs",
		ids("id", "workspace_id"),
		texts("state"),
		raw("hash"),
		integers("size", "files"),
		raw("thumbnail"),
		integers("touched_at"),
	),
	table("blob_chunks", ids("blob_id"), integers("n"), ids("workspace_id"), raw("data")),
	table(
		"files",
		ids("id", "workspace_id", "owner_id", "blob_id"),
		texts("name", "media_type"),
		integers("size"),
		raw("hash"),
		integers("width", "height", "created_at"),
	),
	table("file_uses", ids("workspace_id", "session_id", "message_id", "file_id")),
	table("clients", ids("workspace_id", "principal_id"), texts("client"), ids("session_id"), integers("updated_at")),
}

func table(name string, groups ...[]Column) Table {
	t := Table{Name: name}
	for _, group := range groups {
		t.Columns = append(t.Columns, group...)
	}
	return t
}

func columns(kind Kind, names []string) []Column {
	made := make([]Column, len(names))
	for i, name := range names {
		made[i] = Column{Name: name, Kind: kind}
	}
	return made
}

func ids(names ...string) []Column      { return columns(ID, names) }
func raw(names ...string) []Column      { return columns(Bytes, names) }
func texts(names ...string) []Column    { return columns(Text, names) }
func integers(names ...string) []Column { return columns(Integer, names) }
func flags(names ...string) []Column    { return columns(Flag, names) }
