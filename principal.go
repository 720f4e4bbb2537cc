package parley

// PrincipalRole is what a principal may do in its workspace.
type PrincipalRole string

// The roles: an admin does everything, a member works in sessions that are its
// own or shared with the workspace, a reader only reads those.
const (
	RoleAdmin  PrincipalRole = "admin"
	RoleMember PrincipalRole = "member"
	RoleReader PrincipalRole = "reader"
)

// Valid reports whether the role is one of the three.
func (r PrincipalRole) Valid() bool { return r == RoleAdmin || r == RoleMember || r == RoleReader }

// Principal is who acts: a person or a service key in a workspace.
type Principal struct {
	ID          ID            `json:"id"`
	WorkspaceID ID            `json:"workspace_id"`
	Workspace   string        `json:"workspace"` // its name
	Name        string        `json:"name"`
	Kind        AuthorKind    `json:"kind"` // person or service
	Role        PrincipalRole `json:"role"`

	RequestsPerMinute int   `json:"-"` // of its key; 0: not limited
	MaxSessions       int64 `json:"-"` // that it may own, by its key; 0: not limited
	MaxStorage        int64 `json:"-"` // bytes of files that it may have uploaded, by its key; 0: not limited
	Local             bool  `json:"-"` // the machine's own user, as the gate has made sure; never a key's owner
}

// Author is the principal as the author of a message.
func (p Principal) Author() Author { return Author{Kind: p.Kind, ID: p.ID, Name: p.Name} }

// Key is an API key as it may be shown: never its secret, which is stored as a
// hash only.
type Key struct {
	ID          ID            `json:"id"`
	WorkspaceID ID            `json:"workspace_id"`
	Workspace   string        `json:"workspace"`
	PrincipalID ID            `json:"principal_id"`
	Name        string        `json:"name"`
	Role        PrincipalRole `json:"role"`
	Prefix      string        `json:"prefix"` // the first characters, to recognise it by
	// RequestsPerMinute is what the key may send; nil: as much as it wants.
	RequestsPerMinute *int   `json:"requests_per_minute"`
	MaxSessions       *int64 `json:"max_sessions" doc:"How many sessions it may own; null: not limited."`
	MaxStorage        *int64 `json:"max_storage" doc:"How many bytes of files it may have uploaded; null: not limited."`
	CreatedAt         Time   `json:"created_at"`
	RevokedAt         Time   `json:"revoked_at"`
}

// DefaultWorkspace is the workspace of requests without a key.
const DefaultWorkspace = "default"
