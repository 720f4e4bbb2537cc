package tables

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// The house's own tables: work, accounts, files.
var house = []Table{ //nolint:gochecknoglobals // never written
	{
		Name: "outbox",
		Keys: keys{SQLite: {"id"}, Postgres: {"id"}},
		Columns: []Column{
			{Name: "id", Kind: Integer},
			{Name: "workspace_id", Kind: ID},
			{Name: "kind", Kind: Text},
			{Name: "target_id", Kind: ID},
			{Name: "created_at", Kind: Integer},
			{Name: "due_at", Kind: Integer},
			{Name: "attempts", Kind: Integer},
			{Name: "payload", Kind: Text},
		},
	},
	{
		Name: "deliveries", Go: "Delivery", Alias: "d",
		Keys: keys{SQLite: {"session_id", "kind", "key"}, Postgres: {"workspace_id", "session_id", "kind", "key"}},
		Lists: []List{
			{Name: "insert", Kind: Inserts, Of: of[transition.DeliveryRow]()},
		},
		Columns: []Column{
			{Name: "session_id", Kind: ID, Field: "SessionID", In: "insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "insert"},
			{Name: "kind", Kind: Text, Field: "Kind", In: "insert"},
			{Name: "key", Kind: ID, Field: "Key", In: "insert"},
			{Name: "delivered_at", Kind: Integer, Field: "DeliveredAt", In: "insert"},
		},
	},
	{
		Name: "audit", Go: "Audit", Alias: "a",
		Keys: keys{SQLite: {"workspace_id", "at", "id"}, Postgres: {"workspace_id", "at", "id"}},
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.AuditEntry]()},
			{Name: "insert", Kind: Inserts, Of: of[parley.AuditEntry]()},
		},
		Columns: []Column{
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "at", Kind: Integer, Field: "At", In: "read insert", Codec: NotNull},
			{Name: "id", Kind: ID, Field: "ID", In: "read insert"},
			{Name: "principal_id", Kind: ID, Field: "PrincipalID", In: "read insert"},
			{Name: "principal_name", Kind: Text, Field: "PrincipalName", In: "read insert"},
			{Name: "action", Kind: Text, Field: "Action", In: "read insert"},
			{Name: "session_id", Kind: ID, Field: "SessionID", In: "read insert"},
			{Name: "target_id", Kind: ID, Field: "TargetID", In: "read insert"},
			{Name: "request_id", Kind: ID, Field: "RequestID", In: "read insert"},
		},
	},
	{
		Name: "audit_links",
		Keys: keys{SQLite: {"number"}, Postgres: {"number"}},
		Columns: []Column{
			{Name: "number", Kind: Integer},
			{Name: "linked_at", Kind: Integer},
			{Name: "workspace_id", Kind: ID},
			{Name: "entry_at", Kind: Integer},
			{Name: "entry_id", Kind: ID},
			{Name: "heads", Kind: Text},
			{Name: "hash", Kind: Bytes},
		},
	},
	{
		Name: "graves",
		Keys: keys{SQLite: {"session_id"}, Postgres: {"workspace_id", "session_id"}},
		Columns: []Column{
			{Name: "session_id", Kind: ID},
			{Name: "workspace_id", Kind: ID},
			{Name: "deleted_at", Kind: Integer},
			{Name: "linked", Kind: Integer},
		},
	},
	{
		Name: "budgets",
		Keys: keys{SQLite: {"workspace_id", "subject_id"}, Postgres: {"workspace_id", "subject_id"}},
		Columns: []Column{
			{Name: "workspace_id", Kind: ID},
			{Name: "subject_id", Kind: ID},
			{Name: "revision", Kind: Integer},
			{Name: "tokens", Kind: Integer},
			{Name: "cost", Kind: Integer},
			{Name: "day", Kind: Integer},
			{Name: "day_tokens", Kind: Integer},
			{Name: "day_cost", Kind: Integer},
			{Name: "reserved_tokens", Kind: Integer},
			{Name: "reserved_cost", Kind: Integer},
			{Name: "warned", Kind: Integer},
		},
	},
	{
		Name: "replays",
		Keys: keys{SQLite: {"call_id"}, Postgres: {"workspace_id", "call_id"}},
		Columns: []Column{
			{Name: "call_id", Kind: ID},
			{Name: "workspace_id", Kind: ID},
			{Name: "session_id", Kind: ID},
			{Name: "replay_of", Kind: ID},
			{Name: "answer", Kind: Text},
			{Name: "created_at", Kind: Integer},
		},
	},
	{
		Name: "compactions", Go: "Compaction", Alias: "c",
		Keys: keys{SQLite: {"session_id"}, Postgres: {"workspace_id", "session_id"}},
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.Compaction]()},
			{Name: "insert", Kind: Inserts, Of: of[parley.Compaction](), Upsert: true},
		},
		Columns: []Column{
			{Name: "session_id", Kind: ID, Field: "SessionID", In: "read insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "id", Kind: ID, Field: "ID", In: "read insert"},
			{Name: "state", Kind: Text, Field: "State", In: "read insert"},
			{Name: "reason", Kind: Text, Field: "Reason", In: "read insert"},
			{Name: "through", Kind: Integer, Field: "Through", In: "read insert"},
			{Name: "instructions", Kind: Text, Field: "Instructions", In: "read insert"},
			{Name: "attempt", Kind: Integer, Field: "Attempt", In: "read insert"},
			{Name: "holder", Kind: ID, Field: "Holder", In: "read insert"},
			{Name: "epoch", Kind: Integer, Field: "Epoch", In: "read insert"},
			{Name: "covers_from", Kind: Integer, Field: "CoversFrom", In: "read insert"},
			{Name: "covers_through", Kind: Integer, Field: "CoversThrough", In: "read insert"},
			{Name: "absorbs_id", Kind: ID, Field: "AbsorbsID", In: "read insert"},
			{Name: "call_id", Kind: ID, Field: "CallID", In: "read insert"},
			{Name: "message_id", Kind: ID, Field: "MessageID", In: "read insert"},
			{Name: "error", Kind: Text, Field: "Error", In: "read insert", Codec: JSON},
			{Name: "not_before", Kind: Integer, Field: "NotBefore", In: "read insert", Codec: NotNull},
			{Name: "rests_until", Kind: Integer, Field: "RestsUntil", In: "read insert"},
			{Name: "created_at", Kind: Integer, Field: "CreatedAt", In: "read insert"},
			{Name: "updated_at", Kind: Integer, Field: "UpdatedAt", In: "read insert"},
			{Name: "finished_at", Kind: Integer, Field: "FinishedAt", In: "read insert"},
		},
	},
	{
		Name: "parked",
		Keys: keys{
			SQLite:   {"workspace_id", "subject_id", "session_id"},
			Postgres: {"workspace_id", "subject_id", "session_id"},
		},
		Columns: []Column{
			{Name: "workspace_id", Kind: ID},
			{Name: "subject_id", Kind: ID},
			{Name: "session_id", Kind: ID},
			{Name: "parked_at", Kind: Integer},
		},
	},
	{
		Name: "rates",
		Keys: keys{SQLite: {"workspace_id", "subject_id"}, Postgres: {"workspace_id", "subject_id"}},
		Columns: []Column{
			{Name: "workspace_id", Kind: ID},
			{Name: "subject_id", Kind: ID},
			{Name: "used_until", Kind: Integer},
		},
	},
	{
		Name: "blobs",
		Keys: keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Columns: []Column{
			{Name: "id", Kind: ID},
			{Name: "workspace_id", Kind: ID},
			{Name: "state", Kind: Text},
			{Name: "hash", Kind: Bytes},
			{Name: "size", Kind: Integer},
			{Name: "files", Kind: Integer},
			{Name: "thumbnail", Kind: Bytes},
			{Name: "touched_at", Kind: Integer},
		},
	},
	{
		Name: "blob_chunks",
		Keys: keys{SQLite: {"blob_id", "n"}, Postgres: {"workspace_id", "blob_id", "n"}},
		Columns: []Column{
			{Name: "blob_id", Kind: ID},
			{Name: "n", Kind: Integer},
			{Name: "workspace_id", Kind: ID},
			{Name: "data", Kind: Bytes},
		},
	},
	{
		Name: "files", Go: "File", Alias: "f",
		Keys: keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.File]()},
			{Name: "insert", Kind: Inserts, Of: of[parley.File]()},
		},
		Columns: []Column{
			{Name: "id", Kind: ID, Field: "ID", In: "read insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "owner_id", Kind: ID, Field: "OwnerID", In: "read insert"},
			{Name: "blob_id", Kind: ID, Field: "BlobID", In: "read insert"},
			{Name: "name", Kind: Text, Field: "Name", In: "read insert"},
			{Name: "media_type", Kind: Text, Field: "MediaType", In: "read insert"},
			{Name: "size", Kind: Integer, Field: "Size", In: "read insert"},
			{Name: "hash", Kind: Bytes, Field: "SHA256", In: "read insert"},
			{Name: "width", Kind: Integer, Field: "Width", In: "read insert"},
			{Name: "height", Kind: Integer, Field: "Height", In: "read insert"},
			{Name: "created_at", Kind: Integer, Field: "CreatedAt", In: "read insert"},
		},
	},
	{
		Name: "file_uses",
		Keys: keys{
			SQLite:   {"session_id", "message_id", "file_id"},
			Postgres: {"workspace_id", "session_id", "message_id", "file_id"},
		},
		Columns: []Column{
			{Name: "workspace_id", Kind: ID},
			{Name: "session_id", Kind: ID},
			{Name: "message_id", Kind: ID},
			{Name: "file_id", Kind: ID},
		},
	},
	{
		Name: "clients",
		Keys: keys{
			SQLite:   {"workspace_id", "principal_id", "client"},
			Postgres: {"workspace_id", "principal_id", "client"},
		},
		Columns: []Column{
			{Name: "workspace_id", Kind: ID},
			{Name: "principal_id", Kind: ID},
			{Name: "client", Kind: Text},
			{Name: "session_id", Kind: ID},
			{Name: "updated_at", Kind: Integer},
		},
	},
	{
		Name: "sign_ins", Go: "SignIn", Alias: "i",
		Keys:  keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Stays: true,
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.SignIn]()},
			{Name: "insert", Kind: Inserts, Of: of[store.NewSignIn]()},
		},
		Columns: []Column{
			{Name: "id", Kind: ID, Field: "ID", In: "read insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "principal_id", Kind: ID, Field: "PrincipalID", In: "read insert"},
			{Name: "hash", Kind: Bytes, Field: "Hash", In: "insert"},
			{Name: "created_at", Kind: Integer, Field: "CreatedAt", In: "read insert"},
			{Name: "seen_at", Kind: Integer, Field: "LastUsedAt", In: "read insert"},
			{Name: "expires_at", Kind: Integer, Field: "ExpiresAt", In: "read insert"},
			{Name: "principal_name", Joined: true, Field: "PrincipalName", In: "read", From: "p.name"},
		},
	},
}
