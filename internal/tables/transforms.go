package tables

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Transforms, with what they read and write, and their definitions.
var transforms = []Table{ //nolint:gochecknoglobals // never written
	{
		Name: "transforms", Go: "Transform", Alias: "f",
		Keys: keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.Transform](), Part: true},
			{Name: "insert", Kind: Inserts, Of: of[parley.Transform]()},
		},
		Columns: []Column{
			{Name: "id", Kind: ID, Field: "ID", In: "read insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "project_id", Kind: ID, Field: "ProjectID", In: "read insert"},
			{Name: "kind", Kind: Text, Field: "Kind", In: "read insert"},
			{Name: "definition_id", Kind: ID, Field: "DefinitionID", In: "read insert"},
			{
				Name: "definition_version", Kind: Integer, Field: "DefinitionVersion", In: "read insert",
				Codec: Null,
			},
			{Name: "name", Kind: Text, Field: "Name", In: "read insert"},
			{Name: "agent_id", Kind: ID, Field: "AgentID", In: "read insert"},
			{Name: "instructions", Kind: Text, Field: "Instructions", In: "read insert"},
			{Name: "model", Kind: Text, Field: "Model", In: "read insert"},
			{Name: "parameters", Kind: Text, Field: "Parameters", In: "read insert", Codec: JSON},
			{Name: "cite", Kind: Flag, Field: "Cite", In: "read insert"},
			{Name: "status", Kind: Text, Field: "Status", In: "read insert"},
			{Name: "chunks", Kind: Integer, Field: "Chunks", In: "read insert"},
			{Name: "last_chunk_at", Kind: Integer, Field: "LastChunkAt", In: "read insert"},
			{Name: "session_id", Kind: ID, Field: "SessionID", In: "read insert"},
			{Name: "turn_id", Kind: ID, Field: "TurnID", In: "read insert"},
			{Name: "trigger_session_id", Kind: ID, Field: "TriggerSessionID", In: "read insert"},
			{Name: "trigger_message_id", Kind: ID, Field: "TriggerMessageID", In: "read insert"},
			{Name: "owner_id", Kind: ID, Field: "OwnerID", In: "read insert"},
			{Name: "created_by_id", Kind: ID, Field: "CreatedByID", In: "read insert"},
			{Name: "retry_of_id", Kind: ID, Field: "RetryOfID", In: "read insert"},
			{Name: "run_id", Kind: ID, Field: "RunID", In: "read insert"},
			{Name: "node", Kind: Text, Field: "Node", In: "read insert"},
			{Name: "failure", Kind: Text, Field: "Failure", In: "read insert", Codec: JSON},
			{Name: "created_at", Kind: Integer, Field: "CreatedAt", In: "read insert"},
			{Name: "started_at", Kind: Integer, Field: "StartedAt", In: "read insert"},
			{Name: "ended_at", Kind: Integer, Field: "EndedAt", In: "read insert"},
		},
	},
	{
		Name: "transform_inputs", Go: "TransformInput", Alias: "i",
		Keys: keys{SQLite: {"transform_id", "position"}, Postgres: {"workspace_id", "transform_id", "position"}},
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.TransformInput]()},
			{Name: "insert", Kind: Inserts, Of: of[parley.TransformInput]()},
		},
		Columns: []Column{
			{Name: "transform_id", Kind: ID, Field: "TransformID", In: "read insert"},
			{Name: "position", Kind: Integer, Field: "Position", In: "read insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "name", Kind: Text, Field: "Name", In: "read insert"},
			{Name: "artifact_id", Kind: ID, Field: "ArtifactID", In: "read insert"},
			{Name: "version", Kind: Integer, Field: "Version", In: "read insert"},
			{Name: "pointer", Kind: Text, Field: "Pointer", In: "read insert"},
			{Name: "purged", Kind: Flag, Field: "Purged", In: "read", From: "x.id IS NULL", Joined: true},
		},
	},
	{
		Name: "transform_outputs", Go: "TransformOutput", Alias: "o",
		Keys: keys{SQLite: {"transform_id", "position"}, Postgres: {"workspace_id", "transform_id", "position"}},
		Lists: []List{
			{Name: "read", Kind: Reads, Of: of[parley.TransformOutput]()},
			{Name: "insert", Kind: Inserts, Of: of[parley.TransformOutput]()},
		},
		Columns: []Column{
			{Name: "transform_id", Kind: ID, Field: "TransformID", In: "read insert"},
			{Name: "position", Kind: Integer, Field: "Position", In: "read insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "read insert"},
			{Name: "name", Kind: Text, Field: "Name", In: "read insert"},
			{Name: "kind", Kind: Text, Field: "Kind", In: "read insert"},
			{Name: "title", Kind: Text, Field: "Title", In: "read insert"},
			{Name: "schema", Kind: Text, Field: "Schema", In: "read insert"},
			{Name: "artifact_id", Kind: ID, Field: "ArtifactID", In: "read insert"},
			{Name: "creates", Kind: Flag, Field: "Creates", In: "read insert"},
			{Name: "base_version", Kind: Integer, Field: "BaseVersion", In: "read insert", Codec: Null},
			{Name: "version", Kind: Integer, Field: "Version", In: "read insert", Codec: Null},
			{Name: "conflict", Kind: Flag, Field: "Conflict", In: "read insert"},
			{Name: "sources", Kind: Text, Field: "Sources", In: "read insert", Codec: JSON},
			{
				Name: "purged", Kind: Flag, Field: "Purged", In: "read",
				From: "x.id IS NULL AND (o.version IS NOT NULL OR NOT o.creates)", Joined: true,
			},
		},
	},
	{
		Name: "transform_definitions", Go: "TransformDefinition", Alias: "d",
		Keys: keys{SQLite: {"id"}, Postgres: {"workspace_id", "id"}},
		Lists: []List{
			{Name: "insert", Kind: Inserts, Of: of[transition.DefinitionRow]()},
			{Name: "update", Kind: Updates, Of: of[transition.DefinitionRow](), Spare: 1},
		},
		Columns: []Column{
			{Name: "id", Kind: ID, Field: "ID", In: "insert"},
			{Name: "workspace_id", Kind: ID, Field: "WorkspaceID", In: "insert"},
			{Name: "slug", Kind: Text, Field: "Slug", In: "insert update"},
			{Name: "status", Kind: Text, Field: "Status", In: "insert update"},
			{Name: "version", Kind: Integer, Field: "Version", In: "insert update"},
			{Name: "owner_id", Kind: ID, Field: "OwnerID", In: "insert update"},
			{Name: "body", Kind: Text, Field: "Body", In: "insert update"},
			{Name: "idempotency_key", Kind: Text, Field: "Idempotency.Key", In: "insert", Codec: Null},
			{Name: "fingerprint", Kind: Bytes, Field: "Idempotency.Fingerprint", In: "insert"},
			{Name: "created_at", Kind: Integer, Field: "CreatedAt", In: "insert"},
			{Name: "updated_at", Kind: Integer, Field: "UpdatedAt", In: "insert update"},
		},
	},
	{
		Name: "transform_definition_versions",
		Keys: keys{
			SQLite:   {"definition_id", "version"},
			Postgres: {"workspace_id", "definition_id", "version"},
		},
		Columns: []Column{
			{Name: "definition_id", Kind: ID},
			{Name: "version", Kind: Integer},
			{Name: "workspace_id", Kind: ID},
			{Name: "body", Kind: Text},
			{Name: "created_at", Kind: Integer},
			{Name: "changed_by", Kind: ID},
		},
	},
}
