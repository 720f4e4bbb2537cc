package store

import (
	"context"

	"example.org/parley"
)

// MaxForkedLogs bounds how many logs a session reads: how often a fork was itself
// forked behind what it shares.
const MaxForkedLogs = 100

// History makes sessions that begin with another one's history.
type History interface {
	// Fork makes a session that reads the record of another one up to a message and
	// writes its own log behind that; nothing is copied but the marks, which are its
	// own from then on. The cut never parts a step or a tool's call from its result:
	// behind a message inside a step it lies at the step's end. Sequences, ordinals
	// of calls and the hash chain go on from it. claimBy is as for PostMessage.
	// CodeNotFound for a foreign session, message, agent or project; CodeArchived
	// for an archived agent; CodeConflict when the message is not in the record, the
	// step is not done, or a message to be asked anew stands between a call and its
	// result, and beyond MaxForkedLogs; CodeKeyReused.
	Fork(ctx context.Context, scope Scope, fork NewFork, claimBy parley.ID) (Opened, error)
}

// NewFork is a fork on its way into the store.
type NewFork struct {
	Session  parley.Session // as in NewSession; ParentSessionID names the session to fork
	At       parley.ID      // the message to cut behind; zero: Sequence says
	Sequence int64          // without At: of that message; 0: the record's last one
	Before   bool           // cut before the message, which is a user's: First takes its place
	First    *NewMessage
	Quota    parley.Quota // of sessions
	// Idempotency is of the creation.
	Idempotency Idempotency
}
