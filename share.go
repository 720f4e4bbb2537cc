package parley

// MaxShares bounds the sessions that one session is shared with.
const MaxShares = 256

// Share is the explicit permission of one session, the reader, to read another.
type Share struct {
	SessionID   ID     `json:"session_id"` // that is read
	ReaderID    ID     `json:"reader_id"`  // the session whose agent may read it
	WorkspaceID ID     `json:"workspace_id"`
	SharedBy    Author `json:"shared_by"`
	CreatedAt   Time   `json:"created_at"`
}
