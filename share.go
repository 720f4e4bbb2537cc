package parley

// MaxShares bounds the sessions that one session is shared with.
const MaxShares = 256

// Share permits one session, the reader, to read another.
type Share struct {
	SessionID   ID     `json:"session_id"` // the session to read
	ReaderID    ID     `json:"reader_id"`  // the session whose agent may read
	WorkspaceID ID     `json:"workspace_id"`
	SharedBy    Author `json:"shared_by"`
	CreatedAt   Time   `json:"created_at"`
}
