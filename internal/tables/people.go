package tables

import (
	"example.org/parley"
	"example.org/parley/store"
)

// People and what they set up: workspaces, keys, agents, projects.
var people = []Table{ //nolint:gochecknoglobals // never written
	{
		Name: "workspaces", Go: "Workspace", Alias: "w",
		Keys:  keys{SQLite: {"id"}, Postgres: {"id"}},
		Lists: []List{{Name: "read", Kind: Reads, Of: of[parley.Workspace]()}},
		Columns: []Column{
			{Name: "id", Kind: ID, Field: "ID", In: "read"},
			{Name: "name", Kind: Text, Field: "Name", In: "read"},
			{Name: "visibility", Kind: Text, Field: "Visibility", In: "read"},
			{Name: "created_at", Kind: Integer, Field: "CreatedAt", In: "read"},
		},
	},
	{
		Name: "principals",
		Keys: keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Columns: []Column{
			{Name: "id", Kind: ID},
			{Name: "workspace_id", Kind: ID},
			{Name: "name", Kind: Text},
			{Name: "kind", Kind: Text},
			{Name: "role", Kind: Text},
			{Name: "local_owner", Kind: Flag},
			{Name: "created_at", Kind: Integer},
		},
	},
	{
		Name: "keys", Go: "Key", Alias: "k",
		Keys: keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.Key]()},
			{Name: "insert", Kind: Inserts, Of: of[store.NewKey]()},
		},
		Columns: []Column{
			{Name: "id", Kind: ID, Field: "ID", In: "read insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "principal_id", Kind: ID, Field: "PrincipalID", In: "read insert"},
			{Name: "name", Kind: Text, Field: "Name", In: "read insert"},
			{Name: "hash", Kind: Bytes, Field: "Hash", In: "insert"},
			{Name: "prefix", Kind: Text, Field: "Prefix", In: "read insert"},
			{Name: "requests_per_minute", Kind: Integer, Field: "RequestsPerMinute", In: "read insert", Codec: Limit},
			{Name: "max_sessions", Kind: Integer, Field: "MaxSessions", In: "read insert", Codec: Limit},
			{Name: "max_storage", Kind: Integer, Field: "MaxStorage", In: "read insert", Codec: Limit},
			{Name: "created_at", Kind: Integer, Field: "CreatedAt", In: "read insert"},
			{Name: "revoked_at", Kind: Integer, Field: "RevokedAt", In: "read"},
			{Name: "workspace", Joined: true, Field: "Workspace", In: "read", From: "w.name"},
			{Name: "role", Joined: true, Field: "Role", In: "read", From: "p.role"},
		},
	},
	{
		Name: "agents",
		Keys: keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Columns: []Column{
			{Name: "id", Kind: ID},
			{Name: "workspace_id", Kind: ID},
			{Name: "slug", Kind: Text},
			{Name: "status", Kind: Text},
			{Name: "version", Kind: Integer},
			{Name: "tags", Kind: Text},
			{Name: "body", Kind: Text},
			{Name: "idempotency_key", Kind: Text},
			{Name: "fingerprint", Kind: Bytes},
			{Name: "created_at", Kind: Integer},
			{Name: "updated_at", Kind: Integer},
			{Name: "owner_id", Kind: ID},
			{Name: "version_before", Kind: Integer},
			{Name: "lead_id", Kind: ID},
		},
	},
	{
		Name: "agent_tags",
		Keys: keys{SQLite: {"workspace_id", "tag", "agent_id"}, Postgres: {"workspace_id", "tag", "agent_id"}},
		Columns: []Column{
			{Name: "workspace_id", Kind: ID},
			{Name: "tag", Kind: Text},
			{Name: "agent_id", Kind: ID},
		},
	},
	{
		Name: "agent_versions",
		Keys: keys{SQLite: {"agent_id", "version"}, Postgres: {"workspace_id", "agent_id", "version"}},
		Columns: []Column{
			{Name: "agent_id", Kind: ID},
			{Name: "version", Kind: Integer},
			{Name: "workspace_id", Kind: ID},
			{Name: "body", Kind: Text},
			{Name: "created_at", Kind: Integer},
			{Name: "changed_by", Kind: ID},
			{Name: "accepted", Kind: Text},
		},
	},
	{
		Name: "projects", Go: "Project", Alias: "p",
		Keys: keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.Project]()},
			{Name: "insert", Kind: Inserts, Of: of[parley.Project]()},
		},
		Columns: []Column{
			{Name: "id", Kind: ID, Field: "ID", In: "read insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "path", Kind: Text, Field: "Path", In: "read insert"},
			{Name: "name", Kind: Text, Field: "Name", In: "read insert"},
			{Name: "icon", Kind: Text, Field: "Icon", In: "read insert"},
			{Name: "created_at", Kind: Integer, Field: "CreatedAt", In: "read insert"},
			{Name: "last_access_at", Kind: Integer, Field: "LastAccessAt", In: "read insert"},
		},
	},
}
