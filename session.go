package parley

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// SessionStatus is derived: that of the first unfinished turn (queued counts as running), else of the last one, else
// pending. A session is never over.
type SessionStatus string

// The session states.
const (
	SessionPending   SessionStatus = "pending"
	SessionRunning   SessionStatus = "running"
	SessionWaiting   SessionStatus = "waiting"
	SessionCompleted SessionStatus = "completed"
	SessionFailed    SessionStatus = "failed"
	SessionCancelled SessionStatus = "cancelled"
)

// SessionStatusOf derives the status from the deciding turn's.
func SessionStatusOf(turn TurnStatus) SessionStatus {
	switch turn {
	case TurnQueued, TurnRunning:
		return SessionRunning
	case TurnWaiting:
		return SessionWaiting
	case TurnCompleted:
		return SessionCompleted
	case TurnFailed:
		return SessionFailed
	case TurnCancelled:
		return SessionCancelled
	}
	return SessionPending
}

// Visibility says who besides the owner and admins may see a session.
type Visibility string

// The visibilities.
const (
	VisibilityPrivate   Visibility = "private"
	VisibilityWorkspace Visibility = "workspace"
)

// SessionKind distinguishes agents' conversations from single tool invocations (D1).
type SessionKind string

// The kinds.
const (
	KindAgent SessionKind = "agent"
	KindTool  SessionKind = "tool"
)

// Mode distinguishes conversations with a person from an agent's own work (E1).
type Mode string

// The modes.
const (
	ModeForeground Mode = "foreground"
	ModeBackground Mode = "background"
)

// Session is one conversation of one agent.
type Session struct {
	ID              ID         `json:"id"`
	WorkspaceID     ID         `json:"workspace_id"`
	AgentID         ID         `json:"agent_id"`
	OwnerID         ID         `json:"owner_id"` // principal
	Visibility      Visibility `json:"visibility"`
	ProjectID       ID         `json:"project_id"`
	ParentSessionID ID         `json:"parent_session_id"`
	ParentMessageID ID         `json:"parent_message_id"`
	// for a tool session its parent's root; for others their own id
	RootID ID  `json:"root_id"`
	Depth  int `json:"depth"`  // nesting of tool sessions; 0 for others
	LogID  ID  `json:"log_id"` // the log that the session writes
	// for a fork, the log of the conversation that it comes from in the end; zero for others
	RootLogID ID `json:"-"`
	// for a fork, the last sequence shared with its parent, 0 for none; null for others
	ForkedThrough *int64          `json:"forked_through"`
	Kind          SessionKind     `json:"kind"`
	Mode          Mode            `json:"mode"`
	Type          string          `json:"type,omitempty"`
	Feature       string          `json:"feature,omitempty"`
	Task          string          `json:"task,omitempty"`
	Key           string          `json:"key,omitempty"`
	Title         string          `json:"title"`
	Instructions  string          `json:"instructions,omitempty"`
	Tags          []string        `json:"tags"`
	Pinned        bool            `json:"pinned"`
	Metadata      json.RawMessage `json:"metadata"` // an object
	Settings                      // flat
	During        During          `json:"during,omitempty"` // "" means queue
	Status        SessionStatus   `json:"status"`
	WaitReason    WaitReason      `json:"wait_reason,omitempty"`
	Statistics    Statistics      `json:"statistics"`
	Context       Context         `json:"context"`
	LastSequence  int64           `json:"last_sequence"`       // of messages; 0 when empty
	LastEvent     int64           `json:"last_event_sequence"` // 0 when none
	TurnID        ID              `json:"turn_id"`             // the first unfinished turn
	ArchivedAt    Time            `json:"archived_at"`
	CreatedAt     Time            `json:"created_at"`
	UpdatedAt     Time            `json:"updated_at"` // last activity
	StartedAt     Time            `json:"started_at"`
	FinishedAt    Time            `json:"finished_at"`

	// Accepted is, for a new session, what its owner accepts with it. Only store.Sessions.Accepted reads it.
	Accepted *Accepted `json:"-"`
}

// RootLog returns the log of the conversation that a fork comes from in the end, over forks of forks; for others the
// session's own.
func (s *Session) RootLog() ID {
	if s.RootLogID.IsZero() {
		return s.LogID
	}
	return s.RootLogID
}

// ReaderID is for whom the session's agent looks up what only some may see: the owner, and in a session that others
// read and ask in, nobody, for which its own id stands. What everybody in the workspace sees is there for both.
func (s *Session) ReaderID() ID {
	if s.Visibility == VisibilityPrivate {
		return s.OwnerID
	}
	return s.ID
}

// Reaches reports whether the session's agent works with a document: it belongs to the session or to its project. That
// its readers may see it is for the store.
func (s *Session) Reaches(a *Artifact) bool {
	return a.SessionID == s.ID || !s.ProjectID.IsZero() && a.ProjectID == s.ProjectID
}

// MarshalJSON writes null for absent fields.
func (s Session) MarshalJSON() ([]byte, error) {
	type plain Session
	return EncodeJSON(struct {
		*plain
		Type         *string     `json:"type"`
		Feature      *string     `json:"feature"`
		Task         *string     `json:"task"`
		Key          *string     `json:"key"`
		Instructions *string     `json:"instructions"`
		During       *During     `json:"during"`
		WaitReason   *WaitReason `json:"wait_reason"`
		shownSettings
		Model *ModelID `json:"model"`
	}{
		(*plain)(&s), OrNull(s.Type), OrNull(s.Feature), OrNull(s.Task), OrNull(s.OpaqueKey()), OrNull(s.Instructions),
		OrNull(s.During), OrNull(s.WaitReason), shownSettings(s.Settings), OrNull(s.Model),
	})
}

// Statistics are sums over a session's record (B2).
type Statistics struct {
	Messages   int64 `json:"messages"`    // in the record
	UserFacing int64 `json:"user_facing"` // those that are not internal
	Turns      int64 `json:"turns"`
	Tokens           // flat
	Cost       Money `json:"cost"`           // US dollars, for calls with a known price
	Unpriced   int64 `json:"unpriced_calls"` // calls with unknown cost

	Calls            int64 `json:"calls"`              // finished calls to models
	CacheHits        int64 `json:"cache_hits"`         // calls partly read from a provider's cache
	CacheWriteTokens int64 `json:"cache_write_tokens"` // tokens that providers put into their caches
	// US dollars saved by caching, minus the extra cost of writes; for calls with a known price
	Saved Money `json:"saved"`
}

// AddCache adds what a provider's cache contributed to one call.
func (s *Statistics) AddCache(u Usage, saved *Money) {
	s.Calls++
	if u.CachedTokens != nil && *u.CachedTokens > 0 {
		s.CacheHits++
	}
	if u.CacheWriteTokens != nil {
		s.CacheWriteTokens += *u.CacheWriteTokens
	}
	if saved != nil {
		s.Saved += *saved
	}
}

// Context is what the model sees of a session now, as far as it is known without building a request.
type Context struct {
	Messages  int64 `json:"messages"`   // in the latest call's window, and later ones
	Tokens    int64 `json:"tokens"`     // estimated tokens of these
	ClearedAt Time  `json:"cleared_at"` // when it was last emptied

	Anchor  int64 `json:"-"` // where the latest shortened window began; 0: none was shortened
	Dropped int64 `json:"-"` // from here up to Anchor messages were dropped for length; 0: none were
	Stubbed int64 `json:"-"` // up to here results of older turns are shown by their size alone; 0: all are shown
	Assumed bool  `json:"-"` // it was said that the model's length is unknown
	Cleared bool  `json:"-"` // empty until the next message, where the window will begin
	Held    bool  `json:"-"` // ContextHead may be non-empty: some message is or was pinned, or is a summary
}

// ContextAt returns the model's view of the session at an earlier message, as far as it is known: a fork's window
// begins where its parent's did.
func (s *Session) ContextAt(sequence int64) Context {
	at := Context{Held: s.Context.Held}
	if s.Context.Anchor <= sequence {
		at.Anchor, at.Dropped = s.Context.Anchor, s.Context.Dropped
	}
	if s.Context.Stubbed <= sequence {
		at.Stubbed = s.Context.Stubbed
	}
	if sequence == s.LastSequence {
		at.Messages, at.Tokens, at.Cleared, at.ClearedAt = s.Context.Messages, s.Context.Tokens, s.Context.Cleared,
			s.Context.ClearedAt
	}
	return at
}

// TitleFrom makes a title from a message's first non-empty line.
func TitleFrom(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if utf8.RuneCountInString(line) <= TitleRunes {
			return line
		}
		runes := []rune(line)
		return strings.TrimSpace(string(runes[:TitleRunes-1])) + "…"
	}
	return ""
}

// A workspace stores its session keys in one column, in two namespaces. A key derived from {type, feature, task} begins
// with derivedStart. An opaque key that would begin so as well, perhaps behind backslashes, is stored with one more
// backslash. So an opaque key never names the session that a derived one names.

const (
	derivedStart = `["`
	opaqueEscape = `\`
)

// OpaqueKey returns the form in which a session's opaque key is stored; "" for "".
func OpaqueKey(key string) string {
	if strings.HasPrefix(strings.TrimLeft(key, opaqueEscape), derivedStart) {
		return opaqueEscape + key
	}
	return key
}

// OpaqueKey returns the session's key as its caller gave it; "" if it has none, or is named by type, feature and task.
func (s *Session) OpaqueKey() string {
	if strings.HasPrefix(s.Key, derivedStart) {
		return ""
	}
	if strings.HasPrefix(strings.TrimLeft(s.Key, opaqueEscape), derivedStart) {
		return s.Key[len(opaqueEscape):]
	}
	return s.Key
}

// KeyFor turns {type, feature, task?} into a session's stored key without collisions: a JSON array, so that no part can
// imitate another's border. It is never parsed.
func KeyFor(sessionType, feature, task string) string {
	out := AppendJSONString([]byte(`[`), sessionType)
	out = AppendJSONString(append(out, ','), feature)
	if task != "" {
		out = AppendJSONString(append(out, ','), task)
	}
	return string(append(out, ']'))
}

// DefaultPolicy returns the context policy of a session whose agent sets none (B4).
func (s *Session) DefaultPolicy() Policy {
	switch {
	case s.Kind == KindTool:
		return Policy{Kind: PolicySingle}
	case s.Task != "":
		return Policy{Kind: PolicyRecent, Limit: 3}
	case s.Feature != "":
		return Policy{Kind: PolicyRecent, Limit: 10}
	case s.Mode == ModeBackground:
		return Policy{Kind: PolicySummary, Limit: DefaultSummaryLimit}
	}
	return Policy{Kind: PolicyAuto}
}

// Project is a directory of work.
type Project struct {
	ID           ID     `json:"id"`
	WorkspaceID  ID     `json:"workspace_id"`
	Path         string `json:"path"`
	Name         string `json:"name"`
	Icon         string `json:"icon,omitempty"`
	CreatedAt    Time   `json:"created_at"`
	LastAccessAt Time   `json:"last_access_at"`
}

// FolderName names a project that was given no name: as its folder.
func FolderName(path string) string { return Clip(filepath.Base(path), MaxNameBytes-len("…")) }

// MarshalJSON writes null for absent fields.
func (p Project) MarshalJSON() ([]byte, error) {
	type plain Project
	return EncodeJSON(struct {
		*plain
		Icon *string `json:"icon"`
	}{(*plain)(&p), OrNull(p.Icon)})
}
