package parley

// Workspace is the boundary that nothing crosses: agents, sessions, files and keys belong to one.
type Workspace struct {
	ID   ID     `json:"id"`
	Name string `json:"name"`
	// who sees the sessions that are created without a visibility
	Visibility Visibility `json:"visibility"`
	CreatedAt  Time       `json:"created_at"`
}
