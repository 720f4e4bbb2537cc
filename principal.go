package parley

// PrincipalRole is what a principal may do in its workspace.
type PrincipalRole string

// The roles: an admin does everything, a member works in sessions of its own or shared with the workspace, a reader
// only reads those.
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

	RequestsPerMinute int   `json:"-"` // by its key; 0: unlimited
	MaxSessions       int64 `json:"-"` // it may own, by its key; 0: unlimited
	MaxStorage        int64 `json:"-"` // bytes of files it may upload, by its key; 0: unlimited
	Local             bool  `json:"-"` // the machine's own user, verified by the gate; never a key's owner
}

// Author returns the principal as the author of a message.
func (p Principal) Author() Author { return Author{Kind: p.Kind, ID: p.ID, Name: p.Name} }

// Key is the visible part of an API key: never its secret, of which only a hash is stored.
type Key struct {
	ID          ID            `json:"id"`
	WorkspaceID ID            `json:"workspace_id"`
	Workspace   string        `json:"workspace"`
	PrincipalID ID            `json:"principal_id"`
	Name        string        `json:"name"`
	Role        PrincipalRole `json:"role"`
	Prefix      string        `json:"prefix"` // its first characters, to recognise it
	// RequestsPerMinute is the key's rate limit; nil: unlimited.
	RequestsPerMinute *int   `json:"requests_per_minute"`
	MaxSessions       *int64 `json:"max_sessions" doc:"How many sessions its principal may own; null: unlimited."`
	MaxStorage        *int64 `json:"max_storage" doc:"How many bytes of files its principal may upload; null: unlimited."`
	CreatedAt         Time   `json:"created_at"`
	RevokedAt         Time   `json:"revoked_at"`
}

// DefaultWorkspace is the workspace of requests without a key.
const DefaultWorkspace = "default"
