package store

import (
	"context"

	"example.org/parley"
)

// Imports stores sessions that were written elsewhere.
type Imports interface {
	// ImportSession stores a session with its whole record in one transaction. If its identity was imported before with
	// the same record, it returns that session and writes nothing; CodeConflict if the record differs. A key that
	// another session has is dropped. CodeNotFound for a foreign agent or file; CodeArchived for an archived agent;
	// CodeOverBudget beyond the quota; CodeInvalid if a message's ContentHash is set and does not match.
	ImportSession(ctx context.Context, scope Scope, wanted NewImport) (Imported, error)

	// PlanImport returns what ImportSession would, and writes nothing.
	PlanImport(ctx context.Context, scope Scope, wanted NewImport) (Imported, error)
}

// NewImport is a session to import, with its messages in the order of the record.
type NewImport struct {
	Session  parley.Session   // as in NewSession; Status, Statistics' tokens and cost, and times are kept
	Messages []parley.Message // settled; the store assigns sequences, ordinals and hashes
	Quota    parley.Quota     // of sessions
	// Origin identifies what is imported. Its Fingerprint covers the record.
	Origin Idempotency
}

// Imported is the result of an import.
type Imported struct {
	Session  parley.Session
	Created  bool // false: it was imported before
	KeyTaken bool // another session has its key, so it has none
}
