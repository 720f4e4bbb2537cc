package event

import "example.org/parley"

// SessionUpdated reports that a session's own fields changed: its title, settings, tags, archived
// state and the like.
//
//event:feed
type SessionUpdated struct {
	Session parley.Session `json:"session"` // the session as it is now
}

// SessionStatusChanged reports that a session's status changed.
//
//event:feed
type SessionStatusChanged struct {
	SessionID  parley.ID            `json:"session_id"`  // the session
	Status     parley.SessionStatus `json:"status"`      // its status
	WaitReason *parley.WaitReason   `json:"wait_reason"` // what its turn waits for; null unless the status is waiting
}

// SessionDeleted reports that a session is gone, or no longer visible to this watcher. The watcher
// gets no further events of it.
//
//event:feed
type SessionDeleted struct {
	SessionID parley.ID `json:"session_id"` // the session
}

// SessionActivated reports that a client, such as a browser tab, has opened the session.
//
//event:feed
type SessionActivated struct {
	ClientID string `json:"client_id"` // the name that the client gave itself
}

// SessionDeactivated reports that a client no longer has the session open.
//
//event:feed
type SessionDeactivated struct {
	ClientID string `json:"client_id"` // the name that the client gave itself
}

// Resync reports that events may be missing: read again what you show. It is the first
// frame of every workspace feed. With a session it concerns that session, without one
// the lists.
//
//event:live
type Resync struct {
	Reason parley.ResyncReason `json:"reason"` // why
}
