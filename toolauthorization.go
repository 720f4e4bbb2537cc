package parley

// The bounds of authorizations at tool servers.
const (
	MaxToolServerBytes        = 64        // of a server's name
	MaxToolAuthorizationBytes = 128 << 10 // of what is kept, encrypted
)

// ToolAuthorization is what a workspace may do at a tool server: tokens, and the request that a person is answering.
// The store sees both only encrypted.
type ToolAuthorization struct {
	ID          ID
	WorkspaceID ID
	Server      string
	Tokens      []byte // encrypted; empty until somebody has authorized
	Request     []byte // encrypted; empty unless a person is asked
	Owner       Author // who authorized, or asks for it
	Revision    int64  // counts the changes
	CreatedAt   Time
	UpdatedAt   Time
	// AuthorizedAt is when the last person has authorized; it stays while tokens are renewed.
	AuthorizedAt Time
}

// ToolServerState is what a workspace can do with a tool server.
type ToolServerState string

// The states.
const (
	ToolServerConnected    ToolServerState = "connected"
	ToolServerConnecting   ToolServerState = "connecting"
	ToolServerAway         ToolServerState = "away"         // it does not answer; the server tries again
	ToolServerUnauthorized ToolServerState = "unauthorized" // somebody must authorize, or correct credentials
)

// ToolServer is a configured server of the Model Context Protocol, as a workspace sees it from one process.
type ToolServer struct {
	Name  string          `json:"name"`
	State ToolServerState `json:"state"`
	// Authorizable: people of the workspace authorize it here.
	Authorizable bool `json:"authorizable"`
	// AuthorizedBy did so last; null: nobody has, or it is not authorized here.
	AuthorizedBy *Author `json:"authorized_by"`
	AuthorizedAt Time    `json:"authorized_at"`
	Tools        int     `json:"tools"` // that agents can use
	// Reason says why it is not connected, and Do what to do about it; null if there is nothing to say.
	Reason *string `json:"reason"`
	Do     *string `json:"do"`
}

// ToolResource is something to read that a tool server offers, or a template of the addresses of several.
type ToolResource struct {
	URI         string `json:"uri"`      // of a template with {placeholders}
	Template    bool   `json:"template"` // nothing can be read at URI itself
	Name        string `json:"name"`
	Description string `json:"description"`
	MediaType   string `json:"media_type"` // as the server says; "" if it does not
	Size        int64  `json:"size"`       // in bytes, as the server says; 0 if it does not
}

// ToolServerRequest is where a person authorizes a tool server.
type ToolServerRequest struct {
	URL       string `json:"url"`
	State     string `json:"state"` // comes back with the answer
	ExpiresAt Time   `json:"expires_at"`
}

// ToolServerAnswer is a person's answer to such a request, as the authorization server sent it to the redirect address.
type ToolServerAnswer struct {
	State  string
	Code   string
	Issuer string // iss
	Error  string // instead of a code
}
