package store

import (
	"context"

	"example.org/parley"
)

// MaxForkedLogs bounds how many logs a session reads, that is, how deep forks of forks can be.
const MaxForkedLogs = 100

// History opens sessions that begin with the history of another one.
type History interface {
	// Fork opens a session that reads the record of another one up to a message and writes its own log after it. It
	// copies nothing but the marks, which belong to the fork from then on. The cut never splits a step or separates a
	// tool call from its result: after a message inside a step, it moves to the step's end. Sequences, call ordinals
	// and the hash chain continue from there. claimBy is as in PostMessage. CodeNotFound for a foreign session,
	// message, agent or project; CodeArchived for an archived agent; CodeConflict if the message is not in the record,
	// the step is not done, or a message to ask again stands between a call and its result, and beyond MaxForkedLogs;
	// CodeKeyReused.
	Fork(ctx context.Context, scope Scope, fork NewFork, claimBy parley.ID) (Opened, error)
}

// NewFork is a fork to be stored.
type NewFork struct {
	Session  parley.Session // as in NewSession; ParentSessionID names the session to fork
	At       parley.ID      // the message to cut after; zero: see Sequence
	Sequence int64          // of the message to cut after, without At; 0: the record's last message
	Before   bool           // cut before the message, which must be a user's: First replaces it
	First    *NewMessage
	Quota    parley.Quota // of sessions
	// Idempotency of the creation.
	Idempotency Idempotency
}
